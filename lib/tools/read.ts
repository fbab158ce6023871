import type { Buffer } from "node:buffer";
import { readdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Block } from "../core/messages.ts";
import { type Tool, type ToolContext, ToolError } from "../core/tool.ts";
import { absolute, confine, type FilePlace, readRegular, throwAs } from "../files/confine.ts";
import { binaryWords, encodingOf, isBinary } from "../files/text-bytes.ts";
import { nearest } from "../input/nearest.ts";
import { recordRead } from "../files/file-history.ts";
import { tool } from "./make-tool.ts";
import { type ImageFacts, imageFacts, imageProblem } from "./reading/image.ts";
import { type NotebookFile, notebookFile, renderNotebook } from "./reading/notebook.ts";
import { LONGEST_LINE, MOST_LINES, MOST_TEXT, renderText, type TextFile, textFile } from "./reading/read-text.ts";
import { standaloneContext, type StandaloneOptions } from "./standalone.ts";

/** What a call of Read says. */
export interface ReadInput {
  /** Absolute, or relative to the working directory. */
  readonly file_path: string;
  /** The first line (in a notebook: cell) to show, counted from 1. @default 1 */
  readonly offset?: number;
  /** How many lines (in a notebook: cells) to show. @default 2000 */
  readonly limit?: number;
}

/** The structured result hooks read, in the form Claude Code gives it. */
export type ReadResponse =
  | { readonly type: "text"; readonly file: TextFile }
  | { readonly type: "image"; readonly file: { base64: string; type: ImageFacts["type"]; originalSize: number } }
  | { readonly type: "pdf"; readonly file: { filePath: string; base64: string; originalSize: number } }
  | { readonly type: "notebook"; readonly file: NotebookFile };

const MIB = 1 << 20;
const MOST_BYTES = 256 * MIB;
const MOST_PDF_BYTES = 10 * MIB;

const DESCRIPTION = `Reads a file.

- Text is returned as numbered lines: the number, right-aligned, then a tab, then the line. The number and the tab are not part of the file. A number alone at the end means that the file ends with a line break.
- By default the first ${MOST_LINES} lines are returned, at most about ${MOST_TEXT} characters; lines over ${LONGEST_LINE} characters are cut. A note at the end says what is missing and which offset and limit return it.
- LF and CRLF are both shown as line breaks. A byte order mark is not shown. UTF-16 with a byte order mark is read as text.
- Images (PNG, JPEG, GIF, WebP) and PDF files are shown to you. Notebooks (.ipynb) are returned as cells with their outputs; offset and limit then count cells.
- Other binary files, directories (use Glob or ls), devices and files over 256 MiB are refused.
- The file must be in the workspace. Edit and Write report if it has changed since you read it.`;

/** Reads a file: text with line numbers, images and PDFs as blocks, notebooks as cells. */
export const Read: Tool<ReadInput> = tool<ReadInput>({
  name: "Read",
  description: DESCRIPTION,
  effect: "read",
  input: {
    type: "object",
    properties: {
      file_path: {
        type: "string",
        minLength: 1,
        description: "The file: an absolute path, or one relative to the working directory",
      },
      offset: { type: "integer", minimum: 0, description: "The first line to show, counted from 1" },
      limit: { type: "integer", minimum: 1, description: `How many lines to show; default: ${MOST_LINES}` },
    },
    required: ["file_path"],
    additionalProperties: false,
  },
  prepare: (input, { cwd }) => ({ ...input, file_path: absolute(input.file_path, cwd) }),
  run: async (input, context) => {
    const response = await readFile(input, context);
    return { content: renderRead(response), response };
  },
  render: renderRead,
});

/**
 * The Read tool as a function: no agent, no hooks. Throws a ToolError with a stable `code` when it refuses.
 *
 * @example
 * ```ts
 * import { read, write } from "crochet/tools";
 *
 * await write({ file_path: "notes.txt", content: "one\ntwo\n" }, { cwd: "." });
 * const { type, file } = await read({ file_path: "notes.txt" }, { cwd: "." });
 * if (type === "text") console.log(file.totalLines, file.content);
 * ```
 */
