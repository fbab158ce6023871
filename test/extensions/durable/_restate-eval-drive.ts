/** Evals on workers of a real engine, where there is no network but its own. Arguments: folder, server. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../_until.ts";
import { start, type Started } from "../../_crochet.ts";
import { command } from "./_kill.ts";
import { ADMIN, driven, INGRESS, startServer } from "./_restate.ts";
import { LIB } from "../../_runtime.ts";

const [dir, binary] = process.argv.slice(2) as [string, string];
const running: Started[] = [];
/** Whether workers can listen at one port, as on Bun. */
const IS_SHARED = !("Deno" in globalThis);

/** Says "good", notes which worker began the run, and waits as long as there is a file that says so. */
const AGENT = `
import { appendFileSync, existsSync } from "node:fs";
import { agent } from "${LIB}/index.ts";
import { scripted } from "${LIB}/testing/index.ts";
const then = async () => {
  if (process.env.RECORDS !== "1") appendFileSync("${dir}/begun", process.ppid + "\\n");
  while (existsSync("${dir}/wait")) await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 300));
  return { text: "good", usage: { input_tokens: 1000, output_tokens: 6 } };
};
export default agent({ from: import.meta.url, name: "one", system: "You answer.", model: scripted([], { then }) });
`;

const GRADER =
  `export default [{ name: "it is good", broken: ({ results }) => results.at(-1).text === "good" ? undefined : "no" }];\n`;

/** The command line, in a project. */
function crochet(project: string, args: readonly string[], env: Record<string, string> = {}): Started {
  const one = start([...command("../../../lib/cli/main.ts"), ...args], { cwd: project, env: { HOME: dir, ...env } });
  running.push(one);
  return one;
}

async function worker(project: string): Promise<Started> {
  const one = crochet(project, ["worker", "--admin", ADMIN, "--port", "19080", "--fixtures", "--trust"]);
  await until("the worker is registered", () => one.said.out.includes("registered"));
  return one;
}

/** A file that was just made has no line yet. */
const begun = () =>
  existsSync(join(dir, "begun")) ? readFileSync(join(dir, "begun"), "utf8").split("\n").filter(Boolean) : [];

async function evaluated(project: string, ...args: readonly string[]) {
  const { code, out, err } = await crochet(project, ["eval", "--trust", "--json", ...args]).done;
  return { code, err, summary: out.startsWith("{") ? JSON.parse(out) : undefined };
}

/** All that an eval came to but for its id and how long it took. */
function timeless(summary: object): unknown {
  return JSON.parse(
    JSON.stringify(summary),
    (key, value) => ["id", "folder", "seconds"].includes(key) ? undefined : value,
  );
}

