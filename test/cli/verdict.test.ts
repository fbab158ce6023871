import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { Usage } from "../../lib/cli/kit/flags.ts";
import { judgingCommand, type JudgingWork } from "../../lib/cli/kit/judge.ts";
import { type Item, junit, verdictLine, verdictOf, type Word, WORDS } from "../../lib/cli/kit/verdict.ts";
import { rounds } from "../_counts.ts";
import { place } from "../_place.ts";

const CODES: { readonly [word in Word]: number } = { held: 0, broken: 1, "cannot run": 2, "not measured": 3 };

/** Names of a plan, each once, with how each ended; undefined if it did not. */
const planOf = fc.uniqueArray(fc.tuple(fc.string(), fc.option(fc.constantFrom(...WORDS), { nil: undefined })), {
  selector: ([name]) => name,
  maxLength: 6,
});

test("a verdict is always the worst word of its items, in whatever order they settle", () => {
  let seen = 0;
  fc.assert(
    fc.property(planOf, fc.infiniteStream(fc.nat()), (plan, order) => {
      const settled = plan.flatMap(([name, word]): Item[] => word === undefined ? [] : [{ name, word }]);
      const mixed = settled.map((item) => ({ item, at: order.next().value as number })).sort((a, b) => a.at - b.at);
      const verdict = verdictOf(plan.map(([name]) => name), mixed.map(({ item }) => item));
      const words = plan.map(([, word = "not measured"]) => word);
      const worst = WORDS.find((word) => words.includes(word)) ?? "cannot run";
      assert.deepEqual([verdict.word, verdict.code], [worst, CODES[worst]]);
      assert.deepEqual(verdict.items.map(({ name, word }) => [name, word]), plan.map(([name], i) => [name, words[i]]));
      assert.equal(verdictOf(plan.map(([name]) => name), settled, true).code, 130);
      if (new Set(words).size > 1) seen++;
    }),
    { numRuns: rounds(200, 2000) },
  );
  assert.ok(seen > 20, `only ${seen} lists had several words`);
});

test("what was planned and never settled is never held, and nothing to judge is nothing that holds", () => {
  const { word, items } = verdictOf(["a", "a", "b"], [{ name: "a", word: "held" }, { name: "b", word: "held" }]);
  assert.equal(word, "not measured");
  assert.deepEqual(items.map((item) => item.word), ["held", "not measured", "held"]);
  assert.deepEqual([verdictOf([], []).word, verdictOf([], []).code], ["cannot run", 2]);
  assert.equal(verdictOf(["a"], [{ name: "a", word: "held" }, { name: "late", word: "broken" }]).word, "broken");
});

test("a verdict in one line counts the worst first", () => {
  const line = (...words: Word[]) =>
    verdictLine(verdictOf([], words.map((word, i) => ({ name: `${i}`, word }))), "fixture");
  assert.equal(line("held"), "held: 1 fixture");
  assert.equal(line("held", "held"), "held: 2 fixtures");
  assert.equal(line("held", "broken", "not measured"), "broken: 1 of 3 fixtures, 1 not measured, 1 held");
});

test("in a JUnit report what broke is a failure, and what was not judged an error", () => {
  const xml = junit(
    verdictOf(["a", "b", "c", "d"], [
      { name: "a", word: "held", notes: ["not compared: stdout"], seconds: 1 },
      { name: "b", word: "broken", why: "one\ntwo" },
      { name: "c", word: "cannot run", why: "<no>" },
    ]),
    "replay",
  );
  assert.match(xml, /<testsuite name="crochet replay" tests="4" failures="1" errors="2" time="1\.000">/);
  assert.match(xml, /name="a" [^>]*>\s*<system-out>not compared: stdout<\/system-out>/);
  assert.match(xml, /name="b" [^>]*>\s*<failure message="one">two<\/failure>/);
  assert.match(xml, /name="c" [^>]*>\s*<error type="cannot run" message="&#60;no&#62;"\/>/);
  assert.match(xml, /name="d" [^>]*>\s*<error type="not measured" message="It was not reached"\/>/);
});

const USAGE: Usage = { name: "judged", words: "", about: "", flags: [], example: "crochet judged" };

/** Runs a command that judges, with all of its reports. */
async function reportsOf(work: JudgingWork) {
  using here = place();
  const command = judgingCommand(USAGE, "thing", work);
  const data = await here.call(command, "--json");
  const text = await here.call(command, "--junit", "out/j.xml", "--summary", "s.md");
  const read = (file: string) => existsSync(join(here.cwd, file)) ? readFileSync(join(here.cwd, file), "utf8") : "";
  return { data, text, json: JSON.parse(data.out), xml: read("out/j.xml"), summary: read("s.md") };
}

test("one list of items makes the terminal, --json, --junit, --summary and the exit code", async () => {
  const { data, text, json, xml, summary } = await reportsOf((_, io, judge) => {
    judge.plan("a", "b", "c");
    judge.settle({ name: "b", word: "broken", why: "bad", data: { calls: 2 } });
    judge.settle({ name: "a", word: "held" });
    io.out("a table\n");
    return Promise.resolve({ seed: 4 });
  });
  assert.deepEqual([data.code, text.code], [1, 1]);
  assert.deepEqual(json, {
    ...{ word: "broken", planned: 3, seed: 4 },
    items: [
      { name: "a", word: "held" },
      { name: "b", word: "broken", why: "bad", calls: 2 },
      { name: "c", word: "not measured", why: "It was not reached" },
    ],
  });
  assert.equal(text.out, "a table\nbroken: 1 of 3 things, 1 not measured, 1 held\n");
  assert.match(summary, /```\na table\nbroken: 1 of 3 things, 1 not measured, 1 held\n```/);
  assert.match(xml, /tests="3" failures="1" errors="1"/);
});

test("what a judge throws leaves all that had not settled as 'cannot run', in every report", async () => {
  const { data, text, json, xml } = await reportsOf((_, __, judge) => {
    judge.plan("a", "b");
    judge.settle({ name: "a", word: "held" });
    return Promise.reject(new Error("no disk"));
  });
  assert.deepEqual([data.code, text.code, text.err], [2, 2, "crochet: no disk\n"]);
  assert.deepEqual(json.items.map(({ word }: Item) => word), ["held", "cannot run"]);
  assert.match(xml, /<error type="cannot run" message="no disk"\/>/);
  const late = await reportsOf((_, __, judge) => {
    judge.plan("a");
    judge.settle({ name: "a", word: "held" });
    return Promise.reject(new Error("no page"));
  });
  assert.deepEqual([late.data.code, late.json.items[1]], [2, { name: "judged", word: "cannot run", why: "no page" }]);
  const unplanned = await reportsOf(() => Promise.reject(new Error("nothing here")));
  assert.deepEqual(unplanned.json.items, [{ name: "judged", word: "cannot run", why: "nothing here" }]);
  assert.equal((await reportsOf(() => Promise.resolve())).data.code, 2);
});

test("a report that cannot be written is refused before anything runs", async () => {
  using here = place({ file: "" });
  let ran = 0;
  const command = judgingCommand(USAGE, "thing", () => Promise.resolve(void ran++));
  for (const flag of ["--junit", "--summary"]) {
    const { code, err } = await here.call(command, flag, "file/x");
    assert.equal(code, 2);
    assert.match(err, new RegExp(`^crochet: Cannot write ${flag} file/x as .*: name a file that can be written\n$`));
  }
  assert.equal(ran, 0);
});
