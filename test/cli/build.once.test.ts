/** Once, as Bun makes the bundles. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BOTH_RUNTIMES, oneIsMissing } from "../_both-runtimes.ts";
import { ended } from "../_crochet.ts";
import { put } from "../_scratch.ts";
import {
  agentThatStarts,
  agentWith,
  assertDenies,
  assertReviews,
  built,
  HOOKS,
  KINDS,
  project,
  REVIEWER,
  startedAs,
} from "./_built.ts";

const MAIN = new URL("../../lib/cli/main.ts", import.meta.url).pathname;

test("a built file has the hooks that 'crochet hooks ls' lists and denies what each kind denies, in an empty directory, and leaves nothing behind", async () => {
  using w = project({ "agent.ts": agentWith(), ...HOOKS });
  const ls = JSON.parse((await w.main(["hooks", "ls", "agent.ts", "--json"])).out);
  const { program, hooks } = await built(w, "out/agent.js");
  assert.deepEqual(hooks.map(({ name }) => /Bash\.(\w+)/.exec(name)![1]), KINDS);
  assert.deepEqual(hooks, ls.hooks.map(({ name, kind }: typeof hooks[number]) => ({ name, kind })));
  await assertDenies(w, [process.execPath, program]);
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

/** Each has its hooks as a script, and other ones in a bundle. */
const LOST: readonly [files: Readonly<Record<string, string>>, said: RegExp][] = [
  [
    { "agent.ts": agentWith(`hooks: import.meta.url.endsWith(".ts") ? "./hooks" : []`) },
    /hook 1 is '10-pre-tool-use@Bash\.sh\.sh' in the script and none in the program/,
  ],
  [
    { "agent.ts": agentWith(`hooks: import.meta.url.endsWith(".ts") ? undefined : { stop: () => {} }`) },
    /hook 1 is '10-pre-tool-use@Bash\.sh\.sh' in the script and 'code:stop#0' in the program/,
  ],
  [
    { "agent.ts": agentWith().replace("import.meta.url", "HERE").replace("const", "const HERE = __filename;\nconst") },
    /hook 1 is '10-pre-tool-use@Bash\.sh\.sh' in the script and none in the program/,
  ],
  [
    {
      "agent.ts": agentWith(),
      "hooks/stop.late.ts": `import { readFileSync } from "node:fs";
readFileSync(new URL("../agent.ts", import.meta.url));
export default () => {};
`,
    },
    /Cannot load hook 'stop\.late\.ts' as ENOENT/,
  ],
];

test("a program that lost a hook on the way is never delivered, and what was there before stays", async () => {
  for (const [files, said] of LOST) {
    using w = project({ ...HOOKS, ...files, "agent.js": "before" });
    const { code, err } = await w.main(["build", "agent.ts"]);
    assert.equal(code, 1, err);
    assert.match(err, /what was built is not delivered: /);
    assert.match(err, said);
    assert.equal(readFileSync(join(w.cwd, "agent.js"), "utf8"), "before");
    assert.deepEqual(readdirSync(w.cwd).filter((name) => name.startsWith(".crochet-build")), []);
  }
});

const OF_WORKSPACE = (file: string) => ({ [`agents/${file}.md`]: `---\ndescription: d\n---\nYou review outside.\n` });

test("a program built with its agents starts them in an empty directory and before those of a workspace; without the flag only the workspace's", async () => {
  using w = project({ "agent.ts": agentThatStarts(), ...REVIEWER });
  const { out } = await w.main(["build", "agent.ts", "--with-agents"]);
  assert.match(out, /\nIts agents, of agents: reviewer\n/);
  const plain = await w.main(["build", "agent.ts", "--json", "--out", "../home/plain.js"]);
  assert.equal(JSON.parse(plain.out).agents, undefined);
  const { program, agents } = await built(w, "agent.js", "--with-agents");
  assert.deepEqual(agents, ["reviewer"]);
  const [inside, without] = [[process.execPath, program], [process.execPath, join(w.home, "plain.js")]] as const;
  assertReviews(await startedAs(w, inside, "reviewer"));
  assert.equal(await startedAs(w, without, "reviewer"), undefined);
  put(w.empty, { ...OF_WORKSPACE("reviewer"), ...OF_WORKSPACE("other") });
  assertReviews(await startedAs(w, inside, "reviewer"));
  for (const [program, type] of [[inside, "other"], [without, "reviewer"]] as const) {
    assert.match((await startedAs(w, program, type))!.system, /You review outside/);
  }
});

test("an agent in code wins over the one of its name in a file, which is not put inside", async () => {
  const inCode = `{ folder: "kinds", agents: { reviewer: { description: "d", system: "You review in code." } } }`;
  using w = project({
    "agent.ts": agentThatStarts(inCode),
    "kinds/reviewer.md": REVIEWER["agents/reviewer.md"],
    "kinds/second.md": REVIEWER["agents/reviewer.md"],
  });
  const { program, agents } = await built(w, "agent.js", "--with-agents");
  assert.deepEqual(agents, ["second"]);
  assert.match((await startedAs(w, [process.execPath, program], "reviewer"))!.system, /You review in code/);
  assertReviews(await startedAs(w, [process.execPath, program], "second"));
});

const ELSEWHERE = `import.meta.url.endsWith(".ts")`;
const NO_AGENTS: readonly [files: Readonly<Record<string, string>>, said: RegExp][] = [
  [{ ...REVIEWER, "agent.ts": agentWith() }, /nothing in it starts agents: give it the tool Agent, or leave out/],
  [{}, /no file '.*\/agents\/<name>\.md' defines an agent that is not in code: begin one with '---'/],
  [{ "agents/README.md": "Ours" }, /no file '.*\/agents\/<name>\.md' defines an agent/],
  [{ ...REVIEWER, "agents/bad.md": "---\nmodel: 3\n---\n" }, /'.*\/agents\/bad\.md' cannot be used: .*'model'/],
  [{ ...REVIEWER, "agents/bad.md": "---\nmodel: x\n---\n" }, /'.*\/bad\.md' cannot be used: .*no 'description': say/],
  [
    { ...REVIEWER, "agent.ts": agentThatStarts(`{ folder: ${ELSEWHERE} ? "agents" : "others" }`) },
    /is not delivered: agent 'reviewer' is not that of 'agents\/reviewer\.md'/,
  ],
  [
    { ...REVIEWER, "agent.ts": agentThatStarts(`{ agents: ${ELSEWHERE} ? {} : { reviewer: { description: "d" } } }`) },
    /is not delivered: agent 'reviewer' is not that of 'agents\/reviewer\.md'/,
  ],
];

test("--with-agents refuses where an agent would be missing or another in the program, and delivers nothing", async () => {
  for (const [files, said] of NO_AGENTS) {
    using w = project({ "agent.ts": agentThatStarts(), ...files });
    const { code, out, err } = await w.main(["build", "agent.ts", "--with-agents", "--out", "out/agent.js"]);
    assert.deepEqual([code, out], [1, ""], err);
    assert.match(err, said);
    assert.deepEqual(readdirSync(w.cwd).includes("out") ? readdirSync(join(w.cwd, "out")) : [], []);
  }
});

test("without Bun, a build says what to install", { skip: oneIsMissing }, async () => {
  using w = project({ "agent.ts": agentWith() });
  const { code, err } = await ended([...BOTH_RUNTIMES[1]!, MAIN, "build", "agent.ts"], { cwd: w.cwd });
  assert.deepEqual([code, err], [
    1,
    "crochet: Cannot build here as Bun makes the bundle: npm install --global bun, then 'crochet build' finds it\n",
  ]);
});
