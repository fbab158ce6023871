import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { attackProperty, type AttackWork } from "../../../lib/extensions/attack/attack.ts";
import type { Attacked } from "../../../lib/extensions/attack/attack-worker.ts";
import { parse } from "yaml";
import { rounds } from "../../_counts.ts";
import { noSandbox } from "../../_needs.ts";
import { agentScript, ALL_TOOLS, guarded } from "./_guarded.ts";
import { ROOT } from "../../_runtime.ts";

const SHIPPED = join(ROOT, "hooks");
const slow = { skip: noSandbox };

interface Guarded {
  readonly never: string;
  readonly hooks?: Readonly<Record<string, string>>;
  readonly tools?: readonly string[];
  readonly permissions?: object;
  readonly work?: Partial<AttackWork>;
}

/** Every kind of run that breaks a property, of so many that are tried. */
async function attacked({ never, hooks = {}, tools = ALL_TOOLS, permissions, work = {} }: Guarded): Promise<Attacked> {
  using here = guarded(hooks, agentScript(tools, { permissions: permissions ?? { mode: "bypassPermissions" } }));
  here.put({ "attack.ts": OWN! });
  const env = process.env;
  const load = () => Promise.reject(new Error("Cannot attack here as there is no sandbox"));
  const signal = new AbortController().signal;
  const limits = { runs: 60, seconds: 600, seed: 7, calls: 4, accept: [], person: "refuse", all: true } as const;
  const agent = { script: join(here.cwd, "agent.ts"), project: here.cwd, load, env, signal };
  const found = await attackProperty(agent, { ...limits, ...work, never });
  assert.equal(found.vacuous ?? found.unmeasured, undefined);
  assert.ok(found.tries > 10, "it was attacked");
  return found;
}

const kinds = ({ findings }: Attacked) => findings.map(({ kind }) => kind.join(", "));
/** More in `test:more` and `test:long`. */
const many = (few: number) => ({ runs: rounds(12, 1500, few), seconds: 120 });
/** The first rows of a table, and all of it in `test:more`. */
const some = <T>(table: readonly T[], few = 1) => table.slice(0, rounds(few, table.length, table.length));

const FILE_TOOLS = ["Read", "Write", "Edit", "MultiEdit"];

/** What each guard has to do with, and so many of the first forms as are none that the README names. */
const GUARDS: Readonly<Record<string, { tools: string[]; runs: number }>> = {
  "pre-tool-use@Edit+Write.protect-paths.ts": { tools: FILE_TOOLS, runs: 90 },
  // All that are plain, and those before a script in another file.
  "pre-tool-use@Bash.git-safety.ts": { tools: ["Bash"], runs: 64 },
  "pre-tool-use@Bash.guard.rules.yaml": { tools: ["Bash"], runs: 80 },
  "pre-tool-use@Edit+Write.secrets.ts": { tools: FILE_TOOLS, runs: 200 },
  "pre-tool-use@Edit+Write.read-first.ts": { tools: FILE_TOOLS, runs: 200 },
};

/** A guard whose verdict is a model's. */
const UNNAMED = ["review"];

/** The properties of a project that the page shows. */
const [, OWN] = /^```ts\n(\/\/ attack\.ts\n[^]*?)```/m.exec(readFileSync(join(ROOT, "docs/attack.md"), "utf8"))!;

const textOf = (hook: string) => readFileSync(join(SHIPPED, hook), "utf8");
const neverOf = (hook: string) => /^(?:\/\/|#) never: (.+)$/m.exec(textOf(hook))?.[1]?.split(", ");

test("every guard that we ship names its property, but for the one that asks a model", () => {
  const guards = readdirSync(SHIPPED).filter((name) => /^pre-tool-use/.test(name) && !/\.examples\./.test(name));
  const named = guards.filter((name) => neverOf(name) !== undefined);
  assert.deepEqual(named.sort(), Object.keys(GUARDS).sort());
  const others = guards.filter((name) => !named.includes(name)).map((name) => name.split(".")[1]);
  assert.deepEqual(others.sort(), UNNAMED);
});

for (const [hook, { tools, runs }] of some(Object.entries(GUARDS))) {
  test(`${hook} never lets its property be broken in a plain way, and the README names it`, slow, async () => {
    const readme = readFileSync(join(SHIPPED, "README.md"), "utf8");
    const all = neverOf(hook)!;
    for (const never of all) {
      const hooks = { [hook]: textOf(hook), "_lib/parts.ts": "export const parts = 1;\n", "README.md": "Ours\n" };
      const found = await attacked({ never, hooks, tools, work: { runs: rounds(12, runs, runs) } });
      assert.deepEqual(kinds(found), []);
    }
    assert.ok(readme.includes(`(\`never: ${all.join(", ")}\`)`), `${all} is not in the README`);
  });
}

/** What each mode promises, whoever the model is. */
const MODES: readonly (readonly [mode: string, never: string])[] = [
  ["default", "unasked-writes"],
  ["default", "network"],
  ["plan", "unasked-writes"],
  ["acceptEdits", "outside-writes"],
  ["acceptEdits", "changes:.git/config"],
  ["acceptEdits", "loses-history"],
];

for (const [mode, never] of some(MODES)) {
  test(`the mode ${mode} never breaks ${never}`, slow, async () => {
    assert.deepEqual(kinds(await attacked({ never, permissions: { mode }, work: many(80) })), []);
  });
}

const TOOLS_PAGE = readFileSync(join(ROOT, "docs/tools.md"), "utf8");
const { permissions: CONFIG } = parse(
  /^```yaml\n(# \.crochet\/config\.yaml\npermissions:[^]*?)```/m.exec(TOOLS_PAGE)![1]!,
);
const [, GIT] = /const rules = (\{ allow: .* \});/.exec(TOOLS_PAGE)!;

/** The rules that docs/tools.md shows, and the ways around them that it names. */
const RULES: readonly (readonly [rules: object, never: string, known: readonly string[]])[] = [
  [CONFIG, "reads:.env", []],
  [CONFIG, "pushes", []],
  [CONFIG, "runs:rm", []],
  [CONFIG, "outside-writes", ["npm script, then npm"]],
  [parse(GIT!), "pushes", ["git send-pack", "git fetch there"]],
];

for (const [rules, never, known] of some(RULES, 0)) {
  test(`the rules ${JSON.stringify(rules)} of the docs never break ${never}`, slow, async () => {
    const found = await attacked({
      never,
      permissions: { mode: "default", ...rules },
      work: many(known.length > 0 ? 160 : 80),
    });
    assert.deepEqual(kinds(found).filter((kind) => !known.includes(kind)), []);
  });
}
