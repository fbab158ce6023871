import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { HookList } from "../../lib/core/hook.ts";
import { newSessionState } from "../../lib/core/run.ts";
import { limitsOf, limitWarning } from "../../lib/agent/given-limits.ts";
import { textOf } from "../../lib/core/messages.ts";
import type { ModelRequest } from "../../lib/core/model.ts";
import type { RunEvent } from "../../lib/core/run-events.ts";
import { openSession } from "../../lib/agent/session.ts";
import { type ExecRecord, tomlHooks, type TomlOptions } from "../../lib/hooks/toml.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { scratch } from "../_scratch.ts";
import { isAlive, until } from "../_until.ts";

/** A workspace with a hook.toml, an agent whose model says what it is given, and all that was told. */
class Stage {
  readonly #folder = scratch();
  readonly path = this.#folder.path;
  readonly events: RunEvent[] = [];
  readonly execs: ExecRecord[] = [];
  readonly model;
  readonly session;
  #loaded: HookList | undefined;

  constructor(toml: string, replies: readonly ScriptedReply[] = [], options: TomlOptions = {}) {
    mkdirSync(join(this.path, ".agent"));
    this.write(".agent/hook.toml", toml);
    this.model = scripted(replies, { then: { text: "done" } });
    const tell = { onExec: (record: ExecRecord) => void this.execs.push(record), ...options };
    const load = async (again = false) => {
      const file = join(this.path, ".agent/hook.toml");
      if (!again && this.#loaded) return this.#loaded;
      if (!existsSync(file)) return this.#loaded = { records: [] };
      const { records, problems } = await tomlHooks(this.path, readFileSync(file, "utf8"), tell);
      for (const message of problems) this.events.push({ agent_id: "s", type: "warning", message });
      return this.#loaded = { records };
    };
    const state = newSessionState({
      id: "s",
      model: "m",
      cwd: () => "/",
      emit: (event) => void this.events.push(event),
    });
    this.session = openSession(
      {
        type: "tester",
        model: this.model,
        system: "",
        tools: [],
        limits: limitsOf({}),
        limitWarning,
        maxTokens: 100,
        hooks: load,
      },
      state,
      { source: "startup" },
    );
  }

  write(name: string, text: string): string {
    const path = join(this.path, name);
    writeFileSync(path, text);
    chmodSync(path, 0o755);
    return path;
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), "utf8");
  }

  prompt(text = "go", signal?: AbortSignal) {
    return this.session.prompt(text, signal ? { signal } : {});
  }

  warnings(): string[] {
    return this.events.flatMap((e) => e.type === "warning" ? [e.message] : []);
  }

  /** The texts of the user's messages of one request. */
  asked(n: number): string[][] {
    return users(this.model.requests[n]!);
  }

  async [Symbol.asyncDispose]() {
    await this.session.close();
    this.#folder[Symbol.dispose]();
  }
}

function users(request: ModelRequest): string[][] {
  return request.messages.filter((m) => m.role === "user").map((m) =>
    m.content.map((b) => textOf({ role: "user", content: [b] }))
  );
}

const SAY = (words: string, code = 0) => `command = "/bin/sh"\nargs = ["-c", "echo '${words}' >&2; exit ${code}"]`;

test("S1.1, S1.3, S1.4, S1.13, S1.24, U11: turn_start's stderr is shown in the same turn, after the user's input", async () => {
  await using stage = new Stage(`[turn_start]\n${SAY("mind the gap")}`);
  const result = await stage.prompt();
  assert.equal(result.stop, "done");
  assert.deepEqual(stage.asked(0), [["go", "HookInput (TurnStart): mind the gap"]]);
});

test("S1.20, U11, C10: a HookInput is in every request of its turn, in no later turn, and not in the history", async () => {
  const replies = [{ tools: [{ name: "Gone", input: {} }] }, { text: "a" }, { text: "b" }];
  await using stage = new Stage(`[turn_start]\n${SAY("only now")}`, replies);
  await stage.prompt("one");
  assert.match(JSON.stringify(stage.asked(0)), /only now/);
  assert.match(JSON.stringify(stage.asked(1)), /only now/);
  writeFileSync(join(stage.path, ".agent/hook.toml"), "");
  const result = await stage.prompt("two");
  assert.doesNotMatch(JSON.stringify(stage.asked(2)), /only now/);
  assert.doesNotMatch(JSON.stringify(result.messages), /only now/);
  assert.ok(stage.events.some((e) => e.type === "hook_input" && e.text === "only now"));
});

