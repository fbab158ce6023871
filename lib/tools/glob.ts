import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { type Tool, ToolError } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import { absolute, confine } from "../files/confine.ts";
import { selectGlobs, splitGlobs } from "../files/ignore.ts";
import type { SearchContext } from "./search/search-place.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

/** What a call of Glob says. */
export interface GlobInput {
  readonly pattern: string;
  /** A folder. @default the working directory */
  readonly path?: string;
}

/** The structured result hooks read, in the form Claude Code gives it. */
export interface GlobResponse {
  /** In the order of paths. */
  readonly filenames: readonly string[];
  /** How many files match, shown or not. */
  readonly numFiles: number;
  readonly truncated: boolean;
  /** What was left out, and how to get it. */
  readonly notice?: string;
}

const MOST_FILES = 250;

const DESCRIPTION = `Finds files by glob.

- *.ts matches at any depth, /*.ts only in the folder itself, src/**/*.ts below src; *.{ts,tsx} and [a-z]* work; * and ? do not match /. The glob is relative to path (default: the working directory), or an absolute path.
- Only files are returned, not folders: src/** is everything in src. Hidden files are included. \
Files ignored by .gitignore, .ignore or .rgignore, version control folders and symbolic links are skipped.
- Paths are relative to the working directory and sorted, at most ${MOST_FILES}; the result says if there are more.
- path must be in the workspace. To search file contents use Grep.`;

/** Finds files by glob, in ripgrep's dialect. */
export const Glob: Tool<GlobInput> = tool<GlobInput>({
  name: "Glob",
  description: DESCRIPTION,
  effect: "read",
  input: {
    type: "object",
    properties: {
      pattern: { type: "string", minLength: 1, description: "The glob that paths must match, e.g. **/*.ts" },
      path: { type: "string", description: "The folder to search; default: the working directory" },
    },
    required: ["pattern"],
    additionalProperties: false,
  },
  prepare: (input, { cwd }) => input.path === undefined ? input : { ...input, path: absolute(input.path, cwd) },
  run: async (input, context) => {
    const response = await globFiles(input, context);
    return { content: renderGlob(response), response };
  },
  render: renderGlob,
});

/**
 * The Glob tool as a function: no agent, no hooks. Throws a ToolError when it refuses.
 *
 * @example
 * ```ts
 * import { glob } from "crochet/tools";
 *
 * const { filenames } = await glob({ pattern: "**\/*.ts" }, { cwd: "." });
 * console.log(filenames);
 * ```
 */
export async function glob(input: GlobInput, options: StandaloneOptions = {}): Promise<GlobResponse> {
  return await globFiles(await Glob.parse(input), standaloneContext("Glob", input, options));
}

async function globFiles(given: GlobInput, context: SearchContext): Promise<GlobResponse> {
  const { searchPlace, withoutHidden } = await import("./search/search-place.ts");
  const { needRipgrep } = await import("./search/ripgrep.ts");
  const { listFiles } = await import("./search/search-files.ts");
  const { pattern, path } = await splitAbsolute(given, context);
  const place = await searchPlace(path, context);
  if (place.file !== undefined) {
    throw new ToolError(`Cannot look for files in '${place.path}' as it is a file: give its folder`, {
      code: "not_a_directory",
    });
  }
  const selection = selectGlobs([pattern]);
  const found = await listFiles(needRipgrep(), { ...place, selection, signal: context.signal });
  const { files, withheld } = withoutHidden("Glob", found, (path) => path, place, context);
  const filenames = files.slice(0, MOST_FILES).map(place.shown);
  const truncated = files.length > MOST_FILES;
  const isNone = files.length === 0;
  const notice = [
    truncated && `Showing ${MOST_FILES} of ${files.length} files: use a narrower pattern or path`,
    withheld,
    isNone && !/[*?[{]/.test(pattern) && "Only files are given: for what is in a folder use folder/**",
    isNone && splitGlobs(pattern).length > 1 && "The pattern is one glob: for several use braces, such as *.{ts,tsx}",
  ].filter(Boolean).join("\n");
  return { filenames, numFiles: files.length, truncated, ...(notice !== "" && { notice }) };
}

/**
 * An absolute glob is looked for in the folder it names, if there is one: its part before the first special
 * character. Otherwise the slash in front keeps its meaning, the top of the folder searched.
 */
async function splitAbsolute(input: GlobInput, context: SearchContext): Promise<GlobInput> {
  const { pattern } = input;
  if (!isAbsolute(pattern)) return input;
  const plain = /^[^*?[{\\]*\//.exec(pattern)![0];
  if (plain === "/") return input;
  const isFolder = await stat(plain).then((found) => found.isDirectory(), () => false);
  if (!isFolder) return input;
  const { path } = await confine(plain, context);
  return { pattern: pattern.slice(plain.length - 1), path };
}

/** What the model reads, from the structured result, which a hook may have replaced. */
function renderGlob(response: GlobResponse): string {
  const { filenames, notice } = response ?? {};
  if (!Array.isArray(filenames)) {
    throw new TypeError("Cannot show a result of Glob as it has another form: expected { filenames }");
  }
  const note = notice ? `\n\n[${notice}]` : "";
  return (filenames.length > 0 ? filenames.join("\n") : "No files found") + note;
}
