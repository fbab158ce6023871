/** What there is to run: each test file under each runtime, in `npm test`, in `test:more`, or in both. */
import { globSync, readFileSync } from "node:fs";

type Runtime = "bun" | "deno";

export interface Entry {
  readonly runtime: Runtime;
  readonly file: string;
  /** Whether `test:more` runs it, with its counts (_counts.ts). */
  readonly more: boolean;
  /** Whether `npm test` runs it too, with small counts. */
  readonly again: boolean;
}

export const TIMES = "test/times.json";
/** In units, for a file that was not measured: more than most cost. */
export const UNKNOWN = 0.5;

/** These start both runtimes themselves, or none of ours: a browser, a compiler. */
const ONCE = /^test\/(?:house|docs|package)\/|\.once(?:\.more)?\.test\.ts$/;

/** Every entry. `isQuickOnDeno`: whether `npm test` runs a file under Deno. */
export function allEntries(isQuickOnDeno: (file: string) => boolean): Entry[] {
  return globSync("test/**/*.test.ts").sort().flatMap((file) =>
    (["bun", "deno"] as const).flatMap((runtime): Entry[] => {
      if (runtime === "deno" && ONCE.test(file)) return [];
      const quick = !file.endsWith(".more.test.ts") && (runtime === "bun" || isQuickOnDeno(file));
      if (!quick) return [{ runtime, file, more: true, again: false }];
      const own = { runtime, file, more: false, again: false };
      return hasCounts(file) ? [own, { ...own, more: true, again: true }] : [own];
    })
  );
}

function hasCounts(file: string): boolean {
  return /\/_counts\.ts"/.test(readFileSync(file, "utf8"));
}

/** The name of an entry in the file of times. */
export function keyOf({ runtime, file, again }: Entry): string {
  return `${runtime} ${file}${again ? " again" : ""}`;
}

/** What an entry costs, in units, as measured alone. */
export function costs(): (entry: Entry) => number {
  const times: Record<string, number> = JSON.parse(readFileSync(TIMES, "utf8"));
  return (entry) => times[keyOf(entry)] ?? times[`${entry.runtime} ${entry.file}`] ?? UNKNOWN;
}
