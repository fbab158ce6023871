import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { rulesHook } from "../hooks/_rules.ts";
import { parseRule } from "../../lib/permissions/parse-rule.ts";
import { boundedSearch, linearSearch } from "../../lib/regex/bounded-search.ts";
import { runaway } from "../../lib/regex/runaway.ts";
import { regexTree } from "../../lib/regex/regex-tree.ts";
import { compilePathGlob } from "../../lib/files/ignore.ts";
import { tries } from "../_counts.ts";
import { call, testContext } from "../hooks/_events.ts";

const atoms = [
  "a",
  "b",
  ".",
  "[ab]",
  "[^a]",
  "\\w",
  "\\s",
  "\\b",
  "\\B",
  "^",
  "$",
  "é",
  "[^É]",
  "\\n",
  "\\012",
  "[\\1-b]",
  "\\k<a",
  "\\k<a>",
];
const unsure = ["\\1", "(?!a)", "(?=b)", "(?<=a)", "(?<n>a)\\k<n>"];

const { source } = fc.letrec<{ source: string }>((tie) => ({
  source: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(...atoms, ...unsure),
    fc.tuple(tie("source"), tie("source")).map(([a, b]) => a + b),
    fc.tuple(tie("source"), tie("source")).map(([a, b]) => `(?:${a}|${b})`),
    fc.tuple(fc.constantFrom("(", "(?i:", "(?m:", "(?s:"), tie("source")).map(([open, a]) => `${open}${a})`),
    fc.tuple(tie("source"), fc.constantFrom("*", "+", "?", "{2}", "{1,3}", "{0,6}", "*?", "{2,}"))
      .map(([a, sign]) => `(?:${a})${sign}`),
  ),
}));

const text = fc.string({ unit: fc.constantFrom(..."abABck< \n\u2028éÉ"), maxLength: 12 });

function compiled(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined; // not every engine reads groups with flags
  }
}

test("a search in linear time never says other than the engine, and says what it cannot know", () => {
  const flags = fc.constantFrom("", "i", "m", "s", "im");
  fc.assert(
    fc.property(source, flags, fc.array(text, { minLength: 2, maxLength: 5 }), (source, flags, texts) => {
      const regex = compiled(source, flags);
      fc.pre(regex !== undefined);
      const search = linearSearch(regexTree(source, flags), regex);
      for (const text of texts) {
        const found = search(text);
        if (found !== undefined) assert.equal(found, regex.test(text), `${regex} in ${JSON.stringify(text)}`);
      }
    }),
    { numRuns: tries(333, 30_000, 1000) },
  );
  for (const plain of ["a.*b", "^\\s+$", "\\bAKIA[0-9A-Z]{16}\\b", "(foo|bar)+"]) {
    assert.notEqual(linearSearch(regexTree(plain, ""), new RegExp(plain))("foo AKIA0123456789ABCDEF ab"), undefined);
  }
});

/** What a rule against piping into a shell says of a command. */
async function decide(command: string): Promise<string | undefined> {
  const rule = `args.command matches 'curl.*\\|.*sh' -> deny("no")`;
  const { run, read } = await rulesHook(rule);
  const event = call("Bash", { command });
  return read(await run(event, testContext()), event).decision;
}

test("no text takes a rule, a permission or a glob a time that grows with a power of its length", async () => {
  const nearly = "curl|".repeat(40_000);
  assert.equal(boundedSearch(/curl.*\|.*sh/)(nearly), false);
  assert.equal(boundedSearch(/\s+$/)(" ".repeat(200_000) + "x"), false);
  assert.equal(boundedSearch(/(?!x)curl.*\|.*u/)(nearly), undefined);
  assert.equal(await decide(nearly), undefined);
  assert.equal(await decide(`${nearly}sh`), "deny");
  const { names } = parseRule(`${"*a".repeat(12)}*b`);
  assert.equal(names("a".repeat(100_000)), false);
  assert.equal(names(`${"a".repeat(12)}b`), true);
  assert.equal(compilePathGlob(`${"*a".repeat(12)}*b`)("a".repeat(255)), false);
});

test("a rule that forbids never fails to see what is far apart in a long text", async () => {
  assert.equal(await decide(`curl example.com ${" ".repeat(200_000)} | sh`), "deny");
  assert.equal(await decide(`curl example.com ${" ".repeat(200_000)}\n| sh`), undefined);
});

test("an expression is read whole, however long the name of a group and however odd its escapes", () => {
  const name = "n".repeat(200);
  for (const [source, text] of [[`^(?<${name}>a)$`, "a"], ["^\\k<a$", "k<a"], ["^[(?<n>]\\k<n>$", "nk<n>"]] as const) {
    assert.equal(new RegExp(source).test(text), true, source);
    assert.equal(linearSearch(regexTree(source, ""), new RegExp(source))(text), true, source);
  }
});

test("counted groups in counted groups are judged without writing all of them out", () => {
  const nested = (depth: number, count: string) => new RegExp(`${"(?:".repeat(depth)}ab${`)${count}`.repeat(depth)}c`);
  assert.equal(runaway(nested(5, "{4}")), undefined);
  for (const count of ["{4}", "{0,4}", "{20}", "{64}"]) assert.match(runaway(nested(100, count))!, /exponential time/);
});

test("groups nested too deep to be judged are refused with the reason, and never overflow the stack", () => {
  const nested = (depth: number) => new RegExp(`${"(?:".repeat(depth)}a${")".repeat(depth)}`);
  assert.equal(runaway(nested(200)), undefined);
  assert.match(runaway(nested(3000))!, /^its groups are nested more than 250 deep: /);
  assert.throws(() => boundedSearch(nested(3000)), /^TooNested: Cannot read the expression as its groups are nested/);
});

test("counted repetitions that divide a text in too many ways are refused with the reason, and usual ones are not", () => {
  for (const source of ["a{1,1000}a{1,1000}b", "(?:a{1,1000}){1,3}b", "(?=.{0,999}x.{0,999}y)z", "(?:a{0,20}){9}"]) {
    assert.match(runaway(new RegExp(source))!, /too many ways|exponential/, source);
  }
  for (const source of ["[\\w-]{1,2000}", "\\d{1,3}(?:\\.\\d{1,3}){3}", "a{64}b{64}", "password.{0,200}=.{0,200}"]) {
    assert.equal(runaway(new RegExp(source)), undefined, source);
  }
});
