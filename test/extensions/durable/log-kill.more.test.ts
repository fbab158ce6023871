import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { TextBlock } from "../../../lib/core/messages.ts";
import { answerQuestion, openQuestions } from "../../../lib/extensions/durable/index.ts";
import { isWhole, readLog } from "../../../lib/log/read-log.ts";
import { rounds } from "../../_counts.ts";
import { start, type Started } from "../../_crochet.ts";
import { scratch } from "../../_scratch.ts";
import { until } from "../../_until.ts";
import { withoutMarks } from "./_engines.ts";
import type { Effect } from "./_family.ts";
import { assertOnce, command, type Death, effects } from "./_kill.ts";

interface Ended {
  readonly id: string;
  readonly stop: string;
  readonly text: string;
  readonly messages: unknown;
}

/** The steps that the logs of a dead process have. */
function death(dir: string): Death {
  const at = Date.now();
  const keys = new Map(effects(dir).flatMap((e) => "call" in e ? [[e.call, e.key]] : []));
  const finished = new Set<string>();
  const runs = join(dir, "runs");
  for (const name of existsSync(runs) ? readdirSync(runs).filter((name) => name.endsWith(".jsonl")) : []) {
    const log = readLog(join(runs, name));
    for (const { request: { messages } } of log?.calls.filter(isWhole) ?? []) {
      finished.add(`llm ${(messages[0]!.content[0] as TextBlock).text} ${messages.length}`);
    }
    const ids = new Map(log?.entries.flatMap((entry) => "agent" in entry ? [[entry.agent, entry.id]] : []));
    for (const { tool, lane } of log?.parts.tool ?? []) {
      const key = keys.get(`${ids.get(lane)} ${tool}`);
      if (key !== undefined) finished.add(key);
    }
  }
  return { finished, at };
}

/** Answers whatever is asked while a process runs; who asked, and for what. */
async function answering(dir: string, { done }: Started): Promise<string[]> {
  let over = false;
  done.then(() => over = true, () => over = true);
  const answered: string[] = [];
  while (!over) {
    for (const question of openQuestions<{ agent_id: string; tool_name: string }>(join(dir, "runs"))) {
      const { agent_id, tool_name } = question.about;
      answered.push(`${agent_id} ${tool_name}`);
      assert.ok(answerQuestion(question, { behavior: "allow" }));
      assert.ok(!answerQuestion(question, { behavior: "deny" }), "a question is answered once");
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return answered;
}

/** Runs a family, kills it when so much has been done, and so on; then lets it end. */
async function killed(dir: string, role: string, count: number, at: readonly ((done: Effect[]) => boolean)[]) {
  const words = [...command("_log-run.ts"), dir, role, String(count)];
  const deaths: Death[] = [];
  const asked: string[] = [];
  for (const isTime of at) {
    const running = start(words);
    const answers = answering(dir, running);
    let over = false;
    running.done.then(() => over = true, () => over = true);
    await until("the moment to kill", () => over || isTime(effects(dir)));
    const wasDone = over;
    await running.kill();
    asked.push(...await answers);
    if (!wasDone) deaths.push(death(dir));
  }
  const last = start(words);
  asked.push(...await answering(dir, last));
  const { code, out, err } = await last.done;
  assert.equal(code, 0, err);
  return { results: JSON.parse(out) as Ended[], deaths, asked };
}

const after = (lines: number) => (done: Effect[]) => done.length >= lines;
const approved = (done: Effect[]) => done.some((e) => "step" in e && e.phase === "end" && /:Ask:/.test(e.step));

test("8 agents of 11 steps, killed twice, all end; what had finished ran once, what was in flight again under its key", async () => {
  for (let round = 0; round < rounds(1, 6); round++) {
    using folder = scratch();
    const { results, deaths } = await killed(folder.path, "worker", 8, [
      after(20 + round * 15),
      after(100 + round * 15),
    ]);
    assert.deepEqual(results.map(({ stop, text }) => `${stop}: ${text}`), Array(8).fill("done: worker done"));
    const { steps } = assertOnce(folder.path, deaths);
    assert.equal(steps, 8 * 11);
    assert.equal(deaths.length, 2);
    // A dead process' steps in flight are what runs again, not more.
    const ends = effects(folder.path).filter((e) => "step" in e && e.phase === "end").length;
    assert.ok(ends <= steps + 8 * deaths.length);
  }
});

test("parents with three children, four calls at once and an approval, killed anywhere, end as those that were not, and ask once", async () => {
  for (let round = 0; round < rounds(1, 6); round++) {
    using quiet = scratch();
    const whole = await killed(quiet.path, "parent", 2, []);
    assert.deepEqual(assertOnce(quiet.path, []).again, []);
    // Never so late that all could have ended: a run under an id whose run has ended is the next one.
    const part = (share: number) => after(Math.round(effects(quiet.path).length * share));
    using folder = scratch();
    const at = [part(0.15 + round * 0.06), part(0.45 + round * 0.06), approved];
    const { results, deaths, asked } = await killed(folder.path, "parent", 2, at);
    assert.deepEqual(results.map(({ stop, text }) => `${stop}: ${text}`), Array(2).fill("done: parent done"));
    assert.ok(deaths.length >= 2);
    assertOnce(folder.path, deaths);
    assert.deepEqual(withoutIds(results), withoutIds(whole.results));
    assert.deepEqual(asked.sort(), ["parent-0 Ask", "parent-1 Ask"]);
    const left = readdirSync(join(folder.path, "runs")).sort();
    assert.deepEqual(left, ["parent-0.jsonl", "parent-1.jsonl"], "no claim and no answer is left behind");
  }
});

/** Results without what calls say of having run before, and without the ids that agents draw. */
function withoutIds(results: readonly Ended[]): unknown {
  return JSON.parse(JSON.stringify(withoutMarks(results)).replaceAll(UUID, "an id"));
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\ba[0-9a-f]{16}\b/g;
