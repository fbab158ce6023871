/** Where a streamed body is cut into pieces: every so many bytes, or at the positions given for a body of that length. */
export type Cuts = number | ((length: number) => Iterable<number>);

/** The pieces of a body, also inside a character; together they are the body. */
export function cut(bytes: Uint8Array, at: Cuts): Uint8Array[] {
  const positions = typeof at === "function"
    ? [...new Set(at(bytes.length))].filter((end) => end > 0 && end < bytes.length).sort((a, b) => a - b)
    : Array.from({ length: Math.max(0, Math.ceil(bytes.length / at) - 1) }, (_, i) => (i + 1) * at);
  return [...positions, bytes.length].map((end, i) => bytes.subarray(positions[i - 1] ?? 0, end));
}
