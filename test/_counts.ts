/**
 * How often something is tried: the small count in every run, the full one in `test:long`. Deno then takes a quarter:
 * Bun tries the rest, and what is left to see is that the runtime makes no difference.
 */
export function rounds(small: number, full: number): number {
  if (!process.env.CROCHET_TEST_LONG) return small;
  return "Deno" in globalThis ? Math.max(small, Math.ceil(full / 4)) : full;
}

/** The same for laws over generated values, half of the small count under Deno. */
export function tries(small: number, full: number): number {
  return rounds("Deno" in globalThis ? Math.ceil(small / 2) : small, full);
}
