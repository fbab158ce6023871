import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { type ScriptedServer, scriptedServer } from "crochet/testing";
import type { Actions, Group } from "../../lib/cli/kit/group.ts";
import type { Command } from "../../lib/cli/kit/io.ts";
import { commands, main } from "../../lib/cli/main.ts";
import { CROCHET, ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { NO_PTY, Pty } from "../_pty.ts";
import { ROOT, RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const folder = scratch();
const root = folder.path;
after(() => folder[Symbol.dispose]());

/** One command as a person types it. */
interface Typed {
  readonly path: readonly string[];
  readonly usage: Command["usage"];
}

/** Every command and action. */
async function everyCommand(actions: Actions, above: readonly string[] = []): Promise<Typed[]> {
  const found: Typed[] = [];
  for (const [name, [, load]] of Object.entries(actions)) {
    const { default: command } = await load();
    const path = [...above, name];
    found.push({ path, usage: command.usage });
    const { actions: below } = command as Partial<Group>;
    if (below) found.push(...await everyCommand(await below(), path));
  }
  return found;
}

async function help(path: readonly string[]): Promise<string> {
  using here = place();
  const { code, out, err } = await here.call(main, ...path, "--help");
  assert.deepEqual([code, err], [0, ""]);
  return out;
}

/** The example as a person reads it in the help of the command. */
async function exampleOf({ path }: Typed): Promise<string> {
  const [, example] = /\nExample\n {2}(.+)\n/.exec(await help(path)) ?? [];
  assert.ok(example, `'crochet ${path.join(" ")} --help' has no example`);
  return example;
}

test("the help of no command is wider than a terminal of 80 columns, but for what is to be pasted", async () => {
  for (const { path } of [{ path: [] }, ...await everyCommand(await commands())]) {
    const [top = ""] = (await help(path)).split("\nExample\n");
    assert.deepEqual(top.split("\n").filter((line) => line.length > 80), [], `crochet ${path.join(" ")} --help`);
  }
});

/** What examples call claude: it asks once. */
const CLAUDE = `
const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "fix the typo" }] });
const headers = { "x-api-key": "none", "anthropic-version": "2023-06-01", "content-type": "application/json" };
const { status } = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
process.exit(status === 200 ? 0 : 1);
`;

/** A folder where everything that examples speak of is there, and a PATH with this program on it. */
async function prepare(server: ScriptedServer): Promise<(line: string, cwd: string) => Promise<Ran>> {
  const bin = join(root, "bin");
  const project = join(root, "project");
  for (const dir of [bin, project, join(root, "home")]) mkdirSync(dir);
  const script = (name: string, text: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  script("crochet", `exec ${CROCHET.map((word) => `'${word}'`).join(" ")} "$@"`);
  writeFileSync(join(root, "claude.mjs"), CLAUDE);
  const claude = [...RUNTIME, join(root, "claude.mjs")].map((word) => `'${word}'`).join(" ");
  script("claude", `case $1 in -p) exec ${claude} ;; *) test "$1" = --settings && test -f "$2" ;; esac`);
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: join(root, "home"),
    ANTHROPIC_API_KEY: "none",
    ANTHROPIC_BASE_URL: server.url,
  };
  const run = async (line: string, cwd: string) => {
    const { code, out, err } = await ended(["bash", "-c", line], { cwd, env });
    return { code, text: out + err };
  };
  const must = async (line: string) => {
    const { code, text } = await run(line, project);
    assert.equal(code, 0, `${line}\n${text}`);
  };
  await must("crochet init");
  await must("crochet hooks add tests-pass");
  writeFileSync(join(project, "package.json"), '{ "type": "module", "scripts": { "test": "true" } }\n');
  cpSync(join(ROOT, "fixtures/hello"), join(project, "fixtures/hello"), { recursive: true });
  mkdirSync(join(project, "tests/cassettes"), { recursive: true });
  const asked = { model: "m", max_tokens: 9, stream: true, messages: [{ role: "user", content: "hi" }] };
  const reply = await fetch(`${server.url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": "none", "anthropic-version": "2023-06-01", "content-type": "application/json" },
    body: JSON.stringify(asked),
  });
  writeFileSync(join(project, "tests/cassettes/hello.sse"), await reply.text());
  const sessions = join(root, "home/.claude/projects/-proj");
  mkdirSync(sessions, { recursive: true });
  const typed = { type: "user", promptSource: "typed", sessionId: "s1", message: { role: "user", content: "hi" } };
  writeFileSync(join(sessions, "s1.jsonl"), `${JSON.stringify(typed)}\n`);
  await must("crochet run hi");
  await must('crochet record --fixture typo -- claude -p "fix the typo in notes.md"');
  return run;
}

interface Ran {
  readonly code: number | null;
  readonly text: string;
}

const server = await scriptedServer([], { then: { text: "hello" } });
after(() => server.close());
let ready: ReturnType<typeof prepare> | undefined;
let n = 0;

for (const command of await everyCommand(await commands())) {
  const name = `crochet ${command.path.join(" ")}`;
  const isChat = name === "crochet chat";
  test(`the example in the help of '${name}' works when it is pasted`, {
    timeout: 240_000,
    skip: isChat && NO_PTY ? NO_PTY : false,
  }, async () => {
    const example = await exampleOf(command);
    const run = await (ready ??= prepare(server));
    const cwd = join(root, String(n++));
    cpSync(join(root, "project"), cwd, { recursive: true, verbatimSymlinks: true });
    await run("crochet trust", cwd);
    if (isChat) return await talk(example, cwd);
    // One is to be added, and for the other it is enough to try the hook that runs no tests.
    if (/hooks (add|check)$/.test(name)) rmSync(join(cwd, "hooks/stop.tests-pass.ts"));
    if (/eval$/.test(name)) {
      rmSync(join(cwd, "fixtures/typo"), { recursive: true });
      writeFileSync(join(cwd, "fixtures/grade.any.sh"), "exit 0\n");
      await run("crochet trust", cwd);
    }
    if (name === "crochet hooks import") {
      mkdirSync(join(cwd, ".claude"), { recursive: true });
      const entry = { hooks: [{ type: "command", command: "npm test" }] };
      writeFileSync(join(cwd, ".claude/settings.json"), JSON.stringify({ hooks: { Stop: [entry] } }));
    }
    // The copy of a log was not written where it is.
    if (name === "crochet fixtures add") await run("crochet run hi", cwd);
    if (name === "crochet mcp") writeFileSync(join(cwd, "weather-server.sh"), "cat\n");
    // It serves until it is interrupted.
    if (name === "crochet fixtures serve") {
      const { text } = await run(`timeout -s INT 5 ${example}`, cwd);
      return assert.match(text, /127\.0\.0\.1:8787/);
    }
    // An agent without guards is broken at once; without a sandbox it is not measured.
    if (name === "crochet attack") {
      const { code, text } = await run(`${example} --runs 20`, cwd);
      assert.match(text, code === 3 ? /not measured/ : /^✗ reads:\.env/m);
      return assert.ok(code === 1 || code === 3, text);
    }
    // The whole count belongs to the long run of the tests.
    const { code, text } = await run(
      process.env.CROCHET_TEST_LONG ? example : example.replace("--runs 200", "--runs 3"),
      cwd,
    );
    // It registers with an engine, and here is none; test/extensions/durable/restate-commands.more.test.ts has one.
    if (name === "crochet worker") {
      assert.match(text, /^crochet: Cannot register the worker [^\n]*\n$/);
      return assert.equal(code, 1);
    }
    assert.equal(code, 0, `${example}\n${text}`);
    assert.doesNotMatch(text, /\n\s+at .*:\d+:\d+/, `${example} shows a stack trace`);
  });
}

/** A chat is for a person, so it needs a terminal. */
async function talk(example: string, cwd: string): Promise<void> {
  const env = { PATH: `${join(root, "bin")}:${process.env.PATH}`, HOME: join(root, "home"), NO_COLOR: "1" };
  await using pty = new Pty(["sh", "-c", example], {
    cwd,
    env: { ...env, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url },
  });
  await pty.until(/crochet/);
  pty.send("hi\r");
  await pty.until(/hello/);
  pty.send("/quit\r");
  assert.equal(await pty.end(), 0);
}
