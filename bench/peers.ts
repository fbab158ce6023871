/**
 * Crochet against every toolkit one could use in its place, doing the same work against the same server on loopback.
 * Every measurement is a process of its own and contestants take turns; medians with their spread. Read the ratios.
 * `bun run bench/peers.ts [--rounds 3] [--only cold,turns,input,hooks,install] [--out results]`
 */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { here, startServer } from "./_measure.ts";
import { chart } from "./peers/chart.ts";
import { table } from "./peers/table.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "cold,turns,input,hooks,install" },
    out: { type: "string", default: here("results") },
  },
});
const ROUNDS = Number(values.rounds);
/** Whoever needs longer is not measured further: it has lost. One that needs this long once is not asked again. */
const PATIENCE = 120_000;
const ENOUGH = 20_000;
/** In the order in which they are shown, with what `bun add` needs for each. */
const CONTESTANTS: { readonly [name: string]: readonly string[] } = {
  "fetch": [],
  "raw SDK": ["@anthropic-ai/sdk"],
  "crochet": ["crochet"],
  "tool-runner": ["@anthropic-ai/sdk"],
  "ai-sdk": ["ai", "@ai-sdk/anthropic"],
  "pi": ["@earendil-works/pi-agent-core", "@earendil-works/pi-ai"],
  "strands": ["@strands-agents/sdk"],
  "openai-agents": ["@openai/agents", "@openai/agents-extensions", "@ai-sdk/anthropic"],
  "mastra": ["@mastra/core", "@ai-sdk/anthropic"],
};
const NAMES = Object.keys(CONTESTANTS);

/** Median and spread of one measure for one contestant; null where it gave up or has no such thing. */
export type Found = { readonly median: number; readonly least: number; readonly most: number } | null;
export interface Measure {
  readonly title: string;
  readonly unit: string;
  readonly found: { readonly [name: string]: Found };
}

const { server, url } = await startServer();
const measures: Measure[] = [];
try {
  for (const what of values.only.split(",")) await sections()[what]!();
} finally {
  server.kill();
}
mkdirSync(values.out, { recursive: true });
// What was not measured now stays as it was: each measure is compared within itself.
const file = join(values.out, "peers.json");
const before: Measure[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).measures : [];
const fresh = new Map(measures.map((m) => [m.title, m]));
const all = [
  ...before.map((m) => fresh.get(m.title) ?? m),
  ...measures.filter((m) => !before.some((b) => b.title === m.title)),
];
const notes = `${process.arch}, Bun ${process.versions.bun}; contestants take turns`;
writeFileSync(
  file,
  JSON.stringify({ notes, versions: versions(), measures: all }, null, 2) + "\n",
);
writeFileSync(join(values.out, "peers.md"), table(all, notes));
writeFileSync(join(values.out, "peers.svg"), chart(all, notes));
console.log(`\n${table(all, notes)}\nwritten to ${values.out}`);

function sections(): { readonly [name: string]: () => Promise<void> } {
  return {
    async cold() {
      await measure("cold start to first request", "ms", NAMES, async (name) => {
        const started = performance.timeOrigin + performance.now();
        await contestant(name, "cold");
        return await (await fetch(`${url}/seen`)).json() - started;
      }, ROUNDS * 3);
    },
    async turns() {
      for (const bytes of [2, 2048]) {
        const perTurn = new Map<number, Measure>();
        for (const k of [10, 100, 1000]) {
          const memory: { [name: string]: number[] } = {};
          const label = bytes === 2 ? "2 B" : "2 KiB";
          const found = await measure(`CPU per turn, ${k} turns, ${label} results`, "ms", NAMES, async (name) => {
            const ran = await contestant(name, "turns", k, bytes);
            if (ran.calls !== k + 1) throw new Error(`Cannot compare ${name} as it made ${ran.calls} calls`);
            (memory[name] ??= []).push(ran.memory);
            return ran.cpu / k;
          }, k === 1000 ? Math.min(ROUNDS, 3) : ROUNDS);
          perTurn.set(k, found);
          if (k === 1000 && bytes === 2048) {
            add("peak memory, 1000 turns, 2 KiB results", "MiB", NAMES, (name) => memory[name] ?? []);
          }
        }
        add(`growth of CPU per turn, exponent, ${bytes === 2 ? "2 B" : "2 KiB"} results`, "", NAMES, (name) => {
          const [few, many] = [perTurn.get(100)!.found[name], perTurn.get(1000)!.found[name]];
          return few && many ? [Math.log10(many.median / few.median)] : [];
        });
      }
    },
    async input() {
      await measure("256 KiB of streamed tool input", "ms CPU", NAMES, async (name) => {
        const ran = await contestant(name, "input", 262_144);
        if (ran.input < 262_144) throw new Error(`Cannot compare ${name} as it read ${ran.input} characters`);
        return ran.cpu;
      });
    },
    /** A hundred hooks that do nothing against none: what one costs. */
    async hooks() {
      const [few, many, turns] = [1, 101, 300];
      const able = ["crochet", "ai-sdk", "pi", "strands", "openai-agents"];
      await measure("one hook before a tool call", "µs", able, async (name) => {
        const [without, with_] = [
          await contestant(name, "turns", turns, 2, few),
          await contestant(name, "turns", turns, 2, many),
        ];
        return (with_.cpu - without.cpu) / turns / (many - few) * 1000;
      });
    },
    /** What comes into a project with it. */
    async install() {
      const sizes = new Map<string, { packages: number; mib: number }>();
      for (const name of NAMES) sizes.set(name, install(CONTESTANTS[name]!));
      add("packages installed", "", NAMES, (name) => [sizes.get(name)!.packages]);
      add("size installed", "MiB", NAMES, (name) => [sizes.get(name)!.mib]);
    },
  };
}

