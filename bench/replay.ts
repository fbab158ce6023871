/**
 * How fast a recorded run is replayed, against the tools people use for that with the SDK; how long `crochet replay`
 * takes from a cold start; and whether a process that replays a thousand fixtures grows. Every measurement is a process
 * of its own and contestants take turns: read the ratios.
 * `bun run bench/replay.ts [--rounds 5] [--runs 200] [--only speed,cold,memory]`
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { here, median } from "./_measure.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    runs: { type: "string", default: "200" },
    only: { type: "string", default: "speed,cold,memory" },
  },
});
const rounds = Number(values.rounds);
const wanted = (what: string) => values.only.split(",").includes(what);

if (wanted("speed")) speed();
if (wanted("cold")) cold();
if (wanted("memory")) memory();

/** Replays of a 20-call streaming run. */
function speed(): void {
  const names = ["seam", "wire", "aimock", "polly", "nock", "msw"];
  const runs = new Map(names.map((name) => [name, [] as number[]]));
  const cpu = new Map(names.map((name) => [name, [] as number[]]));
  for (let i = 0; i < rounds; i++) {
    for (const name of names) {
      const measured = JSON.parse(
        execFileSync(process.execPath, [
          here("replay-contestant.ts"),
          name,
          values.runs,
        ]).toString(),
      );
      runs.get(name)!.push(measured.runs);
      cpu.get(name)!.push(measured.cpu);
    }
  }
  const peers = names.slice(2);
  const best = Math.max(...peers.map((name) => median(runs.get(name)!)));
  const leastCpu = Math.min(...peers.map((name) => median(cpu.get(name)!)));
  console.log(
    "replays of a 20-call streaming run, median; against the best of the peers",
  );
  for (const name of names) {
    const [r, c] = [median(runs.get(name)!), median(cpu.get(name)!)];
    console.log(
      `  ${name.padEnd(8)} ${r.toFixed(0).padStart(6)} a second  ${(r / best).toFixed(2)}x   ` +
        `${c.toFixed(2).padStart(7)} ms CPU  ${(leastCpu / c).toFixed(2)}x`,
    );
  }
  console.log();
}

/** From the start of the process to its end. */
function cold(): void {
  const root = here("..");
  const home = mkdtempSync(join(tmpdir(), "crochet-bench-"));
  const options = { cwd: root, stdio: "pipe", env: { ...process.env, CROCHET_HOME: home } } as const;
  execFileSync(here("../lib/cli/crochet"), ["trust"], options);
  const bun = [process.execPath, "run"];
  const commands: Record<string, string[]> = {
    empty: [...bun, here("cold/empty.ts")],
    replay: [...bun, here("../lib/cli/main.ts"), "replay", "hello"],
    launcher: [here("../lib/cli/crochet"), "replay", "hello"],
  };
  const times = new Map(
    Object.keys(commands).map((name) => [name, [] as number[]]),
  );
  for (let i = 0; i < rounds * 4; i++) {
    for (const [name, [command, ...args]] of Object.entries(commands)) {
      const began = performance.now();
      execFileSync(command!, args, options);
      times.get(name)!.push(performance.now() - began);
    }
  }
  rmSync(home, { recursive: true });
  const least = (name: string) => Math.min(...times.get(name)!);
  const middle = (name: string) => median(times.get(name)!);
  console.log("a cold 'crochet replay hello', the least and the median");
  for (const name of times.keys()) {
    console.log(
      `  ${name.padEnd(8)} ${least(name).toFixed(1).padStart(6)} ms  ${
        (least(name) / least("empty")).toFixed(2)
      }x empty   ${middle(name).toFixed(1).padStart(6)} ms  ${(middle(name) / middle("empty")).toFixed(2)}x`,
    );
  }
  console.log();
}

/** A thousand fixtures, one after the other, in one process. */
function memory(): void {
  const lines = execFileSync(process.execPath, [here("replay-many.ts"), "1000"])
    .toString();
  console.log(`memory while 1000 fixtures are replayed\n${lines}`);
}
