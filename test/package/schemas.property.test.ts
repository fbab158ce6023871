/** The schemas for editors, beside the readers of the same files: never stricter, and laxer only for reasons listed here. */
import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { parse } from "yaml";
import { schemas } from "../../.ci/schemas.ts";
import { readExampleList } from "../../lib/extensions/check/examples/example.ts";
import { CONFIG_FILE, readConfig } from "../../lib/cli/kit/config.ts";
import { readCases } from "../../lib/extensions/eval/cases.ts";
import { turnsIn } from "../../lib/cli/record.ts";
import { readDefinitions } from "../../lib/hooks/definitions.ts";
import { readRules } from "../../lib/hooks/rule-yaml.ts";
import { tomlHooks } from "../../lib/hooks/toml.ts";
import { readYaml } from "../../lib/hooks/yaml.ts";
import { KINDS } from "../../lib/input/options.ts";
import { tries } from "../_counts.ts";
import { put, scratch } from "../_scratch.ts";
import { ROOT } from "../house/_files.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

interface Form {
  /** Files that are right, and use what there is. */
  readonly good: readonly Json[];
  /** @throws what is wrong with it */
  readonly read: (value: Json, folder: string) => unknown;
  /** What no schema can say, or none that people can read. */
  readonly lax: readonly (RegExp | ((value: Json) => boolean))[];
}

const text = (value: Json) => JSON.stringify(value);

/** A file of a project, read by what takes a path. */
function written(folder: string, value: Json): string {
  const path = join(folder, "given.yaml");
  writeFileSync(path, text(value));
  return path;
}

const RULES: Json = [
  { field: "args.command", operator: "contains", value: "push", action: "deny", reason: "No" },
  {
    and: [{ field: "tool", operator: "equals", value: 1 }, { not: { field: "path", operator: "glob", value: "*" } }],
    action: "ask",
    reason: null,
  },
  {
    or: [{ field: "a", operator: "matches", value: true }],
    action: "modify",
    modify_field: "args.x",
    modify_value: null,
  },
];

/** Regular expressions, in rules and in what examples expect. */
const REGEX = /not a regular expression|cannot be used safely/;

