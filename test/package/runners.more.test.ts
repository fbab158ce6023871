/** The matchers, `recorded()` and `attack()` in every runner, from the package as it is installed. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { onPath } from "../../lib/process/programs.ts";
import { scriptedServer } from "../../lib/testing/index.ts";
import { add, install, type Installed } from "./_install.ts";

let made: Installed | undefined;
let skip: string | false = "Deno" in globalThis ? "every runner is tried once, under Bun" : false;
if (!skip) {
  try {
    made = install();
    add(made.project, "vitest@5.1.0", "expect@30.5.2");
  } catch (error) {
    if (!/registry/.test((error as Error).message)) throw error;
    skip = (error as Error).message;
  }
}
after(() => made && spawn("rm", ["-rf", made.folder], { detached: true, stdio: "ignore" }).unref());

const CLIENT = `
const BASE = process.env.ANTHROPIC_BASE_URL;
export async function ask(text) {
  const headers = { "content-type": "application/json", "x-api-key": "none", "anthropic-version": "2023-06-01" };
  const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: text }] });
  return (await fetch(BASE + "/v1/messages", { method: "POST", headers, body })).status;
}
`;

const AGENT = `
import { agent } from "crochet";
import { Write } from "crochet/tools";
export default agent({ from: import.meta.url, tools: [Write], hooks: "./guards" });
`;
/** It looks for a name as it is written, and forgets that a path has many. */
const GUARD =
  `export default ({ input }) => input.file_path === "locked.txt" ? { action: "deny", reason: "No" } : undefined;`;

/** Two runners have an entry of their own, which extends their `expect`. */
const source = (runner: string, asserting: string, own?: string) => `
import { test } from ${JSON.stringify(runner)};
import { expect } from ${JSON.stringify(asserting)};
import { attack, matchers, recorded } from "crochet/testing";
import { ask } from "./client.mjs";
import guarded from "./guarded.mjs";

${own === undefined ? "expect.extend(matchers);" : `import ${JSON.stringify(own)};`}
const run = [
  { name: "Read", input: { file_path: "a.txt", limit: 5 }, outcome: "success" },
  { name: "Bash", input: { command: "rm -r /" }, outcome: "denied" },
];

test("calls", () => {
  expect(run).toHaveCalled("Read", { file_path: expect.stringContaining("a"), limit: expect.any(Number) });
  expect(run).not.toHaveCalled("Read", { file_path: expect.stringContaining("b") });
  expect(run).toHaveCalledInOrder([["Read", { file_path: /txt$/ }]]);
  expect(run).toNeverHaveCalled("Bash");
  expect(run).toHaveDenied("Bash", { command: /^rm/ });
  expect(() => expect(run).toHaveCalled("Bash")).toThrow("Expected a run that calls Bash, but it called");
});

test("recorded", async () => {
  expect(await recorded("greets", () => ask("hi"))).toBe(200);
});

test("attack", async () => {
  const found = await attack(guarded, { never: "changes:locked.txt", seed: 7, person: "allow" }).catch((error) => error);
  expect(found.message).toContain("✗ changes:locked.txt  broken, 1 call");
}, 60_000);
`;

/** The first test replays an agent whose tool ends the process, the second passes. */
const ends = (runner: string) => `
import { test } from ${JSON.stringify(runner)};
import { agent, tool } from "crochet";
import { replay, scripted } from "crochet/testing";
const made = (run) => agent({
  model: scripted([{ tools: [{ name: "price", input: {} }] }, { text: "It is 3." }]),
  tools: [tool({ name: "price", description: "d", effect: "read", input: { type: "object" }, run })],
});
const ends = () => {
  try { process.exit(0); } catch {}
  return "3";
};
test("the first", async () => {
  await made(() => "3").run("how much?", { tape: { path: process.cwd() + "/fixtures/sale", mode: "record" } });
  await replay(made(ends), "sale");
});
test("the next", () => {});
`;

