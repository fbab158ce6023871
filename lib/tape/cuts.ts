/** Where a streamed body is cut into pieces: every so many bytes, or at the positions given for a body of that length. */
export type Cuts = number | ((length: number) => Iterable<number>);

/** @throws {TypeError} if a body cannot be cut like this */
export function checkCuts(at: Cuts): void {
  if (typeof at === "function" || (Number.isInteger(at) && at > 0)) return;
  throw new TypeError(`Cannot cut a body every ${at} bytes: give cutAt a whole number above 0, or a function`);
}

/** The pieces of a body, also inside a character; together they are the body. */
export function cut(bytes: Uint8Array, at: Cuts): Uint8Array[] {
  checkCuts(at);
  const positions = typeof at === "function"
    ? [...new Set(at(bytes.length))].filter((end) => end > 0 && end < bytes.length).sort((a, b) => a - b)
    : Array.from({ length: Math.max(0, Math.ceil(bytes.length / at) - 1) }, (_, i) => (i + 1) * at);
  return [...positions, bytes.length].map((end, i) => bytes.subarray(positions[i - 1] ?? 0, end));
}
