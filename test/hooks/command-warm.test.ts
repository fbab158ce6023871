import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commandHook } from "../../lib/hooks/command-hook.ts";
import type { HookHost } from "../../lib/hooks/process/hook-host.ts";
import { scratch } from "../_scratch.ts";
import { environment, fireCommand, fireHook, PRE, record } from "./_fire.ts";
import { until } from "../_until.ts";

const DENY = '{"decision":"block","reason":"R"}';

function warm(command: string, stop = new AbortController()) {
  const folder = scratch();
  const text = command.replaceAll("DIR", folder.path);
  const parts = commandHook({ name: "hook", command: text, label: "x", warm: true }, { projectDir: folder.path });
  const { env } = environment(folder.path, { signal: stop.signal });
  const pids = () => readFileSync(join(folder.path, "pids"), "utf8").trim().split("\n");
  const ask = (command = "ls", timeout = 20) =>
    fireHook(record("pre-tool-use", { ...parts, timeout }), { ...PRE, input: { command } }, env);
  return {
    ask,
    pids,
    folder,
    stop,
    [Symbol.dispose]: () => {
      stop.abort();
      folder[Symbol.dispose]();
    },
  };
}

/** Denies what holds `rm`, and has no opinion otherwise. */
const GUARD =
  `echo $$ >> DIR/pids; while IFS= read -r line; do case "$line" in *'rm '*) echo '${DENY}';; *) echo '{}';; esac; done`;

test("a warm hook is one process for all events of a session: a line in, a line out", async () => {
  using hook = warm(GUARD);
  for (let i = 0; i < 5; i++) {
    assert.equal((await hook.ask(i % 2 === 0 ? "ls" : "rm x")).decision, i % 2 === 0 ? "continue" : "deny");
  }
  assert.equal(hook.pids().length, 1);
  const { denials } = await hook.ask("rm y");
  assert.equal(denials[0]!.text, "PreToolUse:Bash hook error: R");
});

test("a warm hook answers events that come at once in their order", async () => {
  using hook = warm(GUARD);
  const asked = Array.from({ length: 12 }, (_, i) => hook.ask(i % 3 === 0 ? "rm x" : "ls"));
  const decisions = (await Promise.all(asked)).map((f) => f.decision);
  assert.deepEqual(decisions, Array.from({ length: 12 }, (_, i) => i % 3 === 0 ? "deny" : "continue"));
});

test("a warm hook that ends is read by its exit code and output, and started again", async () => {
  using hook = warm("echo $$ >> DIR/pids; read -r line; echo no >&2; exit 2");
  for (let i = 0; i < 2; i++) {
    assert.equal((await hook.ask()).denials[0]?.text, "PreToolUse:Bash hook error: [x]: no");
  }
  assert.equal(hook.pids().length, 2);
});

test("what a command hook writes is passed on as it comes, warm or not", async () => {
  for (const warm of [true, false]) {
    const told: string[] = [];
    const onOutput: HookHost["onOutput"] = (o) => void told.push(`${o.hook} ${o.event.event} ${o.stream} ${o.text}`);
    await fireCommand(PRE, "read -r line; echo note >&2; exit 0", { warm, host: { onOutput } });
    assert.deepEqual(told, ["hook pre-tool-use stderr note\n"]);
  }
});

test("a warm hook that crashes is a failure, and the next event finds a new one", async () => {
  using hook = warm(
    `echo $$ >> DIR/pids; if [ -e DIR/seen ]; then while read -r l; do echo '${DENY}'; done; fi; touch DIR/seen; kill -9 $$`,
  );
  const first = await hook.ask();
  assert.deepEqual([first.decision, first.warnings.length], ["continue", 1]);
  assert.equal((await hook.ask()).decision, "deny");
});

test("a warm hook that does not answer in time is ended, and the next event finds a new one", async () => {
  using hook = warm(`echo $$ >> DIR/pids; if [ -e DIR/seen ]; then echo '{}'; fi; touch DIR/seen; sleep 30`);
  while (!existsSync(join(hook.folder.path, "seen"))) {
    assert.match((await hook.ask("ls", 0.3)).warnings[0]!, /took longer than its limit of 0\.3 s/);
  }
  const before = hook.pids().length;
  const again = await hook.ask();
  assert.deepEqual([again.decision, again.warnings], ["continue", []]);
  assert.equal(hook.pids().length, before + 1);
});

test("a warm hook that says more than one line is never misread as the answer to the next event", async () => {
  const both = `printf '{}\\n%s\\n' '${DENY}'`;
  const apart = `printf '{}\\n '; sleep 0.2; echo '${DENY}'`;
  for (const answer of [both, apart]) {
    using hook = warm(`while read -r l; do ${answer}; done`);
    for (let i = 0; i < 3; i++) assert.equal((await hook.ask()).decision, "continue", answer);
  }
});

test("a warm hook that never reads and is closed at once never crashes the run", async () => {
  using hook = warm("exec 0<&- 1>&- 2>&-; sleep 0.1; exit 0");
  assert.equal((await hook.ask("x".repeat(500_000))).decision, "continue");
});

test("a warm hook ends with its session", async () => {
  const stop = new AbortController();
  using hook = warm(`trap 'touch DIR/ended; exit' TERM; ${GUARD}`, stop);
  await hook.ask();
  stop.abort();
  await until("it ends", () => existsSync(join(hook.folder.path, "ended")));
});
