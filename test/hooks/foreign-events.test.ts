import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import hooks from "../../lib/cli/hooks.ts";
import { type EventName, EVENTS } from "../../lib/core/events.ts";
import { pascal } from "../../lib/core/names.ts";
import { hostEvent, HOSTS } from "../../lib/hooks/hosts/index.ts";
import { wireInput } from "../../lib/hooks/process/wire.ts";
import { sampleEvent } from "../../lib/hooks/samples.ts";
import { agent } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";
import { scratch } from "../_scratch.ts";
import { type Json, moduleAnswering, served } from "./_served.ts";

/** The events that only other hosts fire. */
const FOREIGN = (Object.keys(EVENTS) as EventName[]).filter((name) => !EVENTS[name].fires);

/** The first host that has an event. */
const hostOf = (name: string) => (["claude", "qwen"] as const).find((host) => hostEvent(host, name) !== undefined);

test("every event of Claude Code and Qwen Code can be written as a hook file", () => {
  for (const host of ["claude", "qwen"] as const) {
    const lost = Object.entries(HOSTS[host].events).filter(([, { ours }]) => !ours).map(([name]) => name);
    assert.deepEqual(lost, [], host);
  }
  assert.deepEqual(FOREIGN.filter((name) => hostOf(name) === undefined), []);
});

const DENY = { action: "deny", reason: "NOT-NOW" };
const BLOCK = { stdout: JSON.stringify({ decision: "block", reason: "NOT-NOW" }) };
const EXIT = { stdout: "", stderr: "NOT-NOW", code: 2 };

/** What a module answers to an event, and what its host reads. */
const ANSWERS: [event: EventName, answer: Json, reads: { stdout: string; stderr?: string; code?: number }][] = [
  ["config-change", DENY, BLOCK],
  ["user-prompt-expansion", DENY, BLOCK],
  ["task-created", DENY, BLOCK],
  ["todo-created", DENY, BLOCK],
  ["todo-completed", DENY, BLOCK],
  // These take an exit code alone.
  ["task-completed", DENY, EXIT],
  ["teammate-idle", DENY, EXIT],
  ["elicitation", DENY, EXIT],
  ["elicitation-result", DENY, EXIT],
  ["worktree-create", DENY, EXIT],
  ["worktree-create", { action: "modify", value: "/w/feature" }, { stdout: "/w/feature" }],
  ["message-display", { action: "modify", value: "***" }, {
    stdout: JSON.stringify({ hookSpecificOutput: { hookEventName: "MessageDisplay", displayContent: "***" } }),
  }],
  ["setup", { action: "continue", context: "HELLO" }, {
    stdout: JSON.stringify({ hookSpecificOutput: { hookEventName: "Setup", additionalContext: "HELLO" } }),
  }],
];

for (const [event, answer, reads] of ANSWERS) {
  test(`${JSON.stringify(answer)} on ${event} is what its host understands`, async () => {
    using folder = scratch({ [`${event}.x.ts`]: moduleAnswering(answer) });
    const stdin = wireInput({ ...sampleEvent(event, { cwd: "/w" }), session_id: "s" } as never, "/w");
    const { stdout, stderr, code } = await served(`${folder.path}/${event}.x.ts`, stdin, hostOf(event)!, {
      HOME: folder.path,
    });
    assert.deepEqual({ stdout: stdout.trim(), stderr: stderr.trim(), code }, { stderr: "", code: 0, ...reads });
  });
}

test("hooks new, test and install know the events of other hosts", async () => {
  for (const event of FOREIGN.filter((name) => name !== "worktree-create")) {
    using here = place();
    assert.equal((await here.call(hooks, "new", `${event}.x`)).code, 0, event);
    const host = hostOf(event)!;
    const { code, out } = await here.call(hooks, "test", `hooks/${event}.x.ts`);
    assert.equal(code, 0, out);
    const installed = await here.call(hooks, "install", `${here.cwd}/hooks`, "--for", host);
    assert.equal(installed.code, 0, installed.err);
    const file = `${here.cwd}/${HOSTS[host].settings.files[0]}`;
    assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, "utf8")).hooks), [pascal(event)]);
    const other = await here.call(hooks, "install", `${here.cwd}/hooks`, "--for", "gemini");
    assert.match(other.err, new RegExp(`${event}\\.x\\.ts: gemini has no event like ${event}`));
  }
});

test("a hook that has to make a worktree is not written from a template, and prints nothing if crochet is missing", async () => {
  using here = place({ "hooks/worktree-create.x.ts": moduleAnswering({ action: "modify", value: "/w" }) });
  assert.match((await here.call(hooks, "new", "worktree-create")).err, /it has to make the worktree/);
  await here.call(hooks, "install", `${here.cwd}/hooks`, "--for", "claude");
  assert.match(readFileSync(`${here.cwd}/.claude/settings.json`, "utf8"), /CROCHET_ABSENT=\\"\\";/);
});

const NEVER = "never runs here as only other hosts fire config-change: 'crochet hooks install' gives it to them";

test("our own loop says that it never fires them: for files, and for hooks in code", async () => {
  using here = place({ "hooks/config-change.x.ts": moduleAnswering(DENY) });
  const { out, err } = await here.call(hooks, "ls", "--hooks", "hooks");
  assert.match(out + err, new RegExp(`Hook config-change\\.x\\.ts ${NEVER}`));
  const warnings: string[] = [];
  const model = scripted([{ text: "hi" }]);
  const looks = () => undefined;
  const own = agent({ model, hooks: { configChange: looks, stop: looks } });
  for await (const event of own.stream("go")) if (event.type === "warning") warnings.push(event.message);
  assert.deepEqual(warnings, [`Hook looks ${NEVER}`]);
});

test("settings for Claude Code with such an event are listed as what nothing here fires", async () => {
  const command = { type: "command", command: "true" };
  const settings = { hooks: { ConfigChange: [{ hooks: [command] }], Stop: [{ hooks: [command] }] } };
  using here = place({ ".claude/settings.json": JSON.stringify(settings) });
  const { out } = await here.call(hooks, "ls", "--settings", ".claude/settings.json");
  assert.match(out, /settings\.json#0: nothing here fires ConfigChange/);
  assert.doesNotMatch(out, /nothing here fires Stop/);
});

test("a matcher of file-changed is compared with the file's name, as Claude Code does", async () => {
  using folder = scratch({
    "file-changed.x.ts":
      `export const config = { matcher: "\\\\.env$|^a,b$" }; export default ({ file_path }, { log }) => log(file_path);`,
  });
  const at = async (file_path: string) => {
    const stdin = { session_id: "s", cwd: "/w", hook_event_name: "FileChanged", file_path, event: "change" };
    return (await served(`${folder.path}/file-changed.x.ts`, stdin, "claude", { HOME: folder.path })).stderr;
  };
  assert.deepEqual([await at("/w/.env"), await at("/w/.env/other")], ["file-changed.x.ts: /w/.env\n", ""]);
});