const FORMS: { readonly [file: string]: Form } = {
  "cases.json": {
    good: [{
      agent: "agent.ts",
      permissions: { mode: "plan", allow: ["Read"], ask: [], deny: ["Bash"] },
      cases: [{ name: "a", prompt: "go", files: "src", grade: "true" }, {
        name: "b",
        prompts: ["x", "y"],
        files: { "a.txt": "b" },
      }, {
        name: "c",
        user: "kim.prompt.md",
      }],
    }],
    read: (value, folder) => readCases(written(folder, value), "given.yaml"),
    lax: [/there are two cases/, /neither a folder nor texts by paths/],
  },
  "config.json": {
    good: [null, {
      model: "m",
      hookModel: "m",
      permissions: { mode: "plan", allow: "Read", ask: ["Bash"], deny: [] },
      limits: { iterations: 3, dollars: 0.5 },
      prices: { m: { input: 1, output: 2.5, cacheRead: 0, cacheWrite: 1 } },
      memory: ["A.md"],
      hooks: { env: ["KEY"], allowLocal: true },
      mcp: { servers: { a: { command: "x" } }, startTimeout: 10 },
      onPrompt: { command: "say" },
    }],
    read: (value, folder) => {
      put(folder, { [CONFIG_FILE]: text(value) });
      return readConfig(folder, { env: {}, err: () => {} }, true);
    },
    lax: [/it must be a whole number of 0 or more/],
  },
  "examples.json": {
    good: [[
      {
        name: "n",
        event: { tool_input: { command: "ls" } },
        expect: "deny",
        after: [{}],
        given: { "a": "b", "c": null },
        fix: "make",
        env: { A: "b" },
      },
      {
        expect: { action: "deny", reason: "/x/", context: "c", systemMessage: "s" },
        leaves: { a: "/b/", c: null },
        says: "{}",
      },
      { expect: { modify: { command: "ls" }, context: "c" } },
      { expect: { ask: true } },
      { expect: { context: "c" } },
      { expect: null },
    ]],
    read: (value) => readExampleList(value, "given.yaml"),
    lax: [REGEX, /is not an event/, /it expects both/],
  },
  "hook-toml.json": {
    good: [{
      turn_start: {
        command: "git",
        args: ["a"],
        run_on_hook_input: false,
        persist: true,
        json: false,
        timeout: 1.5,
        on_failure: "stop",
      },
      turn_end: { command: "make" },
    }],
    read: async (value) => {
      const toml = stringify(value);
      const { problems } = await tomlHooks("/", toml);
      if (problems.length > 0) throw new Error(problems.join("\n"));
    },
    lax: [],
  },
  "hooks.json": {
    good: [
      null,
      {
        hooks: {
          enabled: true,
          llm_model: "m",
          definitions: [
            {
              name: "a",
              type: "command",
              matcher: { events: ["PreToolUse"], tools: "Bash" },
              command: "true",
              timeout: 2,
              priority: -1,
            },
            { type: "llm", prompt: "p", model: "m", cache: 0, on_error: "deny", matcher: null, description: null },
            {
              name: "i",
              type: "inline",
              inline_rules: RULES,
              matcher: { events: "PreToolUse", path_patterns: ["*.ts"] },
            },
          ],
        },
      },
      { hooks: { enabled: false, definitions: [{ type: "llm", prompt: "p" }] } },
      {
        hooks: { definitions: [{ name: "l", type: "inline", rules: 'tool equals "Bash" -> deny("No")' }] },
      },
    ],
    read: async (value, folder) => {
      const problems: string[] = [];
      const heard = { onProblem: (problem: string) => problems.push(problem), warn: () => {} };
      await readDefinitions(text(value), "hooks.yaml", { workspace: folder, ...heard });
      if (problems.length > 0) throw new Error(problems[0]);
    },
    lax: [
      REGEX,
      /names no function that was given in code/,
      /is there twice/,
      /has a script that cannot be read/,
      /there is no such event/,
      // Rules that do not fit the events of their definition.
      /is not inside what [\w-]+ can modify|nothing can be modified on|and cannot be set to/,
      // Rules in their one-line form.
      (value) => /"(?:inline_)?rules":"/.test(text(value)),
    ],
  },
  "rules.json": {
    good: [RULES],
    read: async (value) => readRules(await readYaml(text(value), "x.rules.yaml")),
    lax: [/nested more than/],
  },
  "turns.json": {
    good: [["fix the typo", "thanks"]],
    read: (value, cwd) => turnsIn(written(cwd, value), { cwd }),
    lax: [],
  },
};

const POOL: readonly Json[] = [
  ...[
    null,
    true,
    false,
    0,
    1,
    -1,
    0.5,
    "",
    " ",
    "x",
    "a.b",
    "__proto__.x",
    "/(/",
    "deny",
    "modify",
    "command",
    "inline",
    "../out",
  ],
  ...[[], [""], ["x"], [1], [{}], {}, { x: "y" }, { x: null }, { x: 1 }, { action: "deny" }, {
    deny: "/x/",
    ask: true,
  }],
];

interface Change {
  readonly at: number;
  readonly how: "replace" | "remove" | "add" | "twice";
  readonly by: number;
}

/** The value with one place of it changed: to another value, of the pool or of the file; away; or with one more key. */
function changed(value: Json, { at, how, by }: Change, keys: readonly string[]): Json {
  const paths = placesIn(value);
  const path = paths[at % paths.length]!;
  const found = path.reduce<any>((inside, key) => inside[key], value);
  const pool = [...POOL, ...paths.map((one) => one.reduce<any>((inside, key) => inside[key], value))];
  const put = (inside: any, [key, ...rest]: readonly (string | number)[]): Json => {
    if (key === undefined) {
      if (how === "add" && found !== null && typeof found === "object" && !Array.isArray(found)) {
        return { ...found, [keys[by % keys.length]!]: pool[(at + by) % pool.length] };
      }
      return how === "twice" && Array.isArray(found) ? [...found, ...found] : pool[by % pool.length]!;
    }
    const removes = how === "remove" && rest.length === 0;
    if (Array.isArray(inside)) {
      return removes
        ? inside.toSpliced(key as number, 1)
        : inside.with(key as number, put(inside[key as number], rest));
    }
    const { [key]: old, ...others } = inside;
    return removes ? others : { ...inside, [key]: put(old, rest) };
  };
  return put(value, path);
}

