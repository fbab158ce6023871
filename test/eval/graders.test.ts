import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { RunLine } from "../../lib/eval/attempt.ts";
import { scriptedServer } from "../../lib/testing/index.ts";
import { withEnv } from "../_env.ts";
import { evaluated, tossed } from "./_tossed.ts";

const LONG = { timeout: 120_000 };

const gradesIn = (cwd: string): RunLine[] =>
  readFileSync(`${cwd}/.crochet/evals/last/runs.jsonl`, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

const COMMANDS: readonly [what: string, file: string, text: string, line: Partial<RunLine>][] = [
  ["exit 0 passes", "grade.a.sh", "exit 0", { pass: true, grades: [{ name: "a", pass: true }] }],
  ["exit 1 fails for its words", "grade.a.sh", "echo 'no  tests' >&2; exit 1", {
    pass: false,
    grades: [{ name: "a", pass: false, seen: "no tests" }],
  }],
  ["anything else could not grade", "grade.a.sh", "echo broken >&2; exit 2", {
    lost: "grade.a.sh could not grade: it exited with code 2: broken",
  }],
  ["it stands in the workspace the run left", "grade.a.sh", '[ "$(ls)" = README ]', {
    pass: true,
    grades: [{ name: "a", pass: true }],
  }],
  ["a script needs no #!", "grade.b.ts", "process.exit(1)", {
    pass: false,
    grades: [{ name: "b", pass: false, seen: "it failed" }],
  }],
  [
    "it is given the run's folder",
    "grade.b.mjs",
    "import { readFileSync } from 'node:fs';\nreadFileSync(process.env.CROCHET_RUN + '/tape.jsonl');",
    { pass: true, grades: [{ name: "b", pass: true }] },
  ],
];

for (const [what, file, text, line] of COMMANDS) {
  test(`a command grades the workspace of a run: ${what}`, LONG, async () => {
    using w = await tossed("P");
    w.put({ "fixtures/invariants.ts": "export default [];\n" });
    w.put({ [`fixtures/toss/${file}`]: file.endsWith(".sh") ? `#!/bin/sh\n${text}\n` : text });
    await evaluated(w, "--runs", "1");
    const { pass, lost, grades } = gradesIn(w.cwd)[0]!;
    assert.deepEqual({
      ...(pass !== undefined && { pass }),
      ...(lost !== undefined && { lost }),
      ...(grades && { grades }),
    }, line);
  });
}

test("a prompt grades by its criteria, the reason first; more samples show the noise of the judge", LONG, async () => {
  using w = await tossed("P");
  w.put({
    "fixtures/invariants.ts": "export default [];\n",
    "fixtures/toss/grade.tone.prompt.md": "---\nmodel: claude-haiku-5-5\nsamples: 3\n---\nThe answer is polite.\n",
  });
  const says = (pass: boolean, reason: string) => ({ text: `I weigh. {"reason": "${reason}", "pass": ${pass}}` });
  await using server = await scriptedServer([
    says(true, "it greets"),
    says(false, "it is curt"),
    says(true, "it is kind"),
  ]);
  const env = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" };
  await withEnv(env, async () => {
    const { code, err } = await evaluated(w, "--runs", "1");
    assert.equal(code, 0, err);
    const [line] = gradesIn(w.cwd);
    assert.deepEqual(line!.grades, [{ name: "tone", pass: true, seen: "2 of 3 said pass: it greets" }]);
    assert.ok(line!.tokens > 15 && line!.calls === 1, "what the judge took is counted, but not as a call of the agent");
    const asked = JSON.stringify(server.requests[0]!.body);
    assert.match(asked, /The answer is polite\.\\n\\nThe agent was asked: Toss\\n\\nAt the end it said: good/);
    await evaluated(w, "--regrade");
    assert.equal(server.requests.length, 3, "the same question about the same run is not paid for again");
    server.done();
  });
});

test("a judge that says nothing usable loses the run", LONG, async () => {
  using w = await tossed("P");
  w.put({ "fixtures/invariants.ts": "export default [];\n", "fixtures/toss/grade.tone.prompt.md": "Be polite.\n" });
  await using server = await scriptedServer([], { then: { text: "It is fine." } });
  const { code, out } = await withEnv(
    { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" },
    () => evaluated(w, "--runs", "1"),
  );
  assert.equal(code, 3);
  assert.match(out, /not measured: more than 10 % of the runs were lost/);
  assert.match(gradesIn(w.cwd)[2]!.lost!, /grade\.tone\.prompt\.md could not grade: The model gave no verdict/);
});

test("a judge's verdict belongs to one run: runs with equal text are judged one by one", LONG, async () => {
  using w = await tossed("P");
  w.put({ "fixtures/invariants.ts": "export default [];\n", "fixtures/toss/grade.tone.prompt.md": "Be polite.\n" });
  const says = [true, false, false, true, false].map((pass) => ({ text: `{"reason": "a coin", "pass": ${pass}}` }));
  await using server = await scriptedServer(says);
  await withEnv({ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" }, async () => {
    const { out, err } = await evaluated(w, "--runs", "5");
    assert.match(out, /toss +2\/5 /, err + out);
    assert.deepEqual(gradesIn(w.cwd).map(({ pass }) => pass), [true, false, false, true, false]);
    assert.equal((await evaluated(w, "--regrade")).out, out, "each run keeps its own verdict");
    server.done();
  });
});
