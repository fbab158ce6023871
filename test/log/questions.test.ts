import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { answerQuestion, openQuestions } from "../../lib/durable/index.ts";
import { waitForAnswer } from "../../lib/log/questions.ts";
import { scratch } from "../_scratch.ts";

test("questions of one log wait side by side: an answer to one leaves the other open, and is there after a crash", async () => {
  using folder = scratch();
  const log = join(folder.path, "run.jsonl");
  const announced: string[] = [];
  const ask = (name: string) =>
    waitForAnswer<string>(log, name, name, AbortSignal.timeout(20_000), () => announced.push(name));
  const asked = ["first", "second"].map(ask);
  const [first, second] = openQuestions<string>(folder.path);
  assert.deepEqual([first!.about, second!.about].sort(), announced);
  assert.ok(answerQuestion(first!, "yes"));
  assert.ok(!answerQuestion(first!, "no"), "a question is answered once");
  const answeredFirst = asked[announced.indexOf(first!.about)]!;
  assert.equal(await answeredFirst, "yes");
  assert.deepEqual(openQuestions(folder.path).map(({ about }) => about), [second!.about]);
  assert.equal(await ask(first!.about), "yes", "a run that goes on finds the answer and asks no one");
  assert.equal(announced.length, 2);
  assert.ok(answerQuestion(second!, "later"));
  assert.deepEqual((await Promise.all(asked)).sort(), ["later", "yes"]);
});
