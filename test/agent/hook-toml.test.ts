import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type HookContext, hookToml, type RunOptions } from "crochet";
import { scripted, scriptedServer } from "crochet/testing";
import runCommand from "../../lib/cli/run.ts";
import trust from "../../lib/cli/trust.ts";
import { textOf } from "../../lib/core/messages.ts";
import { readLoggedRun } from "../../lib/log/logged-run.ts";
import { noSandbox } from "../_needs.ts";
import { place } from "../_place.ts";
import { until } from "../_until.ts";

const sh = (line: string) => `command = "/bin/sh"\nargs = ["-c", ${JSON.stringify(line)}]\n`;

/** Runs an agent in a workspace with this hook.toml, and gives what it reported. */
async function run(cwd: string, options: RunOptions = {}) {
  const warnings: string[] = [];
  const model = scripted([], { then: { text: "ok" } });
  const result = await agent({ model, cwd }).run("go", {
    hooks: hookToml(),
    on: (event) => event.type === "warning" && warnings.push(event.message),
    ...options,
  });
  return { result, warnings, asked: model.requests.map(({ messages }) => messages.map((m) => textOf(m))) };
}

test("S1.5, S1.13, S1.14: agent().run() takes the commands of .agent/hook.toml by hookToml()", async () => {
  using here = place({
    ".agent/hook.toml": `[turn_start]\n${sh("pwd >&2")}[turn_end]\n${
      sh("test -e noted || { touch noted; echo more >&2; }")
    }`,
  });
  const { result, asked, warnings } = await run(here.cwd);
  assert.deepEqual([result.stop, result.turns, warnings], ["done", 2, []]);
  assert.match(asked[0]!.at(-1)!, new RegExp(`^goHookInput \\(TurnStart\\): ${here.cwd}$`));
  assert.match(asked[1]!.at(-1)!, /HookInput \(TurnEnd\): more/);
});

test("S1.16, U16: a command of hook.toml obeys the deny rules of the run", async () => {
  using here = place({ ".agent/hook.toml": `[turn_start]\ncommand = "touch"\nargs = ["ran"]\n` });
  const { result, warnings } = await run(here.cwd, { permissions: { deny: ["Bash(touch *)"] } });
  assert.equal(result.stop, "done");
  assert.match(warnings.join("\n"), /the deny rule Bash\(touch \*\) forbids it/);
  assert.equal(existsSync(join(here.cwd, "ran")), false);
  await run(here.cwd, { permissions: { deny: ["Bash(rm *)"] } });
  assert.equal(existsSync(join(here.cwd, "ran")), true);
});

test("S1.16, U16: trust in the file approves its commands, but for plan mode and a rule that names them", async () => {
  const touch = `command = "touch"\nargs = ["ran"]\n`;
  const [ask, none] = [["Bash(touch *)"], undefined];
  const cases: [
    toml: string,
    RunOptions["permissions"],
    person: "allow" | "deny" | undefined,
    ran: boolean,
    said?: RegExp,
  ][] = [
    [touch, { mode: "default" }, none, true],
    [touch, { mode: "acceptEdits", allow: ["Read"] }, "deny", true],
    [touch, { mode: "bypassPermissions" }, none, true],
    [sh("touch ran"), { deny: ["Bash(rm *)"], ask: ["Bash(git *)"] }, "deny", true],
    [touch, { ask }, "allow", true],
    [
      touch,
      { mode: "bypassPermissions", ask },
      "deny",
      false,
      /Cannot run 'touch ran' as the user refused it: not now/,
    ],
    [
      touch,
      { ask },
      none,
      false,
      /Cannot run 'touch ran' as the rule Bash\(touch \*\) asks, and no person can be asked/,
    ],
    [touch, { mode: "plan" }, "allow", false, /Cannot run 'touch ran' as plan mode runs no commands of hooks/],
    [touch, { mode: "plan", allow: ["Bash"] }, none, false, /plan mode/],
  ];
  for (const [toml, permissions, person, ran, said] of cases) {
    const name = JSON.stringify([toml, permissions, person]);
    using here = place({ ".agent/hook.toml": `[turn_start]\n${toml}` });
    const questions: string[] = [];
    const { result, warnings } = await run(here.cwd, {
      permissions: permissions!,
      ...(person && {
        permissionAsker: ({ tool_name, input }) => {
          questions.push(`${tool_name} ${input.command}`);
          return Promise.resolve({ behavior: person, reason: "not now" });
        },
      }),
    });
    assert.deepEqual([result.stop, existsSync(join(here.cwd, "ran"))], ["done", ran], name);
    assert.deepEqual(questions, person && permissions!.ask === ask ? ["Bash touch ran"] : [], name);
    assert.equal(warnings.length, said ? 1 : 0, name);
    if (said) assert.match(warnings[0]!, said);
  }
});

