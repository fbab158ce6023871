import { parsed } from "../../core/json.ts";
import { MOST_TEXT } from "./read-text.ts";

/** One cell of a notebook as hooks read it. */
interface NotebookCell {
  readonly cellType: string;
  readonly cell_id?: string;
  readonly source: string;
  readonly execution_count?: number;
  /** Outputs as text; other outputs by their kind and size. */
  readonly outputs?: readonly string[];
}

export interface NotebookFile {
  readonly filePath: string;
  readonly cells: readonly NotebookCell[];
  /** The number of the first cell shown, counted from 1. */
  readonly startCell: number;
  readonly totalCells: number;
  readonly notice?: string;
}

/** An output is cut here, in UTF-16 units. */
const LONGEST_OUTPUT = 10_000;

/** The cells of a notebook, or undefined if the text is not a notebook: then it is read as any other text. */
export function notebookFile(
  filePath: string,
  text: string,
  { offset, limit }: { readonly offset?: number | undefined; readonly limit?: number | undefined },
): NotebookFile | undefined {
  const given = cellsIn(text);
  if (!given) return undefined;
  const startCell = Math.max(1, offset ?? 1);
  const wanted = given.slice(startCell - 1, limit === undefined ? undefined : startCell - 1 + limit).map(cellOf);
  let size = 0;
  const over = wanted.findIndex((cell) => (size += renderCell(cell, 1).length) > MOST_TEXT);
  const cells = over < 0 ? wanted : wanted.slice(0, Math.max(over, 1));
  const end = startCell + cells.length - 1;
  const notice = cells.length === 0 && given.length > 0
    ? `The notebook has ${given.length} cells: offset ${startCell} is past its end`
    : end < given.length
    ? `Cells ${startCell} to ${end} of ${given.length}: to go on, set offset to ${end + 1}`
    : undefined;
  return { filePath, cells, startCell, totalCells: given.length, ...(notice !== undefined && { notice }) };
}

export function renderNotebook({ cells, startCell, totalCells, notice }: NotebookFile): string {
  const note = notice ? [`[${notice}]`] : [];
  if (totalCells === 0) return "[The notebook has no cells]";
  return [...cells.map((cell, i) => renderCell(cell, startCell + i)), ...note].join("\n\n");
}

function renderCell(
  { cellType, cell_id, source, execution_count, outputs = [] }: NotebookCell,
  number: number,
): string {
  const id = cell_id === undefined ? "" : ` id="${cell_id}"`;
  const count = execution_count === undefined ? "" : ` execution_count="${execution_count}"`;
  const shown = outputs.map((output) => `\n<output>\n${output}\n</output>`).join("");
  return `<cell number="${number}" type="${cellType}"${id}${count}>\n${source}\n</cell>${shown}`;
}

type Loose = { readonly [key: string]: unknown };

function cellsIn(text: string): Loose[] | undefined {
  const { cells } = Object(parsed(text));
  return Array.isArray(cells) && cells.every((cell) => typeof cell === "object" && cell !== null) ? cells : undefined;
}

function cellOf(cell: Loose): NotebookCell {
  const outputs = Array.isArray(cell.outputs) ? cell.outputs.map((output) => outputText(output as Loose)) : [];
  return {
    cellType: String(cell.cell_type ?? "raw"),
    ...(typeof cell.id === "string" && { cell_id: cell.id }),
    source: lines(cell.source),
    ...(typeof cell.execution_count === "number" && { execution_count: cell.execution_count }),
    ...(outputs.length > 0 && { outputs }),
  };
}

function outputText(output: Loose): string {
  if (output.output_type === "stream") return clipped(lines(output.text));
  if (output.output_type === "error") {
    const trace = Array.isArray(output.traceback) ? output.traceback.join("\n") : "";
    // deno-lint-ignore no-control-regex
    return clipped(`${output.ename}: ${output.evalue}\n${trace}`.replace(/\x1b\[[0-9;]*m/g, "").trimEnd());
  }
  const data = (output.data ?? {}) as Loose;
  const parts = Object.entries(data)
    .filter(([type]) => !type.startsWith("text/") || type === "text/plain")
    .map(([type, value]) => type === "text/plain" ? lines(value) : `[${type}, ${lines(value).length} characters]`);
  return clipped(parts.join("\n"));
}

/** Notebooks keep text as one string or as a list of lines that hold their line breaks. */
function lines(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.join("");
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

function clipped(text: string): string {
  if (text.length <= LONGEST_OUTPUT) return text;
  return `${text.slice(0, LONGEST_OUTPUT)} [cut: read all ${text.length} characters with Bash, for example jq]`;
}
