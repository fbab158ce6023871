import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findSessions } from "../../../../lib/extensions/import/sessions/find-session.ts";
import { type HostSession, readSession } from "../../../../lib/extensions/import/sessions/read-session.ts";
import type { LoggedCall } from "../../../../lib/extensions/import/sessions/session-kinds.ts";
import { put, scratch } from "../../../_scratch.ts";
import { noRecordings, recordings } from "../../../_data.ts";
import {
  attached,
  called,
  codex,
  codexCall,
  codexPrompt,
  codexResult,
  codexSays,
  codexScript,
  completed,
  item,
  jsonl,
  meta,
  result,
  said,
  text,
  typed,
  usage,
} from "./_logs.ts";

const LOGS = recordings("sessions");

const callsOf = ({ moments }: HostSession) => moments.filter((moment) => moment.kind === "call");
const promptsOf = ({ moments }: HostSession) => moments.flatMap((one) => one.kind === "prompt" ? [one.text] : []);
const stopsOf = ({ moments }: HostSession) => moments.filter(({ kind, lane }) => kind === "stop" && lane === "main");

/** What is to be found in a log, in the words of its `expect`. */
function foundIn(session: HostSession) {
  return {
    prompts: promptsOf(session),
    toolCalls: callsOf(session).map(({ lane, id, name, namespace, input, outcome, result, nested }: LoggedCall) => ({
      ...{ lane, id, name, input, outcome, result_prefix: result.slice(0, 60) },
      ...(namespace !== undefined && { namespace }),
      ...(nested && { nested: nested.map((one) => "patch" in one ? { patch: one.patch } : withoutOutput(one)) }),
    })),
    subagents: session.logs.length - 1,
    stops: stopsOf(session).length,
    modelCalls: session.modelCalls,
  };
}

function withoutOutput({ command, exit_code }: { readonly command: string; readonly exit_code: number }) {
  return { command, exit_code };
}

for (const host of ["claude", "codex"]) {
  test(`every recorded session of ${host} is read as what really happened in it`, {
    skip: noRecordings,
  }, () => {
    const { sessions, others } = findSessions([join(LOGS!, host)]);
    assert.deepEqual(others, []);
    const expected = readdirSync(join(LOGS!, host)).filter((name) => name.endsWith(".expect.json"));
    assert.equal(sessions.length, expected.length);
    for (const files of sessions) {
      const { parent: _, ...expect } = JSON.parse(readFileSync(files.path.replace(/\.jsonl$/, ".expect.json"), "utf8"));
      const session = readSession(files);
      assert.deepEqual(foundIn(session), expect, files.path);
      assert.deepEqual(session.problems, []);
      assert.deepEqual(findSessions([files.path]).sessions, [files], "named alone, with its agents");
    }
  });
}

/** Reads the one session that these files are. */
function read(files: Readonly<Record<string, string>>): HostSession {
  using folder = scratch();
  put(folder.path, files);
  const { sessions } = findSessions([folder.path]);
  assert.equal(sessions.length, 1);
  return readSession(sessions[0]!);
}

const claude = (...lines: Record<string, unknown>[]) => read({ "s1.jsonl": jsonl(...lines) });
const rollout = (...lines: Record<string, unknown>[]) => read({ "r.jsonl": jsonl(meta("t1"), ...lines) });

const reject = (source: string) => ({ permissionDecision: { decision: "reject", source } });
const REFUSED = "The user doesn't want to proceed with this tool use";

const CLAUDE_OUTCOMES: readonly [outcome: LoggedCall["outcome"], why: string, line: ReturnType<typeof result>][] = [
  ["ok", "a result", result("t", "2")],
  ["ok", "an accepted call", result("t", "2", { permissionDecision: { decision: "accept", source: "config" } })],
  ["error", "a failed call", result("t", "Exit code 3", {}, true)],
  ["denied", "a hook", result("t", "no", { ...reject("hook"), toolDenialKind: "permission-rule" }, true)],
  ["denied", "a missing grant", result("t", "no", { ...reject("config"), toolDenialKind: "user-rejected" }, true)],
  ["denied", "a hook, in old logs", result("t", "PreToolUse:Bash hook error: [x]: no", {}, true)],
  ["denied", "a rule, in old logs", result("t", "Permission to use Bash with command x has been denied.", {}, true)],
  ["interrupted", "a person", result("t", REFUSED, { toolDenialKind: "user-rejected" }, true)],
  ["interrupted", "a person, in old logs", result("t", REFUSED, {}, true)],
  ["interrupted", "the end of the process", attached({ type: "date" })],
];

for (const [outcome, why, line] of CLAUDE_OUTCOMES) {
  test(`a call of Claude Code is '${outcome}' by ${why}`, () => {
    assert.equal(callsOf(claude(called("t", "Bash", {}), line))[0]!.outcome, outcome);
  });
}

