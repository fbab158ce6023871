import { Buffer } from "node:buffer";
import { type Tool, ToolError } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import { absolute } from "../files/confine.ts";
import { refreshRead } from "../files/read-record.ts";
import type { Hunk } from "./edit/diff.ts";
import { checkObject, checkPath, checkText } from "./edit/edit-call.ts";
import { decode, type Encoding, encodingOf } from "../files/encoding.ts";
import { type Changed, changeFile, type FileContext } from "../files/change-file.ts";
import { type ChangeReport, draw, type Drawn, notesOn, originalFile, report } from "./edit/report.ts";
import { type Splice, spliceBetween } from "../files/splices.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

export interface WriteInput {
  /** Absolute, or relative to the working directory. */
  readonly file_path: string;
  readonly content: string;
}

/** What a write came to. */
export interface WriteReport extends ChangeReport {
  readonly type: "create" | "update";
}

/** The structured result hooks read, in the form Claude Code gives it. */
export interface WriteResponse {
  readonly type: "create" | "update";
  readonly filePath: string;
  readonly content: string;
  readonly structuredPatch: readonly Hunk[];
  /** Null for a new file, left out for one over 8 MiB. */
  readonly originalFile?: string | null;
  readonly userModified: boolean;
}

const DESCRIPTION = `Writes a file whole: makes it, with its directories, or replaces all that is in it.

- content is written exactly as given, as UTF-8; no newline is added, and line endings are those of content.
- To change a part of a file use Edit. Read a file before replacing it: the result says if it was never read, or changed since.
- The file must lie in the workspace. Links and the mode of a file that is there are kept. A failed write changes nothing.`;

/**
 * Writes a file whole.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { Read, Write } from "crochet/tools";
 *
 * export default agent({ from: import.meta.url, tools: [Read, Write] });
 * ```
 */
export const Write: Tool<WriteInput> = {
  ...tool<WriteInput>({
    name: "Write",
    description: DESCRIPTION,
    effect: "write",
    input: {
      type: "object",
      properties: {
        file_path: {
          type: "string",
          description: "The file to write: an absolute path, or one relative to the working directory",
        },
        content: { type: "string", description: "All of the file's new content" },
      },
      required: ["file_path", "content"],
      additionalProperties: false,
    },
    prepare: (input, { cwd }) => ({ ...input, file_path: absolute(input.file_path, cwd) }),
    settled: refreshRead,
    run: async (input, context) => {
      const { written, content, original } = await writeFile(parseWrite(input), context);
      const response: WriteResponse = {
        type: written.type,
        filePath: written.path,
        content: input.content,
        structuredPatch: written.type === "create" ? [] : written.hunks,
        ...original(),
        userModified: false,
      };
      return { content, response };
    },
    render: ({ filePath, type }: WriteResponse) =>
      `The file ${filePath} has been ${type === "create" ? "created" : "updated"}`,
  }),
  parse: parseWrite,
};

function parseWrite(input: unknown): WriteInput {
  const given = checkObject(input, "the input");
  const call = { file_path: checkPath(given), content: checkText(given, "content") };
  // What is passed over here may have been meant to keep what is in the file.
  const odd = Object.keys(given).find((key) => !Object.hasOwn(call, key));
  if (odd === undefined) return call;
  throw new ToolError(`${odd}: There is no such property: there are file_path, content`, { code: "invalid_input" });
}

/**
 * The Write tool as a function: no agent, no hooks. Throws a ToolError when it cannot write, and then nothing was
 * changed.
 *
 * @example
 * ```ts
 * import { write } from "crochet/tools";
 *
 * const { type } = await write({ file_path: "notes/today.md", content: "# Today\n" });
 * console.log(type); // "create"
 * ```
 */
export async function write(input: WriteInput, options: StandaloneOptions = {}): Promise<WriteReport> {
  const { written } = await writeFile(parseWrite(input), standaloneContext("Write", input, options));
  return written;
}

interface Plan {
  readonly splices: readonly Splice[];
}

async function writeFile({ file_path, content }: WriteInput, context: FileContext) {
  const diff = await import("diff");
  const bytes = Buffer.from(content, "utf8");
  let drawn: Drawn | undefined;
  const changed = await changeFile<Plan>(file_path, context, {
    verb: "write",
    create: true,
    known: true,
    plan: (before) => ({ splices: before ? spliceBetween(before, bytes) : [{ start: 0, end: 0, bytes }] }),
    meanwhile: (before, { splices }) => drawn = drawWrite(before, bytes, splices, diff),
  });
  const type = changed.before === undefined ? "create" as const : "update" as const;
  return {
    written: { ...report(changed, drawn!, diff), type },
    content: [
      `The file ${changed.place.path} has been ${type}d`,
      ...overwriteNotes(changed),
      ...notesOn(changed, drawn!),
    ].join("\n"),
    original: () =>
      changed.before === undefined
        ? { originalFile: null }
        : originalFile(changed.before, textEncoding(changed.before)),
  };
}

/** A file in another encoding becomes UTF-8, so the two are compared as text. */
function drawWrite(
  before: Uint8Array | undefined,
  now: Uint8Array,
  splices: readonly Splice[],
  diff: typeof import("diff"),
): Drawn {
  if (before === undefined) return draw(new Uint8Array(), splices, "bytes", diff);
  const encoding = textEncoding(before);
  if (encoding === "bytes") return draw(before, splices, "bytes", diff);
  const text = Buffer.from(decode(before, encoding), "utf8");
  return draw(text, spliceBetween(text, now), "bytes", diff);
}

function textEncoding(bytes: Uint8Array): Encoding {
  const encoding = encodingOf(bytes);
  return encoding === "utf32" ? "bytes" : encoding;
}

function overwriteNotes({ before, changedSinceRead }: Changed<Plan>): string[] {
  if (before === undefined) return [];
  const notes: string[] = [];
  if (changedSinceRead === undefined) {
    notes.push("(note: the file was there and had not been read; its old content is gone from the disk)");
  }
  if (textEncoding(before) !== "bytes") notes.push("(note: the file was UTF-16 and is UTF-8 now)");
  return notes;
}
