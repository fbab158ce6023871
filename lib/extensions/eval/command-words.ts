/** What stands for the prompt in a command. */
export const PROMPT = "{prompt}";

/** Pieces of a shell line, outside of quotes and between double ones; behind a `lost` one it is not known what is quoted. */
const BARE =
  /\\[^]|'[^']*'|(?<![^\s;&|()])#[^\n]*|<<<|(?<lost><<|\$'|\$\{(?![^{}"']*\}))|\$\{[^}]*\}|\{prompt\}|(?<!\S|>\s*)(?<word>[\w@%+:,./-]+)(?!\S)|[^]/y;
const QUOTED = /\\[^]|\$\(|(?<lost>\$\{(?![^{}"']*\}))|\$\{[^}]*\}|\{prompt\}|[^]/y;

/**
 * The words of a command for a prompt. To the shell that reads a line, the prompt and what is a file are arguments: it
 * reads nothing in them. Undefined if the prompt stands where no argument can take its place.
 */
export function commandWords(
  command: string | readonly string[],
  prompt: string,
  isFile: (word: string) => boolean,
): string[] | undefined {
  if (typeof command !== "string") return command.map((word) => word.replaceAll(PROMPT, () => prompt));
  const given: string[] = [];
  const argument = (word: string) => `\${${given.push(word)}}`;
  /** The quotes and parentheses that are open, the innermost last. */
  const open: string[] = [];
  let [line, isLost] = ["", false];
  for (let at = 0; at < command.length;) {
    const isQuoted = open.at(-1) === '"';
    const piece = isQuoted ? QUOTED : BARE;
    piece.lastIndex = at;
    const { 0: text, groups } = piece.exec(command)!;
    at = piece.lastIndex;
    isLost ||= groups?.lost !== undefined;
    if (isLost || open.includes("`") && text !== "`") line += text;
    else if (text === PROMPT) line += isQuoted ? argument(prompt) : `"${argument(prompt)}"`;
    else if (text.startsWith("'")) line += text.replaceAll(PROMPT, () => `'"${argument(prompt)}"'`);
    else line += groups?.word && isFile(text) ? `"${argument(text)}"` : text;
    if (text === (isQuoted ? '"' : open.at(-1) === "(" ? ")" : open.at(-1))) open.pop();
    else if (text === '"' || text === "$(" || !isQuoted && text === "(" || text === "`") open.push(text.at(-1)!);
  }
  return line.includes(PROMPT) ? undefined : ["sh", "-c", line, "sh", ...given];
}
