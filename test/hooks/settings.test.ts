import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fire } from "../../lib/core/dispatch.ts";
import type { EventName, Fired } from "../../lib/core/events.ts";
import type { HookHost } from "../../lib/hooks/process/hook-host.ts";
import { type LoadedSettings, loadSettings } from "../../lib/hooks/hook-settings.ts";
import { scripted } from "../../lib/testing/index.ts";
import { place } from "../_place.ts";
import { put, scratch } from "../_scratch.ts";
import { answering } from "./_answering.ts";
import { environment, POST, PRE, PROMPT, START, STOP } from "./_fire.ts";
import { settingsFiles } from "./_settings-files.ts";

/** A project with settings files, read as hooks. */
async function project(
  files: { readonly [path: string]: unknown },
  given: readonly string[] = [],
  host: Partial<HookHost> = {},
) {
  const here = place();
  const { cwd: projectDir, home } = here;
  for (const [path, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    put(path.startsWith("~/") ? home : projectDir, { [path.replace("~/", "")]: text });
  }
  const named = given.map((text) =>
    text.startsWith("{") ? { path: "--settings", text } : { path: join(projectDir, text), required: true }
  );
  const loaded = await loadSettings([...settingsFiles(projectDir, home), ...named], { projectDir, ...host });
  const log = join(projectDir, "..", "log");
  writeFileSync(log, "");
  return {
    ...loaded,
    projectDir,
    fire: (fired: Fired<EventName>) => fire(loaded.records, structuredClone(fired), environment(projectDir).env),
    log: () => readFileSync(log, "utf8").trim().split("\n").filter((line) => line !== ""),
    [Symbol.dispose]: () => here[Symbol.dispose](),
  };
}

const P = ".claude/settings.json";
const note = (word: string, rest: object = {}) => ({
  type: "command",
  command: `cat > /dev/null; echo ${word} >> "$CLAUDE_PROJECT_DIR/../log"`,
  ...rest,
});
const on = (event: string, ...groups: object[]) => ({ hooks: { [event]: groups } });
const messages = ({ problems }: Pick<LoadedSettings, "problems">) => problems.map((p) => p.message);

test("loadSettings() reads user, project, local and named files in this order, and all of them count", async () => {
  const stop = (word: string) => on("Stop", { hooks: [note(word)] });
  const inline = JSON.stringify(stop("inline"));
  using all = await project({
    [P]: stop("project"),
    ".claude/settings.local.json": stop("local"),
    "~/.claude/settings.json": stop("user"),
    "mine.json": stop("named"),
  }, ["mine.json", inline]);
  await all.fire(STOP);
  assert.deepEqual(all.log(), ["user", "project", "local", "named", "inline"]);
  assert.deepEqual(all.records.map((r) => r.name.replace(/^.*home/, "~")), [
    "~/.claude/settings.json#0",
    ".claude/settings.json#0",
    ".claude/settings.local.json#0",
    "mine.json#0",
    "--settings#0",
  ]);
  assert.equal(all.records[1]!.source, join(all.projectDir, P));
});

test("missing settings are fine; a missing file that was named is a problem", async () => {
  using none = await project({});
  assert.deepEqual([none.records, none.problems], [[], []]);
  using empty = await project({ [P]: " \n" });
  assert.deepEqual([empty.records, empty.problems], [[], []]);
  using missing = await project({}, ["gone.json"]);
  assert.match(messages(missing)[0]!, /^gone\.json: Cannot read the settings as there is no such file/);
});

test("comments and trailing commas are accepted; a mistake is said with its line and drops its file alone", async () => {
  using commented = await project({ [P]: '// mine\n{ "hooks": { "Stop": [ { "hooks": [], }, ], }, /* x */ }' });
  assert.deepEqual(commented.problems, []);
  using broken = await project({
    [P]: '{\n  "hooks": {\n    "Stop": nonsense\n  }\n}',
    ".claude/settings.local.json": on("Stop", { hooks: [note("local")] }),
  });
  assert.match(
    messages(broken)[0]!,
    /^\.claude\/settings\.json: Cannot read the settings as it is not valid JSON: invalid symbol at line 3, column 13$/,
  );
  assert.equal(broken.records.length, 1);
});

test("a bad entry is dropped, with its place and the fix; the other hooks of its file run", async () => {
  using all = await project({
    [P]: {
      hooks: {
        PreToolUse: [
          {
            hooks: [note("a", { timeout: 0 }), note("good", { onFailure: "continue" }), { type: "command" }, {
              command: "x",
            }, 7],
          },
          note("flat"),
          { matcher: "(", hooks: [note("b")] },
          { matcher: 5, hooks: [note("c")] },
          { hooks: [note("d", { onFailure: "explode" }), note("e", { args: "x" }), note("f", { if: "Bash(" })] },
          { hooks: [{ type: "http", url: "ftp://x" }, { type: "prompt" }] },
        ],
        Stop: { hooks: [] },
      },
    },
  });
  await all.fire(PRE);
  assert.deepEqual(all.log(), ["good"]);
  assert.ok(all.problems.every((p) => p.level === "error" && p.file === join(all.projectDir, P)));
  assert.deepEqual(all.problems.map((p) => p.path), [
    "hooks.PreToolUse[0].hooks[0].timeout",
    "hooks.PreToolUse[0].hooks[2].command",
    "hooks.PreToolUse[0].hooks[3].type",
    "hooks.PreToolUse[0].hooks[4]",
    "hooks.PreToolUse[1]",
    "hooks.PreToolUse[2].matcher",
    "hooks.PreToolUse[3].matcher",
    "hooks.PreToolUse[4].hooks[0].onFailure",
    "hooks.PreToolUse[4].hooks[1].args",
    "hooks.PreToolUse[4].hooks[2].if",
    "hooks.PreToolUse[5].hooks[0].url",
    "hooks.PreToolUse[5].hooks[1].prompt",
    "hooks.Stop",
  ]);
  assert.equal(
    messages(all)[0],
    ".claude/settings.json hooks.PreToolUse[0].hooks[0].timeout: Cannot use the hook as 'timeout' must be a number of seconds: current value is 0",
  );
  assert.match(messages(all)[4]!, /wrap the hook, as in \{ "hooks": \[ … \] \}$/);
});

test("U6: events and handler types we do not have load with a warning and are listed as never firing", async () => {
  using all = await project({
    [P]: {
      hooks: {
        TaskCreated: [{ hooks: [note("a")] }],
        PreTolUse: [{ hooks: [note("b")] }],
        Stop: [{ hooks: [{ type: "mcp_tool", server: "s", tool: "t" }, { type: "agent", prompt: "p" }] }],
        UserPromptSubmit: [{ hooks: [note("c", { if: "Bash(git *)" })] }],
      },
    },
  });
  assert.deepEqual([all.records.length, all.problems.every((p) => p.level === "warning")], [0, true]);
  assert.deepEqual(all.never.map((n) => [n.name, n.event]), [
    [`${P}#0`, "TaskCreated"],
    [`${P}#1`, "PreTolUse"],
    [`${P}#2`, "Stop"],
    [`${P}#3`, "Stop"],
    [`${P}#4`, "UserPromptSubmit"],
  ]);
  assert.deepEqual(all.never.map((n) => n.refuses), [true, false, false, false, false]);
  assert.match(all.never[1]!.why, /did you mean PreToolUse\?$/);
});

test("unknown keys are tolerated at every level", async () => {
  using all = await project({
    [P]: {
      model: "x",
      hooks: {
        PreToolUse: [{ matcher: "Bash", foo: 1, hooks: [note("a", { bar: 2, statusMessage: "s", once: true })] }],
      },
    },
  });
  await all.fire(PRE);
  await all.fire(PRE);
  assert.deepEqual([all.log(), all.problems], [["a", "a"], []]);
});

test("U12: a group's matcher chooses the tools, and is ignored if an event has nothing to match", async () => {
  const group = (matcher: string) => ({ matcher, hooks: [note(matcher.replace(/\W/g, "_"))] });
  using all = await project({
    [P]: {
      hooks: {
        PreToolUse: ["Bash", "bash", "Edit|Bash", "Ba.*", "Write"].map(group),
        UserPromptSubmit: [group("nothing")],
        SessionStart: [group("startup"), group("resume")],
      },
    },
  });
  await all.fire(PRE);
  await all.fire(PROMPT);
  await all.fire(START);
  assert.deepEqual(all.log(), ["Bash", "Edit_Bash", "Ba__", "nothing", "startup"]);
});

test("'if' is one permission rule for the call", async () => {
  const rules = ["Bash(git *)", "Bash(ls *)", "Bash", "Edit(*)", "Bash(ls)"];
  using all = await project({
    [P]: on("PreToolUse", { hooks: rules.map((rule, i) => note(String(i), { if: rule })) }),
  });
  await all.fire({ ...PRE, input: { command: "ls -la && cd x" } });
  assert.deepEqual(all.log(), ["1", "2"]);
});

test("identical handlers of one event run once, whatever group, file or time limit they have", async () => {
  using all = await project({
    [P]: {
      hooks: {
        PreToolUse: [
          { hooks: [note("a"), note("a")] },
          { matcher: "Bash", hooks: [note("a", { timeout: 5 })] },
          { hooks: [note("b")] },
        ],
        PostToolUse: [{ hooks: [note("a")] }],
      },
    },
    "~/.claude/settings.json": on("PreToolUse", { hooks: [note("a")] }),
  });
  const { runs } = await all.fire(PRE);
  await all.fire(POST);
  assert.deepEqual(all.log(), ["a", "b", "a"]);
  assert.match(runs[1]!.skipped!, /^it is the same hook as .*#0, which runs$/);
});

test("of identical handlers the one whose matcher fits runs", async () => {
  using all = await project({
    [P]: on("PreToolUse", { matcher: "Edit", hooks: [note("a")] }, { matcher: "Bash", hooks: [note("a")] }),
  });
  await all.fire(PRE);
  await all.fire({ ...PRE, tool_name: "Edit" });
  assert.deepEqual(all.log(), ["a", "a"]);
});

test("U8: PostToolUse sees what went well, PostToolUseFailure what failed", async () => {
  using all = await project({
    [P]: { hooks: { PostToolUse: [{ hooks: [note("ok")] }], PostToolUseFailure: [{ hooks: [note("failed")] }] } },
  });
  await all.fire(POST);
  await all.fire({ ...POST, outcome: "failure", failed: true, error: "e" });
  assert.deepEqual(all.log(), ["ok", "failed"]);
});

test("disableAllHooks in any file disables the hooks of all settings", async () => {
  using all = await project({
    [P]: on("PreToolUse", { hooks: [note("a")] }),
    ".claude/settings.local.json": { disableAllHooks: true },
  });
  const { runs } = await all.fire(PRE);
  assert.deepEqual([all.log(), all.disableAllHooks, runs[0]!.skipped], [[], true, "disabled"]);
});

test("onFailure block makes a failure refuse, but not on Stop", async () => {
  const failing = { type: "command", command: "exit 1", onFailure: "block" };
  using all = await project({ [P]: { hooks: { PreToolUse: [{ hooks: [failing] }], Stop: [{ hooks: [failing] }] } } });
  const { denials } = await all.fire(PRE);
  assert.equal(denials[0]!.text, 'PreToolUse:Bash hook error: [exit 1]: failed; blocking because onFailure is "block"');
  assert.equal((await all.fire(STOP)).decision, "continue");
});

test("async and asyncRewake hooks are not waited for", async () => {
  using all = await project({
    [P]: on("PreToolUse", { hooks: [note("a", { async: true }), note("b", { asyncRewake: true })] }),
  });
  const { env, background } = environment(all.projectDir);
  const { runs } = await fire(all.records, structuredClone(PRE), env);
  assert.deepEqual(runs.map((run) => run.skipped), ["runs in the background", "runs in the background"]);
  await Promise.all(background);
  assert.deepEqual(all.log().sort(), ["a", "b"]);
});

test("time limits are the host's unless one is given", async () => {
  const seconds = async (event: string, rest: object = {}, env = {}) => {
    using all = await project({ [P]: on(event, { hooks: [note("a", rest), note("b")] }) }, [], { env });
    return all.records.map((r) => r.timeout);
  };
  assert.deepEqual(await seconds("PreToolUse", { timeout: 0.5 }), [0.5, 600]);
  assert.deepEqual(await seconds("UserPromptSubmit"), [30, 30]);
  assert.deepEqual(await seconds("SessionEnd"), [1.5, 1.5]);
  assert.deepEqual(await seconds("SessionEnd", { timeout: 4 }), [4, 4]);
  assert.deepEqual(await seconds("SessionEnd", { timeout: 400 }), [60, 60]);
  assert.deepEqual(await seconds("SessionEnd", {}, { CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS: "2500" }), [2.5, 2.5]);
});

test("permissions of all files are joined; a rule that cannot be read is said and left out", async () => {
  using all = await project({
    [P]: {
      permissions: {
        allow: ["Read", "Bash("],
        deny: ["Bash(rm *)"],
        defaultMode: "plan",
        additionalDirectories: ["/x"],
      },
    },
    ".claude/settings.local.json": {
      permissions: { allow: ["Edit"], ask: ["Bash(git push *)"], defaultMode: "nonsense" },
    },
  });
  assert.deepEqual(all.permissions, {
    allow: ["Read", "Edit"],
    ask: ["Bash(git push *)"],
    deny: ["Bash(rm *)"],
    mode: "plan",
    roots: [all.projectDir, "/x"],
  });
  assert.deepEqual(all.problems.map((p) => p.path), ["permissions.allow[1]", "permissions.defaultMode"]);
});

test("a file with an entry that cannot be a hook allows nothing; its deny and ask rules hold, and it is said", async () => {
  const permissions = {
    allow: ["Bash"],
    ask: ["Bash(git push *)"],
    deny: ["Bash(rm *)"],
    defaultMode: "bypassPermissions",
    additionalDirectories: ["/x"],
  };
  const broken = [
    { Stop: { hooks: [] } },
    { Stop: [{ type: "command", command: "true" }] },
    { Stop: [{ hooks: [{ type: "command", comand: "true" }] }] },
    { PreToolUse: [{ matcher: "(", hooks: [{ type: "command", command: "true" }] }] },
    "none",
  ];
  for (const hooks of broken) {
    using all = await project({
      [P]: { hooks, permissions },
      ".claude/settings.local.json": { permissions: { allow: ["Edit"] } },
    });
    assert.deepEqual(all.permissions, { allow: ["Edit"], ask: ["Bash(git push *)"], deny: ["Bash(rm *)"] });
    assert.match(
      messages(all).at(-1)!,
      /permissions: Cannot use allow, defaultMode, additionalDirectories as a hook of this file is broken, only its deny and ask rules hold: fix hooks/,
    );
  }
  const well = {
    Stop: [{ hooks: [{ type: "command", command: "true" }, { type: "mcp_tool", server: "s", tool: "t" }] }],
  };
  using whole = await project({ [P]: { hooks: well, permissions } });
  assert.deepEqual(whole.permissions.allow, ["Bash"]);
});

test("a prompt hook asks its model with the event, and a no ends the loop in the host's words", async () => {
  const model = scripted([{ text: '{"ok": false, "reason": "too risky"}' }, { text: '{"ok": true}' }]);
  using folder = scratch();
  const hook = { type: "prompt", prompt: "Is this fine? $ARGUMENTS", model: "small" };
  const text = JSON.stringify(on("PreToolUse", { hooks: [hook] }));
  const files = [{ path: "--settings", text }] as const;
  const { records, problems } = await loadSettings(files, { projectDir: folder.path }, { model });
  assert.deepEqual(problems, []);
  const { env } = environment(folder.path);
  const no = await fire(records, structuredClone(PRE), env);
  assert.equal(no.denials[0]!.text, "PreToolUse:Bash hook error: [Is this fine? $ARGUMENTS]: too risky");
  assert.equal(no.halt?.reason, "too risky");
  const asked = JSON.stringify(model.requests[0]!.messages);
  assert.ok(asked.includes("Is this fine? {") && asked.includes('\\"tool_name\\":\\"Bash\\"'), asked);
  assert.equal(model.requests[0]!.model, "small");
  assert.equal((await fire(records, structuredClone(PRE), env)).decision, "continue");
});

test("a prompt hook is skipped while there is no model, with one warning, and asks once there is one", async () => {
  using folder = scratch();
  const text = JSON.stringify(
    on("PreToolUse", { hooks: [{ type: "prompt", prompt: "p" }, { type: "prompt", prompt: "q" }] }),
  );
  const by: { model: ReturnType<typeof scripted> | undefined } = { model: undefined };
  const warnings: string[] = [];
  const files = [{ path: "--settings", text }] as const;
  const { records } = await loadSettings(
    files,
    { projectDir: folder.path },
    by,
    (message) => void warnings.push(message),
  );
  const { env } = environment(folder.path);
  const { runs } = await fire(records, structuredClone(PRE), env);
  assert.match(runs[0]!.skipped!, /there is no model to ask/);
  assert.equal(warnings.length, 1);
  by.model = scripted([{ text: '{"ok": false, "reason": "R"}' }]);
  assert.equal((await fire(records, structuredClone(PRE), env)).decision, "deny");
});

test("a prompt hook whose failure blocks refuses while there is no model to ask", async () => {
  using all = await project({
    [P]: on("PreToolUse", { hooks: [{ type: "prompt", prompt: "p", onFailure: "block" }] }),
  });
  const { decision, denials } = await all.fire(PRE);
  assert.equal(decision, "deny");
  assert.match(denials[0]!.reason!, /there is no model: set ANTHROPIC_API_KEY/);
});

test("an http hook of a settings file is posted to, and a refused post blocks if its settings say so", async () => {
  using server = await answering(JSON.stringify({ decision: "block", reason: "R" }));
  const hook = { type: "http", url: server.url, onFailure: "block" };
  const refusal = async (allowLocal: boolean) => {
    using all = await project({ [P]: on("PreToolUse", { hooks: [hook] }) }, [], { allowLocal });
    return (await all.fire(PRE)).denials[0]!.text!;
  };
  assert.equal(await refusal(true), "PreToolUse:Bash hook error: R");
  assert.equal(JSON.parse(server.got[0]!.body).tool_name, "Bash");
  const [first] = (await refusal(false)).split("\n");
  assert.equal(first, `PreToolUse:Bash hook error: [${server.url}]: failed; blocking because onFailure is "block"`);
  assert.equal(server.got.length, 1);
});
