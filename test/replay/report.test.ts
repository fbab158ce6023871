import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { type DriftReport, PLAIN, reportLines } from "../../lib/replay/drift/drift-report.ts";
import { itemOf } from "../../lib/cli/kit/replay-one.ts";
import { type Item, junit, verdictOf } from "../../lib/cli/kit/verdict.ts";
import { rounds } from "../_counts.ts";

/** A report of one changed text. */
function drift(expected: unknown, actual: unknown): DriftReport {
  return {
    tape: "fixtures/x",
    ok: false,
    mode: "replay",
    source: "live API",
    divergences: [{
      lane: "main",
      call: "main#1",
      cause: "prompt",
      path: "system",
      words: "it changed",
      expected,
      actual,
    }],
    tools: [],
    files: [],
    unused: ["main#1"],
    calls: { recorded: 1, served: 0, live: 0 },
    normalise: [],
    price: {
      update: { calls: 1, tokens: 20, dollars: 0.5 },
      whole: { calls: 1, tokens: 20, dollars: 0.5 },
    },
    notes: [],
  };
}

test("a report names the line that changed, and shows the change also far into a long line", () => {
  const long = "word ".repeat(200);
  assert.deepEqual(
    reportLines(drift(`a\n${long}tea\nz`, `a\n${long}coffee\nz`)),
    [
      "prompt: system: it changed (at main#1)",
      "  line 2",
      `  - …${"word ".repeat(8)}tea`,
      `  + …${"word ".repeat(8)}coffee`,
      "not requested: main#1",
      "to record again: 1 call, 20 tokens, $0.50 (crochet replay x --update)",
    ],
  );
});

test("a report names a place once, whether its words have it or not, and colours it", () => {
  const ink = { ...PLAIN, bold: (text: string) => `<${text}>` };
  const [first] = drift("a", "b").divergences;
  const told = (more: object) => reportLines({ ...drift("a", "b"), divergences: [{ ...first!, ...more }] }, ink)[0];
  assert.equal(told({ words: "system is new" }), "prompt: <system> is new (at main#1)");
  assert.equal(told({ words: "it is new" }), "prompt: <system>: it is new (at main#1)");
  assert.equal(told({ words: "it differs at system" }), "prompt: it differs at <system> (at main#1)");
  assert.equal(told({ path: "", words: "it is new" }), "prompt: it is new (at main#1)");
  const tools = [{ lane: "main", tool: "Edit", id: "t1", path: "result.content", expected: "a", actual: "b" }];
  const report = { ...drift("a", "b"), divergences: [], tools };
  assert.equal(reportLines(report)[0], "tool: result.content of Edit is not what was recorded (at t1)");
});

test("a report never gives a price for calls that were never recorded", () => {
  const hint = (unused: string[], calls: number) => {
    const price = { calls, tokens: 20 * calls, dollars: 0.5 * calls };
    return reportLines({ ...drift("a", "b"), unused, price: { update: price, whole: price } }).at(-1);
  };
  assert.equal(hint(["main#2"], 1), "to record again: 1 call, 20 tokens, $0.50 (crochet replay x --update)");
  const unknown = "calls that were never recorded, price unknown (crochet replay x --update)";
  assert.equal(hint([], 0), `to record again: ${unknown}`);
  assert.equal(hint(["main/toolu_1#2"], 1), `to record again: 1 call, 20 tokens, $0.50, and ${unknown}`);
});

test("a report names the fixture to record again: others would be paid for, too", () => {
  const hint = (tape: string) => /\((.*)\)$/.exec(reportLines({ ...drift("a", "b"), tape }).at(-1)!)?.[1];
  assert.equal(hint(resolve("fixtures/brew")), "crochet replay brew --update");
  assert.equal(hint(resolve("my tapes/brew")), "crochet replay 'my tapes/brew' --update");
  assert.equal(
    hint(resolve("tea/fixtures/brew")),
    "crochet replay tea/fixtures/brew --update",
    "by its name it is not found",
  );
});