test("U11: persist = true keeps the input in the conversation", async () => {
  await using stage = new Stage(`[turn_start]\npersist = true\n${SAY("keep me")}`);
  await stage.prompt("one");
  writeFileSync(join(stage.path, ".agent/hook.toml"), "");
  const result = await stage.prompt("two");
  assert.deepEqual(stage.asked(0), [["one", "HookInput (TurnStart): keep me"]]);
  assert.deepEqual(stage.asked(1), [["one", "HookInput (TurnStart): keep me"], ["two"]]);
  assert.match(JSON.stringify(result.messages), /keep me/);
});

test("S1.1, S1.3, S1.14, U11: turn_end's stderr starts a new turn and leaves one line", async () => {
  await using stage = new Stage(
    `[turn_end]\ncommand = "/bin/sh"\nargs = ["-c", "test -e told || { touch told; echo tests fail >&2; exit 1; }"]`,
    [{ text: "first" }, { text: "second" }, { text: "third" }],
  );
  const result = await stage.prompt();
  assert.deepEqual([result.stop, result.text, result.turns], ["done", "second", 2]);
  assert.deepEqual(stage.asked(1), [["go"], ["HookInput (TurnEnd): tests fail"]]);
  await stage.prompt("again");
  assert.deepEqual(stage.asked(2), [["go"], ["HookInput (TurnEnd): [not kept]"], ["again"]]);
});

test("U11: persist = true also keeps what started a turn", async () => {
  await using stage = new Stage(
    `[turn_end]\npersist = true\ncommand = "/bin/sh"\nargs = ["-c", "test -e told || { touch told; echo tests fail >&2; }"]`,
  );
  await stage.prompt();
  await stage.prompt("again");
  assert.deepEqual(stage.asked(1), [["go"], ["HookInput (TurnEnd): tests fail"]]);
  assert.deepEqual(stage.asked(2), [["go"], ["HookInput (TurnEnd): tests fail"], ["again"]]);
});

test("S1.9, U11: run_on_hook_input decides whether turn_start runs in a turn that a hook began", async () => {
  for (
    const [line, runs] of [
      ["", true],
      ["run_on_hook_input = true", true],
      ["run_on_hook_input = false", false],
    ] as const
  ) {
    await using stage = new Stage(
      `[turn_start]\n${line}\n${SAY("begun")}
[turn_end]\ncommand = "/bin/sh"\nargs = ["-c", "test -e told || { touch told; echo more >&2; }"]`,
    );
    assert.equal((await stage.prompt()).turns, 2);
    const begun = [0, 1].map((turn) => stage.asked(turn).at(-1)!.includes("HookInput (TurnStart): begun"));
    assert.deepEqual(begun, [true, runs], line);
  }
});

test("S1.7, S1.8, S1.10: a command is a program with arguments, without a shell, in the workspace", async () => {
  await using stage = new Stage("");
  const script = stage.write("show.sh", `#!/bin/sh\npwd\nfor arg in "$@"; do echo "[$arg]"; done\n`);
  writeFileSync(
    join(stage.path, ".agent/hook.toml"),
    `[turn_start]\ncommand = ${JSON.stringify(script)}\nargs = ["a b", "$HOME", "; rm x", "*"]`,
  );
  await stage.prompt();
  const end = stage.execs.find((e) => e.type === "exec_end")!;
  assert.equal(end.type === "exec_end" && end.stdout, `${stage.path}\n[a b]\n[$HOME]\n[; rm x]\n[*]\n`);
});

test("S1.10, S1.25: a command reads on stdin, until its end, what it runs for, in the workspace", async () => {
  await using stage = new Stage(
    `[turn_start]\ncommand = "/bin/sh"\nargs = ["-c", "cat >> starts; echo >> starts; pwd >> where"]
[turn_end]\ncommand = "/bin/sh"\nargs = ["-c", "test -e end && exit; cat > end; echo again >&2"]`,
  );
  await stage.prompt();
  const [first, second] = stage.read("starts").trim().split("\n").map((line) => JSON.parse(line));
  const end = JSON.parse(stage.read("end"));
  const { timestamp, ...rest } = first;
  assert.deepEqual(rest, {
    ...{ hook: "turn_start", cwd: stage.path, sub_id: "s:0.1", session_source: "script", is_hook_input_turn: false },
  });
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  assert.deepEqual([second.sub_id, second.is_hook_input_turn], ["s:0.2", true]);
  assert.deepEqual([end.hook, end.cwd, end.sub_id, end.is_hook_input_turn], ["turn_end", stage.path, "s:0.1", false]);
  assert.equal(stage.read("where"), `${stage.path}\n${stage.path}\n`);
});

