/** How often a law is tried: the small count in every run, the full one in `test:long`. */
export function rounds(small: number, full: number): number {
  return process.env.CROCHET_TEST_LONG ? full : small;
}
