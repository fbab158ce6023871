import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileNameGlob } from "../../lib/hooks/name-glob.ts";
import { runaway } from "../../lib/regex/runaway.ts";
import { tries } from "../_counts.ts";
import { call, testContext } from "./_events.ts";
import { rulesHook } from "./_rules.ts";

type Condition =
  | { field: string; operator: string; value: string | number | boolean }
  | { and: Condition[] }
  | { or: Condition[] }
  | { not: Condition };

interface Rule {
  when: Condition;
  action: string;
  reason?: string | undefined;
  change?: { field: string; value: unknown } | undefined;
}

const PATTERNS = ["^a", "b$", "a|b", "[ab]+", "\\bab\\b", "(?i)A", "a.b", ""];
const GLOBS = ["*", "a*", "*b", "?", "a?b", "{a,b}*", "[ab]", "*.ts", "\\*"];
const small = fc.oneof(fc.constantFrom("", "a", "b", "ab", "a b", "x.ts", "true", "1"), fc.string({ maxLength: 6 }));
const fields = fc.constantFrom(
  "tool",
  "args.command",
  "args.deep.x",
  "args.list.0",
  "path",
  "args",
  "args.gone",
  "event",
);

const leaf: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ field: fields, operator: fc.constantFrom("equals", "contains"), value: small }),
  fc.record({
    field: fields,
    operator: fc.constant("equals"),
    value: fc.oneof(fc.integer(), fc.double(), fc.boolean()),
  }),
  fc.record({ field: fields, operator: fc.constant("matches"), value: fc.constantFrom(...PATTERNS) }),
  fc.record({ field: fields, operator: fc.constant("glob"), value: fc.constantFrom(...GLOBS) }),
).filter((test) => typeof test.value !== "number" || Number.isFinite(test.value));

const condition: fc.Arbitrary<Condition> = fc.letrec<{ node: Condition }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.record({ and: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ or: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ not: tie("node") }),
  ),
})).node;

const rule: fc.Arbitrary<Rule> = fc.oneof(
  fc.record({
    when: condition,
    action: fc.constantFrom("continue", "deny", "ask", "allow", "halt"),
    reason: fc.option(small, { nil: undefined }),
  }),
  fc.record({
    when: condition,
    action: fc.constant("modify"),
    reason: fc.option(small, { nil: undefined }),
    change: fc.record({
      field: fc.constantFrom("args.command", "args.deep.x", "tool_input.new", "args.list.1"),
      value: fc.jsonValue({ maxDepth: 2 }),
    }),
  }),
);

const event = fc.record({
  tool: fc.constantFrom("Bash", "Edit", "a"),
  input: fc.record({
    command: fc.oneof(small, fc.integer(), fc.constant(null)),
    deep: fc.record({ x: small }, { requiredKeys: [] }),
    list: fc.array(small, { maxLength: 2 }),
    path: small,
  }, { requiredKeys: [] }),
}).map(({ tool, input }) => call(tool, input));

/** A literal of the one-line form: single quotes where they can hold the text, by the draw of `n`. */
function literal(value: unknown, n: number): string {
  if (typeof value === "string" && n % 2 === 0 && !value.includes("\n")) return `'${value.replaceAll("'", "''")}'`;
  return JSON.stringify(value).replaceAll("\\b", "\\u0008").replaceAll("\\f", "\\u000c");
}

function asLine(when: Condition, n: number): string {
  if ("field" in when) return `${when.field} ${when.operator} ${literal(when.value, n)}`;
  if ("not" in when) return `not (${asLine(when.not, n)})`;
  const [word, parts] = "and" in when ? ["and", when.and] as const : ["or", when.or] as const;
  return `(${parts.map((part, i) => asLine(part, n + i)).join(n % 3 === 0 ? `\n  ${word} ` : ` ${word} `)})`;
}

function asLines(rules: readonly Rule[], n: number): string {
  return rules.map(({ when, action, reason, change }) => {
    const said = reason === undefined ? [] : [literal(reason, n)];
    const set = change
      ? [`${change.field} = ${JSON.stringify(change.value).replaceAll("\\b", "\\u0008").replaceAll("\\f", "\\u000c")}`]
      : [];
    const inside = [...set, ...said].join(", ");
    return `${asLine(when, n)} -> ${action}${inside === "" ? "" : `(${inside})`} # done`;
  }).join("\n");
}

function asYaml(rules: readonly Rule[]): string {
  return JSON.stringify(rules.map(({ when, action, reason, change }) => ({
    ...when,
    action,
    ...(reason !== undefined && { reason }),
    ...(change && { modify_field: change.field, modify_value: change.value }),
  })));
}

/** JSON.stringify escapes a backspace as \b, but so is the end of an escaped backslash before a b. */
const printable = (rules: readonly Rule[]) => !/\\\\[bf]/.test(JSON.stringify(rules));

