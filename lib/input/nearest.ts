import { EVENT_NAMES, kebab, type ResolvedName, resolveEvent } from "../core/names.ts";

/** As `resolveEvent`, but an unknown name is an error that names the nearest one. */
export function expectEvent(name: string): ResolvedName {
  const found = resolveEvent(name);
  if (found) return found;
  throw new TypeError(
    `Cannot hook event '${name}' as there is no such event: did you mean '${nearest(kebab(name), EVENT_NAMES)}'?`,
  );
}

/** The candidate with the fewest single-character edits from `word`, of which there are at most so many. */
export function nearest(word: string, candidates: readonly string[], most = Infinity): string | undefined {
  let best: string | undefined;
  let distance = most + 1;
  for (const candidate of candidates) {
    const d = edits(word, candidate);
    if (d < distance) [best, distance] = [candidate, d];
  }
  return best;
}

/** Two neighbours that changed places are one edit. */
function edits(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j]!, before[j - 2]! + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
