import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Annotation, githubCommand } from "../../lib/cli/_github.ts";
import hooks from "../../lib/cli/hooks.ts";
import init from "../../lib/cli/init.ts";
import type { Io } from "../../lib/cli/_io.ts";
import { parse } from "yaml";
import { place } from "../_place.ts";
import { agentScript, LONG, recorded } from "./_recorded.ts";

/** What a step prints, and its summary. */
async function step(
  work: (io: Io, point: (annotation: Annotation) => void) => Promise<number>,
  { isData = false, actions = "true" } = {},
) {
  using here = place({ "src/agent.ts": "one\ntwo, at 100%\n" });
  const summary = join(here.home, "summary.md");
  let out = "";
  const io: Io = {
    out: (text) => void (out += text),
    err: (text) => assert.fail(text),
    tty: false,
    env: { GITHUB_ACTIONS: actions, GITHUB_STEP_SUMMARY: summary, GITHUB_WORKSPACE: here.cwd },
    cwd: join(here.cwd, "src"),
    signal: new AbortController().signal,
  };
  const usage = { name: "replay", words: "", about: "", flags: [["--json", "data"]], example: "" } as const;
  const command = githubCommand(usage, (_, io, point) => work(io, point));
  const code = await command(isData ? ["--json"] : [], io).catch(({ message }) => message);
  return { out, code, summary: existsSync(summary) ? readFileSync(summary, "utf8") : undefined };
}

test("what a step prints is never a command of GitHub, and its annotations come after it, at their lines", async () => {
  const { out, code } = await step((io, point) => {
    io.out("::error::from a tape\n");
    point({ file: "agent.ts", at: "two", title: "a, b: c", message: "50%\nof it" });
    point({ file: "agent.ts", at: "three", title: "t", message: "m" });
    return Promise.resolve(1);
  });
  assert.equal(code, 1);
  const [, token] = /^::stop-commands::(.+)$/m.exec(out)!;
  assert.equal(
    out,
    `::stop-commands::${token}\n::error::from a tape\n::${token}::\n` +
      "::error file=src/agent.ts,line=2,title=a%2C b%3A c::50%25%0Aof it\n" +
      "::error file=src/agent.ts,title=t::m\n",
  );
});

test("commands of GitHub work again after a step that throws, and ten annotations are the most", async () => {
  const { out } = await step((_, point) => {
    for (let i = 0; i < 30; i++) point({ file: "agent.ts", title: `${i}`, message: "m" });
    return Promise.resolve(1);
  });
  assert.equal(out.match(/^::error /gm)?.length, 10);
  const thrown = await step(() => Promise.reject(new Error("no")));
  assert.match(thrown.out, /^::stop-commands::(.+)\n::\1::\n$/);
  assert.equal(thrown.code, "no");
});

test("the summary has what was printed, in a fence it cannot close, cut before GitHub drops it", async () => {
  const { summary } = await step((io) => {
    io.out("\u001b[31mred\u001b[0m\n```\nfence\n");
    return Promise.resolve(0);
  });
  assert.equal(summary, "### crochet replay\n\n````\nred\n```\nfence\n````\n\n");
  const long = await step((io) => {
    for (let i = 0; i < 40; i++) io.out("ä".repeat(50_000));
    return Promise.resolve(0);
  });
  assert.ok(new TextEncoder().encode(long.summary).length < 2 ** 20);
  assert.match(long.summary!, /… cut: the log of the step has the rest/);
});

test("data is printed alone, and elsewhere nothing is added", async () => {
  for (const how of [{ isData: true }, { actions: "" }]) {
    const { out, summary } = await step((io) => {
      io.out("{}\n");
      return Promise.resolve(0);
    }, how);
    assert.deepEqual([out, summary], ["{}\n", undefined]);
  }
});

test("hooks check --trust annotates the hooks of a project that are at fault", { timeout: 60_000 }, async () => {
  using here = place({ "hooks/pre-tool-use@Bash.ts": 'export default () => { throw new Error("no"); };\n' });
  Object.assign(here.env, { GITHUB_ACTIONS: "true" });
  const { out, code } = await here.call(hooks, "check", "--trust", "--runs", "3", "--seed", "1");
  assert.equal(code, 1);
  assert.match(out, /^::error file=hooks\/pre-tool-use@Bash\.ts,title=fails\.\w+::/m);
});

test("a replay annotates the line of the script whose words changed", LONG, async () => {
  using here = place();
  await recorded(here);
  const script = `// a line before it\n${agentScript("You are rude.")}`;
  here.put({ "agent.ts": script });
  const line = script.split("\n").findIndex((text) => text.includes("You are rude.")) + 1;
  const { out, code } = await here.crochet(["replay", "--trust"], { GITHUB_ACTIONS: "true" });
  assert.equal(code, 1);
  assert.match(
    out,
    new RegExp(`^::error file=agent\\.ts,line=${line},title=fix-the-typo is not as recorded::prompt:`, "m"),
  );
});

test("init --ci github writes a workflow once, which replays and checks, and evaluates within a budget", async () => {
  using here = place();
  const made = await here.call(init, "--ci", "github");
  assert.deepEqual([made.code, made.err], [0, ""]);
  const path = join(here.cwd, ".github/workflows/crochet.yaml");
  const { on, permissions, jobs } = parse(readFileSync(path, "utf8"));
  assert.deepEqual(Object.keys(on), ["pull_request", "schedule"]);
  assert.deepEqual(permissions, { contents: "read" });
  const lines = (job: string): string[] => jobs[job].steps.flatMap(({ run }: { run?: string }) => run ?? []);
  assert.deepEqual(lines("replay").slice(1), ["bunx crochet replay --trust", "bunx crochet hooks check --trust"]);
  const [, , command, ...args] = lines("replay")[1]!.split(" ");
  const nothing = await here.crochet([command!, ...args]);
  assert.deepEqual([nothing.code, /there is no fixture/.test(nothing.out)], [1, true], "nothing was replayed");
  assert.match(lines("eval").at(-1)!, /^bunx crochet eval .*--budget 5/);
  // What is in ${{ }} is put into the line before the shell reads it: a branch's name must not be.
  for (const line of [...lines("replay"), ...lines("eval")]) assert.doesNotMatch(line, /\$\{\{/);
  assert.ok(!existsSync(join(here.cwd, "agent.ts")), "nothing else is written");
  const again = await here.call(init, "--ci", "github");
  assert.deepEqual([again.code, /as it exists/.test(again.err)], [2, true]);
  assert.equal((await here.call(init, "--ci", "gitlab")).code, 2);
});
