/**
 * What an agent on an engine costs beside a handler that was written for it by hand: the same steps, in one run, in turn.
 * Needs Linux and root: the server runs in a network of its own. `bun run bench/durable.ts [quick]`
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start, type Started, until } from "../test/extensions/durable/_kill.ts";
import { ADMIN, noNamespace, post, serverBinary, startServer } from "../test/extensions/durable/_restate.ts";

type Kind = "agent" | "hand";
const SERVICE: Record<Kind, string> = { agent: "crochet.bench", hand: "hand" };
let runs = 0;

interface Done {
  readonly messages: readonly {
    readonly content: readonly { readonly content?: string }[];
  }[];
}

/** One run of this many calls of the tool; its Result. */
const run = (kind: Kind, calls: number) =>
  post<Done>(`${SERVICE[kind]}/${kind}-${runs++}/run`, {
    prompt: String(calls),
  });

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Of the quicker rounds: whatever else a machine does makes rounds slower, never quicker. */
const typical = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 4)]!;
const show = (value: number) => value.toFixed(2);

/** When each call of the tool was made, by the clock and by what the worker had computed. */
const moments = ({ messages }: Done) =>
  messages.flatMap(({ content }) =>
    content.flatMap((b) => b.content === undefined ? [] : [b.content.split(" ").slice(0, 2).map(Number)])
  );

/** What processes have computed, in milliseconds: other work on the machine does not change that. */
const computed = (all: readonly Started[]) =>
  all.map(({ child }) => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(
      ") ",
    )[1]!.split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  });

async function overhead(
  rounds: number,
  running: readonly Started[],
): Promise<void> {
  const calls = 25;
  const steps = 2 * calls + 1;
  const took: Record<Kind, number[]> = { agent: [], hand: [] };
  for (let i = 0; i < 20; i++) {
    for (const kind of ["agent", "hand"] as const) await run(kind, calls); // until they are compiled
  }
  const work: Record<Kind, number[]> = { agent: [0, 0], hand: [0, 0] };
  for (let i = 0; i < rounds; i++) {
    for (
      const kind of (i % 2 ? ["agent", "hand"] : ["hand", "agent"]) as Kind[]
    ) {
      const before = computed(running);
      took[kind].push(await timed(() => run(kind, calls)) / steps);
      computed(running).forEach((ms, n) => work[kind][n]! += ms - before[n]!);
    }
  }
  const [agent, hand] = [typical(took.agent), typical(took.hand)];
  console.log(
    `per step, ${steps} steps one after the other, first quartile of ${rounds}: agent ${show(agent)} ms, by hand ${
      show(hand)
    } ms: ${show(agent / hand)}x (at most 1.3)`,
  );
  const each = (kind: Kind, n: number) => show(work[kind][n]! / rounds / steps);
  const words = (kind: Kind) => `${kind} ${each(kind, 1)} ms in the worker, ${each(kind, 0)} ms in the server`;
  console.log(`computed per step: ${words("agent")}; ${words("hand")}`);
}

async function flatness(): Promise<void> {
  for (const kind of ["agent", "hand"] as const) {
    const at = moments(await run(kind, 1500));
    const per = (from: number, to: number, by: number) => (at[to - 1]![by]! - at[from]![by]!) / (to - from - 1) / 2;
    const early = [0, 1].map((by) => per(50, 350, by));
    const late = [0, 1].map((by) => per(1200, 1500, by));
    console.log(
      `3,001 steps, ${kind}: ${show(early[0]!)} ms a step early, ${show(late[0]!)} ms late; ` +
        `computed ${show(early[1]!)} and ${show(late[1]!)} ms: ${show(late[1]! / early[1]!)}x`,
    );
  }
}

async function throughput(rounds: number): Promise<void> {
  const [agents, calls] = [200, 5];
  const steps = agents * (2 * calls + 1);
  const times: Record<Kind, number[]> = { agent: [], hand: [] };
  for (const kind of ["agent", "hand"] as const) {
    await Promise.all(Array.from({ length: agents }, () => run(kind, calls)));
  }
  for (let i = 0; i < rounds; i++) {
    for (
      const kind of (i % 2 ? ["agent", "hand"] : ["hand", "agent"]) as Kind[]
    ) {
      const ms = await timed(() => Promise.all(Array.from({ length: agents }, () => run(kind, calls))));
      times[kind].push(ms);
    }
  }
  const [agent, hand] = [
    steps / typical(times.agent) * 1000,
    steps / typical(times.hand) * 1000,
  ];
  console.log(
    `${agents} agents of 11 steps at once, first quartile of ${rounds}: agent ${Math.round(agent)} steps/s, by hand ${
      Math.round(hand)
    } steps/s: ${show(agent / hand)}x (at least 0.8)`,
  );
}

function sizeOf(path: string): number {
  const stat = statSync(path);
  return stat.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0) : stat.size;
}

async function bench(binary: string, quick: boolean): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "crochet-bench-"));
  const running: Started[] = [];
  try {
    running.push(await startServer(binary, dir));
    const worker = start([
      process.execPath,
      new URL("_durable-worker.ts", import.meta.url).pathname,
      "19080",
      ADMIN,
    ]);
    running.push(worker);
    let out = "";
    worker.child.stdout!.on("data", (text) => out += text);
    await until("the worker listens", () => out.includes("listening"));
    await overhead(quick ? 10 : 60, running);
    await throughput(quick ? 4 : 8);
    if (!quick) await flatness();
    const memory = spawnSync("ps", ["-o", "rss=", "-p", String(running[0]!.child.pid)], {
      encoding: "utf8",
    }).stdout;
    console.log(
      `on disk after all that: ${Math.round(sizeOf(dir) / 2 ** 20)} MB; the server's memory: ${
        Math.round(Number(memory) / 1024)
      } MB`,
    );
  } finally {
    for (const one of running) await one.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

const quick = process.argv.includes("quick");
const [binary] = process.argv.slice(2).filter((word) => word !== "quick");
if (binary !== undefined) await bench(binary, quick);
else inOwnNetwork();

/** Starts this file again where nobody else's ports are, with the server's binary as its argument. */
function inOwnNetwork(): never {
  const why = noNamespace();
  const server = why === undefined ? serverBinary() : { missing: why };
  if ("missing" in server) {
    console.log(`not run: ${server.missing}`);
    process.exit(0);
  }
  const words = [process.execPath, new URL(import.meta.url).pathname, server.path, ...(quick ? ["quick"] : [])];
  const line = words.map((word) => `'${word}'`).join(" ");
  const script = `ip link set lo up && exec ${line}`;
  const { status } = spawnSync("unshare", ["-n", "sh", "-c", script], { stdio: "inherit" });
  process.exit(status ?? 1);
}
