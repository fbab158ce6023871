import type { Exchange } from "./exchange.ts";

/** Where an exchange went, without what may be a key: Gemini's stands in the query. */
export function placeOf({ method, url = "" }: Exchange): string {
  return `${method} ${url.replace(/[?#][^]*$/, "").replace(/\/\/[^/@]*@/, "//")}`;
}

/** An exchange that does not become a call, and why: of one, and of several. */
export interface Left {
  readonly place: string;
  readonly one: string;
  readonly several: string;
}

/** What was left out, in one sentence for each reason: a browser's archive has hundreds. */
export function leftOut(left: readonly Left[]): string[] {
  return [...Map.groupBy(left, ({ several }) => several)].map(([several, of]) => {
    const [{ one }] = of as [Left];
    const [first, ...others] = new Set(of.map(({ place }) => place));
    const places = others.length > 0 ? firstOf([first!, ...others]) : `${first} (${of.length} times)`;
    return of.length === 1 ? `left out ${first}, which ${one}` : `left out ${places}, which ${several}`;
  });
}

/** The first of several texts, and how many more there are. */
function firstOf(texts: readonly string[]): string {
  const more = texts.length > 3 ? ` and ${texts.length - 3} more` : "";
  return `${texts.slice(0, 3).join(", ")}${more}`;
}

/** What is true of some calls, in one sentence. */
export function ofCalls(is: readonly boolean[], one: string, several: string): string[] {
  const calls = is.flatMap((isSo, i) => isSo ? [i + 1] : []);
  if (calls.length === 0) return [];
  return [calls.length === 1 ? `call ${calls[0]} ${one}` : `calls ${ranges(calls)} ${several}`];
}

/** `1-3, 7`. */
function ranges(numbers: readonly number[]): string {
  const all = new Set(numbers);
  const starts = numbers.filter((n) => !all.has(n - 1));
  const ends = numbers.filter((n) => !all.has(n + 1));
  return starts.map((start, i) => start === ends[i] ? String(start) : `${start}-${ends[i]}`).join(", ");
}

/** What a recording holds instead, so that its owner sees at a glance whether it is the wrong file. */
export function others(exchanges: readonly Exchange[]): string {
  const held = [...new Set(exchanges.map(placeOf))];
  return held.length === 0 ? "" : `: it has ${firstOf(held)}`;
}
