/**
 * Which test stands for which founding requirement (S) and rule (U): `bun run trace` prints the table and fails on a gap.
 * A test claims a number by naming it in its title.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** How many requirements each seed has; those without behaviour (non-goals, plans, remarks) need no test. */
export const LAST: Record<string, number> = { "S0.": 32, "S1.": 25, "S2.": 19, "S3.": 42, "S4.": 25, U: 18 };
export const EXEMPT = new Set(
  "S0.1 S0.32 S1.2 S1.22 S1.23 S1.25 S2.16 S2.17 S2.19 S3.30 S3.40 S3.42 S4.19 S4.20 S4.21 S4.22 S4.25".split(" "),
);

/** Every number that needs a test, with the titles of the tests that name it. */
export function trace(): Map<string, string[]> {
  const traced = new Map<string, string[]>();
  for (const [seed, last] of Object.entries(LAST)) {
    for (let n = 1; n <= last; n++) if (!EXEMPT.has(`${seed}${n}`)) traced.set(`${seed}${n}`, []);
  }
  for (const file of testFiles(HERE)) {
    for (const title of titles(readFileSync(file, "utf8"))) {
      for (const number of numbers(title)) traced.get(number)?.push(`${relative(HERE, file)}: ${title}`);
    }
  }
  return traced;
}

function testFiles(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? testFiles(join(dir, entry.name))
      : entry.name.endsWith(".test.ts")
      ? [join(dir, entry.name)]
      : []
  );
}

function titles(source: string): string[] {
  return [...source.matchAll(/\btest\(\s*(?:"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g)].map((m) =>
    m[1] ?? m[2] ?? ""
  );
}

/** `S0.18` and `U7`, and each number of a span such as `S0.18–S0.22` or `S0.18-22`. */
function numbers(title: string): string[] {
  return [...title.matchAll(/\b(S\d\.|U)(\d+)(?:[–-](?:\1)?(\d+))?\b/g)].flatMap(([, seed, first, last]) => {
    const from = Number(first);
    return Array.from({ length: Number(last ?? from) - from + 1 }, (_, i) => `${seed}${from + i}`);
  });
}

if (import.meta.main) {
  const traced = trace();
  for (const [number, tests] of traced) {
    console.log(`${number.padEnd(6)} ${tests[0] ?? "NO TEST"}${tests.length > 1 ? ` (+${tests.length - 1})` : ""}`);
  }
  const gaps = [...traced].filter(([, tests]) => tests.length === 0).map(([number]) => number);
  console.log(
    gaps.length === 0 ? `\n${traced.size} requirements, each named by a test` : `\nNo test names ${gaps.join(", ")}`,
  );
  process.exit(gaps.length === 0 ? 0 : 1);
}
