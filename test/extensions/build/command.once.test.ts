/** Once, as Bun makes the bundles. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { put } from "../../_scratch.ts";
import {
  agentThatStarts,
  agentWith,
  assertDenies,
  assertNoAgents,
  assertReviews,
  built,
  HOOKS,
  KINDS,
  project,
  REVIEWER,
  startedAs,
} from "./_built.ts";

const OF_WORKSPACE = (file: string) => ({ [`agents/${file}.md`]: `---\ndescription: d\n---\nYou review outside.\n` });

test("a built file has the hooks that 'crochet hooks ls' lists and its agents, in an empty directory: each kind of hook denies, nothing is left behind, and an agent inside is before one of the workspace", async () => {
  using w = project({ "agent.ts": agentThatStarts(), ...HOOKS, ...REVIEWER });
  const ls = JSON.parse((await w.main(["hooks", "ls", "agent.ts", "--json"])).out);
  const { program, hooks, agents } = await built(w, "out/agent.js", "--with-agents");
  assert.deepEqual(hooks.map(({ name }) => /Bash\.(\w+)/.exec(name)![1]), KINDS);
  assert.deepEqual(hooks, ls.hooks.map(({ name, kind }: typeof hooks[number]) => ({ name, kind })));
  assert.deepEqual(agents, ["reviewer"]);
  const hasClient = /^\/\/ .*node_modules\/@anthropic-ai\/sdk\/client/m.test(readFileSync(program, "utf8"));
  assert(!hasClient, "the SDK's client is in it as the one file of dist");
  await assertDenies(w, [process.execPath, program]);
  put(w.empty, { ...OF_WORKSPACE("reviewer"), ...OF_WORKSPACE("other") });
  const [reviewer, other] = await startedAs(w, [process.execPath, program], "reviewer", "other");
  assertReviews(reviewer);
  assert.match(other!.system, /You review outside/);
});

const ISOLATED = { "hooks/stop.slow.ts": "export const config = { isolate: true };\nexport default () => {};\n" };

const REFUSED: readonly [what: string, files: Readonly<Record<string, string>>, said: RegExp][] = [
  ["an isolated hook", { "agent.ts": agentWith(), ...ISOLATED }, /its hook 'stop\.slow\.ts' has 'isolate'/],
  ["a folder outside of the script's", { "agent.ts": agentWith(`hooks: "../elsewhere"`) }, /elsewhere' lies outside/],
  ["a link that leaves", { "agent.ts": agentWith() }, /'hooks\/stop\.linked\.sh' is a link to '.*elsewhere\/a\.sh'/],
  ["a relative cwd", { "agent.ts": agentWith(`cwd: "./work"`) }, /Cannot use cwd '\.\/work' in a built program/],
  ["a file that is not a hook", { "agent.ts": agentWith(), ...HOOKS, "hooks/notes.txt": "" }, /'notes\.txt'/],
  [
    "a hook that is half written",
    { "agent.ts": agentWith(), "hooks/stop.half.ts": "export default (" },
    /as hook 'stop\.half\.ts' cannot be loaded: it has a syntax error/,
  ],
  ["what cannot be bundled", {
    "agent.ts": agentWith(),
    "late.ts": `import "not-installed";\n`,
    "hooks/stop.late.ts": `export default () => import("../late.ts");\n`,
  }, /not-installed/],
];

test("a build refuses what would not be the same inside, with exit code 1, and delivers nothing", async () => {
  for (const [what, files, said] of REFUSED) {
    using w = project(files);
    w.put({ "../elsewhere/a.sh": "#!/bin/sh\n", "../elsewhere/stop.b.rules": "" });
    if (what.includes("link")) {
      w.put({ "hooks/.keep": "" });
      symlinkSync("../../elsewhere/a.sh", join(w.cwd, "hooks/stop.linked.sh"));
    }
    const { code, out, err } = await w.main(["build", "agent.ts", "--out", "out/agent.js"]);
    assert.deepEqual([code, out], [1, ""], `${what}: ${err}`);
    assert.match(err, /^(?:loading\n)?crochet: Cannot build 'agent\.ts' as /);
    assert.match(err, said);
    assert.deepEqual(readdirSync(w.cwd).includes("out") ? readdirSync(join(w.cwd, "out")) : [], [], what);
  }
});

const NO_AGENTS: readonly [files: Readonly<Record<string, string>>, said: RegExp][] = [
  [{ ...REVIEWER, "agent.ts": agentWith() }, /nothing in it starts agents: give it the tool Agent, or leave out/],
  [{}, /no file '.*\/agents\/<name>\.md' defines an agent that is not in code: begin one with '---'/],
  [{ "agents/README.md": "Ours" }, /no file '.*\/agents\/<name>\.md' defines an agent/],
  [{ ...REVIEWER, "agents/bad.md": "---\nmodel: 3\n---\n" }, /'.*\/agents\/bad\.md' cannot be used: .*'model'/],
  [{ ...REVIEWER, "agents/bad.md": "---\nmodel: x\n---\n" }, /'.*\/bad\.md' cannot be used: .*no 'description': say/],
  [
    { ...REVIEWER, "agent.ts": agentThatStarts(`{ folder: import.meta.url.endsWith(".ts") ? "agents" : "others" }`) },
    /is not delivered: agent 'reviewer' is not that of 'agents\/reviewer\.md'/,
  ],
];

test("--with-agents refuses where an agent would be missing or another in the program, and delivers nothing", async () => {
  for (const [files, said] of NO_AGENTS) await assertNoAgents(files, said);
});