test("S1.10, S1.12: a table with 'cwd' does not run: one warning names file, table and key, and the other table runs", async () => {
  for (const cwd of ["/", "../..", ".", "sub"]) {
    await using stage = new Stage(
      `[turn_start]\ncwd = "${cwd}"\ncommand = "touch"\nargs = ["started"]\n[turn_end]\ncommand = "touch"\nargs = ["ended"]`,
    );
    assert.equal((await stage.prompt()).stop, "done");
    assert.deepEqual([existsSync(join(stage.path, "started")), existsSync(join(stage.path, "ended"))], [false, true]);
    assert.deepEqual(stage.warnings(), [
      "Cannot load .agent/hook.toml as [turn_start] has 'cwd', but commands always run in the workspace: remove it",
    ]);
  }
});

test("S1.6, S1.12: what is wrong with one table, or an unknown one, keeps no other from running", async () => {
  const wrong = [
    `[turn_middle]\ncommand = "x"`,
    `[turn_start]\nargs = []`,
    `[turn_start]\ncommand = 5`,
    "turn_start = 3",
  ];
  for (const table of wrong) {
    await using stage = new Stage(`${table}\n[turn_end]\ncommand = "touch"\nargs = ["ended"]`);
    assert.equal((await stage.prompt()).stop, "done");
    assert.ok(existsSync(join(stage.path, "ended")), table);
    assert.equal(stage.warnings().length, 1, table);
    assert.match(stage.warnings()[0]!, /^Cannot load \.agent\/hook\.toml as .*turn_(middle|start)/, table);
  }
});

test("S1.15: stdout never becomes input for the model", async () => {
  await using stage = new Stage(
    `[turn_start]\ncommand = "echo"\nargs = ["look"]\n[turn_end]\ncommand = "echo"\nargs = ["look"]`,
  );
  const result = await stage.prompt();
  assert.equal(result.turns, 1);
  assert.deepEqual(stage.asked(0), [["go"]]);
});

test("U11: stderr is trimmed, blank text does not count, the exit code is irrelevant", async () => {
  await using blank = new Stage(`[turn_end]\ncommand = "/bin/sh"\nargs = ["-c", "printf ' \\\\n\\\\t' >&2; exit 7"]`);
  const result = await blank.prompt();
  assert.deepEqual([result.turns, blank.warnings()], [1, []]);
  await using said = new Stage(`[turn_start]\n${SAY("  words  ", 7)}`);
  await said.prompt();
  assert.deepEqual(said.asked(0), [["go", "HookInput (TurnStart): words"]]);
});

test("S1.7, S1.8, S1.12, S1.23: nothing a command does or the file holds stops the session; it is a warning", async () => {
  const broken: [string, RegExp][] = [
    [`[turn_start]\ncommand = "/no/such/program"`, /Cannot start '\/no\/such\/program'/],
    [`[turn_start\ncommand = `, /Cannot load \.agent\/hook\.toml:\d+:\d+ as it is not valid TOML/],
    [`[turn_start]\nargs = ["x"]`, /\[turn_start\] has no command: write command = "program"/],
    [
      `[turn_start]\ncommand = "true"\nargs = "x"`,
      /in \[turn_start\] 'args' must be a list of texts: current value is "x"/,
    ],
    [
      `[turn_start]\ncommand = "true"\nrun_on_hok_input = false`,
      /option 'run_on_hok_input' is unknown: did you mean 'run_on_hook_input'/,
    ],
    [
      `[turn_end]\ncommand = "true"\nrun_on_hook_input = false`,
      /\[turn_end\] has 'run_on_hook_input', which belongs to \[turn_start\]/,
    ],
    [`[turn_begin]\ncommand = "true"`, /option 'turn_begin' is unknown: did you mean/],
    [`turn_start = 3`, /'turn_start' must be an object: current value is 3/],
    [`[turn_start]\ncommand = "true"\ntimeout = -1`, /'timeout' must be a number of seconds: current value is -1/],
    [`[turn_start]\ncommand = "true"\non_failure = "explode"`, /'on_failure' must be "continue" or "stop": current/],
    [`[turn_start]\ncommand = "true"\npersist = 1`, /'persist' must be true or false: current value is 1/],
  ];
  for (const [toml, warning] of broken) {
    await using stage = new Stage(toml);
    const result = await stage.prompt();
    assert.deepEqual([result.stop, result.text], ["done", "done"], toml);
    assert.match(stage.warnings().join("\n"), warning, toml);
  }
});