async function drive(): Promise<string> {
  const project = join(dir, "project");
  mkdirSync(join(project, "fixtures"), { recursive: true });
  writeFileSync(join(project, "agent.ts"), AGENT);
  writeFileSync(join(project, "fixtures/invariants.ts"), GRADER);
  const recorded = await crochet(project, ["record", "agent.ts", "Answer", "--fixture", "one"], { RECORDS: "1" }).done;
  assert.equal(recorded.code, 0, recorded.err);
  // Where no engine is, nothing waits for it.
  const nowhere = await evaluated(project, "--runs", "12", "--on", INGRESS);
  assert.deepEqual([nowhere.code, begun().length], [2, 0]);
  assert.match(
    nowhere.err,
    /Cannot reach an engine as nothing answers at \S+: start restate-server, or name its ingress/,
  );
  const server = await startServer(binary, dir);
  running.push(server);
  const workers = [await worker(project), ...(IS_SHARED ? [await worker(project)] : [])];

  // Twelve runs, twelve executions, the same as here.
  const shared = await evaluated(project, "--runs", "12", "--on", INGRESS);
  assert.equal(shared.code, 0, shared.err);
  assert.equal(begun().length, 12);
  assert.ok(existsSync(join(project, ".crochet/evals/last/one/now/7/tape.jsonl")), "its runs are kept here");
  const used = new Set(begun());
  // Which worker gets a run is for the engine to say.
  for (let more = 0; used.size < workers.length && more < 5; more++) {
    await evaluated(project, "--runs", "12", "--on", INGRESS);
    begun().forEach((pid) => used.add(pid));
  }
  assert.deepEqual([...used].sort(), workers.map(({ child }) => String(child.pid)).sort(), "all workers make runs");
  rmSync(join(dir, "begun"));
  const own = await evaluated(project, "--runs", "12");
  assert.deepEqual(timeless(shared.summary), timeless(own.summary));

  // The command is killed; what was paid while it was away is not paid again.
  rmSync(join(dir, "begun"));
  const first = crochet(project, ["eval", "--trust", "--runs", "12", "--at-once", "2", "--on", INGRESS]);
  const lines = () => {
    const path = join(project, ".crochet/evals/last/runs.jsonl");
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").length - 1 : 0;
  };
  await until("an eval of its own is under way", () => begun().length >= 7 && lines() >= 5 && lines() < 12);
  await first.kill();
  const rest = await evaluated(project, "--resume", "--on", INGRESS);
  assert.deepEqual([rest.code, rest.summary.runs, begun().length], [0, 12, 12], rest.err);

  // A worker is killed in a run: that run is made once more, and what it took is counted.
  rmSync(join(dir, "begun"));
  writeFileSync(join(dir, "wait"), "");
  const cut = crochet(project, ["eval", "--trust", "--json", "--runs", "12", "--at-once", "1", "--on", INGRESS]);
  await until("a run has begun", () => begun().length === 1);
  const victim = workers.find(({ child }) => String(child.pid) === begun()[0]) ?? workers[0]!;
  await victim.kill();
  if (!IS_SHARED) await worker(project);
  rmSync(join(dir, "wait"));
  const died = JSON.parse((await cut.done).out);
  assert.deepEqual([begun().length, died.runs, died.lostAttempts, died.lost], [13, 12, 1, 0]);
  assert.match(died.lostAs, /its worker died in it/);
  assert.equal(died.spent.tokens, 13 * 1006, "what the dead worker took is held at the dearest price");

  // No run begins that does not fit.
  rmSync(join(dir, "begun"));
  const poor = await evaluated(project, "--runs", "12", "--budget", "5k", "--on", INGRESS);
  assert.deepEqual([begun().length, poor.summary.ended], [4, "budget"]);

  // The engine is away for a while: it is waited for, and no run is lost.
  rmSync(join(dir, "begun"));
  const patient = crochet(project, ["eval", "--trust", "--json", "--runs", "12", "--at-once", "1", "--on", INGRESS]);
  await until("runs are made", () => begun().length >= 3);
  await server.kill();
  await until("the engine is missed", () => patient.said.err.includes("waiting for the engine, as nothing answers at"));
  running.push(await startServer(binary, dir));
  const back = await patient.done;
  assert.equal(back.code, 0, back.err);
  const { runs, lost } = JSON.parse(back.out);
  assert.deepEqual([runs, lost], [12, 0]);

  // A worker that has something else ends the eval.
  const other = join(dir, "other");
  mkdirSync(join(other, "fixtures"), { recursive: true });
  writeFileSync(join(other, "agent.ts"), AGENT);
  writeFileSync(join(other, "fixtures/invariants.ts"), GRADER.replace("it is good", "it is fine"));
  const again = await crochet(other, ["record", "agent.ts", "Answer", "--fixture", "one"], { RECORDS: "1" }).done;
  assert.equal(again.code, 0, again.err);
  const differs = await evaluated(other, "--runs", "2", "--on", INGRESS);
  assert.equal(differs.code, 2);
  assert.match(
    differs.err,
    /Cannot run one as a worker has another tape or other files of it: give all workers the same/,
  );
  const refused = await evaluated(project, "--with", "agent.ts", "--on", INGRESS);
  assert.deepEqual([refused.code, /Cannot use --with with --on/.test(refused.err)], [2, true]);
  return "ok";
}

await driven(drive, running);
