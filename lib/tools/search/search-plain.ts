import { Buffer } from "node:buffer";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ToolError } from "../../core/tool.ts";
import { runaway } from "../../regex/runaway.ts";
import { compileGlob } from "./glob.ts";
import { type TranslatedRegex, translateRegex } from "./regex.ts";
import { FLOOD, type Found, type FoundFile, type FoundLine, type SearchRequest, shownLine } from "./search.ts";
import { typeGlobs } from "./types.ts";
import { walk } from "./walk.ts";

/** ripgrep looks at this much of a file at a time, and for a NUL in it first. */
const BUFFER = 1 << 16;

/** JavaScript's engines give up, some of them silently, on a match that runs over too much text. */
const LONGEST_SPAN = 1 << 20;

/**
 * The same search in plain TypeScript, for machines without ripgrep: slower, with the same results. Two limits are
 * JavaScript's: a match across lines is looked for in files up to 1 MiB only, which is said; and a pattern that could
 * take exponential time is refused, while others may take time that grows with a power of a line's length, where
 * ripgrep's is linear.
 */
export async function searchPlainly(request: SearchRequest): Promise<Found> {
  const pattern = translate(request);
  const files: FoundFile[] = [];
  const problems: string[] = [];
  let lines = 0;
  let size = 0;
  for await (const path of candidates(request)) {
    request.signal?.throwIfAborted();
    const bytes = await readFile(join(request.directory, path)).catch((error: Error) => {
      problems.push(`${path}: ${error.message}`);
    });
    if (!bytes) continue;
    if (pattern.spansLines && bytes.length > LONGEST_SPAN) {
      problems.push(`${path}: too large for a match across lines without ripgrep`);
      continue;
    }
    const found = tryBytes(bytes, pattern, request);
    if (found === "too deep") problems.push(`${path}: the pattern is too deep for its text without ripgrep`);
    if (!found || found === "too deep") continue;
    files.push({ path, ...found });
    lines += found.lines.length;
    size += found.lines.reduce((sum, line) => sum + path.length + line.text.length, 0);
    if (size > FLOOD && lines > request.wanted) return { files, complete: false, problems };
  }
  return { files, complete: true, problems };
}

function translate(request: SearchRequest): TranslatedRegex {
  try {
    const translated = translateRegex(request.pattern, request);
    const why = runaway(translated.judged);
    if (why !== undefined) throw new TypeError(`Cannot search for '${request.pattern}' without ripgrep as ${why}`);
    return translated;
  } catch (error) {
    if (error instanceof TypeError) throw new ToolError(error.message, { code: "invalid_input" });
    throw error;
  }
}

async function* candidates(request: SearchRequest): AsyncGenerator<string> {
  if (request.file !== undefined) return yield request.file;
  const globs = request.type === undefined ? undefined : typeGlobs(request.type)?.map(compileGlob);
  if (request.type !== undefined && globs === undefined) {
    throw new ToolError(`Cannot search files of type '${request.type}' as ripgrep does not know it: use glob`, {
      code: "invalid_input",
    });
  }
  const { selection } = request;
  for await (const path of walk(request.directory, { ...request, ...(selection && { enters: selection.enters }) })) {
    if (selection && !selection.selects(path)) continue;
    // To ripgrep a name that ends in a dot is no name, and has no type.
    if (globs && (path.endsWith(".") || !globs.some((matches) => matches(basename(path))))) continue;
    yield path;
  }
}

type FoundInFile = Pick<FoundFile, "count" | "lines">;

function tryBytes(
  bytes: Buffer,
  pattern: TranslatedRegex,
  request: SearchRequest,
): FoundInFile | undefined | "too deep" {
  try {
    return searchBytes(bytes, pattern, request);
  } catch (error) {
    // V8 throws where a match would need too much of its stack.
    if (error instanceof RangeError) return "too deep";
    throw error;
  }
}

function searchBytes(
  given: Buffer,
  pattern: TranslatedRegex,
  request: SearchRequest,
): FoundInFile | undefined {
  const bytes = asUtf8(given);
  const found = pattern.spansLines
    ? searchAcross(bytes, pattern.regex, request)
    : searchLines(bytes, pattern.regex, request);
  return found && (found.count > 0 || found.lines.length > 0) ? found : undefined;
}

/** A byte order mark decides the encoding, and is no part of the text. */
function asUtf8(bytes: Buffer): Buffer {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return bytes.subarray(3);
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe
    ? "utf-16le"
    : bytes[0] === 0xfe && bytes[1] === 0xff
    ? "utf-16be"
    : undefined;
  return encoding === undefined ? bytes : Buffer.from(new TextDecoder(encoding).decode(bytes), "utf8");
}

