import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import evaluate from "../../../lib/extensions/eval/command.ts";
import replay from "../../../lib/cli/replay.ts";
import { runsIn } from "../../../lib/cli/kit/known-fixtures.ts";
import { trustFixtures } from "../../../lib/hooks/hook-trust.ts";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { recordCommand } from "../../../lib/extensions/tape/run-command.ts";
import { scriptedServer } from "../../../lib/testing/index.ts";
import { withEnv } from "../../_env.ts";
import { place } from "../../_place.ts";
import { RUNTIME } from "../../_runtime.ts";

/** A program that is not ours: it asks once, and writes down what it was told. */
const PROGRAM = `
import { writeFileSync } from "node:fs";
const body = JSON.stringify({ model: "claude-haiku-5-5", max_tokens: 9, messages: [{ role: "user", content: "good?" }] });
const headers = { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" };
const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
if (answer.status !== 200) process.exit(1);
writeFileSync("answer.txt", (await answer.json()).content[0].text);
`;

const GRADER = `#!/bin/sh\n[ "$(cat answer.txt)" = good ] || { cat answer.txt >&2; exit 1; }\n`;

test("a tape of another program is evaluated by running its command, and its runs are kept as such tapes", async () => {
  using w = place({ "program.mjs": PROGRAM, "ask.sh": `exec ${RUNTIME.join(" ")} program.mjs\n` });
  const [good, bad] = [{ text: "good" }, { text: "bad" }];
  const replies = [good, good, bad, { http: 529 }, good, good, good, good];
  await using server = await scriptedServer(replies);
  await withEnv({ CI: undefined, ANTHROPIC_BASE_URL: server.url }, async () => {
    const command = ["sh", "ask.sh"];
    await recordCommand(fixtureAt(`${w.cwd}/fixtures/ask`), { command, cwd: w.cwd, env: process.env, quiet: true });
    w.put({
      "fixtures/ask/grade.answer.sh": GRADER,
    });
    const refused = await w.call(evaluate, "--runs", "4");
    assert.match(refused.err, /Cannot evaluate as fixtures\/ask is not trusted/);
    await trustFixtures(w.cwd, w.env, runsIn(w.cwd));
    const { code, out, err } = await w.call(evaluate, "--runs", "4", "--at-once", "1");
    assert.equal(code, 0, err);
    assert.match(out, /ask +3\/4 .*\n\n {2}ask {2}1 of 4: "answer": bad\n/);
    assert.match(out, /\n4 runs, 1 lost and repeated, /);
    const run = ".crochet/evals/last/ask/now/1";
    assert.equal(readFileSync(`${w.cwd}/${run}/left/answer.txt`, "utf8"), "good");
    const replayed = await w.call(replay, run, "--trust", "--", ...command);
    assert.equal(replayed.code, 0, replayed.err);
    const again = await w.call(evaluate, "--regrade");
    assert.equal(again.out, out);
    w.put({ "fixtures/ask/grade.answer.sh": `#!/bin/sh\nno-such-program\n` });
    const broken = await w.call(evaluate, "--runs", "4");
    assert.equal(broken.code, 2);
    assert.match(broken.err, /its grader grade\.answer\.sh could not grade: .*, on its first run, ask\/now\/1: /);
    assert.equal(readFileSync(`${w.cwd}/.crochet/evals/last/runs.jsonl`, "utf8").split("\n").length - 1, 1);
    w.put({ "fixtures/ask/grade.answer.sh": GRADER });
    w.put({ "program.mjs": PROGRAM.replace("haiku", "opus") });
    const today = await w.call(evaluate, "--runs", "1");
    assert.deepEqual([today.code, server.requests.at(-1)!.body.model], [0, "claude-opus-5-5"], today.err);
    server.done();
    w.put({ "program.mjs": `console.error("no key"); process.exit(3);` });
    const early = await w.call(evaluate, "--runs", "1");
    assert.match(early.out, /not measured: .* as its program ended before its first request: exit 3\n {4}no key\n/);
    assert.ok(early.code! > 0);
    const model = await w.call(evaluate, "--model", "other");
    assert.match(model.err, /Cannot run ask with another agent or model as it is a program of its own/);
  });
});

test("what another program left is what its run changed: a judge reads nothing else of the project", async () => {
  using w = place({ "program.mjs": PROGRAM, "notes.txt": "words of a person" });
  await using server = await scriptedServer([{ text: "good" }, { text: "fine" }, {
    text: '{"reason":"so","pass":true}',
  }]);
  await withEnv({ CI: undefined, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "k" }, async () => {
    const command = [...RUNTIME, "program.mjs"];
    await recordCommand(fixtureAt(`${w.cwd}/fixtures/ask`), { command, cwd: w.cwd, env: process.env, quiet: true });
    w.put({ "fixtures/ask/grade.tone.prompt.md": "---\nmodel: claude-haiku-5-5\n---\nIt is kind.\n" });
    const { code, err } = await w.call(evaluate, "--runs", "1", "--trust");
    assert.equal(code, 0, err);
    assert.deepEqual(readdirSync(`${w.cwd}/.crochet/evals/last/ask/now/1/left`), ["answer.txt"]);
    const asked = JSON.stringify(server.requests.at(-1)!.body);
    assert.match(asked, /It left answer\.txt:\\nfine/);
    assert.doesNotMatch(asked, /words of a person|writeFileSync/);
  });
});