test("S1.5, S1.6, U11: the file is read again at each prompt; without it nothing runs", async () => {
  await using stage = new Stage(`[turn_start]\n${SAY("one")}`);
  await stage.prompt("a");
  stage.write(".agent/hook.toml", `[turn_start]\n${SAY("two")}`);
  await stage.prompt("b");
  rmSync(join(stage.path, ".agent"), { recursive: true });
  await stage.prompt("c");
  const last = (n: number) => stage.asked(n).at(-1)!;
  assert.deepEqual([last(0), last(1), last(2)], [
    ["a", "HookInput (TurnStart): one"],
    ["b", "HookInput (TurnStart): two"],
    ["c"],
  ]);
  assert.deepEqual(stage.warnings(), []);
});

test("S1.5, U11, U16: once the file has changed in a run, none of its commands runs in it, and one warning says so", async () => {
  await using stage = new Stage(`[turn_start]\ncommand = "true"\n[turn_end]\ncommand = "./change.sh"`);
  stage.write("new.toml", `[turn_end]\ncommand = "touch"\nargs = ["new"]\n`);
  stage.write(
    "change.sh",
    `#!/bin/sh\ncp new.toml .agent/hook.toml\n[ -e again ] || { touch again; echo go on >&2; }\n`,
  );
  await stage.prompt();
  assert.equal(stage.model.requests.length, 2, "the old command ran after the first turn");
  const changed = /turn_start.*Cannot run the commands of \.agent\/hook\.toml as it has changed since the run began/;
  assert.match(stage.warnings().join("\n"), changed);
  assert.deepEqual([stage.warnings().length, stage.execs.filter((e) => e.type === "exec_begin").length], [1, 2]);
  assert.equal(existsSync(join(stage.path, "new")), false);
  await stage.prompt();
  assert.equal(existsSync(join(stage.path, "new")), true, "its new bytes count from the next run");
  assert.equal(stage.warnings().length, 1);
});

test("S1.5: a file that is taken away in a run has changed too", async () => {
  const line = "rm -f .agent/hook.toml; test -e again || { touch again; echo go on >&2; }";
  await using stage = new Stage(`[turn_end]\ncommand = "/bin/sh"\nargs = ["-c", "${line}"]`);
  assert.equal((await stage.prompt()).turns, 2);
  assert.match(stage.warnings().join("\n"), /Cannot run the commands of \.agent\/hook\.toml as it has changed/);
  assert.equal(stage.execs.filter((e) => e.type === "exec_begin").length, 1);
});

test("S1.13, S1.15, S1.18, S1.20: each run reports its begin, its output as it comes, and its end, under its title", async () => {
  await using stage = new Stage(
    `[turn_start]\ncommand = "/bin/sh"\nargs = ["-c", "echo out; echo err >&2; exit 3"]\n[turn_end]\ncommand = "true"`,
  );
  await stage.prompt();
  const started = stage.execs.filter((e) => e.title === "Hook(TurnStart)");
  assert.equal(new Set(started.map((e) => e.id)).size, 1);
  const [begin] = started;
  assert.ok(begin?.type === "exec_begin" && begin.command.length === 3 && begin.cwd === stage.path);
  const output = (stream: string) =>
    started.flatMap((e) => e.type === "exec_output" && e.stream === stream ? [e.text] : []).join("");
  assert.deepEqual([output("stdout"), output("stderr")], ["out\n", "err\n"]);
  const end = started.find((e) => e.type === "exec_end")!;
  assert.ok(end.type === "exec_end");
  assert.deepEqual([end.status, end.exit_code, end.stdout, end.stderr], ["failed", 3, "out\n", "err\n"]);
  const input = started.at(-1)!;
  assert.ok(input.type === "exec_input" && input.stderr === "err" && input.exit_code === 3);
  assert.deepEqual(stage.execs.filter((e) => e.title === "Hook(TurnEnd)").map((e) => e.type), [
    "exec_begin",
    "exec_end",
  ]);
});

