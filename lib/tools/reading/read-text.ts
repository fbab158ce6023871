import { Buffer, isUtf8 } from "node:buffer";
import { decode, encodingOf } from "../../files/text-bytes.ts";

/** A file's text as hooks read it, in the form Claude Code gives it. */
export interface TextFile {
  readonly filePath: string;
  /** The lines shown, without line numbers. */
  readonly content: string;
  readonly numLines: number;
  readonly startLine: number;
  /** Line breaks and one: what follows the last line break counts as a line, even if it is empty. */
  readonly totalLines: number;
  /** What was left out or cannot be shown, and how to get it. */
  readonly notice?: string;
}

/** Lines shown unless a limit is given. */
export const MOST_LINES = 2000;
/** A longer line is cut, in UTF-16 units. */
export const LONGEST_LINE = 2000;
/** What one answer may hold, in UTF-16 units. */
export const MOST_TEXT = 100_000;

/** The lines of a file from `offset` (counted from 1), as many as `limit` and the caps allow. */
export function textFile(
  filePath: string,
  bytes: Uint8Array,
  { offset, limit }: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): TextFile {
  const utf8 = inUtf8(bytes);
  const starts = lineStarts(utf8);
  const totalLines = starts.length;
  const startLine = Math.max(1, offset ?? 1);
  // The empty rest behind the last line break does not count as a line.
  const lastLine = totalLines > 1 && starts.at(-1) === utf8.length ? totalLines - 1 : totalLines;
  const notices: string[] = [];
  const lines: string[] = [];
  const cut: string[] = [];
  let size = 0;
  let lossy = false;
  for (let n = startLine; n <= totalLines && lines.length < (limit ?? MOST_LINES + (n > lastLine ? 1 : 0)); n++) {
    const raw = utf8.subarray(starts[n - 1], (starts[n] ?? utf8.length + 1) - 1);
    lossy ||= !isUtf8(raw) || raw.includes(0);
    const { line, length } = shownLine(raw);
    size += line.length + 1;
    if (size > MOST_TEXT && lines.length > 0) break;
    if (length > LONGEST_LINE) cut.push(`${n} (${length} characters)`);
    lines.push(line);
  }
  const end = startLine + lines.length - 1;
  if (lines.length === 0 && startLine > totalLines) {
    notices.push(`The file has ${lastLine} ${lastLine === 1 ? "line" : "lines"}: offset ${startLine} is past its end`);
  } else if (end < lastLine) {
    notices.push(`Lines ${startLine} to ${end} of ${lastLine}: to go on, set offset to ${end + 1}`);
  }
  if (cut.length > 0) {
    const more = cut.length > 3 ? ` and ${cut.length - 3} more` : "";
    notices.push(
      `Cut after ${LONGEST_LINE} characters: line ${cut.slice(0, 3).join(", ")}${more}; ` +
        `read the rest with Bash, for example sed -n ${cut[0]!.split(" ")[0]}p FILE | cut -c${LONGEST_LINE + 1}-`,
    );
  }
  if (lossy) notices.push("Some bytes are not valid UTF-8 and are shown as \uFFFD: they cannot be matched as shown");
  return {
    filePath,
    content: lines.join("\n"),
    numLines: lines.length,
    startLine,
    totalLines,
    ...(notices.length > 0 && { notice: notices.join("\n") }),
  };
}

/** What the model reads: each line behind its number and a tab. */
export function renderText({ content, numLines, startLine, totalLines, notice }: TextFile): string {
  const note = notice ? `[${notice}]` : undefined;
  if (numLines === 0) return note ?? "[Nothing to show]";
  if (content === "" && totalLines <= 1) return "[The file exists but is empty]";
  const lines = content.split("\n");
  const width = String(startLine + lines.length - 1).length;
  const numbered = lines.map((line, i) => {
    const number = String(startLine + i).padStart(width);
    return i > 0 && i === lines.length - 1 && line === "" ? number : `${number}\t${line}`;
  });
  return [numbered.join("\n"), ...(note ? [note] : [])].join("\n\n");
}

/** UTF-16 is recognised by its byte order mark, which is not part of the text; everything else is taken for UTF-8. */
function inUtf8(bytes: Uint8Array): Buffer {
  const encoding = encodingOf(bytes);
  const utf8 = encoding === "utf16le" || encoding === "utf16be"
    ? Buffer.from(decode(bytes, encoding), "utf8")
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return utf8[0] === 0xef && utf8[1] === 0xbb && utf8[2] === 0xbf ? utf8.subarray(3) : utf8;
}

function lineStarts(bytes: Uint8Array): number[] {
  const starts = [0];
  // A loop, as Deno's Buffer.indexOf is an order of magnitude slower.
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 10) starts.push(i + 1);
  return starts;
}

function shownLine(raw: Uint8Array): { line: string; length: number } {
  const end = raw.length > 0 && raw[raw.length - 1] === 13 ? raw.length - 1 : raw.length;
  const text = Buffer.from(raw.buffer, raw.byteOffset, end).toString("utf8").replaceAll("\0", "\uFFFD");
  if (text.length <= LONGEST_LINE) return { line: text, length: text.length };
  return { line: `${text.slice(0, LONGEST_LINE).replace(/[\uD800-\uDBFF]$/, "")} [cut]`, length: text.length };
}
