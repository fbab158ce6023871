/**
 * How long one edit of a file takes, against the floor its rules force and against other Edit tools, interleaved:
 * `bun edit.ts [--rounds N] [--only name,name]`, and the same under `deno run -A`. Read the ratios.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { here, median } from "./_measure.ts";
import { contestants } from "./edit-contestants.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "5" }, only: { type: "string" } } });
const names = values.only?.split(",") ?? Object.keys(contestants);
const runtime = "Deno" in globalThis ? [process.execPath, "run", "-A"] : [process.execPath];
const child = here("edit-contestant.ts");
const directory = mkdtempSync(join(tmpdir(), "crochet-bench-"));

interface Measured {
  ms: number[];
  peak: number;
  why?: string;
}

/** A text of lines like code, with one token in the middle. */
function makeText(size: number): string {
  const line = (i: number) => `  const value${i} = compute(${i}, "some text that is here to fill the line");\n`;
  let half = "";
  for (let i = 0; half.length < Math.min(size, 2_000_000) / 2; i++) half += line(i);
  half = half.repeat(Math.ceil(size / 2 / half.length)).slice(0, size / 2);
  return `${half}TOKEN-A${half}`.slice(0, size);
}

function measure(name: string, text: string, times: number): Measured {
  const path = join(directory, "file.ts");
  writeFileSync(path, text);
  try {
    const [program, ...args] = [...runtime, child, name, path, String(times)];
    const out = JSON.parse(
      execFileSync(program!, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim().split("\n").at(-1)!,
    );
    return out.done ? out : { ms: [], peak: 0, why: "wrong bytes" };
  } catch (error) {
    return {
      ms: [],
      peak: 0,
      why: String((error as { stderr?: string }).stderr ?? error).trim().split("\n").find((l) =>
        /error/i.test(l)
      )?.slice(0, 70) ?? "failed",
    };
  }
}

try {
  for (const [label, size, times] of [["1 MB", 1_000_000, 20], ["100 MB", 100_000_000, 3]] as const) {
    const text = makeText(size);
    const all = new Map(names.map((name) => [name, [] as Measured[]]));
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const name of names) {
        const failed = all.get(name)!.some(({ why }) => why !== undefined);
        if (!failed) all.get(name)!.push(measure(name, text, times));
      }
    }
    const floor = median(all.get("floor")?.flatMap(({ ms }) => ms) ?? []);
    console.log(
      `\n${label}, ${"Deno" in globalThis ? "Deno" : "Bun"}: median of ${Number(values.rounds) * times} edits`,
    );
    for (const [name, measured] of all) {
      const why = measured.find((m) => m.why !== undefined)?.why;
      const ms = median(measured.flatMap(({ ms }) => ms));
      // Of a process that makes one edit: after several the garbage of the earlier ones would be counted too.
      const { peak } = why === undefined ? measure(name, text, 0) : { peak: 0 };
      const figures = `${ms.toFixed(1).padStart(9)} ms ${(ms / floor).toFixed(2).padStart(7)} x floor ${
        (peak / size).toFixed(2).padStart(8)
      } x file in memory`;
      console.log(`${name.padEnd(12)}${why === undefined ? figures : `   ${why}`}`);
    }
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