const CODEX_OUTCOMES: readonly [outcome: LoggedCall["outcome"], output: string, script?: true][] = [
  ["ok", "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\naborted by user\n"],
  ["error", "Chunk ID: a1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nno\n"],
  ["ok", "Wall time: 0.1 seconds\nProcess running with session ID 7\n"],
  ["denied", "Command blocked by PreToolUse hook: no. Command: rm x"],
  ["ok", "a file that says: Command blocked by PreToolUse hook: no"],
  ["interrupted", "Wall time: 2.5 seconds\naborted by user"],
  ["ok", "Script completed\nWall time 0.1 seconds\nOutput:\n", true],
  ["error", "Script failed\nWall time 0.1 seconds\nOutput:\n", true],
  ["denied", "Script failed\nWall time 0.1 seconds\nOutput:\nCommand blocked by PreToolUse hook: no.", true],
];

for (const [outcome, output, script] of CODEX_OUTCOMES) {
  test(`a call of Codex is '${outcome}' if the model reads ${JSON.stringify(output)}`, () => {
    const call = script ? codexScript("c", "x()") : codexCall("c", "exec_command", { cmd: "x" });
    assert.equal(callsOf(rollout(call, usage, codexResult("c", output)))[0]!.outcome, outcome);
  });
}

test("a call of Codex that says nothing of its end is an error if its item failed", () => {
  const failed = completed({ type: "FileChange", id: "c", changes: {}, status: "failed" });
  const session = rollout(codexCall("c", "apply_patch", {}), usage, failed, codexResult("c", "it does not apply"));
  assert.equal(callsOf(session)[0]!.outcome, "error");
});

test("only what a person typed is a prompt, also while the agent works", () => {
  const session = claude(
    typed("first"),
    typed("task notice", { promptSource: "system" }),
    typed("<command-name>/compact</command-name>"),
    typed("hook feedback", { promptSource: undefined, isMeta: true }),
    typed("[Request interrupted by user]", { promptSource: undefined }),
    attached({ type: "queued_command", commandMode: "prompt", prompt: "and this" }),
    attached({ type: "queued_command", commandMode: "task-notification", prompt: "done" }),
    typed([{ type: "image" }, text("look")], { promptSource: "sdk" }),
  );
  assert.deepEqual(promptsOf(session), ["first", "and this", "look"]);
  const old = { promptSource: undefined };
  const before = claude(typed("typed", old), typed("summary", { ...old, isCompactSummary: true }), result("x", "y"));
  assert.deepEqual(promptsOf(before), ["typed"], "versions that do not say where a prompt is from");
  const context = item({
    type: "message",
    role: "user",
    content: [{ type: "input_text", text: "<environment_context>" }],
  });
  assert.deepEqual(promptsOf(rollout(context, codexPrompt("go"))), ["go"]);
});

test("a reply is one call of the model however many lines it has, and a stop if it calls no tool and ended", () => {
  const session = claude(
    said("m1", { type: "thinking", thinking: "…" }),
    said("m1", text("Done.")),
    typed("Stop hook feedback:\nnot yet", { promptSource: undefined, isMeta: true }),
    said("m2", text("Look:"), "tool_use"),
    called("t1", "Bash", {}),
    said("m3", text("It was cut"), null),
    said("m4", text("API error"), "stop_sequence", { isApiErrorMessage: true }),
    said("m5", text("Done again.")),
  );
  assert.equal(session.modelCalls, 4, "m1, m2, the call's and m5");
  const stops = session.moments.flatMap((one) => one.kind === "stop" ? [[one.text, one.active]] : []);
  assert.deepEqual(stops, [["Done.", false], ["Done again.", true]]);
  const hook = item({ type: "message", role: "user", content: [{ type: "input_text", text: "<hook_prompt x>no" }] });
  const other = rollout(codexSays("Done."), usage, hook, codexSays("Again."), usage, codexSays("cut off"));
  assert.equal(other.modelCalls, 2);
  const others = other.moments.flatMap((one) => one.kind === "stop" ? [[one.text, one.active]] : []);
  assert.deepEqual(others, [["Done.", false], ["Again.", true]]);
});