test("a shell always reads the name in that command back as it is", () => {
  for (const name of ["it's $HOME", "a&b", "*.?", "x;y", "`z`", '"q"', "(p)", "back\\slash", "~", "#1", "plain-1.2"]) {
    const told = reportLines({ ...drift("a", "b"), tape: resolve("tapes", name) }).at(-1)!;
    const command = told.slice(told.indexOf("(crochet") + 1, -1);
    const words = execFileSync("/bin/sh", ["-c", `printf '%s\\n' ${command}`], { encoding: "utf8" });
    assert.deepEqual(words.split("\n").slice(0, -1), ["crochet", "replay", `tapes/${name}`, "--update"]);
  }
});

const line = fc.string({ maxLength: 400, size: "max" }).map((text) => text.replace(/[\n\r\u2028\u2029]/g, " "));

test("old and new never look the same in a report, wherever a line changed", () => {
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 10 }),
      fc.nat(),
      fc.nat(),
      (lines, at, column) => {
        const i = at % lines.length;
        const text = lines[i]!;
        const cut = column % (text.length + 1);
        const changed = lines.with(i, `${text.slice(0, cut)}\u00a7${text.slice(cut)}`);
        const shown = reportLines(drift(lines.join("\n"), changed.join("\n"))).slice(1);
        if (lines.length > 1) assert.equal(shown[0], `  line ${i + 1}`);
        const [was, is] = ["-", "+"].map((mark) => shown.find((one) => one.startsWith(`  ${mark} `)));
        assert.ok(is?.includes("\u00a7"));
        assert.ok(was !== undefined && !was.includes("\u00a7"));
      },
    ),
    { numRuns: rounds(300, 5000) },
  );
});

/** Any code units: lone surrogates, control characters and what is no character at all among them. */
const anything = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 0xb, 0x3c, 0x22, 0x26, 0xd800, 0xfffe, 0xffff)),
).map((units) => String.fromCharCode(...units));

const TAG = /<\?xml [^<>]*\?>|<\/?\w+(?: \w+="(?:[^"&<]|&(?:amp|lt|gt|quot|apos|#\d+);)*")*\/?>/g;

test("a JUnit report lists ignored differences even without drift", () => {
  const report = { ...drift("a", "a"), ok: true, divergences: [], unused: [] };
  const normalise = [{ name: "day", path: "messages.**", pattern: "<\\d+>" }];
  const xml = (one: DriftReport) => junit(verdictOf([], [itemOf("n", one, {})]), "replay");
  assert.match(xml(report), /<testcase [^>]*name="n"[^>]*\/>/);
  assert.match(
    xml({ ...report, normalise }),
    /failures="0".*<system-out>ignored: day \(\/&#60;\\d\+&#62;\/ at messages\.\*\*\)<\/system-out>/s,
  );
});

test("a JUnit report is always well-formed, whatever changed", () => {
  fc.assert(
    fc.property(
      anything,
      anything,
      (name, text) => {
        const items: Item[] = [itemOf(name, drift("a", text), {}), { name, word: "cannot run", why: text }];
        const xml = junit(verdictOf([], items), "replay");
        assert.doesNotMatch(
          xml,
          // deno-lint-ignore no-control-regex
          /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/,
        );
        assert.doesNotMatch(xml.replace(TAG, ""), /[<>]|&(?!(?:amp|lt|gt|quot|apos|#\d+);)/);
        assert.match(xml, /tests="2" failures="1" errors="1"/);
      },
    ),
    { numRuns: rounds(200, 2000) },
  );
});

test("a report never shows half a character, wherever a long line is cut", () => {
  for (let n = 0; n < 8; n++) {
    const before = `${"x".repeat(n)}${"🧶".repeat(150)}`;
    const lines = reportLines(drift(`${before}tea${"🧶".repeat(150)}`, `${before}coffee${"🧶".repeat(150)}`));
    assert.ok(lines.some((line) => line.includes("…🧶") && line.endsWith("🧶…")), lines.join("\n"));
    // Half a character comes out of its bytes as another one.
    for (const line of lines) assert.equal(Buffer.from(line).toString(), line);
  }
});
