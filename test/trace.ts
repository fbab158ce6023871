/**
 * Which tests cover which requirement of docs/requirements.md: `npm run trace` prints the table and fails if a number has
 * no test. A test covers a number by naming it in its title.
 */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { filesUnder, ROOT } from "./house/_files.ts";

export const PAGE = join(ROOT, "docs/requirements.md");

/** Every number of the page, and whether a test must name it: those in parentheses, C and P need not be named. */
export function requirements(): Map<string, { mustBeNamed: boolean }> {
  const lines = readFileSync(PAGE, "utf8").matchAll(/^- (\(?)([SUCP]\d+(?:\.\d+)?)\)? /gm);
  return new Map([...lines].map(([, open, number]) => [number!, { mustBeNamed: !open && /^[SU]/.test(number!) }]));
}

/** Every number that the title of a test names, with these titles. */
export function named(): Map<string, string[]> {
  const named = new Map<string, string[]>();
  for (const file of filesUnder(join(ROOT, "test"), ".test.ts")) {
    for (const title of titles(readFileSync(file, "utf8"))) {
      for (const number of numbers(title)) {
        named.set(number, [...named.get(number) ?? [], `${relative(ROOT, file)}: ${title}`]);
      }
    }
  }
  return named;
}

function titles(source: string): string[] {
  return [...source.matchAll(/\btest\(\s*(?:"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g)].map((m) =>
    m[1] ?? m[2] ?? ""
  );
}

/** `S0.18` and `U7`, and each number of a span such as `S0.18–S0.22` or `S0.18-22`. */
export function numbers(text: string): string[] {
  return [...text.matchAll(/\b(S\d\.|[UCP])(\d+)(?:[–-](?:\1)?(\d+))?\b/g)].flatMap(([, series, first, last]) => {
    const from = Number(first);
    return Array.from({ length: Number(last ?? from) - from + 1 }, (_, i) => `${series}${from + i}`);
  });
}

if (import.meta.main) {
  const tests = named();
  const asked = [...requirements()].filter(([, { mustBeNamed }]) => mustBeNamed).map(([number]) => number);
  for (const number of asked) {
    const [first, ...more] = tests.get(number) ?? ["NO TEST"];
    console.log(`${number.padEnd(6)} ${first}${more.length > 0 ? ` (+${more.length})` : ""}`);
  }
  const gaps = asked.filter((number) => !tests.has(number));
  console.log(
    gaps.length === 0 ? `\n${asked.length} requirements, each named by a test` : `\nNo test names ${gaps.join(", ")}`,
  );
  process.exit(gaps.length === 0 ? 0 : 1);
}
