import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type OpenQuestion, sqliteSteps } from "../../lib/durable/index.ts";
import { rounds } from "../_counts.ts";
import { scratch } from "../_scratch.ts";
import { until } from "../_until.ts";
import { assertOnce, command, type Death, effects, start, type Started } from "./_kill.ts";

interface Ended {
  readonly id: string;
  readonly stop: string;
  readonly text: string;
  readonly messages: unknown;
}

/** The steps that the journal of a dead process has. */
function death(dir: string): Death {
  const steps = sqliteSteps(join(dir, "steps.sqlite"));
  const ran = new Set(effects(dir).flatMap((e) => "step" in e ? [e.step] : []));
  const finished = new Set(
    [...ran].filter((name) => steps.result(name) !== undefined),
  );
  steps.close();
  return { finished, at: Date.now() };
}

/** Answers whatever is asked while a process runs. */
async function answering(dir: string, { done }: Started): Promise<void> {
  let over = false;
  done.then(() => over = true);
  const answered: OpenQuestion[] = [];
  while (!over) {
    if (existsSync(join(dir, "steps.sqlite"))) {
      const steps = sqliteSteps(join(dir, "steps.sqlite"));
      for (const question of steps.questions()) {
        answered.push(question);
        assert.ok(steps.answer(question.token, { behavior: "allow" }));
        assert.ok(
          !steps.answer(question.token, { behavior: "deny" }),
          "a question is answered once",
        );
      }
      steps.close();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok(
    answered.every(({ about }) => (about as { tool_name: string }).tool_name === "Ask"),
  );
}

/** Runs a family, kills it when the log has this many lines, and so on; then lets it end. */
async function killed(
  dir: string,
  role: string,
  count: number,
  at: readonly number[],
) {
  const words = [...command("_sqlite-run.ts"), dir, role, String(count)];
  const deaths: Death[] = [];
  for (const lines of at) {
    const running = start(words);
    const asked = answering(dir, running);
    let over = false;
    running.done.then(() => over = true);
    await until(`${lines} lines`, () => over || effects(dir).length >= lines);
    const wasDone = over;
    await running.kill();
    await asked;
    if (!wasDone) deaths.push(death(dir));
  }
  const last = start(words);
  await answering(dir, last);
  const { code, out, err } = await last.done;
  assert.equal(code, 0, err);
  return { results: JSON.parse(out) as Ended[], deaths };
}

test("8 agents of 11 steps, killed twice, all end; what had finished ran once, what was in flight again under its key", async () => {
  for (let round = 0; round < rounds(1, 6); round++) {
    using folder = scratch();
    const { results, deaths } = await killed(folder.path, "worker", 8, [
      30 + round * 15,
      110 + round * 15,
    ]);
    assert.deepEqual(
      results.map(({ stop, text }) => `${stop}: ${text}`),
      Array(8).fill("done: worker done"),
    );
    const { steps } = assertOnce(folder.path, deaths);
    assert.equal(steps, 8 * 15, "each agent's begin, its 11 steps and the marks of 3 calls that write");
    assert.equal(deaths.length, 2);
    // A dead process' steps in flight are what runs again, not more.
    const ends = effects(folder.path).filter((e) => "step" in e && e.phase === "end").length;
    assert.ok(ends <= steps + 8 * deaths.length);
  }
});

test("parents with three children, four calls at once and an approval, killed twice, end as those that were not", async () => {
  for (let round = 0; round < rounds(1, 6); round++) {
    using quiet = scratch();
    const whole = await killed(quiet.path, "parent", 2, []);
    assert.deepEqual(assertOnce(quiet.path, []).again, []);
    // Never so late that all could have ended: a run under an id whose run has ended is the next one.
    const part = (share: number) => Math.round(effects(quiet.path).length * share);
    using folder = scratch();
    const at = [part(0.15 + round * 0.06), part(0.45 + round * 0.06)];
    const { results, deaths } = await killed(folder.path, "parent", 2, at);
    assert.deepEqual(
      results.map(({ stop, text }) => `${stop}: ${text}`),
      Array(2).fill("done: parent done"),
    );
    assert.equal(deaths.length, 2);
    assertOnce(folder.path, deaths);
    assert.deepEqual(results, whole.results);
  }
});