test("S1.5, S1.12, U16: a trusted hook.toml that a turn changes runs no more, with --trust too, and one warning says so", async () => {
  using here = place({
    "agent.ts": `import { agent } from "crochet";\nimport { scripted } from "crochet/testing";
export default agent({ from: import.meta.url, hooks: [], model: scripted([], { then: { text: "ok" } }) });\n`,
  });
  const change =
    "echo x >> ends; test -e again || { touch again; echo '# changed' >> .agent/hook.toml; echo go on >&2; }";
  for (const trusting of [[], ["--trust"]]) {
    here.put({ ".agent/hook.toml": `[turn_end]\n${sh(change)}`, ends: "" });
    rmSync(join(here.cwd, "again"), { force: true });
    await here.call(trust, ".");
    const { code, err } = await here.call(runCommand, ...trusting, "agent.ts", "go");
    assert.deepEqual([code, readFileSync(join(here.cwd, "ends"), "utf8")], [0, "x\n"], err);
    assert.equal(err.split("it has changed since the run began").length - 1, 1, err);
  }
  const untrusted = await here.call(runCommand, "agent.ts", "go");
  assert.match(untrusted.err, /\.agent\/hook\.toml has changed since it was trusted/);
  assert.equal(readFileSync(join(here.cwd, "ends"), "utf8"), "x\n");
});

test("S1.16, U16: a command of hook.toml runs in the sandbox of the run", { skip: noSandbox }, async () => {
  using here = place();
  const outside = join(here.home, "outside");
  here.put({ ".agent/hook.toml": `[turn_start]\n${sh(`touch inside; touch ${outside}`)}` });
  await run(here.cwd, { sandbox: "workspace" });
  assert.deepEqual([existsSync(join(here.cwd, "inside")), existsSync(outside)], [true, false]);
  await run(here.cwd);
  assert.equal(existsSync(outside), true);
});

test("S1.20: the log keeps the commands' begin, end and HookInput; the transcript keeps none of it", async () => {
  using here = place({
    ".agent/hook.toml": `[turn_start]\n${sh("echo shown; echo first >&2; exit 3")}[turn_end]\n${
      sh("test -e noted || { touch noted; echo second >&2; }")
    }`,
  });
  const { result } = await run(here.cwd, { log: here.cwd });
  const { events } = readLoggedRun(join(here.cwd, `${result.id}.jsonl`));
  const execs = events.flatMap((event) =>
    event.type === "exec" ? [event.exec as { type: string; title: string; exit_code?: number; stderr?: string }] : []
  );
  const kept = execs.filter(({ type }) => type !== "exec_output").map(({ type, title, exit_code, stderr }) =>
    [title, type, exit_code, stderr].filter((part) => part !== undefined).join(" ").trim()
  );
  const start = [
    "Hook(TurnStart) exec_begin",
    "Hook(TurnStart) exec_end 3 first",
    "Hook(TurnStart) exec_input 3 first",
  ];
  assert.deepEqual(kept, [
    ...start,
    "Hook(TurnEnd) exec_begin",
    "Hook(TurnEnd) exec_end 0 second",
    "Hook(TurnEnd) exec_input 0 second",
    ...start,
    "Hook(TurnEnd) exec_begin",
    "Hook(TurnEnd) exec_end 0",
  ]);
  const inputs = events.flatMap((event) => event.type === "hook_input" ? [event.text] : []);
  assert.deepEqual(inputs, ["first", "second", "first"]);
  assert.doesNotMatch(JSON.stringify(result.messages), /first|second/);
});

test("S1.16, S1.18, S1.19: a piped run obeys the rules of its settings, and --verbose shows Hook(TurnStart) and HookInput", async () => {
  using here = place({
    ".agent/hook.toml": `[turn_start]\n${
      sh("echo looking; echo mind the gap >&2")
    }[turn_end]\ncommand = "touch"\nargs = ["ran"]\n`,
    ".claude/settings.json": JSON.stringify({ permissions: { deny: ["Bash(touch *)"] } }),
  });
  const server = await scriptedServer([], { then: { text: "hello" } });
  const env = { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url };
  try {
    const loud = await here.crochet(["run", "--trust", "--verbose", "hi"], env);
    assert.deepEqual([loud.code, loud.out], [0, "hello\n"]);
    assert.match(
      loud.err,
      /Hook\(TurnStart\) \/bin\/sh -c[^]*\n {2}looking\n[^]*Hook\(TurnStart\) ok[^]*HookInput: mind the gap\n/,
    );
    assert.match(loud.err, /Hook\(TurnEnd\) touch ran[^]*Hook\(TurnEnd\) rejected/);
    assert.match(loud.err, /the deny rule Bash\(touch \*\) forbids it/);
    assert.equal(existsSync(join(here.cwd, "ran")), false);
    const quiet = await here.crochet(["run", "--trust", "hi"], env);
    assert.doesNotMatch(quiet.err, /HookInput|Hook\(TurnStart\)/);
  } finally {
    await server.close();
  }
});

