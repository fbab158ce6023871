/** How many items are worked on at a time, and what ends it. */
interface Pace {
  readonly atOnce: number;
  readonly signal: AbortSignal;
}

/** Does the same for each item, a few at a time; the results in the order of the items, without those an abort left out. */
export async function eachOf<I, O>(
  items: readonly I[],
  { atOnce, signal }: Pace,
  work: (item: I) => Promise<O>,
): Promise<O[]> {
  const results: O[] = [];
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < items.length && !signal.aborted; i = next++) results[i] = await work(items[i]!);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
  return Object.values(results); // without the holes
}