export async function read(input: ReadInput, options: StandaloneOptions = {}): Promise<ReadResponse> {
  return await readFile(await Read.parse(input), standaloneContext("Read", input, options));
}

async function readFile(
  input: ReadInput,
  context: Pick<ToolContext, "cwd" | "state" | "signal">,
): Promise<ReadResponse> {
  const place = await confine(input.file_path, context);
  const bytes = await bytesOf(place, context.cwd);
  context.signal.throwIfAborted();
  const response = responseOf(place.path, bytes, input);
  recordRead(context.state, place.real, bytes);
  return response;
}

function responseOf(path: string, bytes: Buffer, input: ReadInput): ReadResponse {
  const image = imageFacts(bytes);
  if (image) return imageOf(path, bytes, image);
  if (bytes.toString("latin1", 0, 5) === "%PDF-") return pdfOf(path, bytes);
  if (isBinary(bytes) || encodingOf(bytes) === "utf32") {
    throw new ToolError(binaryWords("read", path), { code: "binary" });
  }
  const notebook = path.endsWith(".ipynb") ? notebookFile(path, bytes.toString("utf8"), input) : undefined;
  return notebook ? { type: "notebook", file: notebook } : { type: "text", file: textFile(path, bytes, input) };
}

async function bytesOf(place: FilePlace, cwd: string): Promise<Buffer> {
  try {
    return (await readRegular(place, "read", MOST_BYTES)).bytes;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") throwAs("read", place, error);
    const names = await similarNames(place.real);
    const hint = names.length > 0 ? ` Did you mean ${names.join(" or ")}?` : "";
    throw new ToolError(`File does not exist. Note: your current working directory is ${cwd}.${hint}`, {
      code: "no_such_file",
    });
  }
}

function imageOf(path: string, bytes: Buffer, image: ImageFacts): ReadResponse {
  const problem = imageProblem(image, bytes.length);
  if (problem) throw new ToolError(`Cannot read the image '${path}' as ${problem.why}`, { code: problem.code });
  return { type: "image", file: { base64: bytes.toString("base64"), type: image.type, originalSize: bytes.length } };
}

function pdfOf(path: string, bytes: Buffer): ReadResponse {
  const refuse = (why: string, code: string): never => {
    throw new ToolError(`Cannot read the PDF '${path}' as ${why}`, { code });
  };
  if (bytes.length > MOST_PDF_BYTES) refuse("it is over 10 MiB: take its text with Bash, e.g. pdftotext", "too_large");
  if (!bytes.subarray(-2048).includes("%%EOF")) refuse("it is damaged or cut off", "damaged");
  if (bytes.includes("/Encrypt")) refuse("it is encrypted: decrypt it first", "encrypted");
  return { type: "pdf", file: { filePath: path, base64: bytes.toString("base64"), originalSize: bytes.length } };
}

/** What the model reads, from the structured result, which a hook may have replaced. */
function renderRead(response: ReadResponse): string | readonly Block[] {
  const source = (media_type: string, data: string) => ({ type: "base64", media_type, data });
  const { type, file } = response ?? {};
  if (type === "text" && typeof file?.content === "string") return renderText(file);
  if (type === "image" && file) return [{ type: "image", source: source(file.type, file.base64) }];
  if (type === "pdf" && file) return [{ type: "document", source: source("application/pdf", file.base64) }];
  if (type === "notebook" && Array.isArray(file?.cells)) return renderNotebook(file);
  throw new TypeError(
    `Cannot show a result of Read as it has another form: expected { type: "text", file: { content } }`,
  );
}

/** Names in the folder of a missing file that it may have been meant to be: those with another extension, else the nearest. */
async function similarNames(path: string): Promise<string[]> {
  const stem = (name: string) => name.toLowerCase().replace(/(?<=.)\..*$/, "");
  const names = (await readdir(dirname(path)).catch(() => [])).sort();
  const alike = names.filter((name) => stem(name) === stem(basename(path)));
  return alike.length > 0 ? alike.slice(0, 3) : [nearest(basename(path), names, 2) ?? []].flat();
}
