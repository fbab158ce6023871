import { splitFrontMatter } from "../../files/front-matter.ts";
import { HookLoadError } from "../file/load-error.ts";
import { readYaml } from "../rule/yaml.ts";

/** A prompt as it is written, and what its front matter says about it. */
interface PromptFile {
  readonly fields: { readonly [key: string]: unknown };
  readonly template: string;
}

/** Reads the text of a prompt file; its `# crochet:` line belongs to neither part. */
export async function readPromptFile(text: string, file: string): Promise<PromptFile> {
  const { head, body, unclosed } = splitFrontMatter(text);
  if (unclosed) {
    throw new HookLoadError(file, { line: 1, column: 1 }, "its front matter is never closed: end it with a line '---'");
  }
  const template = body.replace(/^\s*#[ \t]*crochet:.*(?:\r?\n|$)/, "");
  if (head === undefined) return { fields: {}, template };
  // A line of its own in front keeps the line numbers of the file.
  const { value, at } = await readYaml(`\n${head}`, file);
  if (value !== null && (typeof value !== "object" || Array.isArray(value))) {
    throw new HookLoadError(file, at([]), "its front matter is no list of 'key: value' lines");
  }
  return { fields: (value ?? {}) as PromptFile["fields"], template };
}
