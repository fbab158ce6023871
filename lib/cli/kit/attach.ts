import { resolve } from "node:path";
import type { Block, Prompt } from "../../core/messages.ts";
import { UsageError } from "./io.ts";

/** `@path` of an image or a PDF, as a word of its own. */
const ATTACHED = /(?<=^|\s)@(\S+\.(?:png|jpe?g|gif|webp|pdf))(?=$|[\s,;:!?)]|\.(?:\s|$))/gi;

/** A prompt after the images and PDF files that its words name; an agent reads others itself. @throws {UsageError} if one cannot be sent */
export async function withAttached(words: string, cwd: string): Promise<Prompt> {
  const paths = new Set([...words.matchAll(ATTACHED)].map(([, path]) => path!));
  if (paths.size === 0) return words;
  const { read, Read } = await import("../../tools/read.ts");
  const blocks: Block[] = [];
  for (const path of paths) {
    try {
      const response = await read({ file_path: resolve(cwd, path) }, { cwd, roots: ["/"] });
      if (response.type !== "image" && response.type !== "pdf") throw new Error("it is neither an image nor a PDF");
      blocks.push(...Read.render!(response) as readonly Block[]);
    } catch (error) {
      throw new UsageError(`Cannot attach @${path}: ${(error as Error).message}`);
    }
  }
  return [...blocks, { type: "text", text: words }];
}
