import type { Tool } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import { absolute } from "../files/confine.ts";
import { refreshRead } from "../files/file-history.ts";
import type { EditReport, Hunk } from "./edit/edit-file.ts";
import { checkEditCall, checkObject, checkPath, type EditCall } from "./edit/edit-call.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

/** What a call of Edit says. */
export interface EditInput extends EditCall {
  /** Absolute, or relative to the working directory. */
  readonly file_path: string;
}

/** The structured result hooks read, in the form Claude Code gives it. */
export interface EditResponse {
  readonly filePath: string;
  readonly oldString: string;
  readonly newString: string;
  /** Left out for a file over 8 MiB. */
  readonly originalFile?: string;
  readonly structuredPatch: readonly Hunk[];
  readonly userModified: boolean;
  readonly replaceAll: boolean;
}

const DESCRIPTION = `Replaces text in a file by exact match.

- old_string must be in the file exactly as given, and once; add lines around it until it is unique, or set replace_all to replace every occurrence. \
Whitespace, quotes, case and Unicode form must match. If there is no match, the error names the difference and shows the lines as they are.
- Both strings are literal: no patterns, no escapes, no \`$\` references. Nothing outside the match changes, and no newline is added or removed: to delete a line include its newline.
- Read shows each line after its number and a tab. That prefix is not in the file: leave it out.
- Write line breaks as \\n: in a file whose lines all end in CRLF they are taken as CRLF, and the file keeps its line endings, byte order mark and encoding.
- The file must exist, be a regular file of at most 1 GiB with write permission, and be in the workspace; use Write to create one. In a file that is not UTF-8 only ASCII can be inserted.
- It is matched against the current file, whether you have read it or not. If the file changed since it was read, the result says so.
- Edits of one file wait for each other. A failed edit changes nothing. Links and file mode are kept.`;

/** Replaces text in a file by exact match, or says why it cannot. */
export const Edit: Tool<EditInput> = {
  ...tool<EditInput>({
    name: "Edit",
    description: DESCRIPTION,
    effect: "write",
    input: {
      type: "object",
      properties: {
        file_path: {
          type: "string",
          description: "The file to change: an absolute path, or one relative to the working directory",
        },
        old_string: { type: "string", description: "The text to replace, exactly as it is in the file" },
        new_string: { type: "string", description: "The text to put in its place" },
        replace_all: { type: "boolean", default: false, description: "Replace every occurrence of old_string" },
      },
      required: ["file_path", "old_string", "new_string"],
    },
    prepare: (input, { cwd }) => ({ ...input, file_path: absolute(input.file_path, cwd) }),
    settled: refreshRead,
    run: async (input, context) => {
      const call = checkEditCall(input);
      const { editFile } = await import("./edit/edit-file.ts");
      const { report, content, originalFile } = await editFile(input.file_path, [call], context);
      const response: EditResponse = {
        filePath: report.path,
        oldString: call.old_string,
        newString: call.new_string,
        ...originalFile(),
        structuredPatch: report.hunks,
        userModified: false,
        replaceAll: call.replace_all,
      };
      return { content, response };
    },
    render: ({ filePath }: EditResponse) => `The file ${filePath} has been updated`,
  }),
  // Not by the schema alone: its errors say less, and models send booleans as strings.
  parse: parseEdit,
};

function parseEdit(input: unknown): EditInput & Required<EditCall> {
  const file_path = checkPath(checkObject(input, "the input"));
  return { file_path, ...checkEditCall(input) };
}

/**
 * The Edit tool as a function: no agent, no hooks. Throws a ToolError with a stable `code` when it refuses, and
 * then nothing was changed.
 *
 * @example
 * ```ts
 * import { edit, write } from "crochet/tools";
 *
 * await write({ file_path: "a.ts", content: "let n = 1;\n" });
 * const { lines, diff } = await edit({ file_path: "a.ts", old_string: "let n", new_string: "const n" });
 * console.log(lines, diff);
 * ```
 */
export async function edit(input: EditInput, options: StandaloneOptions = {}): Promise<EditReport> {
  const { file_path, ...call } = parseEdit(input);
  const { editFile } = await import("./edit/edit-file.ts");
  return (await editFile(file_path, [call], standaloneContext("Edit", input, options))).report;
}
