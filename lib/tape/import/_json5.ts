/**
 * talkback writes its recordings in JSON5, and this reads what it writes: names without quotes, single quotes, comments
 * and last commas. Numbers of other forms it never writes. A package for one recorder's files would be one too many.
 */

/** The parts of a text that JSON5 writes otherwise than JSON, or that must not be touched. Each is read in one way only. */
const PARTS =
  /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'|\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)|([A-Za-z_$][\w$]*)(?=\s*:)/g;
const LAST_COMMA = /("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])/g;

/** A text of JSON5 as JSON: keys get quotes, texts double ones; comments and last commas go. */
export function fromJson5(text: string): string {
  const plain = text.replace(PARTS, (part, key: string | undefined) => {
    if (key !== undefined) return JSON.stringify(key);
    const [mark] = part;
    return mark === '"' || mark === "'" ? quoted(part.slice(1, -1)) : "";
  });
  return plain.replace(LAST_COMMA, (_, kept: string | undefined) => kept ?? "");
}

const ESCAPES: { readonly [letter: string]: string } = {
  n: "\n",
  r: "\r",
  t: "\t",
  b: "\b",
  f: "\f",
  v: "\v",
  "0": "\0",
};

/** JSON5 has escapes that JSON has not, and a line may go on after a backslash. */
function quoted(inner: string): string {
  const said = inner.replace(
    /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))/g,
    (_, unit?: string, byte?: string, char = "") => {
      const code = unit ?? byte;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      return /[\r\n\u2028\u2029]/.test(char) ? "" : ESCAPES[char] ?? char;
    },
  );
  return JSON.stringify(said);
}
