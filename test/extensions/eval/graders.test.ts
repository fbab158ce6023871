import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import type { RunLine } from "../../../lib/extensions/eval/attempt.ts";
import { scriptedServer } from "../../../lib/testing/index.ts";
import { withEnv } from "../../_env.ts";
import { evaluated, tossed } from "./_tossed.ts";

const gradesIn = (cwd: string): RunLine[] =>
  readFileSync(`${cwd}/.crochet/evals/last/runs.jsonl`, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));

const COMMANDS: readonly [what: string, file: string, text: string, line: Partial<RunLine>][] = [
  ["exit 0 passes", "grade.a.sh", "exit 0", { pass: true, grades: [{ name: "a", pass: true }] }],
  ["exit 1 fails for its words", "grade.a.sh", "echo 'no  tests' >&2; exit 1", {
    pass: false,
    grades: [{ name: "a", pass: false, seen: "no tests" }],
  }],
  ["anything else could not grade", "grade.a.sh", "echo no server >&2; exit 3", {
    ungraded: "grade.a.sh could not grade: it exited with code 3: no server",
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
  test(`a command grades the workspace of a run: ${what}`, async () => {
    using w = await tossed("P");
    w.put({ "fixtures/invariants.ts": "export default [];\n" });
    w.put({ [`fixtures/toss/${file}`]: file.endsWith(".sh") ? `#!/bin/sh\n${text}\n` : text });
    await evaluated(w, "--runs", "1");
    const [{ pass, ungraded, grades }, ...more] = gradesIn(w.cwd) as [RunLine, ...RunLine[]];
    assert.equal(more.length, 0, "the agent is not run again");
    assert.deepEqual({
      ...(pass !== undefined && { pass }),
      ...(ungraded !== undefined && { ungraded }),
      ...(grades && { grades }),
    }, line);
  });
}

test("a prompt grades by its criteria, the reason first; more samples show the noise of the judge", async () => {
  using w = await tossed("P");
  w.put({
    "fixtures/invariants.ts": "export default [];\n",
    "fixtures/toss/grade.tone.prompt.md": "---\nmodel: claude-haiku-5-5\nsamples: 3\n---\nThe answer is polite.\n",
  });
  const says = (pass: boolean, reason: string) => ({ text: `I weigh. {"reason": "${reason}", "pass": ${pass}}` });
  await using server = await scriptedServer([
    says(true, "the recorded run"),
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
    assert.deepEqual(
      [line!.calls, line!.tokens, line!.judged?.calls],
      [1, 15, 3],
      "what the judge took is counted apart",
    );
    const asked = JSON.stringify(server.requests[0]!.body);
    assert.match(asked, /The answer is polite\.\\n\\nThe agent was asked: Toss\\n\\nAt the end it said: good/);
    await evaluated(w, "--regrade");
    assert.equal(server.requests.length, 4, "the same question about the same run is not paid for again");
    server.done();
  });
});

test(
  "a judge that gives no verdict is broken in its rehearsal; later the run is kept, counted and graded again",
  async () => {
    using w = await tossed("P");
    w.put({ "fixtures/invariants.ts": "export default [];\n", "fixtures/toss/grade.tone.prompt.md": "Be polite.\n" });
    const [nothing, pass] = [{ text: "It is fine." }, { text: '{"reason": "it is", "pass": true}' }];
    await using server = await scriptedServer([nothing, pass, nothing, pass]);
    await withEnv({ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" }, async () => {
      const broken = await evaluated(w, "--runs", "1");
      assert.equal(broken.code, 2);
      assert.match(
        broken.err,
        /Cannot evaluate toss as its grader grade\.tone\.prompt\.md could not grade: the model gave no verdict, on the recorded run/,
      );
      assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last`), "no run was made");
      const { code, out } = await evaluated(w, "--runs", "1");
      assert.equal(code, 3);
      assert.match(out, /not measured: more than 10 % of the runs were lost or not graded, the last as grade\.tone\./);
      assert.match(out, /0 runs, 1 not graded: crochet eval --regrade, < \$0\.01, judges < \$0\.01 of it\n/);
      assert.equal(gradesIn(w.cwd)[0]!.judged!.calls, 1, "a verdict that was not given is paid for too");
      const resumed = await evaluated(w, "--resume");
      assert.deepEqual([resumed.code, /toss +1\/1 /.test(resumed.out)], [0, true], resumed.err);
      assert.deepEqual([gradesIn(w.cwd).length, gradesIn(w.cwd)[0]!.judged!.calls], [1, 2], "no run was made again");
      server.done();
    });
  },
);

const BROKEN: readonly [what: string, file: string, text: string, words: RegExp][] = [
  ["an uncaught error", "grade.a.ts", "null.x;", /grader a crashed: .*TypeError/],
  ["a syntax error", "grade.a.sh", "#!/bin/sh\nif then\n", /grader a crashed: .*[Ss]yntax error/],
  [
    "a program it cannot find",
    "grade.a.sh",
    "#!/bin/sh\nno-such-program\n",
    /grader grade\.a\.sh could not grade: .*127/,
  ],
  ["an interpreter that is missing", "grade.a.sh", "#!/no/such/shell\n", /grader grade\.a\.sh could not grade: /],
  [
    "an invariant that throws",
    "invariants.ts",
    `export default [{ name: "sums", broken: () => { throw new Error("boom"); } }];\n`,
    /grader sums crashed: .*boom/,
  ],
];

for (const [what, file, text, words] of BROKEN) {
  test(`a grader that is broken is named before any run is made: ${what}`, async () => {
    using w = await tossed("P");
    w.put({ [`fixtures/toss/${file}`]: text });
    const { code, err } = await evaluated(w, "--runs", "4");
    assert.equal(code, 2, err);
    assert.match(err, /Cannot evaluate toss as its grader .*, on the recorded run: correct the grader\n/);
    assert.match(err, words);
    assert.ok(!existsSync(`${w.cwd}/.crochet/evals/last`));
  });
}

/** Crashes, or gives up, if the run did not say "good". */
const graderOf = (otherwise: string) =>
  `import { readFileSync } from "node:fs";
if (!readFileSync(process.env.CROCHET_RUN + "/observed.json", "utf8").includes('"text":"good"')) { ${otherwise} }
`;

test("after a clean rehearsal a crash is the verdict of a run, and another exit code is none", async () => {
  using w = await tossed("PF");
  w.put({
    "fixtures/invariants.ts": "export default [];\n",
    "fixtures/toss/grade.a.ts": graderOf('throw new Error("bad")'),
  });
  const { code, out } = await evaluated(w, "--runs", "4");
  assert.deepEqual([code, /toss +2\/4 [^]* 2 of 4: "a": crashed: .*bad/.test(out)], [0, true], out);
  w.put({ "fixtures/toss/grade.a.ts": graderOf("process.exit(3)") });
  const ungraded = await evaluated(w, "--regrade");
  assert.deepEqual([ungraded.code, /toss +2\/2 [^]*2 runs, 2 not graded/.test(ungraded.out)], [3, true], ungraded.out);
  w.put({ "fixtures/toss/grade.a.ts": graderOf("process.exit(1)") });
  const again = await evaluated(w, "--regrade");
  assert.deepEqual([again.code, /toss +2\/4 /.test(again.out)], [0, true], again.out);
  w.put({ "fixtures/toss/grade.a.ts": "null.x;" });
  const broken = await evaluated(w, "--regrade");
  assert.deepEqual([broken.code, /crashed: .*TypeError.*, on toss\/now\/1: /.test(broken.err)], [2, true], broken.err);
  assert.equal(gradesIn(w.cwd).filter(({ pass }) => pass).length, 2, "what was graded stays");
});

test("a judge's verdict belongs to one run: runs with equal text are judged one by one", async () => {
  using w = await tossed("P");
  w.put({ "fixtures/invariants.ts": "export default [];\n", "fixtures/toss/grade.tone.prompt.md": "Be polite.\n" });
  const says = [true, false, false, true, false].map((pass) => ({ text: `{"reason": "a coin", "pass": ${pass}}` }));
  await using server = await scriptedServer([says[0]!, ...says]);
  await withEnv({ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" }, async () => {
    const { out, err } = await evaluated(w, "--runs", "5");
    assert.match(out, /toss +2\/5 /, err + out);
    assert.deepEqual(gradesIn(w.cwd).map(({ pass }) => pass), [true, false, false, true, false]);
    assert.equal((await evaluated(w, "--regrade")).out, out, "each run keeps its own verdict");
    server.done();
  });
});

test("a budget holds for judges too: their rehearsal, and each run with them, must fit", async () => {
  using w = await tossed("P");
  w.put({ "fixtures/invariants.ts": "export default [];\n", "fixtures/toss/grade.tone.prompt.md": "Be polite.\n" });
  await using server = await scriptedServer([], {
    then: { text: '{"reason": "it is", "pass": true}', usage: { input_tokens: 380 } },
  });
  await withEnv({ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "not-a-key" }, async () => {
    const poor = await evaluated(w, "--runs", "9", "--budget", "0.1k");
    assert.deepEqual([poor.code, server.requests.length], [3, 0], poor.err);
    const { code, out, err } = await evaluated(w, "--runs", "99", "--budget", "2k");
    assert.equal(code, 0, err);
    assert.match(err, /1 fixture x 99 runs: about \d+ tokens by their tapes, of which judges \d+ tokens\n/);
    const [, spent, judges] = /, (\d+) tokens of 2000 tokens, judges (\d+) tokens of it, the budget ended it\n/.exec(
      out,
    )!;
    const each = Number(judges) / server.requests.length + 15;
    assert.ok(Number(spent) <= 2000 && Number(spent) > 2000 - 2 * each, `${spent}, ${each} a run`);
  });
});
