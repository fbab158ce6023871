import { type Tool, ToolError } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import { absolute } from "../files/confine.ts";
import { selectGlobs, splitGlobs } from "../files/ignore.ts";
import type { SearchContext, SearchPlace } from "./search/search-place.ts";
import type { FileMatches, SearchRequest } from "./search/search-files.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

/** What a call of Grep says. */
export interface GrepInput {
  /** A regular expression in ripgrep's syntax. */
  readonly pattern: string;
  /** A file or folder. @default the working directory */
  readonly path?: string;
  /** Globs, separated by commas or spaces; `!glob` leaves out. */
  readonly glob?: string;
  /** A file type of ripgrep: ts, py, rust … */
  readonly type?: string;
  /** @default "files_with_matches" */
  readonly output_mode?: "content" | "files_with_matches" | "count";
  readonly "-i"?: boolean;
  /** @default true */
  readonly "-n"?: boolean;
  readonly "-A"?: number;
  readonly "-B"?: number;
  readonly "-C"?: number;
  /** The same as "-C". */
  readonly context?: number;
  /** 0 for no limit but that of size. @default 250 */
  readonly head_limit?: number;
  /** @default 0 */
  readonly offset?: number;
  readonly multiline?: boolean;
}

/** The structured result hooks read, in the form Claude Code gives it. */
export interface GrepResponse {
  readonly mode: "content" | "files_with_matches" | "count";
  /** The files found; in mode content those of the lines shown. */
  readonly numFiles: number;
  /** The files shown, in mode files_with_matches. */
  readonly filenames: readonly string[];
  /** The lines shown, in the other modes. */
  readonly content?: string;
  readonly numLines?: number;
  /** The matches of all files, in mode count. */
  readonly numMatches?: number;
  readonly appliedLimit?: number;
  readonly appliedOffset?: number;
  /** What was left out, and how to get it. */
  readonly notice?: string;
}

const DEFAULT_LIMIT = 250;
/** What one answer may hold, in UTF-16 units. */
const MOST_TEXT = 30_000;

const DESCRIPTION = `Searches file contents with ripgrep.

- pattern is a regular expression in ripgrep's syntax, without look-around and back-references. Escape literal braces, brackets, dots and parentheses (interface\\{\\}). \
It is matched line by line; with multiline a match can span lines, and . also matches line breaks. In a file with CRLF line endings use \\r?$ for the end of a line.
- output_mode: files_with_matches (default) returns paths, content returns lines as path:number:text (path-number-text for context lines), count returns the number of matching lines per file.
- Narrow the search with path (a file or folder), glob (*.ts matches at any depth, src/**/*.ts is relative to the folder searched, !*.test.ts excludes) and type (ts, py, rust, …).
- Hidden files are searched. Files ignored by .gitignore, .ignore or .rgignore are skipped (glob does not include them again; path does if it names the file), as are version control folders, binary files and symbolic links.
- Results are sorted by path. At most head_limit (default ${DEFAULT_LIMIT}) lines or files are returned, at most about ${MOST_TEXT} characters. The result says if anything is missing; use offset to get it.
- path must be in the workspace.`;

