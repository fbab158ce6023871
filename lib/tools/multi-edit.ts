import { type Tool, ToolError } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import { absolute } from "../files/confine.ts";
import { refreshRead } from "../files/file-history.ts";
import { editFile, type EditReport, type Hunk } from "./edit/edit-file.ts";
import { checkEditCall, checkObject, checkPath, type EditCall } from "./edit/edit-call.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

interface MultiEditInput {
  /** Absolute, or relative to the working directory. */
  readonly file_path: string;
  readonly edits: readonly EditCall[];
}

/** The structured result hooks read. */
export interface MultiEditResponse {
  readonly filePath: string;
  readonly edits: readonly Required<EditCall>[];
  /** Left out for a file over 8 MiB. */
  readonly originalFile?: string;
  readonly structuredPatch: readonly Hunk[];
  readonly userModified: boolean;
}

const DESCRIPTION = `Makes several edits in one file, in order, all or none.

- Each edit follows the rules of Edit: old_string must be there exactly as given, and once unless replace_all is set.
- A later edit sees the text that the earlier ones made, so an edit must not remove what a later one looks for.
- If one edit is refused, none is applied, and the error says which one it was.`;

/** Makes several edits in one file, all or none. */
export const MultiEdit: Tool<MultiEditInput> = {
  ...tool<MultiEditInput>({
    name: "MultiEdit",
    description: DESCRIPTION,
    effect: "write",
    input: {
      type: "object",
      properties: {
        file_path: {
          type: "string",
          description: "The file to change: an absolute path, or one relative to the working directory",
        },
        edits: {
          type: "array",
          minItems: 1,
          description: "The edits, in the order to make them",
          items: {
            type: "object",
            properties: {
              old_string: { type: "string", description: "The text to replace, exactly as it is at that point" },
              new_string: { type: "string", description: "The text to put in its place" },
              replace_all: { type: "boolean", default: false, description: "Replace every occurrence of old_string" },
            },
            required: ["old_string", "new_string"],
          },
        },
      },
      required: ["file_path", "edits"],
    },
    prepare: (input, { cwd }) => ({ ...input, file_path: absolute(input.file_path, cwd) }),
    settled: refreshRead,
    run: async (input, context) => {
      const { edits } = parseMultiEdit(input);
      const { report, content, originalFile } = await editFile(input.file_path, edits, context);
      const response: MultiEditResponse = {
        filePath: report.path,
        edits,
        ...originalFile(),
        structuredPatch: report.hunks,
        userModified: false,
      };
      return { content, response };
    },
    render: ({ filePath }: MultiEditResponse) => `The file ${filePath} has been updated`,
  }),
  parse: parseMultiEdit,
};

function parseMultiEdit(input: unknown): { file_path: string; edits: Required<EditCall>[] } {
  const given = checkObject(input, "the input");
  const file_path = checkPath(given);
  if (!Array.isArray(given.edits) || given.edits.length === 0) {
    const fix = "give { old_string, new_string } objects";
    throw new ToolError(`Cannot use edits as it must be a list of at least one edit: ${fix}`, {
      code: "invalid_input",
    });
  }
  return { file_path, edits: given.edits.map((edit, i) => checkEditCall(edit, `edits.${i}.`)) };
}

/**
 * The MultiEdit tool as a function: no agent, no hooks. Throws a ToolError when one edit is refused, and then
 * nothing was changed.
 *
 * @example
 * ```ts
 * import { multiEdit, write } from "crochet/tools";
 *
 * await write({ file_path: "a.ts", content: "let one = 1;\n" });
 * const edits = [{ old_string: "one", new_string: "two" }, { old_string: "1", new_string: "2" }];
 * console.log((await multiEdit({ file_path: "a.ts", edits })).diff);
 * ```
 */
export async function multiEdit(input: MultiEditInput, options: StandaloneOptions = {}): Promise<EditReport> {
  const { file_path, edits } = parseMultiEdit(input);
  return (await editFile(file_path, edits, standaloneContext("MultiEdit", input, options))).report;
}