test("S1.20, S1.21: a program gives a session a HookInput itself: a turn of its own, not kept, and the same on a tape", async () => {
  using here = place({});
  const heard: string[] = [];
  const model = scripted([], { then: { text: "ok" } });
  const hooks = {
    userPromptSubmit: () => void heard.push("prompt"),
    turnStart: ({ trigger }: { trigger: string }) => void heard.push(`start ${trigger}`),
    turnEnd: ({ trigger }: { trigger: string }) => void heard.push(`end ${trigger}`),
  };
  const helper = agent({ model, cwd: here.cwd, hooks });
  const talk = async (mode: "record" | "replay") => {
    const session = await helper.open({ tape: { path: join(here.cwd, "fixtures/poked"), mode } });
    await session.prompt("go");
    const result = await session.hookInput("the build broke");
    const last = session.messages;
    await session.close();
    return { result, last };
  };
  const { result, last } = await talk("record");
  assert.deepEqual(heard.splice(0), [
    ...["prompt", "start user", "end user", "start hook_input", "end hook_input"],
  ]);
  const asked = model.requests.map(({ messages }) => messages.map((m) => textOf(m)));
  assert.deepEqual(asked[1], ["go", "ok", "HookInput (Program): the build broke"]);
  assert.deepEqual(last, result.messages);
  assert.doesNotMatch(JSON.stringify(last), /the build broke/);
  const replayed = await talk("replay");
  assert.equal(replayed.result.stop, "done");
  assert.equal(model.requests.length, 2, "a replay asks no model");
});

test("S1.14, U11: what a person says while a turn_end command runs goes before the hook's turn", async () => {
  using here = place({
    ".agent/hook.toml": `[turn_end]\n${
      sh("test -e told && exit; touch told; while test ! -e typed; do sleep 0.02; done; echo more >&2")
    }`,
  });
  const model = scripted([], { then: { text: "ok" } });
  const session = await agent({ model, cwd: here.cwd, limits: { continuations: 1 } }).open({ hooks: hookToml() });
  const first = session.prompt("go");
  await until("the command runs", () => existsSync(join(here.cwd, "told")));
  const typed = [session.prompt("mine"), session.prompt("and mine")];
  here.put({ typed: "" });
  const results = await Promise.all([first, ...typed]);
  await session.close();
  assert.deepEqual(results.map(({ stop, turns }) => [stop, turns]), [["done", 1], ["done", 1], ["done", 2]]);
  const last = model.requests.map(({ messages }) => textOf(messages.at(-1)!));
  assert.deepEqual(last, ["go", "mine", "and mine", "HookInput (TurnEnd): more"]);
});

test("a session answers prompts that are given at once one after the other; what a program says waits for hooks too", async () => {
  const model = scripted([], { then: { text: "ok" } });
  let isOver = false;
  const turnEnd = (_: unknown, ctx: HookContext) => {
    if (!isOver) ctx.hookInput("more");
    isOver = true;
  };
  const session = await agent({ model, hooks: { turnEnd } }).open();
  await Promise.all([session.prompt("one"), session.hookInput("the build broke")]);
  const last = model.requests.map(({ messages }) => textOf(messages.at(-1)!));
  assert.deepEqual(last, ["one", "HookInput (TurnEnd): more", "HookInput (Program): the build broke"]);
  await session.close();
  await assert.rejects(session.prompt("late"), /Cannot prompt a session as it is closed/);
});

test("U1: why a hook file cannot be loaded is printed once, though the hook stays in its place and fails", async () => {
  const script = `import { agent } from "crochet";\nimport { scripted } from "crochet/testing";
import { Bash } from "crochet/tools";
const model = scripted([{ tools: [{ name: "Bash", input: { command: "touch ran" } }] }], { then: { text: "ok" } });
export default agent({ from: import.meta.url, hooks: [], tools: [Bash], model });\n`;
  using here = place({
    "agent.ts": script,
    "agent--verbose.ts": script, // a process loads each once
    "more/stp.sh": "",
    "more/pre-tool-use.x.ts": "throw new Error('kaboom');\n",
    "more/stop.x.rules": "nonsense",
  });
  for (const how of [[], ["--verbose"]]) {
    const { err, code } = await here.call(runCommand, "--hooks", "more", ...how, `agent${how.join("")}.ts`, "go");
    assert.equal(code, 0, err);
    for (const words of ["'stp' is not an event", "kaboom", "it has no operator"]) {
      assert.equal(err.split(words).length - 1, 1, err);
    }
    assert.match(err, /refused Bash touch ran: hook pre-tool-use\.x\.ts: it cannot be loaded/);
  }
  assert.equal(existsSync(join(here.cwd, "ran")), false);
});

test("S1.12: what is wrong with a hook.toml or its command is printed once", async () => {
  using here = place({
    "agent.ts": `import { agent } from "crochet";\nimport { scripted } from "crochet/testing";
export default agent({ from: import.meta.url, hooks: [], model: scripted([], { then: { text: "ok" } }) });\n`,
  });
  for (
    const [toml, words] of [
      [`[turn_start]\ncomand = "true"\n`, "option 'comand' is unknown"],
      [`[turn_start]\ncommand = "/no/such"\n`, "Cannot start '/no/such'"],
    ] as const
  ) {
    here.put({ ".agent/hook.toml": toml });
    for (const how of [[], ["--verbose"]]) {
      const { err, code } = await here.call(runCommand, "--trust", ...how, "agent.ts", "go");
      assert.deepEqual([code, err.split(words).length - 1], [0, 1], err);
    }
  }
});
