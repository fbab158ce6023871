/** A text, and what stands between two `---` lines at its head. */
export interface FrontMatter {
  /** Without the lines around it; undefined if it is missing or never closed. */
  readonly head: string | undefined;
  readonly body: string;
  readonly unclosed: boolean;
}

/** Takes the front matter off a text, whatever editor wrote it: a byte order mark, CRLF and spaces behind `---` are not part of it. */
export function splitFrontMatter(text: string): FrontMatter {
  const plain = text.replace(/^\uFEFF/, "");
  if (!/^---[ \t]*\r?\n/.test(plain)) return { head: undefined, body: plain, unclosed: false };
  const [whole, head = ""] = /^---[ \t]*\r?\n(?:([^]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(plain) ?? [];
  if (whole === undefined) return { head: undefined, body: plain, unclosed: true };
  return { head, body: plain.slice(whole.length), unclosed: false };
}
