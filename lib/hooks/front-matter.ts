/** Takes off a text what stands between two `---` lines at its head, if it does, whatever its editor put around them. */
export function splitFrontMatter(text: string): { head: string | undefined; body: string; unclosed: boolean } {
  const plain = text.replace(/^\uFEFF/, "");
  if (!/^---[ \t]*\r?\n/.test(plain)) return { head: undefined, body: plain, unclosed: false };
  const [whole, head = ""] = /^---[ \t]*\r?\n(?:([^]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/.exec(plain) ?? [];
  if (whole === undefined) return { head: undefined, body: plain, unclosed: true };
  return { head, body: plain.slice(whole.length), unclosed: false };
}
