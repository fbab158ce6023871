/**
 * How often something is tried: the small count in `npm test`, `more` in `test:more`, the full one in `test:long`. Deno then
 * takes a quarter: Bun tries the rest, and what is left to see is that the runtime makes no difference.
 */
export function rounds(small: number, full: number, more = small): number {
  if (process.env.CROCHET_TEST_LONG) return "Deno" in globalThis ? Math.max(small, Math.ceil(full / 4)) : full;
  return process.env.CROCHET_TEST_MORE ? more : small;
}

/** The same for laws over generated values, half of the smaller counts under Deno. */
export function tries(small: number, full: number, more = small): number {
  const part = (count: number) => "Deno" in globalThis ? Math.ceil(count / 2) : count;
  return rounds(part(small), full, part(more));
}

/** Rows of a table: the first few in `npm test`, all of them in `test:more` and `test:long`. */
export function rows<T>(small: number, table: readonly T[]): readonly T[] {
  return process.env.CROCHET_TEST_MORE || process.env.CROCHET_TEST_LONG ? table : table.slice(0, small);
}