test("what a script of Codex ran belongs to its call", () => {
  const command = {
    type: "CommandExecution",
    id: "exec-1",
    command: ["bash", "-lc", "ls"],
    exit_code: 0,
    aggregated_output: "a\n",
  };
  const change = { "/proj/a.txt": { type: "add", content: "x\n" }, "/else/b": { type: "delete", content: "y" } };
  const session = rollout(
    codexScript("c1", "tools.exec_command()"),
    usage,
    completed(command),
    completed({ type: "FileChange", id: "exec-2", changes: change }),
    codexResult("c1", [{ type: "input_text", text: "Script completed" }, { type: "input_text", text: "a" }]),
  );
  const patch = "*** Begin Patch\n*** Add File: /proj/a.txt\n+x\n*** Delete File: /else/b\n-y\n*** End Patch";
  assert.deepEqual(callsOf(session)[0]!.nested, [
    { command: "ls", exit_code: 0, output: "a\n" },
    { patch: ["a.txt", "/else/b"], text: patch },
  ]);
  assert.equal(callsOf(session)[0]!.result, "Script completed\na");
  const two = rollout(
    ...[codexScript("c1", "a()"), codexScript("c2", "b()"), usage, completed({ ...command, command: "a" })],
    ...[codexResult("c1", "Script completed"), completed({ ...command, command: "b" })],
  );
  const ran = callsOf(two).map(({ nested = [] }) => nested.map((one) => "command" in one && one.command));
  assert.deepEqual(ran, [["a"], ["b"]], "of two scripts, the one that is under way");
});

test("agents are numbered by the order they were started in, wherever their logs lie", () => {
  const started = (id: string, at: string) => called(id, "Agent", {}, { timestamp: `2026-11-16T10:00:0${at}Z` });
  const session = read({
    "s1.jsonl": jsonl(started("t1", "1"), started("t2", "2")),
    "s1/subagents/agent-a.jsonl": jsonl(started("late", "3"), said("m", text("Done."))),
    "s1/subagents/agent-a.meta.json": JSON.stringify({ toolUseId: "t2", agentType: "Plan" }),
    "s1/subagents/agent-b.jsonl": jsonl(called("early", "Read", {})),
    "s1/subagents/agent-b.meta.json": JSON.stringify({ toolUseId: "t1" }),
    "s1/subagents/agent-c.jsonl": jsonl(called("last", "Read", {})),
    "s1/subagents/agent-c.meta.json": JSON.stringify({ toolUseId: "late" }),
  });
  assert.deepEqual(callsOf(session).map(({ lane, id }) => [lane, id]), [
    ["main", "t1"],
    ["main", "t2"],
    ["agent:1", "early"],
    ["agent:2", "late"],
    ["agent:3", "last"],
  ]);
  assert.deepEqual(session.logs.map(({ agentType }) => agentType), [undefined, "", "Plan", ""]);
  const side = { isSidechain: true, agentId: "a" };
  const old = claude(started("t1", "1"), called("inner", "Read", {}, side), said("m", text("Done."), "end_turn", side));
  assert.deepEqual(callsOf(old).map(({ lane, id }) => [lane, id]), [["main", "t1"], ["agent:1", "inner"]]);
  assert.equal(stopsOf(old).length, 0);
  const spawned = (parent_thread_id: string) => ({
    ...{ session_id: "t1", parent_thread_id },
    source: { subagent: { thread_spawn: { parent_thread_id } } },
  });
  const codexSession = read({
    "r.jsonl": jsonl(meta("t1"), codexPrompt("go")),
    "rollout-2.jsonl": jsonl(meta("t2", spawned("t1")), codexPrompt("a task"), codexCall("c2", "wait", {})),
    "rollout-3.jsonl": jsonl(meta("t3", spawned("t2")), codexCall("c3", "wait", {})),
  });
  assert.deepEqual(promptsOf(codexSession), ["go"], "a task is not typed by a person");
  assert.deepEqual(callsOf(codexSession).map(({ lane, id }) => [lane, id]), [["agent:1", "c2"], ["agent:2", "c3"]]);
});

test("a session says what it was forked from", () => {
  assert.equal(rollout().parent, undefined);
  assert.equal(
    read({ "r.jsonl": jsonl(meta("t2", { forked_from_id: "t1" }), codex("turn_context", {})) }).parent,
    "t1",
  );
});

test("a line that cannot be read is named by its number, and the rest is read", () => {
  const session = read({ "s1.jsonl": `${jsonl(typed("go"))}{"type":\n[1]\n\n${jsonl(called("t", "Bash", {}))}{"cut` });
  assert.deepEqual(session.problems.map(({ line, why }) => [line, why]), [
    [2, "it is not JSON: it may be cut off"],
    [3, "it is not an object"],
    [6, "it is not JSON: it may be cut off"],
  ]);
  assert.deepEqual([promptsOf(session), callsOf(session).length], [["go"], 1]);
});

test("files that are not the log of a session are named", () => {
  using folder = scratch();
  put(folder.path, {
    "tape.jsonl": `{"tape":1}\n`,
    "history.jsonl": "",
    "a/s1.jsonl": jsonl(typed("go")),
    "notes.md": "x",
  });
  const { sessions, others } = findSessions([folder.path]);
  assert.deepEqual(sessions.map(({ path }) => path), [join(folder.path, "a/s1.jsonl")]);
  assert.deepEqual(others, [join(folder.path, "history.jsonl"), join(folder.path, "tape.jsonl")]);
});