test("U13: the one-line form and the YAML form of the same rules always decide alike", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(rule, { minLength: 1, maxLength: 4 }).filter(printable),
      event,
      fc.nat(5),
      async (rules, fired, n) => {
        const lines = await rulesHook(asLines(rules, n));
        const yaml = await rulesHook(asYaml(rules), "x.rules.yaml");
        assert.deepEqual(lines.run(fired, testContext()), yaml.run(fired, testContext()));
      },
    ),
    { numRuns: tries(40, 3000, 80) },
  );
});

test("S3.28: the first rule that matches alone always decides for the list", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(condition, { minLength: 1, maxLength: 5 }), event, async (conditions, fired) => {
      const decide = async (rules: Rule[]) => {
        const hook = await rulesHook(asYaml(rules), "x.rules.yaml");
        return hook.read(hook.run(fired, testContext()), fired).reason;
      };
      const rules = conditions.map((when, i) => ({ when, action: i % 2 ? "deny" : "continue", reason: `rule ${i}` }));
      let first: string | undefined;
      for (const one of rules) first ??= await decide([one]);
      assert.equal(await decide(rules), first);
    }),
    { numRuns: tries(20, 1000, 40) },
  );
});

test("U13: 'and', 'or' and 'not' always mean what they mean in logic", async () => {
  const holds = async (when: Condition, fired: ReturnType<typeof call>) => {
    const hook = await rulesHook(asYaml([{ when, action: "deny", reason: "x" }]), "x.rules.yaml");
    return hook.read(hook.run(fired, testContext()), fired).decision === "deny";
  };
  await fc.assert(
    fc.asyncProperty(condition, condition, event, async (a, b, fired) => {
      const [p, q] = [await holds(a, fired), await holds(b, fired)];
      assert.equal(await holds({ and: [a, b] }, fired), p && q);
      assert.equal(await holds({ or: [a, b] }, fired), p || q);
      assert.equal(await holds({ not: a }, fired), !p);
      assert.equal(await holds({ not: { or: [a, b] } }, fired), await holds({ and: [{ not: a }, { not: b }] }, fired));
    }),
    { numRuns: tries(10, 500, 20) },
  );
});

// Kills: a star that is lost behind another, a place that is taken back too far or not at all.
test("U12: a glob always matches what the same pattern means as a regular expression", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/", ".", "*"), maxLength: 8 });
  // Each piece with its meaning and a text that it fits.
  const piece = fc.oneof(
    text.map((fits) => ({ piece: "*", means: ".*", fits: fits.slice(0, 3) })),
    fc.constantFrom("a", "b", "/", ".").map((fits) => ({ piece: "?", means: ".", fits })),
    fc.constantFrom("a", "b").map((fits) => ({ piece: "[ab]", means: "[ab]", fits })),
    fc.constantFrom("b", "/").map((fits) => ({ piece: "[!a]", means: "[^a]", fits })),
    fc.constantFrom("a", "b", "/").map((fits) => ({ piece: fits, means: fits, fits })),
    fc.constantFrom("*", ".").map((fits) => ({ piece: `\\${fits}`, means: `\\${fits}`, fits })),
  );
  let matched = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 7 }), text, (pieces, other) => {
      const pattern = pieces.map((p) => p.piece).join("");
      // Neighbours that together mean something else are another pattern.
      fc.pre(!pattern.includes("**/"));
      const regex = new RegExp(`^${pieces.map((p) => p.means).join("")}$`, "s");
      const fitting = pieces.map((p) => p.fits).join("");
      for (const text of [fitting, fitting + other, fitting.slice(1), other]) {
        assert.equal(compileNameGlob(pattern)(text), regex.test(text), `${pattern} ${text}`);
        if (regex.test(text)) matched++;
      }
    }),
    { numRuns: tries(250, 20000, 500) },
  );
  assert.ok(matched > 300, `only ${matched} texts were matched`);
});

type Regex =
  | { kind: "letter"; letter: string }
  | { kind: "join" | "either"; parts: Regex[] }
  | { kind: "many"; body: Regex; sign: "*" | "+" | "?" };

const regex: fc.Arbitrary<Regex> = fc.letrec<{ node: Regex }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    fc.record({ kind: fc.constant("letter" as const), letter: fc.constantFrom("a", "b", "[ab]", ".") }),
    fc.record({
      kind: fc.constantFrom("join", "either"),
      parts: fc.array(tie("node"), { minLength: 2, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("many" as const), body: tie("node"), sign: fc.constantFrom("*", "+", "?") }),
  ),
})).node;