test("S1.13: output is reported while the command still runs", async () => {
  const waits = "n=0; while test ! -e seen && test $n -lt 1500; do n=$((n+1)); sleep 0.02; done";
  await using stage = new Stage(
    `[turn_start]\ncommand = "/bin/sh"\nargs = ["-c", "echo early; ${waits}; test -e seen && echo in time >&2"]`,
    [],
    {
      onExec: (record) => {
        if (record.type === "exec_output" && record.text.includes("early")) stage.write("seen", "");
      },
    },
  );
  await stage.prompt();
  assert.deepEqual(stage.asked(0), [["go", "HookInput (TurnStart): in time"]]);
});

test("S1.17, U11: an interrupt ends the command with everything it started", async () => {
  const interrupt = new AbortController();
  await using stage = new Stage(
    `[turn_start]\ncommand = "/bin/sh"\nargs = ["-c", "sleep 300 & echo $! > child.pid; echo up; wait"]`,
    [],
    {
      onExec: (record) => {
        stage.execs.push(record);
        if (record.type === "exec_output") interrupt.abort(new Error("Esc"));
      },
    },
  );
  const result = await stage.prompt("go", interrupt.signal);
  assert.equal(result.stop, "aborted");
  const end = stage.execs.find((e) => e.type === "exec_end");
  assert.ok(end?.type === "exec_end" && end.status === "cancelled");
  assert.equal(stage.model.requests.length, 0);
  await until("what the command started has ended", () => !isAlive(join(stage.path, "child.pid")));
});

test("S1.11: without 'timeout' a command has all the time it takes", async () => {
  await using stage = new Stage(
    `[turn_start]\ncommand = "/bin/sh"\nargs = ["-c", "sleep 0.3; echo at last >&2"]\n[turn_end]\ncommand = "sleep"\nargs = ["0.3"]`,
  );
  // Every limit of a second or more is over at once: a limit that is there by default would end the command.
  const real = globalThis.setTimeout;
  const hurried = (work: () => void, ms = 0) => real(work, ms >= 1000 ? 0 : ms);
  globalThis.setTimeout = Object.assign(hurried, real) as typeof setTimeout;
  try {
    assert.equal((await stage.prompt()).stop, "done");
  } finally {
    globalThis.setTimeout = real;
  }
  assert.deepEqual([stage.asked(0), stage.warnings()], [[["go", "HookInput (TurnStart): at last"]], []]);
  assert.deepEqual(stage.execs.flatMap((e) => e.type === "exec_end" ? [e.status] : []), ["ok", "ok"]);
});

