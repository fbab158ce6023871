import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { answerQuestion, openQuestions } from "../../lib/extensions/durable/index.ts";
import { waitForAnswer } from "../../lib/log/questions.ts";
import { sha256 } from "../../lib/runtime/sha256.ts";
import { rounds } from "../_counts.ts";
import { start } from "../_crochet.ts";
import { withEnv } from "../_env.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";
import { until } from "../_until.ts";

const TOKEN = sha256().update("name").digest("hex").slice(0, 16);

test("questions of one log wait side by side: an answer to one leaves the other open, and is there after a crash", async () => {
  using folder = scratch();
  const log = join(folder.path, "run.jsonl");
  const announced: string[] = [];
  const ask = (name: string) =>
    waitForAnswer<string>(log, name, name, AbortSignal.timeout(20_000), {
      announce: () => announced.push(name),
      warn: () => {},
    });
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

test("a question that is answered is never seen open, not even while its run ends and takes it away", async () => {
  using folder = scratch();
  const script = fileURLToPath(new URL("_answered-runs.ts", import.meta.url));
  const { done } = start([...OUR_RUNTIME, script, folder.path, String(rounds(300, 3000))]);
  let isOver = false;
  done.then(() => isOver = true, () => isOver = true);
  for (let looks = 0; !isOver; looks++) {
    assert.deepEqual(openQuestions(folder.path), []);
    if (looks % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assert.deepEqual(await done, { code: 0, out: "", err: "" });
});

/** [how an answer came there, what was done for that] */
const PUT: readonly (readonly [string, (question: string, answer: string) => void])[] = [
  ["by hand", (_, answer) => writeFileSync(answer, JSON.stringify({ answer: "yes" }))],
  ["by crochet 0.3.0", (_, answer) => writeFileSync(answer, JSON.stringify("yes"))],
  ["no JSON", (_, answer) => writeFileSync(answer, "yes")],
  ["of another user", (question) => answerQuestion({ path: question }, "yes")],
];

for (const [how, give] of PUT) {
  for (const when of ["before", "while"] as const) {
    test(`an answer ${how} that is there ${when} a question waits does not count: it is left, named, and asked again`, async () => {
      using folder = scratch();
      const log = join(folder.path, "run.jsonl");
      const [question, answer] = ["json", "answer.json"].map((end) =>
        join(folder.path, "run.answers", `${TOKEN}.${end}`)
      );
      const announced: string[] = [];
      const warned: string[] = [];
      const put = async () => {
        mkdirSync(join(question!, ".."), { recursive: true });
        if (!existsSync(question!)) writeFileSync(question!, JSON.stringify({ token: TOKEN, about: "name", at: 1 }));
        await withEnv({ HOME: join(folder.path, "theirs") }, () => give(question!, answer!));
      };
      await withEnv({ HOME: join(folder.path, "mine") }, async () => {
        if (when === "before") await put();
        const asked = waitForAnswer<string>(log, "name", "name", AbortSignal.timeout(20_000), {
          announce: (token) => announced.push(token),
          warn: (words) => warned.push(words),
        });
        if (when === "while") await put();
        await until("it is named", () => warned.length === 1);
        assert.match(warned[0]!, /^An answer was there that you did not give: .* is left in .*answer\.json\.left$/);
        assert.ok(existsSync(`${answer}.left`));
        assert.deepEqual(announced, when === "before" ? [TOKEN] : [TOKEN, TOKEN]);
        assert.ok(answerQuestion(openQuestions(folder.path)[0]!, "no"));
        assert.equal(await asked, "no");
      });
    });
  }
}

test("without a key an answer counts if it is newer than the question, which this process asked", async () => {
  using folder = scratch({ "home": "no folder" });
  await withEnv({ HOME: join(folder.path, "home") }, async () => {
    const log = join(folder.path, "run.jsonl");
    const warned: string[] = [];
    const ask = () =>
      waitForAnswer<string>(log, "name", "name", AbortSignal.timeout(20_000), {
        announce: () => {},
        warn: (words) => warned.push(words),
      });
    const first = ask();
    assert.ok(answerQuestion(openQuestions(folder.path)[0]!, "yes"));
    assert.deepEqual([await first, warned], ["yes", []]);
    const second = ask();
    assert.equal(warned.length, 1, "it was there before");
    assert.ok(answerQuestion(openQuestions(folder.path)[0]!, "no"));
    assert.equal(await second, "no");
  });
});