async function measure(
  title: string,
  unit: string,
  names: readonly string[],
  once: (name: string) => Promise<number>,
  rounds = ROUNDS,
): Promise<Measure> {
  const all = new Map(names.map((name) => [name, [] as number[]]));
  const settled = new Set<string>();
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      if (settled.has(name)) continue;
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${title}: ${name}, round ${round + 1} of ${rounds}`);
      const started = performance.now();
      try {
        // One that fails once gets another try: half an hour of measuring is not to be lost to a peer's bad minute.
        const again = (error: { killed?: boolean }) => error.killed ? Promise.reject(error) : once(name);
        all.get(name)!.push(await once(name).catch(again));
      } catch (error) {
        if (!(error as { killed?: boolean }).killed) throw error;
        all.delete(name);
      }
      if (performance.now() - started > ENOUGH) settled.add(name);
    }
  }
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  return add(title, unit, names, (name) => all.get(name) ?? []);
}

function add(
  title: string,
  unit: string,
  names: readonly string[],
  samples: (name: string) => readonly number[],
): Measure {
  const found = Object.fromEntries(names.map((name): [string, Found] => {
    const list = samples(name).toSorted((a, b) => a - b);
    return [
      name,
      list.length === 0 ? null : { median: list[Math.floor(list.length / 2)]!, least: list[0]!, most: list.at(-1)! },
    ];
  }));
  const measured = { title, unit, found };
  measures.push(measured);
  console.log(
    `${title}: ${Object.entries(found).map(([name, f]) => `${name} ${f ? f.median.toPrecision(3) : "–"}`).join(" · ")}`,
  );
  return measured;
}

interface Ran {
  readonly calls: number;
  readonly input: number;
  readonly cpu: number;
  readonly memory: number;
}

/** Killed where it takes too long. */
async function contestant(name: string, ...what: (string | number)[]): Promise<Ran> {
  const args = [here("peers/contestant.ts"), name, url, ...what.map(String)];
  const env = { ...process.env, ANTHROPIC_API_KEY: "k", MASTRA_TELEMETRY_DISABLED: "1", OTEL_SDK_DISABLED: "true" };
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env,
    timeout: PATIENCE,
    killSignal: "SIGKILL",
  });
  return stdout.trim() === ""
    ? { calls: 0, input: 0, cpu: 0, memory: 0 }
    : JSON.parse(stdout.trim().split("\n").at(-1)!);
}

function versions(): { readonly [name: string]: string } {
  return JSON.parse(readFileSync(here("package.json"), "utf8")).dependencies;
}

/** Installs into an empty folder, as a user would, and counts. Ours is packed first. */
function install(packages: readonly string[]): { packages: number; mib: number } {
  if (packages.length === 0) return { packages: 0, mib: 0 };
  const dir = mkdtempSync(join(tmpdir(), "crochet-install-"));
  try {
    writeFileSync(join(dir, "package.json"), '{"private":true}');
    const wanted = packages.map((name) => name === "crochet" ? packed(dir) : `${name}@${versions()[name]}`);
    execFileSync(process.execPath, ["add", "--silent", "--ignore-scripts", ...wanted], { cwd: dir, stdio: "ignore" });
    const count = execFileSync("sh", [
      "-c",
      "find node_modules -name package.json -path '*node_modules/*' | sed -n 's#.*node_modules/\\(\\(@[^/]*/\\)\\?[^/]*\\)/package.json$#\\1#p' | wc -l",
    ], { cwd: dir });
    const size = execFileSync("du", ["-sk", "node_modules"], { cwd: dir }).toString();
    return { packages: Number(count), mib: Number(size.split("\t")[0]) / 1024 };
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function packed(dir: string): string {
  const out = execFileSync("npm", ["pack", "--silent", "--pack-destination", dir], { cwd: here("..") }).toString();
  return join(dir, out.trim().split("\n").at(-1)!);
}
