import { test } from "node:test";
import fc from "fast-check";

/** How long each reader is fed: `bun run fuzz` sets a longer time. */
const SECONDS = Number(process.env.CROCHET_FUZZ_SECONDS ?? 1);
/** The same food each time, but in a run of its own another. */
const SEED = process.env.CROCHET_FUZZ_SECONDS === undefined ? 1 : Date.now() % 2 ** 31;

/** What is fed however slow the machine is. */
const LEAST = 50;

interface Target {
  /** Good inputs, which are damaged. */
  readonly corpus: readonly string[];
  /** What the reader's language is made of; put in anywhere. */
  readonly words: readonly string[];
  /** Fails where the reader does anything but read the text or refuse it with its own error. */
  read(text: string): unknown;
}

/** Feeds damaged inputs to a reader of foreign text, for a time, and demands that it always reads or refuses them. */
export function fuzz(title: string, { corpus, words, read }: Target): void {
  test(title, async () => {
    const property = fc.asyncProperty(damaged(corpus, words), async (text) => {
      await read(text);
    });
    const began = performance.now();
    await fc.assert(property, { seed: SEED, numRuns: LEAST });
    const left = SECONDS * 1000 - (performance.now() - began);
    if (left <= 0) return;
    await fc.assert(property, { seed: SEED + 1, numRuns: 10_000_000, interruptAfterTimeLimit: left });
  });
}

/** Passes where the reader reads, or refuses in our own words, which it gives; an error of the engine is thrown on. */
export async function refusing(
  read: () => unknown,
  kind: abstract new (...args: never[]) => Error = Error,
): Promise<string | undefined> {
  try {
    await read();
  } catch (error) {
    const { message } = error as Error;
    // Engines throw these two as well: such an error is ours by its words, any other by its class.
    const isOurs = kind !== Error && kind !== TypeError || isRefusal(message);
    if (!(error instanceof kind) || !isOurs) throw error;
    return message;
  }
}

/** Whether these are our own words for something that cannot be read; engines say "Cannot read properties" too. */
export function isRefusal(message: string): boolean {
  return /^Cannot [^]* as /.test(message) && !/^Cannot \w+ propert/.test(message);
}

/** One damage: a part taken out or doubled, or a word, a character or a part of another input put in. */
interface Damage {
  readonly at: number;
  readonly length: number;
  /** What is put in; "twice" and "nothing" are for the part that is there. */
  readonly put: string;
}

function damaged(corpus: readonly string[], words: readonly string[]): fc.Arbitrary<string> {
  const put = fc.oneof(
    fc.constantFrom("twice", "nothing"),
    fc.constantFrom(...words),
    fc.constantFrom(
      "\0",
      "\n",
      "\r\n",
      '"',
      "'",
      "\\",
      "\u2028",
      "\ud800",
      "é",
      "💥",
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      "#",
      "-1",
      "1e999",
    ),
    fc.constantFrom("__proto__", "constructor", "toString", "null", "true", "{}", "[[[[[[[[", "a".repeat(5000)),
    fc.tuple(fc.constantFrom(...corpus), fc.nat(), fc.nat({ max: 200 })).map(([text, at, length]) =>
      text.slice(at % (text.length + 1)).slice(0, length)
    ),
    fc.string({ unit: "binary", maxLength: 8 }),
  );
  const damage: fc.Arbitrary<Damage> = fc.record({ at: fc.nat(), length: fc.nat({ max: 40 }), put });
  return fc.tuple(fc.constantFrom(...corpus), fc.array(damage, { maxLength: 6 })).map(([text, damages]) =>
    damages.reduce(apply, text)
  );
}

function apply(text: string, { at, length, put }: Damage): string {
  const from = at % (text.length + 1);
  const part = text.slice(from, from + length);
  const replacement = put === "twice" ? part + part : put === "nothing" ? "" : put;
  return text.slice(0, from) + replacement + text.slice(put === "twice" || put === "nothing" ? from + length : from);
}
