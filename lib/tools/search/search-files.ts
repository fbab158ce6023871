import { Buffer } from "node:buffer";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError } from "../../core/tool.ts";
import type { GlobSelection } from "../../files/ignore.ts";
import { type RipgrepRun, runRipgrep } from "./ripgrep.ts";

/** What to look for, where, and how much of it to give back. */
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

interface FoundLine {
  readonly number: number;
  readonly text: string;
  /** False for a line of context. */
  readonly matched: boolean;
}

interface FoundFile {
  /** Relative to the folder searched, '/'-separated. */
  readonly path: string;
  /** Matching lines, or matches if they span lines; 0 if only the file was asked for. */
  readonly count: number;
  readonly lines: readonly FoundLine[];
}

export interface FileMatches {
  readonly files: readonly FoundFile[];
  /** False when the search ended early because there was enough. */
  readonly complete: boolean;
  /** What could not be read. */
  readonly problems: readonly string[];
}

/** Output past this many bytes is a flood: the search starts again in the order of paths and ends when it has enough. */
const FLOOD = 8 << 20;

/** A line is cut here, in UTF-16 units: a minified file would fill the answer with one line. */
const LONGEST_LINE = 500;
/** Bytes after which ripgrep may cut a line: no shorter line reaches LONGEST_LINE units. */
const LONGEST_LINE_BYTES = 4 * LONGEST_LINE;

/** Folders of version control: never searched, listed or descended into, not even when hidden files are. */
const VERSION_CONTROL = [".git", ".hg", ".jj", ".svn"];

/** The files that ignore files leave and globs select, as '/'-separated paths, sorted: hidden files too, links never followed. */
export async function listFiles(
  binary: string,
  request: Pick<SearchRequest, "directory" | "requireGit" | "signal"> & { readonly selection: GlobSelection },
): Promise<string[]> {
  return await withSelection(request.selection, async (selection) => {
    const args = ["--files", "--null", "--hidden", "--no-ignore-messages", ...selection, ...visible(request), "./"];
    const run = await runRipgrep(binary, args, { cwd: request.directory, signal: request.signal });
    refuse(run, {});
    return pathsOf(run).map((path) => path.slice(2)).filter(request.selection.selects).sort(comparePaths);
  });
}

/** Searches with ripgrep in parallel and sorts by path here: `--sort` would use one core only. */
export async function search(binary: string, request: SearchRequest): Promise<FileMatches> {
  return await withSelection(request.selection, async (selection) => {
    const args = [...selection, ...searchArguments(request)];
    const options = { cwd: request.directory, signal: request.signal };
    let run = await runRipgrep(binary, args, {
      ...options,
      ...(request.mode === "content" && { enough: (_, total) => total > FLOOD }),
    });
    if (run.code !== "enough") return collect(run, request);
    let lines = 0;
    run = await runRipgrep(binary, ["--sort=path", ...args], {
      ...options,
      enough: (chunk) => {
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
        return lines > request.wanted;
      },
    });
    return collect(run, request);
  });
}

/**
 * Globs go in as an ignore file, the weakest rule there is: given as `--glob` they would bring back what .gitignore
 * leaves out. A file that .gitignore keeps by name (`!x`) slips through, so the paths that come out are tested again.
 */
async function withSelection<T>(
  selection: GlobSelection | undefined,
  use: (args: string[]) => Promise<T>,
): Promise<T> {
  if (!selection) return await use([]);
  const file = join(tmpdir(), `crochet-globs-${crypto.randomUUID()}`);
  try {
    // Written and removed at once: a few bytes take less time than a trip through the thread pool.
    writeFileSync(file, selection.lines.join("\n") + "\n", { flag: "wx", mode: 0o600 });
    return await use([`--ignore-file=${file}`]);
  } finally {
    rmSync(file, { force: true });
  }
}

/** Which files are looked at: neither version control nor what ignore files of the place leave out. */
function visible({ requireGit }: Pick<SearchRequest, "requireGit">): string[] {
  return [
    "--no-ignore-global",
    "--no-ignore-exclude",
    ...(requireGit ? [] : ["--no-require-git"]),
    ...VERSION_CONTROL.map((name) => `--glob=!${name}`),
  ];
}

function searchArguments(request: SearchRequest): string[] {
  const { mode, file } = request;
  return [
    // A named file is searched like any other, so that binary files are recognised in one way.
    ...(file !== undefined ? ["--no-ignore", "--max-depth=1", `--glob=/${file.replace(/[^A-Za-z0-9]/g, "\\$&")}`] : [
      ...visible(request),
      ...(request.type === undefined ? [] : [`--type=${request.type}`]),
    ]),
    "--hidden",
    ...(request.ignoreCase ? ["--ignore-case"] : ["--case-sensitive"]),
    ...(request.multiline ? ["--multiline", "--multiline-dotall"] : []),
    "--no-mmap",
    "--null",
    "--with-filename",
    "--no-heading",
    ...(mode === "files_with_matches" ? ["--files-with-matches"] : mode === "count" ? ["--count"] : [
      "--line-number",
      "--no-context-separator",
      `--before-context=${request.before}`,
      `--after-context=${request.after}`,
      `--max-columns=${LONGEST_LINE_BYTES}`,
      "--max-columns-preview",
    ]),
    `--regexp=${request.pattern}`,
    "./",
  ];
}

