/** A place in a text file; both count from one. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A hook file that cannot be used, with the place to fix. */
export class HookLoadError extends Error {
  override name = "HookLoadError";
  readonly file: string;
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(file: string, at: Position | undefined, why: string) {
    super(`Cannot load ${at ? `${file}:${at.line}:${at.column}` : file} as ${why}`);
    this.file = file;
    this.line = at?.line;
    this.column = at?.column;
  }
}

export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