function searchLines(bytes: Buffer, regex: RegExp, request: SearchRequest): FoundInFile | undefined {
  const end = searchedEnd(bytes);
  if (end < bytes.length && request.mode !== "files_with_matches") return undefined;
  const lines = splitLines(decodeBytes(bytes.subarray(0, end)));
  const matches = (line: string) => {
    regex.lastIndex = 0;
    return regex.test(line);
  };
  if (request.mode === "files_with_matches") return lines.some(matches) ? { count: 1, lines: [] } : undefined;
  const matched = lines.map(matches);
  return { count: matched.filter(Boolean).length, lines: withContext(lines, matched, request) };
}

/**
 * How far ripgrep searches: it ends at the buffer that holds the first NUL. (Listing files it may have found a match
 * before that; otherwise the whole file counts as binary.)
 */
function searchedEnd(bytes: Buffer): number {
  let searched = 0;
  let read = 0;
  let capacity = BUFFER;
  while (read < bytes.length) {
    // A line longer than the buffer makes it grow.
    if (read - searched === capacity) capacity *= 2;
    const chunk = bytes.subarray(read, searched + capacity);
    if (chunk.includes(0)) return searched;
    const line = chunk.lastIndexOf(10);
    if (line >= 0) searched = read + line + 1;
    read += chunk.length;
  }
  return bytes.length;
}

/** A match may cover several lines: all of them are matched lines, and matches are counted, not lines. */
function searchAcross(bytes: Buffer, regex: RegExp, request: SearchRequest): FoundInFile | undefined {
  if (bytes.subarray(0, BUFFER).includes(0)) return undefined;
  const text = decodeBytes(bytes);
  const lines = splitLines(text);
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1)! + line.length + 1);
  const matched = lines.map(() => false);
  let count = 0;
  let line = 0;
  regex.lastIndex = 0;
  for (let match = regex.exec(text); match; match = regex.exec(text)) {
    if (match[0] === "") regex.lastIndex += text.codePointAt(match.index)! > 0xffff ? 2 : 1;
    if (match.index === text.length) {
      // At the very end there is a line only where the last one is not closed; it is no further match of it.
      if (text.endsWith("\n") || text === "") break;
      matched[lines.length - 1] = true;
      count ||= 1;
      break;
    }
    count++;
    while (starts[line + 1]! <= match.index) line++;
    const last = match.index + Math.max(match[0].length, 1);
    for (let i = line; i < lines.length && starts[i]! < last; i++) matched[i] = true;
  }
  if (request.mode === "files_with_matches") {
    // ripgrep ends at the first run of matched lines, if that is text.
    const first = matched.indexOf(true);
    const end = first < 0 ? first : matched.indexOf(false, first);
    return lines.slice(first, end < 0 ? undefined : end).some(hasNul) ? undefined : { count, lines: [] };
  }
  const shown = withContext(lines, matched, request);
  if (shown.some((line) => hasNul(lines[line.number - 1]!))) return undefined;
  return { count, lines: request.mode === "content" ? shown : [] };
}

function hasNul(line: string): boolean {
  return line.includes("\0");
}

function splitLines(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function withContext(lines: readonly string[], matched: readonly boolean[], request: SearchRequest): FoundLine[] {
  const shown = new Set<number>();
  for (const [i, isMatch] of matched.entries()) {
    if (!isMatch) continue;
    for (let j = Math.max(0, i - request.before); j <= Math.min(lines.length - 1, i + request.after); j++) shown.add(j);
  }
  return [...shown].sort((a, b) => a - b)
    .map((i) => ({ number: i + 1, text: shownLine(encodeLossy(lines[i]!)), matched: matched[i]! }));
}

/** UTF-8 to text, with each byte that is no part of a character kept as one lone surrogate. */
function decodeBytes(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return decodeWithSurrogates(bytes);
  }
}

function decodeWithSurrogates(bytes: Buffer): string {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at]!;
    const length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    try {
      if (length === 0 || at + length > bytes.length) throw undefined;
      text += decoder.decode(bytes.subarray(at, at + length));
      at += length;
    } catch {
      text += String.fromCharCode(0xdc00 + lead);
      at++;
    }
  }
  return text;
}

/** Back to bytes and to text again, with U+FFFD where ripgrep's raw output would get it. */
function encodeLossy(line: string): string {
  if (line.isWellFormed()) return line;
  const parts = [...line].map((char) => {
    const code = char.codePointAt(0)!;
    return code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(char, "utf8");
  });
  return Buffer.concat(parts).toString("utf8");
}
