import type { GlobSelection } from "./ignore.ts";

/** What to look for, where, and how much of it to tell: the same for both engines. */
export interface SearchRequest {
  /** The folder searched: absolute, links resolved. */
  readonly directory: string;
  /** Only this file of the folder, whatever ignore files say of it; then there is no `selection` and no `type`. */
  readonly file?: string | undefined;
  readonly pattern: string;
  readonly mode: "content" | "files_with_matches" | "count";
  readonly ignoreCase: boolean;
  readonly multiline: boolean;
  readonly before: number;
  readonly after: number;
  readonly selection?: GlobSelection | undefined;
  readonly type?: string | undefined;
  /** Whether .gitignore counts only inside a git repository, up to its top. */
  readonly requireGit: boolean;
  /** How many lines of content, in the order of paths, are enough. */
  readonly wanted: number;
  readonly signal?: AbortSignal | undefined;
}

export interface FoundLine {
  readonly number: number;
  readonly text: string;
  /** False for a line of context. */
  readonly matched: boolean;
}

export interface FoundFile {
  /** Relative to the folder searched, '/'-separated. */
  readonly path: string;
  /** Matching lines, or matches where they span lines; 0 where only the file was asked for. */
  readonly count: number;
  readonly lines: readonly FoundLine[];
}

export interface Found {
  /** In the order of their paths. */
  readonly files: readonly FoundFile[];
  /** False when the search ended early because there was enough. */
  readonly complete: boolean;
  /** What could not be read. */
  readonly problems: readonly string[];
}

/** Output past this many bytes is a flood: the search starts again in the order of paths and ends when it has enough. */
export const FLOOD = 8 << 20;

/** A line is cut here, in UTF-16 units: a minified file would fill the answer with one line. */
const LONGEST_LINE = 500;
/** Bytes after which ripgrep may cut a line: no shorter line reaches LONGEST_LINE units. */
export const LONGEST_LINE_BYTES = 4 * LONGEST_LINE;

/** The text of a found line as both engines show it. */
export function shownLine(text: string): string {
  const line = text.endsWith("\r") ? text.slice(0, -1) : text;
  if (line.length <= LONGEST_LINE) return line;
  const end = /[\uD800-\uDBFF]/.test(line[LONGEST_LINE - 1]!) ? LONGEST_LINE - 1 : LONGEST_LINE;
  return `${line.slice(0, end)} [line cut at ${LONGEST_LINE} characters]`;
}
