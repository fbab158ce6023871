/**
 * The gate against growing slower: what the loop, dispatch, replay and Edit cost, each as a ratio to a floor that is
 * measured beside it, compared with `baseline.json`. `bun run bench:check` fails where one is over its baseline by
 * half; `bun run bench/check.ts --write` keeps what is measured as the new baseline.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { here, median, startServer } from "./_measure.ts";

/** Machines differ and are shared: less than this is not told from noise. */
const MARGIN = 1.5;
const ROUNDS = 5;
const BASELINE = here("baseline.json");

function printed(script: string, ...args: (string | number)[]): Record<string, any> {
  const out = execFileSync(process.execPath, [here(script), ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(out.toString().trim().split("\n").at(-1)!);
}

/** Ours over the floor, taken in turns; the median of the rounds' own ratios. */
function ratio(ours: () => number, floor: () => number): number {
  return median(Array.from({ length: ROUNDS }, () => ours() / floor()));
}

const { server, url } = await startServer();
const dir = mkdtempSync(join(tmpdir(), "crochet-bench-"));

/** What is measured, by name. */
const CHECKS: { readonly [name: string]: () => number } = {
  "loop: CPU of 200 turns with 2 KiB results, against the SDK's stream helper": () => {
    const cpu = (name: string) => () => printed("contestant.ts", name, url, "turns", 200, 2048).cpu as number;
    return ratio(cpu("ours"), cpu("helper"));
  },
  "loop: CPU of 256 KiB streamed tool input, against the SDK's stream helper": () => {
    const cpu = (name: string) => () => printed("contestant.ts", name, url, "input", 262_144).cpu as number;
    return ratio(cpu("ours"), cpu("helper"));
  },
  "dispatch: one event through ten hooks in code, against ten JSON round trips of it": () => {
    const cpu = (name: string) => () => printed("dispatch-contestant.ts", name).cpu as number;
    return ratio(cpu("hooks"), cpu("json"));
  },
  "replay: CPU of a run of 20 calls, against one answered by msw": () => {
    const cpu = (name: string) => () => printed("replay-contestant.ts", name, 200).cpu as number;
    return ratio(cpu("seam"), cpu("msw"));
  },
  "edit: one edit of 10 MB, against read, write and rename": () => {
    const path = join(dir, "file.ts");
    const half = '  const value = compute("some text that is here to fill the line");\n'.repeat(75_000);
    const ms = (name: string) => () => {
      writeFileSync(path, `${half}TOKEN-A${half}`);
      return median(printed("edit-contestant.ts", name, path, 8).ms as number[]);
    };
    return ratio(ms("crochet"), ms("floor"));
  },
};

const found: { [name: string]: number } = {};
try {
  for (const [name, measure] of Object.entries(CHECKS)) {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}`);
    found[name] = measure();
  }
} finally {
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  server.kill();
  rmSync(dir, { recursive: true });
}

if (process.argv.includes("--write")) {
  const rounded = Object.fromEntries(
    Object.entries(found).map(([name, value]) => [name, Number(value.toPrecision(3))]),
  );
  writeFileSync(BASELINE, JSON.stringify(rounded, null, 2) + "\n");
}
const baseline: { [name: string]: number } = JSON.parse(readFileSync(BASELINE, "utf8"));
let slower = 0;
for (const [name, value] of Object.entries(found)) {
  const was = baseline[name];
  const bad = was === undefined || value > was * MARGIN;
  if (bad) slower++;
  console.log(`${bad ? "SLOWER" : "ok    "} ${value.toFixed(2)}x, baseline ${was?.toFixed(2) ?? "none"}x: ${name}`);
}
process.exit(slower > 0 ? 1 : 0);
