import { HookLoadError } from "../file/load-error.ts";
import { readYaml } from "../rule/yaml.ts";

/** A text and what was said about it between two `---` lines at its head. */
export interface FrontMatter {
  readonly fields: { readonly [key: string]: unknown };
  readonly body: string;
}

/** Takes the front matter off a text; a text without one is all body. A `# crochet:` line belongs to neither. */
export async function splitFrontMatter(text: string, file: string): Promise<FrontMatter> {
  const plain = text.replace(/^\uFEFF/, "");
  const [head, yaml] = /^---[ \t]*\r?\n([^]*?)^---[ \t]*(?:\r?\n|$)/m.exec(plain) ?? [];
  if (head === undefined || !plain.startsWith(head)) {
    if (/^---[ \t]*\r?\n/.test(plain)) {
      throw new HookLoadError(
        file,
        { line: 1, column: 1 },
        "its front matter is never closed: end it with a line '---'",
      );
    }
    return { fields: {}, body: withoutHeader(plain) };
  }
  // A line of its own in front keeps the line numbers of the file.
  const { value, at } = await readYaml(`\n${yaml}`, file);
  if (value !== null && (typeof value !== "object" || Array.isArray(value))) {
    throw new HookLoadError(file, at([]), "its front matter is no list of 'key: value' lines");
  }
  return { fields: (value ?? {}) as FrontMatter["fields"], body: withoutHeader(plain.slice(head.length)) };
}

function withoutHeader(body: string): string {
  return body.replace(/^\s*#[ \t]*crochet:.*(?:\r?\n|$)/, "");
}
