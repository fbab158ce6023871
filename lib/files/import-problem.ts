/** Why a module could not be imported, in one line. */
export interface ImportProblem {
  readonly words: string;
  /** `file:line:column`, if the runtime knows it. */
  readonly place?: string;
}

/** What Bun adds to an error of a module that it cannot read. */
interface Unread {
  readonly message?: string;
  readonly code?: string;
  readonly position?: { readonly file: string; readonly line: number; readonly column: number } | null;
}

/** Says what the error of an `import()` means for the author of the module. */
export function importProblem(error: unknown): ImportProblem {
  // Of several mistakes Bun only counts: the first is where to begin.
  if (error instanceof AggregateError && error.errors.length > 0) return importProblem(error.errors[0]);
  const { message = String(error), code, position } = (error ?? {}) as Unread;
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?ts\b/.test(message)) {
    return { words: "this Node reads no TypeScript: run it with Bun, Deno, or Node 22.18 or newer" };
  }
  const words = message.split("\n", 1)[0]!;
  if (
    error instanceof SyntaxError &&
    /^(Cannot use import statement outside a module|Unexpected token 'export')$/.test(words)
  ) {
    return { words: `Node takes it for CommonJS: put "type": "module" into package.json, or name it .mts or .mjs` };
  }
  return position ? { words, place: `${position.file}:${position.line}:${position.column}` } : { words };
}