function source(tree: Regex): string {
  if (tree.kind === "letter") return tree.letter;
  if (tree.kind === "many") return `(?:${source(tree.body)})${tree.sign}`;
  return `(?:${tree.parts.map(source).join(tree.kind === "join" ? "" : "|")})`;
}

function loops(tree: Regex): number {
  if (tree.kind === "letter") return 0;
  if (tree.kind === "many") return loops(tree.body) + (tree.sign === "?" ? 0 : 1);
  return tree.parts.reduce((sum, part) => sum + loops(part), 0);
}

const ENOUGH = 3_000_000;

/** The steps a backtracking search makes on a text before it fails: this is how engines work, counted. */
function steps(tree: Regex, text: string): number {
  let count = 0;
  const go = (node: Regex, at: number, then: (at: number) => boolean): boolean => {
    if (++count > ENOUGH) return true;
    switch (node.kind) {
      case "letter": {
        const c = text[at];
        const fits = c !== undefined && (node.letter === "." || node.letter.includes(c));
        return fits && then(at + 1);
      }
      case "join": {
        const from = (i: number, place: number): boolean =>
          i === node.parts.length ? then(place) : go(node.parts[i]!, place, (next) => from(i + 1, next));
        return from(0, at);
      }
      case "either":
        return node.parts.some((part) => go(part, at, then));
      case "many": {
        const more = (place: number): boolean =>
          go(node.body, place, (next) => next !== place && (node.sign === "?" ? then(next) : more(next))) ||
          then(place);
        return node.sign === "+" ? go(node.body, at, (next) => next === at ? then(at) : more(next)) : more(at);
      }
    }
  };
  go(tree, 0, () => false);
  return count;
}

test("U13: a regular expression that is accepted never takes exponential time", () => {
  fc.assert(
    fc.property(
      regex.filter((tree) => loops(tree) <= 3),
      fc.string({ unit: fc.constantFrom("a", "b"), minLength: 1, maxLength: 3 }),
      (tree, unit) => {
        fc.pre(runaway(new RegExp(source(tree))) === undefined);
        assert.ok(steps(tree, unit.repeat(26).slice(0, 26)) < ENOUGH, source(tree));
      },
    ),
    { numRuns: tries(150, 5000, 300) },
  );
});

test("U13: the regular expressions that run away are refused, and their harmless neighbours are not", () => {
  const harmful = ["(a+)+$", "(a*)*", "(a|a)*b", "(\\w+\\s?)*$", "(a|ab|b)*c", "(.*,)+x", "(x+x+)+y", "(a?b?)*c"];
  const further = ["^(([a-z])+.)+[A-Z]([a-z])+$", "(?=(a+)+$)b", "(a{1,30}){1,30}", "(?i)(A|a)+$", "(?:\\s|[ \\t])*x"];
  const counted = [
    "a?".repeat(30) + "a{30}",
    "(?:a?){4}".repeat(9),
    "(aa?){30}$",
    "(?:a?){40}a{40}",
    "(a|a){30}b",
    "(a|a)".repeat(30) + "b",
    "(?:x(?:a|[a-z]))".repeat(30),
    "(?:a|a|a|a|a|a|a|a)".repeat(8) + "b",
    "(?=" + "(?:a|\\w)".repeat(30) + "b)",
    "(?:\\w{1,4}){20}$",
  ];
  for (const pattern of [...harmful, ...further, ...counted]) {
    const [, flags = "", rest] = /^(?:\(\?(i)\))?(.*)$/.exec(pattern)!;
    assert.notEqual(runaway(new RegExp(rest!, flags)), undefined, pattern);
  }
  const harmless = ["(\\w+\\s)+", "^(\\d{1,3}\\.){3}\\d{1,3}$", "(foo|bar)+", "(.*\\n)*", "(a?)*b", "([0-9a-f]{8})+"];
  const usual = [
    "\\bAKIA[0-9A-Z]{16}\\b",
    "a.*b.*c",
    "(--?\\w+\\s+)*",
    "[^\\s\"']+(?:\"[^\"]*\"|'[^']*')*",
    "(?<n>a)\\k<n>+",
    "(?:\\d{1,3}\\.)+\\d{1,3}",
    "^(?:[0-9a-f]{1,4}:)*x{2,4}$",
    "^(?:[0-9A-F]{1,2}[:-]?){6}$",
    "^" + '"?\\w*"?,'.repeat(12),
    [..."abcdefghijklmnop"].map((c) => `${c}?`).join(""),
    "(?:a|b)".repeat(30),
    "(?:a+|b)".repeat(30),
    "(?:foo|foobar)".repeat(30),
    "(?:a|a)".repeat(8),
    `(?:${Array.from({ length: 5000 }, (_, i) => `w${i}`).join("|")})`,
  ];
  for (const pattern of [...harmless, ...usual]) assert.equal(runaway(new RegExp(pattern)), undefined, pattern);
});
