/** How often a law is tried: the small count in every run, the full one in `test:long`. */
export function rounds(small: number, full: number): number {
  return process.env.CROCHET_TEST_LONG ? full : small;
}

/**
 * The same for laws over generated values, half as often under Deno: Bun tries them at the same time, and what is left
 * to see is that the runtime makes no difference.
 */
export function tries(small: number, full: number): number {
  return rounds("Deno" in globalThis ? Math.ceil(small / 2) : small, full);
}
