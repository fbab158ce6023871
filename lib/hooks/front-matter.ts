/**
 * Takes off a text what stands between two `---` lines at its head; undefined if that is missing or never closed. A byte
 * order mark, CRLF and spaces behind `---`, which editors write, are not part of it.
 */
export function splitFrontMatter(text: string): { head: string | undefined; body: string; unclosed: boolean } {
  const plain = text.replace(/^\uFEFF/, "");
  if (!/^---[ \t]*\r?\n/.test(plain)) return { head: undefined, body: plain, unclosed: false };
  const [whole, head = ""] = /^---[ \t]*\r?\n(?:([^]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(plain) ?? [];
  if (whole === undefined) return { head: undefined, body: plain, unclosed: true };
  return { head, body: plain.slice(whole.length), unclosed: false };
}