function placesIn(value: Json): (string | number)[][] {
  if (value === null || typeof value !== "object") return [[]];
  const inside = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [[], ...inside.flatMap(([key, one]) => placesIn(one).map((path) => [key, ...path]))];
}

/** TOML has no null. */
function withoutNull(value: Json): Json {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(withoutNull);
  if (value === null || typeof value !== "object") return value ?? "";
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => one !== null).map(([key, one]) => [key, withoutNull(one)]),
  );
}

const change = fc.record({
  at: fc.nat(),
  how: fc.constantFrom<Change["how"]>("replace", "replace", "remove", "add", "twice"),
  by: fc.nat(),
});

assert.deepEqual(Object.keys(FORMS), Object.keys(schemas));

// Kills: any schema of a kind that is not that of its predicate.
test("the schema of a kind always accepts what its predicate does, and nothing else", () => {
  const kinds = Object.entries(KINDS).map(([kind, [fits, schema]]) => ({
    kind,
    fits,
    is: new Validator(schema as object, "7"),
  }));
  const judge = (value: unknown) => {
    for (const { kind, fits, is } of kinds) {
      assert.equal(is.validate(value).valid, fits(value), `${kind}: ${text(value as Json)}`);
    }
  };
  for (const value of POOL) judge(value);
  fc.assert(fc.property(fc.jsonValue({ maxDepth: 2 }), judge), { numRuns: tries(75, 10_000, 300) });
});

for (const [file, { good, read, lax }] of Object.entries(FORMS)) {
  // Kills: a kind whose schema asks for more or less than its predicate, a table that a schema does not follow.
  test(`${file} always accepts what its reader does, and refuses the rest but for what is listed`, async () => {
    using folder = scratch();
    const validator = new Validator(schemas[file] as object, "7");
    const keys = [...new Set(JSON.stringify(schemas[file]).match(/(?<=")\w+(?=":)/g)), "nope"];
    const seen = { accepted: 0, refused: 0 };
    const judge = async (value: Json) => {
      const why = await Promise.resolve().then(() => read(value, folder.path)).then(
        () => undefined,
        (error) => String(error.message),
      );
      const { valid, errors } = validator.validate(value);
      if (why === undefined) {
        seen.accepted++;
        assert.ok(valid, `stricter than the reader, ${JSON.stringify(errors.at(-1))}: ${text(value)}`);
      } else {
        seen.refused++;
        assert.ok(
          !valid || lax.some((reason) => reason instanceof RegExp ? reason.test(why) : reason(value)),
          `laxer than the reader, which says ${why}: ${text(value)}`,
        );
      }
    };
    for (const value of good) await judge(value);
    assert.deepEqual(seen, { accepted: good.length, refused: 0 });
    const made = fc.tuple(fc.constantFrom(...good), fc.array(change, { minLength: 1, maxLength: 3 })).map((
      [from, changes],
    ) => changes.reduce((value, one) => changed(value, one, keys), from));
    const objects = file === "hook-toml.json"
      ? made.map(withoutNull).filter((value) => !Array.isArray(value) && typeof value === "object")
      : made;
    await fc.assert(fc.asyncProperty(objects, judge), { numRuns: tries(100, 20_000, 400) });
    for (const [way, times] of Object.entries(seen)) assert.ok(times >= tries(5, 1000, 20), `${times} were ${way}`);
  });
}

test("every file of examples and rules that we ship fits its schema", () => {
  const files = globSync("hooks/*.{examples,rules}.yaml", { cwd: ROOT });
  assert.ok(files.length > 10);
  for (const file of files) {
    const [, name] = /\.(\w+)\.yaml$/.exec(basename(file))!;
    const validator = new Validator(schemas[`${name}.json`] as object, "7");
    const { valid, errors } = validator.validate(parse(readFileSync(join(ROOT, file), "utf8")));
    assert.ok(valid, `${file}: ${JSON.stringify(errors)}`);
  }
});
