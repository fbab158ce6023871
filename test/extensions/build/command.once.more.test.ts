/** Once, as Bun makes the bundles. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BOTH_RUNTIMES, oneIsMissing } from "../../_both-runtimes.ts";
import { ended } from "../../_crochet.ts";
import { noSandbox } from "../../_needs.ts";
import { put } from "../../_scratch.ts";
import {
  agentThatStarts,
  agentWith,
  assertDenies,
  assertLost,
  assertNoAgents,
  assertReviews,
  built,
  HOOKS,
  project,
  ran,
  REVIEWER,
  startedAs,
} from "./_built.ts";

const MAIN = new URL("../../../lib/cli/main.ts", import.meta.url).pathname;

/** Those that ask no model. */
const { "hooks/pre-tool-use@Bash.prompt.prompt.md": _, ...SURE } = HOOKS;
test("a built binary denies what each kind of hook denies, in an empty directory, and runs nothing that lies there", async () => {
  using w = project({ "agent.ts": agentWith(), ...HOOKS });
  const { program } = await built(w, "out/agent", "--compile");
  await assertDenies(w, [program]);
  put(w.empty, {
    "bunfig.toml": `preload = ["./early.ts"]`,
    "early.ts": `require("node:fs").writeFileSync("early", "");`,
    ".env": "CROCHET_BUILT=list",
  });
  const { out, made } = await ran(w, [program], ["touch sh"]);
  assert.equal(out, "loading\ndone\n");
  assert.ok(!made.includes("early"), made.join());
});

test("a file that was built for Node denies on Deno too", { skip: oneIsMissing }, async () => {
  using w = project({ ...SURE, "agent.ts": agentWith() });
  const { program } = await built(w, "agent.js", "--target", "node");
  const [deno] = BOTH_RUNTIMES[1]!;
  for (const kind of ["sh", "ts", "rules"]) {
    const { err, made } = await ran(w, [deno, "run", "-A", "--quiet", program], [`touch ${kind}`]);
    assert.match(err, new RegExp(`refused Bash touch ${kind}: .*by ${kind}`));
    assert.deepEqual([made, readdirSync(w.tmp)], [[], []]);
  }
});

test("a binary, and a file for Node on Deno, start the agents that are inside, in an empty directory", {
  skip: oneIsMissing,
}, async () => {
  const [deno] = BOTH_RUNTIMES[1]!;
  for (const [args, runs] of [[["--compile"], []], [["--target", "node"], [deno, "run", "-A", "--quiet"]]]) {
    using w = project({ "agent.ts": agentThatStarts(), ...REVIEWER });
    const { program } = await built(w, "agent", "--with-agents", ...args!);
    assertReviews((await startedAs(w, [...runs!, program] as [string], "reviewer"))[0]);
  }
});

test("an agent of another folder in a built program never gets the hooks of the script: it refuses to start", async () => {
  const helper = agentWith().replace(/console.*\n/, "").replace(/if .*\n/, "");
  const script = `import helper from "./sub/helper.ts";\n${agentWith().replace("await fixer", "await helper")}`;
  using w = project({
    "agent.ts": script,
    "sub/helper.ts": helper,
    "sub/hooks/pre-tool-use@Bash.own.rules": `args.command contains "touch" -> deny("own")`,
    "hooks/stop.own.rules": `last_assistant_message contains "x" -> deny("x")`,
  });
  const { code, err, made, asked } = await ran(w, [process.execPath, (await built(w, "agent.js")).program], [
    "touch x",
  ]);
  assert.match(err, /Cannot start agent 'helper' as it is not the agent that this program was built of/);
  assert.deepEqual([code, made, asked], [2, [], []]);
});

test("a command hook that the agent changes or removes where it was put denies from then on, and is whole again in the next run", async () => {
  using w = project({
    ...SURE,
    "agent.ts": agentWith().replace(
      "await fixer.main()",
      `for (const run of ["first", "second"]) {
  const { denials } = await fixer.run(run);
  console.log(denials.map(({ reason }) => reason).join());
}`,
    ),
  });
  const { program } = await built(w, "agent.js");
  const modes = `ls -ld . *.sh _lib/why.txt | cut -c1-10 > ${w.home}/modes`;
  for (const harm of ["chmod u+w *.sh && echo > *.sh", "rm -rf $TMPDIR/crochet-built-*"]) {
    const change = `cd $TMPDIR/crochet-built-*/hooks-* && ${modes} && ${harm}`;
    const replies = [change, "touch x", { text: "one" }, "touch sh"];
    const { out, err, made } = await ran(w, [process.execPath, program], replies);
    assert.match(out, /^loading\n10-pre-tool-use@Bash\.sh\.sh has changed since the run began.*\n.*by sh\n+$/, err);
    assert.equal(readFileSync(join(w.home, "modes"), "utf8"), "drwx------\n-r-x------\n-r--------\n");
    assert.deepEqual([made, readdirSync(w.tmp)], [[], []]);
  }
});

test("a command hook of a built program answers in the sandbox too", { skip: noSandbox }, async () => {
  using w = project({ ...SURE, "agent.ts": agentWith(`sandbox: { mode: "hooks" }`) });
  const { err, made } = await ran(w, [process.execPath, (await built(w, "agent.js")).program], ["touch sh"]);
  assert.match(err, /refused Bash touch sh: .*by sh/);
  assert.deepEqual(made, []);
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
  const [reviewer, second] = await startedAs(w, [process.execPath, program], "reviewer", "second");
  assert.match(reviewer!.system, /You review in code/);
  assertReviews(second);
});

test("a program that is built without its agents starts only those of a workspace", async () => {
  using w = project({ "agent.ts": agentThatStarts(), ...REVIEWER });
  const { out } = await w.main(["build", "agent.ts", "--with-agents"]);
  assert.match(out, /\nIts agents, of agents: reviewer\n/);
  const { program, agents } = await built(w, "plain.js");
  assert.equal(agents, undefined);
  put(w.empty, { "agents/reviewer.md": "---\ndescription: d\n---\nYou review outside.\n" });
  assert.match((await startedAs(w, [process.execPath, program], "reviewer"))[0]!.system, /You review outside/);
});

/** Each has its hooks as a script, and other ones in a bundle. */
const LOST: readonly [files: Readonly<Record<string, string>>, said: RegExp][] = [
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

test("a program that has other hooks or other agents than its script is never delivered", async () => {
  for (const [files, said] of LOST) await assertLost(files, said);
  const other = `{ agents: import.meta.url.endsWith(".ts") ? {} : { reviewer: { description: "d" } } }`;
  await assertNoAgents(
    { ...REVIEWER, "agent.ts": agentThatStarts(other) },
    /is not delivered: agent 'reviewer' is not that of 'agents\/reviewer\.md'/,
  );
});

test("without Bun, a build says what to install", { skip: oneIsMissing }, async () => {
  using w = project({ "agent.ts": agentWith() });
  const { code, err } = await ended([...BOTH_RUNTIMES[1]!, MAIN, "build", "agent.ts"], { cwd: w.cwd });
  assert.deepEqual([code, err], [
    1,
    "crochet: Cannot build here as Bun makes the bundle: npm install --global bun, then 'crochet build' finds it\n",
  ]);
});

test("a program that lost a hook on the way is never delivered, and what was there before stays", () =>
  assertLost(
    { "agent.ts": agentWith(`hooks: import.meta.url.endsWith(".ts") ? "./hooks" : []`) },
    /hook 1 is '10-pre-tool-use@Bash\.sh\.sh' in the script and none in the program/,
  ));
