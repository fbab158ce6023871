import { type Tool, ToolError } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import { absolute } from "../files/confine.ts";
import { refreshRead } from "../files/file-history.ts";
import type { ChangeReport, Hunk } from "./edit/edit-file.ts";
import { checkObject, checkPath, checkText } from "./edit/edit-call.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

/** What a call of Write says. */
export interface WriteInput {
  /** Absolute, or relative to the working directory. */
  readonly file_path: string;
  readonly content: string;
}

/** The structured result hooks read, in the form Claude Code gives it. */
export interface WriteResponse {
  readonly type: "create" | "update";
  readonly filePath: string;
  readonly content: string;
  readonly structuredPatch: readonly Hunk[];
  /** Null for a new file, left out for one over 8 MiB. */
  readonly originalFile?: string | null;
  readonly userModified: boolean;
}

const DESCRIPTION = `Writes a whole file: creates it, with its directories, or replaces its content.

- content is written exactly as given, as UTF-8; no newline is added, and line endings are those of content.
- To change a part of a file use Edit. Read a file before replacing it: the result says if it was never read, or changed since.
- The file must be in the workspace. Links and the mode of an existing file are kept. A failed write changes nothing.`;

/** Writes a file whole. */
export const Write: Tool<WriteInput> = {
  ...tool<WriteInput>({
    name: "Write",
    description: DESCRIPTION,
    effect: "write",
    input: {
      type: "object",
      properties: {
        file_path: {
          type: "string",
          description: "The file to write: an absolute path, or one relative to the working directory",
        },
        content: { type: "string", description: "All of the file's new content" },
      },
      required: ["file_path", "content"],
      additionalProperties: false,
    },
    prepare: (input, { cwd }) => ({ ...input, file_path: absolute(input.file_path, cwd) }),
    settled: refreshRead,
    run: async (input, context) => {
      const { writeFile } = await import("./edit/edit-file.ts");
      const { written, content, original } = await writeFile(parseWrite(input), context);
      const response: WriteResponse = {
        type: written.type,
        filePath: written.path,
        content: input.content,
        structuredPatch: written.type === "create" ? [] : written.hunks,
        ...original(),
        userModified: false,
      };
      return { content, response };
    },
    render: ({ filePath, type }: WriteResponse) =>
      `The file ${filePath} has been ${type === "create" ? "created" : "updated"}`,
  }),
  parse: parseWrite,
};

function parseWrite(input: unknown): WriteInput {
  const given = checkObject(input, "the input");
  const call = { file_path: checkPath(given), content: checkText(given, "content") };
  // What is passed over here may have been meant to keep what is in the file.
  const odd = Object.keys(given).find((key) => !Object.hasOwn(call, key));
  if (odd === undefined) return call;
  throw new ToolError(`${odd}: There is no such property: there are file_path, content`, { code: "invalid_input" });
}

/**
 * The Write tool as a function: no agent, no hooks. Throws a ToolError when it cannot write, and then nothing was
 * changed.
 *
 * @example
 * ```ts
 * import { write } from "crochet/tools";
 *
 * const { type } = await write({ file_path: "notes/today.md", content: "# Today\n" });
 * console.log(type); // "create"
 * ```
 */
export async function write(
  input: WriteInput,
  options: StandaloneOptions = {},
): Promise<ChangeReport & Pick<WriteResponse, "type">> {
  const call = parseWrite(input);
  const { writeFile } = await import("./edit/edit-file.ts");
  const { written } = await writeFile(call, standaloneContext("Write", input, options));
  return written;
}
