/** Once, as Bun makes the bundles. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { test } from "node:test";
import { scriptedServer } from "../../lib/testing/index.ts";
import { rows } from "../_counts.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const README = readFileSync(`${ROOT}README.md`, "utf8");
/** The agent that the README shows. */
const AGENT = /```ts\n(\/\/ agent\.ts\n[\s\S]*?)```/.exec(README)![1]!;

const BUNDLES: readonly [form: string, build: readonly string[], run: readonly [string, ...string[]]][] = [
  ["a bundle in another folder", ["--target=bun", "--outdir=../out"], [process.execPath, "../out/agent.js"]],
  [
    "a bundle in pieces",
    ["--target=bun", "--splitting", "--outdir=../out"],
    [process.execPath, "../out/agent.js"],
  ],
  ["a compiled binary", ["--compile", "--outfile=../out/agent"], ["../out/agent"]],
];

test("README's agent refuses as a script what a hook beside it denies", async () => {
  const { code, asked, ran } = await started([process.execPath, "agent.ts"]);
  assert.deepEqual([code, asked, ran], [0, 2, false]);
});

test("README's agent in a bundle or a compiled binary never runs what a hook beside the script denies: it refuses to start", async () => {
  for (const [form, build, run] of rows(1, BUNDLES)) {
    const { code, err, asked, ran } = await started(run, build);
    assert.match(err, /^crochet: Cannot start agent 'agent' as it is part of a bundle, away from the hooks beside/);
    assert.deepEqual([code, asked, ran], [2, 0, false], form);
  }
  const [, build, run] = BUNDLES[0]!;
  const { code, asked, ran } = await started(run, build, AGENT.replace("tools:", "hooks: [], tools:"));
  assert.deepEqual([code, asked, ran], [0, 2, true], "'hooks: []' says that there are none");
});

/** Builds an agent, has it touch a file, and tells whether it did. */
async function started(run: readonly [string, ...string[]], build?: readonly string[], agent = AGENT) {
  using w = place({
    "agent.ts": agent,
    "hooks/pre-tool-use@Bash.guard.rules": `args.command contains "touch" -> deny("not here")`,
    "node_modules/.keep": "",
  });
  symlinkSync(ROOT, `${w.cwd}/node_modules/crochet`);
  if (build) {
    const built = await ended([process.execPath, "build", "agent.ts", ...build], { cwd: w.cwd });
    assert.equal(built.code, 0, built.err);
  }
  const touch = { name: "Bash", input: { command: "touch ran" } };
  await using server = await scriptedServer([{ tools: [touch] }, { text: "done" }]);
  const { code, err } = await ended([...run, "go", "--permission-mode", "bypassPermissions"], {
    cwd: w.cwd,
    env: { HOME: w.home, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url },
  });
  return { code, err, asked: server.requests.length, ran: existsSync(`${w.cwd}/ran`) };
}
