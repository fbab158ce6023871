/**
 * The gate against growing slower: what is said of speed, each as a ratio to a floor that is measured beside it, compared
 * with `baseline.json`. `bun run bench:check` fails where one is over its baseline by half; `bun run bench/check.ts
 * --write` keeps what is measured as the new baseline, and `--only WORDS` measures what has these words in its name. An
 * aim fails nothing: it says where we want to be.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { here, median, startServer } from "./_measure.ts";

const { values } = parseArgs({ options: { write: { type: "boolean" }, only: { type: "string", default: "" } } });
/** Machines differ and are shared: less than this is not told from noise. */
const MARGIN = 1.5;
const ROUNDS = 5;
const BASELINE = here("baseline.json");
const SDK = "against a loop on the SDK's stream helper";

const { server, url } = await startServer();
const dir = mkdtempSync(join(tmpdir(), "crochet-bench-"));
const env = { ...process.env, CROCHET_HOME: dir, ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: `${url}/turns/cold/0` };

function printed<T = { readonly [name: string]: number }>(script: string, ...args: (string | number)[]): T {
  const out = execFileSync(process.execPath, [here(script), ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
    env,
  });
  return JSON.parse(out.toString().trim().split("\n").at(-1)!);
}

type Measured = number | Promise<number>;

/** Ours over the floor, taken in turns; the median of the rounds' own ratios. */
async function ratio(ours: () => Measured, floor: () => Measured, rounds = ROUNDS): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < rounds; i++) all.push(await ours() / await floor());
  return median(all);
}

/** A loop against the same loop by hand. */
function loop(of: "cpu" | "wall", ...what: (string | number)[]): Promise<number> {
  const one = (name: string) => () => printed("contestant.ts", name, url, ...what)[of]!;
  return ratio(one("ours"), one("helper"));
}

/** Milliseconds of CPU of a whole process. */
function cpuOf(...command: string[]): number {
  const { exitCode, stderr, resourceUsage } = Bun.spawnSync(command, { cwd: here(".."), env });
  if (exitCode !== 0) throw new Error(`Cannot measure '${command.join(" ")}': ${stderr}`);
  return Number(resourceUsage.cpuTime.total) / 1000;
}

interface Check {
  readonly name: string;
  readonly aim?: number;
  readonly measure: () => Measured;
}

const CHECKS: readonly Check[] = [
  {
    name: `cold: from the start of a process to its first request, ${SDK}`,
    aim: 0.6,
    measure: () => {
      const one = (name: string) => async () => {
        const started = performance.timeOrigin + performance.now();
        execFileSync(process.execPath, [here(`cold/${name}.ts`)], { env });
        return await (await fetch(`${url}/seen`)).json() - started;
      };
      return ratio(one("ours"), one("raw"), 3 * ROUNDS);
    },
  },
  {
    name: "log: CPU of the last tenth of 1000 turns that are logged, against the second",
    aim: 1.2,
    measure: () => ratio(() => printed("logged.ts", url, 1000).ratio!, () => 1),
  },
  { name: `loop: CPU of 10 turns with 2 KiB results, ${SDK}`, aim: 1, measure: () => loop("cpu", "turns", 10, 2048) },
  { name: `loop: time of 10 turns with 2 KiB results, ${SDK}`, aim: 1, measure: () => loop("wall", "turns", 10, 2048) },
  {
    name: `loop: CPU of 1000 turns with 2 KiB results, ${SDK}`,
    aim: 0.45,
    measure: () => loop("cpu", "turns", 1000, 2048),
  },
  { name: `loop: CPU of 256 KiB streamed tool input, ${SDK}`, aim: 0.6, measure: () => loop("cpu", "input", 262_144) },
  {
    // A round trip takes about a microsecond.
    name: "dispatch: one event through ten module hooks, against ten JSON round trips of it",
    aim: 1.5,
    measure: () => {
      const one = (name: string) => () => printed("dispatch-contestant.ts", name).cpu!;
      return ratio(one("hooks"), one("json"));
    },
  },
  {
    name: "served: CPU of 'crochet hook' with nothing to say, the worst event of all hosts, against an empty script",
    aim: 2,
    measure: () => printed("served.ts", "--json", "--rounds", 2, "--only", "silent").worst!,
  },
  {
    name: "served: CPU of 'crochet hook' that refuses, the worst event of all hosts, against an empty script",
    aim: 2,
    measure: () => printed("served.ts", "--json", "--rounds", 2, "--only", "refusing").worst!,
  },
  {
    name: "replay: CPU of 'crochet replay hello', against an empty script",
    aim: 9,
    measure: () => {
      const crochet = here("../lib/cli/crochet");
      cpuOf(crochet, "trust");
      cpuOf(crochet, "replay", "hello"); // compiled
      return ratio(() => cpuOf(crochet, "replay", "hello"), () => cpuOf(process.execPath, here("cold/empty.ts")));
    },
  },
  {
    name: "replay: CPU of a run of 20 calls, against one answered by msw",
    measure: () => {
      const one = (name: string) => () => printed("replay-contestant.ts", name, 200).cpu!;
      return ratio(one("seam"), one("msw"));
    },
  },
  {
    // Of a hook that keeps agents going, whole conversations are played.
    name: "check: 'hooks check --runs 200' of a shell Stop hook, against 200 bare calls of it",
    measure: () => {
      const [{ check_ms, bare_ms }] = printed<[{ check_ms: number; bare_ms: number }]>(
        "hooks-check.ts",
        "--json",
        "--rounds",
        3,
        "--only",
        "command, stop",
      );
      return check_ms / bare_ms;
    },
  },
  {
    name: "edit: one edit of 10 MB, against read, write and rename",
    measure: () => {
      const path = join(dir, "file.ts");
      const half = '  const value = compute("some text that is here to fill the line");\n'.repeat(75_000);
      const one = (name: string) => () => {
        writeFileSync(path, `${half}TOKEN-A${half}`);
        return median(printed<{ ms: number[] }>("edit-contestant.ts", name, path, 8).ms);
      };
      return ratio(one("crochet"), one("floor"));
    },
  },
];

const baseline: { [name: string]: number } = JSON.parse(readFileSync(BASELINE, "utf8"));
let slower = 0;
try {
  for (const { name, aim, measure } of CHECKS.filter(({ name }) => name.includes(values.only))) {
    const value = await measure();
    if (values.write) baseline[name] = Number(value.toPrecision(3));
    const was = baseline[name];
    const bad = was === undefined || value > was * MARGIN;
    if (bad) slower++;
    const known = `baseline ${was?.toFixed(2) ?? "none"}x${aim === undefined ? "" : `, aim ${aim}x`}`;
    console.log(`${bad ? "SLOWER" : "ok    "} ${value.toFixed(2)}x, ${known}: ${name}`);
  }
} finally {
  server.kill();
  rmSync(dir, { recursive: true });
}
if (values.write) {
  const kept = CHECKS.flatMap(({ name }) => baseline[name] === undefined ? [] : [[name, baseline[name]]]);
  writeFileSync(BASELINE, JSON.stringify(Object.fromEntries(kept), null, 2) + "\n");
}
process.exit(slower > 0 ? 1 : 0);
