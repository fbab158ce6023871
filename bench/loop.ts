/**
 * How our loop compares with one written by hand on the SDK, and with what the machine needs at least.
 * Every measurement is a process of its own; contestants take turns, so that what the machine does meanwhile meets
 * all of them. Read the ratios: `bun run bench/loop.ts [--rounds 5] [--only turns,input,cold,import]`.
 */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { here, median, startServer } from "./_measure.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    only: { type: "string", default: "turns,input,cold,import" },
  },
});
const rounds = Number(values.rounds);
const wanted = (what: string) => values.only.split(",").includes(what);
const { server, url } = await startServer();

try {
  if (wanted("turns")) await turns();
  if (wanted("input")) await input();
  if (wanted("cold")) await cold();
  if (wanted("import")) await imports();
} finally {
  server.kill();
}

/** CPU for one turn, hooks and all, as the conversation grows. */
async function turns(): Promise<void> {
  const names = ["floor", "helper", "events", "model", "ours"];
  for (const bytes of [2, 2048]) {
    for (const k of [10, 100, 1000]) {
      const found = await interleaved(names, (name) => {
        const { cpu, calls } = measure(name, "turns", k, bytes);
        if (calls !== k + 1) {
          throw new Error(
            `Cannot compare ${name} as it made ${calls} calls: expected ${k + 1}`,
          );
        }
        return cpu / k;
      });
      print(
        `CPU ms per turn, ${k} turns, results of ${bytes} bytes`,
        found,
        "helper",
      );
    }
  }
}

/** CPU for one long tool input, streamed in small pieces: it must grow with the input and no faster. */
async function input(): Promise<void> {
  const names = ["floor", "helper", "events", "model", "ours"];
  const perByte = new Map<number, number>();
  for (const kib of [64, 256, 1024]) {
    const found = await interleaved(names, (name) => {
      const { cpu, input } = measure(name, "input", kib * 1024);
      if (input < kib * 1024) {
        throw new Error(
          `Cannot compare ${name} as it read ${input} characters`,
        );
      }
      return cpu;
    });
    perByte.set(kib, found.get("ours")! / kib);
    print(`CPU ms for ${kib} KiB of streamed tool input`, found, "helper");
  }
  console.log(
    `ours, ms per KiB: ${[...perByte].map(([kib, ms]) => `${kib} KiB ${ms.toFixed(3)}`).join(" · ")}\n`,
  );
}

/** From the start of the process to the arrival of its first request. */
async function cold(): Promise<void> {
  const env = {
    ...process.env,
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: `${url}/turns/cold/0`,
  };
  const names = ["floor", "raw", "ours"];
  const cpu = new Map(names.map((name) => [name, [] as number[]]));
  const found = await interleaved(names, async (name) => {
    const started = performance.timeOrigin + performance.now();
    cpu.get(name)!.push(processCpu(`cold/${name}.ts`, env));
    return await (await fetch(`${url}/seen`)).json() - started;
  }, { times: rounds * 4, of: least });
  print("ms from process start to first request, the least", found, "raw");
  print(
    "CPU ms of that process, median",
    new Map([...cpu].map(([name, list]) => [name, median(list)])),
    "raw",
  );
}

/** What it costs to have crochet at all. */
async function imports(): Promise<void> {
  const found = await interleaved(["empty", "import"], (name) => {
    const started = performance.now();
    processCpu(`cold/${name}.ts`, process.env);
    return performance.now() - started;
  }, { times: rounds * 4, of: least });
  print("ms to import crochet and end, the least", found, "empty");
}

/** Runs a script to its end; the CPU milliseconds its process took, as it says itself. */
function processCpu(script: string, env: NodeJS.ProcessEnv): number {
  const { user, system } = JSON.parse(
    execFileSync(process.execPath, ["run", here(script)], { env }).toString(),
  );
  return (user + system) / 1000;
}

function measure(
  name: string,
  ...what: (string | number)[]
): { cpu: number; calls: number; input: number } {
  return JSON.parse(
    execFileSync(process.execPath, [
      here("contestant.ts"),
      name,
      url,
      ...what.map(String),
    ]).toString(),
  );
}

/** For wall time, which other processes only ever make longer. */
function least(list: readonly number[]): number {
  return Math.min(...list);
}

async function interleaved(
  names: readonly string[],
  run: (name: string) => number | Promise<number>,
  { times = rounds, of = median }: {
    times?: number;
    of?: (list: readonly number[]) => number;
  } = {},
): Promise<Map<string, number>> {
  const all = new Map(names.map((name) => [name, [] as number[]]));
  for (let i = 0; i < times; i++) {
    for (const name of names) all.get(name)!.push(await run(name));
  }
  return new Map([...all].map(([name, list]) => [name, of(list)]));
}

function print(
  title: string,
  found: ReadonlyMap<string, number>,
  base: string,
): void {
  console.log(title);
  for (const [name, value] of found) {
    console.log(
      `  ${name.padEnd(8)} ${value.toFixed(3).padStart(9)}  ${(value / found.get(base)!).toFixed(2)}x ${base}`,
    );
  }
  console.log();
}
