/** A word on more lines than this says nothing about where a text belongs. */
const COMMON = 16;

/**
 * The line (from 1) at which `wanted` fits best by the rare words it shares with the text, or undefined if it
 * shares none. Linear: each word of the wanted text votes for at most a few places.
 */
export function nearestLine(lines: readonly string[], wanted: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  const wantedWords = wanted.map((line) => new Set(wordsOf(line)));
  for (const words of wantedWords) for (const word of words) places.set(word, []);
  lines.forEach((line, i) => {
    for (const word of wordsOf(line)) {
      const at = places.get(word);
      if (at !== undefined && at.length <= COMMON && at.at(-1) !== i) at.push(i);
    }
  });
  const votes = new Map<number, number>();
  wantedWords.forEach((words, j) => {
    for (const word of words) {
      const at = places.get(word)!;
      if (at.length > COMMON) continue;
      for (const i of at) votes.set(i - j, (votes.get(i - j) ?? 0) + 1 / at.length);
    }
  });
  let best: number | undefined, most = 0.5;
  for (const [offset, count] of votes) {
    if (count > most || (count === most && best === undefined)) [best, most] = [offset, count];
  }
  return best === undefined ? undefined : Math.max(0, best) + 1;
}

function wordsOf(line: string): string[] {
  // The pattern that knows all letters takes several times as long, and most lines do not need it.
  return line.match(/[\u0080-\uffff]/.test(line) ? /[\p{L}\p{N}_]+/gu : /\w+/g) ?? [];
}