test("S1.12: a warning says what the author of the file can do", async () => {
  for (
    const [toml, warning] of [
      [`[turn_start]\ncommand = "no-such-program"`, /Cannot start .*: write a program of PATH, or its path/],
      [`[turn_start]\ncommand = "echo hi"`, /command is the program alone, write what follows it as args/],
      [`[turn_start]\ncomand = "true"`, /option 'comand' is unknown: did you mean 'command'\?/],
      [`[turn_start]\ncommand = "sleep"\nargs = ["9"]\ntimeout = 0.1`, /limit of 0\.1 s: raise 'timeout', or leave/],
      [`[turn_end]\n${SAY("again")}`, /kept going by \.agent\/hook\.toml#turn_end\): .*write nothing to stderr/],
    ] as const
  ) {
    await using stage = new Stage(toml);
    await stage.prompt();
    assert.match(stage.warnings().join("\n"), warning);
  }
});

test("S1.11, U11: timeout is opt-in; a command that takes longer is ended, with a warning", async () => {
  await using stage = new Stage(`[turn_start]\ncommand = "sleep"\nargs = ["60"]\ntimeout = 0.1`);
  assert.equal((await stage.prompt()).stop, "done");
  assert.match(stage.warnings().join("\n"), /it took longer than its limit of 0.1 s/);
  const end = stage.execs.find((e) => e.type === "exec_end");
  assert.ok(end?.type === "exec_end" && end.status === "timeout");
});

test('S1.25, U11: on_failure = "stop" ends the agent quietly if the command fails', async () => {
  await using start = new Stage(`[turn_start]\non_failure = "stop"\n${SAY("no", 1)}`);
  assert.equal((await start.prompt()).stop, "halted");
  assert.equal(start.model.requests.length, 0);
  await using end = new Stage(`[turn_end]\non_failure = "stop"\n${SAY("no", 1)}`);
  const result = await end.prompt();
  assert.deepEqual([result.stop, result.turns], ["halted", 1]);
  await using fine = new Stage(`[turn_end]\non_failure = "stop"\ncommand = "true"`);
  assert.equal((await fine.prompt()).stop, "done");
  await using gone = new Stage(`[turn_start]\non_failure = "stop"\ncommand = "/no/such/program"`);
  assert.equal((await gone.prompt()).stop, "halted");
});

test("S1.25, U11: json = true takes the input from stdout, as JSON", async () => {
  const printing = (json: string) =>
    `[turn_start]\njson = true\ncommand = "printf"\nargs = ["%s", ${JSON.stringify(json)}]`;
  for (const json of ['{"text": "from json"}', '"from json"', '{"stderr": "from json\\n"}']) {
    await using stage = new Stage(printing(json));
    await stage.prompt();
    assert.deepEqual(stage.asked(0), [["go", "HookInput (TurnStart): from json"]], json);
  }
  for (const json of ["", "{}", '{"text": ""}']) {
    await using stage = new Stage(printing(json));
    await stage.prompt();
    assert.deepEqual([stage.asked(0), stage.warnings()], [[["go"]], []], json);
  }
  for (const json of ["words", '{"text": 3}', "[1]"]) {
    await using stage = new Stage(printing(json));
    assert.equal((await stage.prompt()).stop, "done");
    assert.match(stage.warnings().join("\n"), /Cannot read its HookInput/, json);
  }
  await using quiet = new Stage(`[turn_start]\njson = true\n${SAY("only shown")}`);
  await quiet.prompt();
  assert.deepEqual(quiet.asked(0), [["go"]]);
});

test("S1.16, U16: a command that a deny rule matches is not run: rejected, a warning, and the turn goes on", async () => {
  await using stage = new Stage(`[turn_start]\ncommand = "touch"\nargs = ["ran"]`, [], {
    refuses: (command) => Promise.resolve(command.join(" ") === "touch ran" ? "a rule forbids it" : undefined),
  });
  assert.equal((await stage.prompt()).stop, "done");
  assert.equal(existsSync(join(stage.path, "ran")), false);
  assert.deepEqual(stage.execs.map((e) => e.type === "exec_end" ? e.status : e.type), ["exec_begin", "rejected"]);
  assert.match(
    stage.warnings().join("\n"),
    /Cannot run 'touch ran' as a rule forbids it/,
  );
});

test("S1.16: a command runs as the turn's sandbox has it, and is reported as it was written", async () => {
  await using stage = new Stage(`[turn_start]\ncommand = "touch"\nargs = ["ran"]`, [], {
    confine: (command) => ["/bin/sh", "-c", 'echo "$@" > confined', "sh", ...command],
  });
  await stage.prompt();
  assert.equal(stage.read("confined"), "touch ran\n");
  const [begin] = stage.execs;
  assert.ok(begin?.type === "exec_begin");
  assert.deepEqual(begin.command, ["touch", "ran"]);
});

test("U13: an input too long for the model is shown by its beginning and kept in a file", async () => {
  using kept = scratch();
  await using stage = new Stage(
    `[turn_start]\ncommand = "/bin/sh"\nargs = ["-c", "head -c 50000 /dev/zero | tr '\\\\0' x >&2"]`,
    [],
    { host: { projectDir: kept.path, outputDir: () => kept.path } },
  );
  await stage.prompt();
  const [[, input]] = stage.asked(0) as [[string, string]];
  assert.ok(input.length < 5000);
  const path = /saved to: (\S+)/.exec(input)![1]!;
  assert.ok(path.startsWith(`${kept.path}/`), path);
  assert.equal(readFileSync(path, "utf8"), "x".repeat(50_000));
});

test("U9: hook.toml is for the root agent only", async () => {
  const { records } = await tomlHooks("/nowhere", `turn_start.command = "a"\nturn_end.command = "b"`);
  assert.deepEqual(records.flatMap((r) => r.on), [
    { event: "turn-start", scope: "root" },
    { event: "turn-end", scope: "root" },
  ]);
});
