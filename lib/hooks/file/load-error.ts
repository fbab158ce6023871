/** A place in a text file; both count from one. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A hook file that cannot be used, with the place to fix. */
export class HookLoadError extends Error {
  override name = "HookLoadError";
  constructor(file: string, at: Position | undefined, why: string) {
    super(`Cannot load ${at ? `${file}:${at.line}:${at.column}` : file} as ${why}`);
  }
}

export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}