function collect(run: RipgrepRun, request: SearchRequest): FileMatches {
  refuse(run, request);
  const complete = run.code !== "enough";
  const found = request.mode === "content"
    ? contentOf(run.stdout)
    : request.mode === "count"
    ? countsOf(run.stdout)
    : pathsOf(run).map((path) => ({ path, count: 0, lines: [] }));
  const files = found
    .map((file) => ({ ...file, path: file.path.slice(2) }))
    .filter((file) => request.selection?.selects(file.path) ?? true);
  return {
    files: complete ? files.sort((a, b) => comparePaths(a.path, b.path)) : files,
    complete,
    problems: run.stderr.split("\n").flatMap((line) => FILE_PROBLEM.exec(line)?.[1] ?? []),
  };
}

function pathsOf({ stdout }: RipgrepRun): string[] {
  return stdout.toString("utf8").split("\0").filter((path) => path !== "");
}

function countsOf(stdout: Buffer): FoundFile[] {
  return [...stdout.toString("utf8").matchAll(/([^\0]+)\0(\d+)\n/g)]
    .map(([, path, count]) => ({ path: path!, count: Number(count), lines: [] }));
}

/** Records are `path NUL number (':' or '-') text`, and one without NUL if a file turned out to be binary. */
function contentOf(stdout: Buffer): FoundFile[] {
  const files: FoundFile[] = [];
  let path: string | undefined;
  let pathBytes: Buffer = Buffer.alloc(0);
  let lines: FoundLine[] = [];
  const close = () => {
    const count = lines.filter((line) => line.matched).length;
    if (path !== undefined && lines.length > 0) files.push({ path, count, lines });
    lines = [];
  };
  for (let at = 0; at < stdout.length;) {
    const end = stdout.indexOf(10, at);
    // Without its line break the last record was cut off.
    if (end < 0) break;
    if (isBinaryNote(stdout, at, end)) {
      // What was found before the first NUL is dropped: a binary file has no lines.
      lines = [];
      at = end + 1;
      continue;
    }
    const nul = stdout.indexOf(0, at);
    if (nul < 0) break;
    const stop = nul > end ? stdout.indexOf(10, nul) : end;
    if (stop < 0) break;
    if (nul - at !== pathBytes.length || pathBytes.compare(stdout, at, nul) !== 0) {
      close();
      pathBytes = stdout.subarray(at, nul);
      path = pathBytes.toString("utf8");
    }
    let mark = nul + 1;
    while (stdout[mark]! >= 48 && stdout[mark]! <= 57) mark++;
    lines.push({
      number: Number(stdout.toString("latin1", nul + 1, mark)),
      text: shownLine(stdout.toString("utf8", mark + 1, stop)),
      matched: stdout[mark] === 58,
    });
    at = stop + 1;
  }
  close();
  return files;
}

const BINARY_NOTE = /: (?:WARNING: stopped searching binary file after match|binary file matches) \(found "\\0" byte/;

function isBinaryNote(stdout: Buffer, from: number, to: number): boolean {
  // 41 is ')', the note's last character: most lines are recognised without being decoded.
  if (stdout[to - 1] !== 41) return false;
  const nul = stdout.indexOf(0, from);
  if (nul >= 0 && nul < to) return false;
  return BINARY_NOTE.test(stdout.toString("utf8", from, to));
}

/** What ripgrep says of single files, as opposed to an error of the whole search. */
const FILE_PROBLEM = /^rg: (?:\.\/)?(.*\(os error \d+\))$/;

/** Throws an error of the whole search. */
function refuse({ code, stderr }: RipgrepRun, { type, pattern }: Partial<SearchRequest>): void {
  const lines = code === 2 ? stderr.split("\n").filter((line) => line !== "" && !FILE_PROBLEM.test(line)) : [];
  if (lines.length === 0) return;
  // An old ripgrep on PATH may not know every flag: the pattern is not at fault.
  if (/^rg: unrecognized flag|^error: Found argument/.test(lines[0]!)) {
    throw new ToolError(`Cannot search with this ripgrep: ${lines[0]}: update it to version 14 or newer`, {
      code: "no_ripgrep",
    });
  }
  const reason = (lines.find((line) => line.startsWith("error: ")) ?? lines[0]!).replace(/^(error|rg): /, "");
  const why = /unrecognized file type/.test(stderr)
    ? `files of type '${type}' as ripgrep does not know it: use glob`
    : pattern === undefined
    ? `as ripgrep fails: ${reason}`
    : `for '${pattern}' as it is not a regular expression of ripgrep: ${reason}`;
  throw new ToolError(`Cannot search ${why}`, { code: "invalid_input" });
}

function shownLine(text: string): string {
  const line = text.endsWith("\r") ? text.slice(0, -1) : text;
  if (line.length <= LONGEST_LINE) return line;
  return `${line.slice(0, LONGEST_LINE).replace(/[\uD800-\uDBFF]$/, "")} [line cut at ${LONGEST_LINE} characters]`;
}

/** Orders paths as ripgrep's `--sort path` does: name by name, by the bytes of UTF-8. */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/** A name ends before any other character, and surrogates are the highest characters of all. */
function rank(unit: number): number {
  return unit === 0x2f ? -1 : (unit & 0xf800) === 0xd800 ? unit + 0x10000 : unit;
}
