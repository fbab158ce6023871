import { HookLoadError, type Position, positionOf } from "./file/load-error.ts";

/** Of a part of the document: keys and places in lists. */
export type Path = readonly (string | number)[];

/** A YAML (or JSON) text as data, which still knows where each part of it stood. */
export interface YamlText {
  readonly value: unknown;
  /** Where the value at a path begins, or the nearest thing around it. */
  readonly at: (path: Path) => Position;
  /** The error for what is wrong with the value at a path. */
  readonly mistake: (path: Path, why: string) => HookLoadError;
  /** A text of the document with spaces for everything before it, so that places in it are places in the file. */
  readonly inPlace: (path: Path) => string | undefined;
}

/** Reads one YAML document; a mistake is an error with its place. */
export async function readYaml(text: string, file: string): Promise<YamlText> {
  const { isNode, isScalar, LineCounter, parseDocument, visit } = await import("yaml");
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const place = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return line > 0 ? { line, column: col } : positionOf(text, offset);
  };
  const [mistake] = document.errors;
  if (mistake) throw new HookLoadError(file, place(mistake.pos[0]), `it is not valid YAML: ${mistake.message}`);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    let at = 0;
    visit(document, { Alias: (_, node) => node.resolve(document) ? undefined : (at = node.range![0], visit.BREAK) });
    throw new HookLoadError(file, place(at), `it is not valid YAML: ${(error as Error).message}`);
  }
  const at = (path: Path): Position => {
    for (let length = path.length; length >= 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return place(node.range[0]);
    }
    return { line: 1, column: 1 };
  };
  return {
    value,
    at,
    mistake: (path, why) => new HookLoadError(file, at(path), why),
    inPlace(path) {
      const node = document.getIn(path, true);
      if (!isScalar(node) || typeof node.value !== "string" || !node.range) return undefined;
      const [from, to] = node.range;
      const block = node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED";
      // A quoted text has escapes: its characters are not those of the file.
      if (!block && node.type !== "PLAIN") return spaces(text.slice(0, from)) + node.value;
      const start = block ? text.indexOf("\n", from) + 1 : from;
      return spaces(text.slice(0, start)) + text.slice(start, to);
    },
  };
}

function spaces(text: string): string {
  return text.replace(/[^\n]/g, " ");
}