const FILE = "x.test.mjs";
const RUNNERS = [
  {
    runner: "bun test",
    on: "bun",
    args: ["bun", "test", "--preload", "crochet/testing/preload"],
    from: ["bun:test", "bun:test", "crochet/bun"],
  },
  {
    runner: "deno test",
    on: "deno",
    args: ["deno", "test", "-A", "--no-check", "--preload", "node_modules/crochet/dist/testing/preload.js"],
    from: ["node:test", "expect"],
  },
  {
    runner: "node --test",
    on: "node",
    args: ["node", "--import", "crochet/testing/preload", "--test"],
    from: ["node:test", "expect"],
  },
  {
    runner: "vitest",
    on: "node",
    args: ["node", "node_modules/vitest/vitest.mjs", "run"],
    from: ["vitest", "vitest", "crochet/vitest"],
  },
] as const;

for (const { runner, on, args: [program, ...args], from } of RUNNERS) {
  const path = made?.only[on];
  const missing = skip || (path === undefined && "there is no Node new enough, here or in the registry");
  test(
    `${runner} records and replays, takes the matchers, and attacks`,
    { skip: missing },
    async () => {
      await using api = await scriptedServer([], { then: { text: "hello" } });
      const { project } = made!;
      rmSync(join(project, "fixtures"), { recursive: true, force: true });
      writeFileSync(join(project, "client.mjs"), CLIENT);
      mkdirSync(join(project, "guards"), { recursive: true });
      writeFileSync(join(project, "guards/pre-tool-use@Write.locked.mjs"), GUARD);
      writeFileSync(join(project, "guarded.mjs"), AGENT);
      writeFileSync(join(project, "locked.txt"), "closed\n");
      writeFileSync(join(project, FILE), source(from[0], from[1], from[2]));
      writeFileSync(
        join(project, "vitest.config.mjs"),
        `export default { test: { setupFiles: ["crochet/testing/preload"] } };
`,
      );
      // The attack has a sandbox where there is one, but while it records.
      const bin = join(made!.folder, "bin");
      mkdirSync(bin, { recursive: true });
      const bwrap = onPath("bwrap", process.env);
      if (bwrap !== undefined && !existsSync(join(bin, "bwrap"))) symlinkSync(bwrap, join(bin, "bwrap"));
      const play = (env: { [name: string]: string }) =>
        new Promise<string | undefined>((resolve) => {
          const { CI: _, ...rest } = process.env;
          const all = { ...rest, PATH: `${path}${delimiter}${bin}`, ANTHROPIC_BASE_URL: api.url, ...env };
          execFile(program, [...args, FILE], { cwd: project, env: all, timeout: 120_000 }, (error, stdout, stderr) => {
            resolve(error ? stdout + stderr : undefined);
          });
        });
      assert.match(await play({}) ?? "", /tape\.jsonl is missing: CROCHET_RECORD=1/);
      assert.equal(api.requests.length, 0);
      assert.equal(await play({ CROCHET_RECORD: "1", PATH: path! }), undefined);
      assert.equal(api.requests.length, 1);
      assert.ok(existsSync(join(project, "fixtures/greets/tape.jsonl")));
      assert.equal(await play({}), undefined);
      assert.equal(api.requests.length, 1, "the replay asks nobody");
    },
  );

  test(
    `${runner} fails the test whose replay would end the process, and runs the next one`,
    { skip: missing },
    async () => {
      const { project } = made!;
      rmSync(join(project, "fixtures"), { recursive: true, force: true });
      writeFileSync(join(project, "ends.test.mjs"), ends(from[0]));
      const { CI: _, ...rest } = process.env;
      const env = { ...rest, PATH: path!, NO_COLOR: "1" };
      const done = await new Promise<{ failed: boolean; said: string }>((resolve) => {
        execFile(
          program,
          [...args, "ends.test.mjs"],
          { cwd: project, env, timeout: 120_000 },
          (error, stdout, stderr) => {
            resolve({ failed: error !== null, said: stdout + stderr });
          },
        );
      });
      assert.ok(done.failed, done.said);
      assert.match(done.said, /It ends the process: process\.exit\(0\) at ends\.test\.mjs:\d+/);
      assert.match(done.said, /\b1 pass(?:ed)?\b|\bpass 1\b/);
      assert.match(done.said, /\b1 fail(?:ed)?\b|\bfail 1\b/);
    },
  );
}