/** Searches the contents of files as ripgrep does. */
export const Grep: Tool<GrepInput> = tool<GrepInput>({
  name: "Grep",
  description: DESCRIPTION,
  effect: "read",
  input: {
    type: "object",
    properties: {
      pattern: { type: "string", description: "The regular expression to search for" },
      path: { type: "string", description: "The file or folder to search; default: the working directory" },
      glob: { type: "string", description: "Globs that file paths must match, e.g. *.{ts,tsx} or !*.test.ts" },
      type: { type: "string", description: "A file type of ripgrep, e.g. ts, js, py, rust, go" },
      output_mode: {
        type: "string",
        enum: ["content", "files_with_matches", "count"],
        description: "What to return; default: files_with_matches",
      },
      "-i": { type: "boolean", description: "Ignore case" },
      "-n": { type: "boolean", description: "Line numbers in mode content; default: true" },
      "-A": { type: "integer", minimum: 0, description: "Lines of context after each match, in mode content" },
      "-B": { type: "integer", minimum: 0, description: "Lines of context before each match, in mode content" },
      "-C": { type: "integer", minimum: 0, description: "Lines of context around each match, in mode content" },
      context: { type: "integer", minimum: 0, description: "The same as -C" },
      head_limit: {
        type: "integer",
        minimum: 0,
        description: `Return at most this many lines or files; default: ${DEFAULT_LIMIT}, 0: no limit`,
      },
      offset: { type: "integer", minimum: 0, description: "Skip this many lines or files first; default: 0" },
      multiline: { type: "boolean", description: "Let a match span lines, and . match line breaks" },
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  prepare: (input, { cwd }) => input.path === undefined ? input : { ...input, path: absolute(input.path, cwd) },
  run: async (input, context) => {
    const response = await grepFiles(input, context, undefined);
    return { content: renderGrep(response), response };
  },
  render: renderGrep,
});

/**
 * The Grep tool as a function: no agent, no hooks. Throws a ToolError when it refuses.
 *
 * @example
 * ```ts
 * import { grep } from "crochet/tools";
 *
 * const { content } = await grep({ pattern: "export function \\w+", output_mode: "content", glob: "*.ts" }, { cwd: "." });
 * console.log(content);
 * ```
 */
export async function grep(
  input: GrepInput,
  options: StandaloneOptions & { readonly ripgrep?: string } = {},
): Promise<GrepResponse> {
  const { ripgrep, ...standalone } = options;
  return await grepFiles(await Grep.parse(input), standaloneContext("Grep", input, standalone), ripgrep);
}

async function grepFiles(
  input: GrepInput,
  context: SearchContext,
  ripgrep: string | undefined,
): Promise<GrepResponse> {
  if (input.pattern.includes("\0")) {
    throw new ToolError("Cannot search for a NUL character as files with one are binary", { code: "invalid_input" });
  }
  const { searchPlace, withoutHidden } = await import("./search/search-place.ts");
  const place = await searchPlace(input.path, context);
  const mode = input.output_mode ?? "files_with_matches";
  const { offset = 0, head_limit: limit = DEFAULT_LIMIT } = input;
  const globs = splitGlobs(input.glob ?? "");
  const around = input["-C"] ?? input.context ?? 0;
  const request: SearchRequest = {
    directory: place.directory,
    file: place.file,
    pattern: input.pattern,
    mode,
    ignoreCase: input["-i"] ?? false,
    multiline: input.multiline ?? false,
    before: mode === "content" ? input["-B"] ?? around : 0,
    after: mode === "content" ? input["-A"] ?? around : 0,
    ...(place.file === undefined && { selection: globs.length > 0 ? selectGlobs(globs) : undefined, type: input.type }),
    requireGit: place.requireGit,
    wanted: limit === 0 ? Infinity : offset + limit,
    signal: context.signal,
  };
  const { needRipgrep } = await import("./search/ripgrep.ts");
  const { search } = await import("./search/search-files.ts");
  const found = await search(ripgrep ?? needRipgrep(), request);
  const { files, withheld } = withoutHidden("Grep", found.files, ({ path }) => path, place, context);
  const gaps = request.before + request.after > 0;
  return responseOf({ ...found, files, withheld }, place, { mode, offset, limit, gaps, numbers: input["-n"] ?? true });
}

type Searched = FileMatches & { readonly withheld: string | undefined };

interface Shape {
  readonly mode: GrepResponse["mode"];
  readonly offset: number;
  readonly limit: number;
  readonly numbers: boolean;
  /** Whether lines that do not follow each other are set apart, as they are once there is context. */
  readonly gaps: boolean;
}

function responseOf(found: Searched, place: SearchPlace, shape: Shape): GrepResponse {
  const { mode, offset, limit } = shape;
  const entries = entriesOf(found, place, shape);
  const shown = fitting(entries.slice(offset, limit === 0 ? undefined : offset + limit));
  const left = entries.length > offset + shown.length || !found.complete;
  const notice = noticeOf(found, { shown: shown.length, total: entries.length, left, ...shape });
  const common = {
    mode,
    numFiles: mode === "content" ? new Set(shown.map(({ path }) => path)).size : found.files.length,
    ...(left && { appliedLimit: shown.length }),
    ...(offset > 0 && { appliedOffset: offset }),
    ...(notice !== "" && { notice }),
  };
  if (mode === "files_with_matches") return { ...common, filenames: shown.map((entry) => entry.text) };
  const content = shown.map(({ text, adjacent }, i) => (i === 0 || adjacent ? text : `--\n${text}`)).join("\n");
  if (mode === "content") return { ...common, filenames: [], content, numLines: shown.length };
  return { ...common, filenames: [], content, numMatches: found.files.reduce((sum, file) => sum + file.count, 0) };
}

interface Entry {
  readonly path: string;
  readonly text: string;
  readonly adjacent: boolean;
}

function entriesOf(found: FileMatches, place: SearchPlace, { mode, numbers, gaps }: Shape): Entry[] {
  if (mode === "files_with_matches") {
    return found.files.map(({ path }) => ({ path, text: place.shown(path), adjacent: true }));
  }
  if (mode === "count") {
    return found.files.map(({ path, count }) => ({ path, text: `${place.shown(path)}:${count}`, adjacent: true }));
  }
  return found.files.flatMap(({ path, lines }) =>
    lines.map(({ number, text, matched }, i) => {
      const mark = matched ? ":" : "-";
      const name = place.file === undefined ? place.shown(path) + mark : "";
      return {
        path,
        text: `${name}${numbers ? `${number}${mark}` : ""}${text}`,
        adjacent: !gaps || lines[i - 1]?.number === number - 1,
      };
    })
  );
}

function fitting(entries: readonly Entry[]): readonly Entry[] {
  let size = 0;
  const over = entries.findIndex((entry) => (size += entry.text.length + 1) > MOST_TEXT);
  return over < 0 ? entries : entries.slice(0, Math.max(over, 1));
}

function noticeOf(
  found: Searched,
  { mode, offset, shown, total, left }: Shape & { shown: number; total: number; left: boolean },
): string {
  const unit = mode === "content" ? "lines" : "files";
  const notices: string[] = [];
  if (left) {
    const end = offset + shown;
    const of = found.complete ? `of ${total}` : "of many more";
    notices.push(`Showing ${unit} ${offset + 1} to ${end} ${of}: narrow the search, or go on with offset ${end}`);
  } else if (shown === 0 && total > 0) notices.push(`There are ${total} ${unit}: offset ${offset} is past the last`);
  if (found.withheld !== undefined) notices.push(found.withheld);
  if (found.problems.length > 0) {
    const [first] = found.problems;
    notices.push(`Not searched: ${first}${found.problems.length > 1 ? ` and ${found.problems.length - 1} more` : ""}`);
  }
  return notices.join("\n");
}

/** What the model reads, from the structured result, which a hook may have replaced. */
function renderGrep(response: GrepResponse): string {
  const { mode, filenames = [], numFiles, content, numMatches, notice } = response ?? {};
  if (mode !== "content" && mode !== "count" && mode !== "files_with_matches") {
    throw new TypeError("Cannot show a result of Grep as it has another form: expected { mode, filenames, content }");
  }
  const note = notice ? `\n\n[${notice}]` : "";
  if (mode === "files_with_matches") {
    if (filenames.length === 0) return `No files found${note}`;
    return `Found ${numFiles} ${numFiles === 1 ? "file" : "files"}\n${filenames.join("\n")}${note}`;
  }
  if (!content) return `No matches found${note}`;
  if (mode === "content") return content + note;
  const matches = `${numMatches} ${numMatches === 1 ? "match" : "matches"}`;
  return `${content}\n\nFound ${matches} in ${numFiles} ${numFiles === 1 ? "file" : "files"}${note}`;
}
