/** One kill test against the engine's server, where there is no network but its own. Arguments: folder, server, scenario, ms. */
import assert from "node:assert/strict";
import { until } from "../../_until.ts";
import type { Effect } from "./_family.ts";
import type { Started } from "../../_crochet.ts";
import { assertOnce, type Death, effects } from "./_kill.ts";
import { driven, INGRESS, post, startServer, startWorker } from "./_restate.ts";

const [dir, binary, scenario, ms] = process.argv.slice(2) as [string, string, string, string];
const PORT = 19080;
const deaths: Death[] = [];
const running: Started[] = [];

interface Ended {
  readonly stop: string;
  readonly text: string;
}

const newWorker = async () => {
  const worker = await startWorker(dir, PORT, Number(ms));
  running.push(worker);
  return worker;
};
const newServer = async () => {
  const server = await startServer(binary, dir);
  running.push(server);
  return server;
};

/** Kills a process and starts what takes its place; what had ended a while before was in the journal. */
async function kill<T>(one: Started, next: () => Promise<T>): Promise<T> {
  const now = Date.now();
  await one.kill();
  const last = new Map<string, Effect>();
  for (const effect of effects(dir)) {
    if ("step" in effect && effect.at <= now) last.set(effect.step, effect);
  }
  const finished = [...last].filter(([, e]) => "phase" in e && e.phase === "end" && e.at < now - 1000);
  const at = Date.now();
  const started = await next();
  // A worker that is dead begins nothing; one whose server is dead may.
  const over = one.child.spawnfile === binary ? Date.now() : at;
  deaths.push({ finished: new Set(finished.map(([name]) => name)), at, over });
  return started;
}

const lines = (n: number) => until(`${n} lines`, () => effects(dir).length >= n);

/** Submits a run and gives its Result whenever there is one, whoever dies meanwhile. */
async function submitted(
  id: string,
  prompt: string,
): Promise<() => Promise<Ended>> {
  const { invocationId } = await post<{ invocationId: string }>(
    `crochet.family/${id}/run/send`,
    { prompt },
  );
  return async () => {
    for (;;) {
      const response = await fetch(
        `${INGRESS}/restate/invocation/${invocationId}/attach`,
      ).catch(() => undefined);
      if (response?.ok) return await response.json() as Ended;
      const words = await response?.text().catch(() => "");
      if (response && response.status < 500) {
        assert.fail(`${id}: ${response.status} ${words}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
}

/** Allows whatever these agents ask, until they have ended. */
async function allowing(
  ids: readonly string[],
  ended: Promise<unknown>,
): Promise<void> {
  let over = false;
  ended.finally(() => over = true).catch(() => {});
  while (!over) {
    for (const id of ids) {
      await post(`crochet/${id}/answer`, { behavior: "allow" }).catch(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function drive(): Promise<string> {
  let server = await newServer();
  let worker = await newWorker();
  const isFamily = scenario === "family";
  const agents = isFamily ? 2 : 8;
  const other = scenario === "moved" ? await newWorker() : undefined;
  const ids = Array.from(
    { length: agents },
    (_, i) => `${isFamily ? "parent" : "worker"}-${i}`,
  );
  const waits = await Promise.all(
    ids.map((id, i) => submitted(id, `${isFamily ? "parent" : "worker"} ${i}`)),
  );
  await lines(isFamily ? 30 : 70);
  if (scenario === "server") {
    server = await kill(server, newServer);
  } else {
    // Of two the one dies that has work: which of them an engine takes is chance.
    if (other && effects(dir).at(-1)!.pid === other.child.pid) worker = other;
    await kill(worker, async () => scenario !== "moved" && await newWorker());
  }
  if (isFamily) {
    await lines(80);
    await kill(server, newServer);
  }
  const all = Promise.all(waits.map((wait) => wait()));
  if (isFamily) await allowing(ids, all);
  const results = await all;
  const { again, steps } = assertOnce(dir, deaths);
  // A dead process had one step of each agent in flight, and four of a parent's or child's that fans out.
  const most = deaths.length * agents * (isFamily ? 12 : 1);
  assert.ok(
    again.length <= most,
    `${again.length} steps ran again: ${again.join(", ")}`,
  );
  if (scenario === "moved") {
    const pids = effects(dir).map(({ pid }) => pid);
    assert.equal(new Set(pids).size, 2, "the dead one had agents, and they went on at the other worker");
  }
  return JSON.stringify({ ends: results.map(({ stop, text }) => `${stop}: ${text}`), again, steps });
}

await driven(drive, running);
