import assert from "node:assert/strict";
import { readFileSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import view from "../../../lib/extensions/view/command.ts";
import { longRun } from "./_long-run.ts";
import { logText } from "../../_log.ts";
import { place } from "../../_place.ts";

const tapeOf = (name: string) => readFileSync(new URL(`../../../fixtures/${name}/tape.jsonl`, import.meta.url), "utf8");
const RUN = ".crochet/runs/aaaa-1.jsonl";

/** The title of a page: the prompt of its run. */
const titleOf = (path: string) => /<title>(.*)<\/title>/.exec(readFileSync(path, "utf8"))![1];
const runOf = (prompt: string, calls = 3) =>
  logText("long-run", longRun(calls, 6000).trim().split("\n").map((line) => JSON.parse(line)))
    .replaceAll("Port the parser to the new grammar", prompt);

test("view draws the newest run of the project into a file that only its user can read", async () => {
  using here = place({ [RUN]: runOf("The old one"), ".crochet/runs/bbbb-2.jsonl": runOf("The new one") });
  utimesSync(join(here.cwd, RUN), 1, 1);
  const { code, out } = await here.call(view);
  assert.equal(code, 0);
  assert.equal(out.trim(), join(here.cwd, ".crochet/views/bbbb-2.html"));
  assert.equal(titleOf(out.trim()), "The new one");
  assert.equal(statSync(out.trim()).mode & 0o777, 0o600);
});

test("view last draws what was written last: a run, a recording or an eval", async () => {
  const tape = "fixtures/two/tape.jsonl";
  const summary = ".crochet/evals/20260101-000000-0001/summary.json";
  using here = place({
    [RUN]: runOf("A run"),
    [tape]: tapeOf("keep-going"),
    [summary]: "{}",
    ".crochet/evals/20260101-000000-0001/eval.json": "{}",
  });
  symlinkSync("20260101-000000-0001", join(here.cwd, ".crochet/evals/last"));
  const shown = async (newest: string) => {
    for (const path of [RUN, tape, summary]) utimesSync(join(here.cwd, path), 1, path === newest ? 9 : 1);
    const { out, err } = await here.call(view, "last");
    return out.trim() === "" ? err : out.trim();
  };
  assert.match(await shown(RUN), /\/aaaa-1\.html$/);
  assert.match(await shown(tape), /\/two\.html$/);
  assert.match(await shown(summary), /20260101-000000-0001 as another release made it/);
});

test("view takes a run by the beginning of its id, a log by its path, and writes to --out", async () => {
  using here = place({ [RUN]: runOf("One"), "logs/other.jsonl": runOf("Two") });
  const first = await here.call(view, "aaaa", "--out", "deep/er/page.html");
  assert.equal(titleOf(join(here.cwd, "deep/er/page.html")), "One");
  assert.equal(first.out.trim(), join(here.cwd, "deep/er/page.html"));
  const second = await here.call(view, "logs/other.jsonl", "--json");
  const { path, bytes } = JSON.parse(second.out);
  assert.equal(titleOf(path), "Two");
  assert.equal(bytes, statSync(path).size);
});

test("view draws a fixture from its tape, and runs nothing of it: what its agents said and read is there", async () => {
  const tape = tapeOf("delegate").replace(/"agent":"[^"]*",/, "");
  using here = place({ "fixtures/bare/tape.jsonl": tape, "fixtures/bare/agent.ts": `throw new Error("it is run");` });
  const { code, out, err } = await here.call(view, "bare");
  assert.deepEqual([code, err], [0, ""]);
  const html = readFileSync(out.trim(), "utf8");
  assert.match(html, /Read from the tape alone/);
  assert.match(html, /The two files have 4 lines together/);
  assert.match(html, /Count long\.txt/);
});

for (
  const [what, exit, args, files, said] of [
    ["no run", 2, [], {}, /^crochet: Cannot view a run as there is no run here yet: .*crochet run/],
    [
      "an unknown name",
      2,
      ["keep-goin"],
      { "fixtures/keep-going/tape.jsonl": "{}\n" },
      /did you mean 'keep-going'\?$/m,
    ],
    ["a missing file", 2, ["no/such.jsonl"], {}, /^crochet: Cannot view 'no\/such.jsonl' as there is no such file/],
    [
      "two runs without --diff",
      2,
      ["a", "b"],
      {},
      /Cannot view 2 runs like this: crochet view A, or crochet view --diff A B/,
    ],
    ["one run with --diff", 2, ["--diff", "a"], {}, /Cannot view 1 run like this: .*crochet view --diff A B/],
    ["a flag it does not know", 2, ["--ou", "x"], {}, /did you mean --out/],
    [
      "a place it cannot write to",
      1,
      ["a.jsonl", "--out", "a.jsonl/x.html"],
      { "a.jsonl": runOf("x") },
      /^crochet: Cannot write .*give another --out/,
    ],
  ] as const
) {
  test(`view says in one line what is wrong: ${what}`, async () => {
    using here = place({ ...files });
    const { code, out, err } = await here.call(view, ...args);
    assert.deepEqual([code, out], [exit, ""]);
    assert.match(err, said);
    assert.equal(err.trim().split("\n").length, 1);
  });
}

test("view --diff draws two runs beside each other", async () => {
  using here = place({ "a.jsonl": runOf("Go"), "b.jsonl": runOf("Go").replaceAll("Step 1:", "Step one:") });
  const { code, out } = await here.call(view, "--diff", "a.jsonl", "b.jsonl");
  assert.equal(code, 0);
  const html = readFileSync(out.trim(), "utf8");
  const pairs = JSON.parse(/id="pairs">(.*?)<\/script>/.exec(html)![1]!) as { same: boolean }[];
  assert.equal(pairs.filter(({ same }) => !same).length, 1);
});

test("view prints on a terminal where the page is, its size, and how to open it", async () => {
  using here = place({ "a.jsonl": runOf("Go") });
  let out = "";
  const io = {
    out: (text: string) => void (out += text),
    err: () => {},
    tty: true,
    env: { ...here.env, BROWSER: "my-browser" },
  };
  assert.equal(await view(["a.jsonl"], { ...io, cwd: here.cwd, signal: new AbortController().signal }), 0);
  assert.match(
    out,
    /^wrote \.crochet\/views\/a\.html \(\d+ KB\)\nopen it in a browser: my-browser \.crochet\/views\/a\.html\n$/,
  );
});
