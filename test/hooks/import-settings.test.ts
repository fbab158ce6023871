import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fire } from "../../lib/core/dispatch.ts";
import type { EventName, Fired } from "../../lib/core/events.ts";
import hooksImport from "../../lib/cli/hooks/import.ts";
import { install } from "../../lib/cli/hooks/install.ts";
import hooksTest from "../../lib/cli/hooks/test.ts";
import { discover, loadHook } from "../../lib/hooks/discover.ts";
import { loadSettings } from "../../lib/hooks/hook-settings.ts";
import { sampleEvent } from "../../lib/hooks/samples.ts";
import { type Place, place } from "../_place.ts";
import { environment } from "./_fire.ts";

const SETTINGS = ".claude/settings.json";
const command = (line: string, more = {}) => ({ type: "command", command: line, ...more });
const deny = (words: string) => command(`echo ${words} >&2; exit 2`);

const ENTRIES = {
  PreToolUse: [
    { matcher: "Bash", hooks: [command(`sh "$CLAUDE_PROJECT_DIR"/.claude/hooks/guard.sh "it's"`, { timeout: 9 })] },
    { matcher: "Edit|Write", hooks: [command("tools/no.sh", { args: ["${CLAUDE_PROJECT_DIR}/a b", "$HOME"] })] },
    { matcher: "mcp__.*__\\w+", hooks: [deny("NO-MCP")] },
    { hooks: [command("cat >/dev/null"), command("false"), deny("ALL")] },
    {
      matcher: "Read",
      hooks: [command(`echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'`)],
    },
  ],
  PostToolUseFailure: [{ matcher: "Bash", hooks: [deny("AGAIN")] }],
  Stop: [{ hooks: [command("cd sub && pwd >&2; exit 2")] }],
  SessionStart: [{ matcher: "startup", hooks: [command("pwd")] }, { matcher: "resume", hooks: [command("pwd")] }],
  UserPromptSubmit: [{ matcher: "", hooks: [command("echo more", { onFailure: "block" })] }],
};

const FILES = {
  ".claude/hooks/guard.sh": `. "$(dirname "$0")/words.sh"\necho "$WORDS $1 $PWD" >&2\nexit 2\n`,
  ".claude/hooks/words.sh": "WORDS=FROM-BESIDE\n",
  "tools/no.sh": `#!/bin/sh\necho "$1 $2" >&2\nexit 2\n`,
  "sub/kept.txt": "",
};

function withSettings(hooks: unknown = ENTRIES, files: Record<string, string> = FILES): Place {
  const here = place({ [SETTINGS]: typeof hooks === "string" ? hooks : JSON.stringify({ hooks }), ...files });
  if (files === FILES) chmodSync(join(here.cwd, "tools/no.sh"), 0o755);
  return here;
}

/** What hooks say to an event, without the name that a command has in its words. */
async function said(records: Parameters<typeof fire>[0], event: Fired<EventName>, cwd: string) {
  const { decision, reason, contexts } = await fire(records, structuredClone(event), environment(cwd).env);
  return { decision, reason: reason?.replace(/\[[^\]]*\]/g, "[it]"), contexts: contexts.map(({ text }) => text) };
}

test("each hook of settings is a file that answers every event as its entry did, with the project's scripts", async () => {
  using here = withSettings();
  const { out, code } = await here.call(hooksImport, SETTINGS, "--json");
  assert.equal(code, 0);
  const files: string[] = JSON.parse(out).hooks.map(({ file }: { file: string }) => file);
  assert.deepEqual(files, [
    "hooks/pre-tool-use@Bash.guard.sh",
    "hooks/pre-tool-use@Edit+Write.no.sh",
    "hooks/pre-tool-use.echo.sh",
    "hooks/pre-tool-use.cat.sh",
    "hooks/pre-tool-use.false.sh",
    "hooks/pre-tool-use.echo-2.sh",
    "hooks/pre-tool-use@Read.echo.sh",
    "hooks/post-tool-use-failure@Bash.echo.sh",
    "hooks/stop.pwd.sh",
    "hooks/session-start.pwd.sh",
    "hooks/session-start.pwd-2.sh",
    "hooks/user-prompt-submit.echo.sh",
  ]);
  const host = { projectDir: here.cwd, env: here.env };
  const { records, problems } = await loadSettings([{ path: join(here.cwd, SETTINGS) }], host);
  assert.deepEqual(problems, []);
  const folder = { root: join(here.cwd, "hooks"), shared: "", sharedFiles: [] };
  const found = discover(join(here.cwd, "hooks"));
  assert.deepEqual(found.problems, []);
  const byName = new Map<string, Awaited<ReturnType<typeof loadHook>>>(
    await Promise.all(
      found.files.map(async (file) =>
        [`hooks/${file.name}`, await loadHook(file, { folder, source: "", host })] as const
      ),
    ),
  );
  const events = ["Bash", "Edit", "Read", "mcp__a__b", "Glob"].map((tool) =>
    sampleEvent("pre-tool-use", { cwd: here.cwd, tool })
  );
  const more = (["stop", "session-start", "user-prompt-submit"] as const).map((event) =>
    sampleEvent(event, { cwd: here.cwd })
  );
  const failed = sampleEvent("post-tool-use", { cwd: here.cwd, failed: true });
  const stamp = { session_id: "s", agent_id: "s", turn_id: "t", event_id: "e", timestamp: "" };
  const counts = new Map<string, number>();
  for (const [i, record] of records.entries()) {
    const name = files[i]!;
    const file = byName.get(name)!;
    assert.equal(file.timeout, record.timeout, name);
    for (const event of [...events, ...more, failed]) {
      const at = { ...event, ...stamp } as Fired<EventName>;
      const was = await said([record], at, here.cwd);
      assert.deepEqual(await said([file], at, here.cwd), was, `${name} at ${event.event}`);
      const kind = was.decision === "continue" && was.contexts.length > 0 ? "context" : was.decision;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }
  assert.deepEqual([counts.get("deny"), counts.get("context"), counts.get("allow")], [10, 2, 1]);
});

test("an import changes no file that is there, a second one writes nothing, and install is the way back", async () => {
  using here = withSettings();
  const taken = "hooks/pre-tool-use@Bash.guard.sh";
  here.put({ [taken]: "#!/bin/sh\nexit 0\n" });
  const before = readFileSync(join(here.cwd, SETTINGS), "utf8");
  const first = await here.call(hooksImport, SETTINGS);
  assert.match(first.out, /^wrote hooks\/pre-tool-use@Bash\.guard-2\.sh {2}hooks\.PreToolUse\[0\]\.hooks\[0\]$/m);
  assert.match(first.out, /would run twice: remove these from \.claude\/settings\.json, then 'crochet hooks install/);
  const names = readdirSync(join(here.cwd, "hooks"));
  const second = await here.call(hooksImport, SETTINGS);
  assert.doesNotMatch(second.out, /^wrote/m);
  assert.match(second.out, /^found hooks\/pre-tool-use@Bash\.guard-2\.sh/m);
  assert.deepEqual(readdirSync(join(here.cwd, "hooks")), names);
  assert.equal(readFileSync(join(here.cwd, taken), "utf8"), "#!/bin/sh\nexit 0\n");
  assert.equal(readFileSync(join(here.cwd, SETTINGS), "utf8"), before);
  const { code, err } = await here.call(install.default, "hooks", "--for", "claude");
  assert.equal(code, 0, err);
  // What install wrote is no hook to import.
  const third = await here.call(hooksImport, SETTINGS);
  assert.match(
    third.out,
    /left out hooks\.Stop\[1\]\.hooks\[0\]: it serves hooks\/stop\.pwd\.sh, which is a hook file/,
  );
  assert.doesNotMatch(third.out, /^wrote/m);
});

test("what no script does is left out by name, and of a broken file nothing is written", async () => {
  const rows: readonly (readonly [given: unknown, code: number, says: RegExp])[] = [
    [
      { Stop: [{ hooks: [command("true"), { type: "prompt", prompt: "ok?" }] }] },
      0,
      /left out hooks\.Stop\[0\]\.hooks\[1\]: hooks of type 'prompt' are not scripts/,
    ],
    [
      { Stop: [{ hooks: [command("true")] }], Nope: [{ hooks: [command("true")] }] },
      0,
      /left out hooks\.Nope\[0\]\.hooks\[0\]: there is not an event Nope/,
    ],
    [
      { PreToolUse: [{ hooks: [command("true", { if: "Bash(git *)" }), command("true", { asyncRewake: true })] }] },
      1,
      /Cannot import \.claude\/settings\.json as nothing of it can be a script\n.*\[0\]: a hook file has no 'if'.*\n.*\[1\]: a hook file that is async/,
    ],
    ['{ "hooks": ', 2, /Cannot import \.claude\/settings\.json as .*line 1/],
    ["[]", 2, /Cannot import \.claude\/settings\.json as they are not an object/],
    ["{}", 2, /Cannot import \.claude\/settings\.json as it has no hooks/],
    ['{ "hooks": {}, "disableAllHooks": true }', 2, /as it switches its hooks off/],
    [
      { Stop: [{ hooks: [command("true"), { type: "command" }] }] },
      2,
      /as hooks\.Stop\[0\]\.hooks\[1\]\.command cannot be used: a hook of type 'command' needs 'command'/,
    ],
    [{ Stop: {} }, 2, /as hooks\.Stop cannot be used: it is not a list/],
  ];
  for (const [given, code, says] of rows) {
    using here = withSettings(given, {});
    const came = await here.call(hooksImport, SETTINGS);
    assert.equal(came.code, code, `${came.err}${JSON.stringify(given)}`);
    assert.match(came.out + came.err, says);
    assert.equal(existsSync(join(here.cwd, "hooks")), code === 0);
  }
  using here = place({ ".claude/notes.md": "" });
  for (
    const [path, says] of [
      ["none.json", /^crochet: Cannot import none\.json as there is no such file/],
      [".claude", /^crochet: Cannot import \.claude as that is a folder: name its settings\.json\n$/],
    ] as const
  ) {
    const { code, err } = await here.call(hooksImport, path);
    assert.equal(code, 2);
    assert.match(err, says);
  }
});

test("hooks test takes settings: a report for each entry, and what has no command is left out by name", async () => {
  const hooks = { ...ENTRIES, Notification: [{ hooks: [{ type: "http", url: "http://127.0.0.1:9/" }] }] };
  using here = withSettings(hooks);
  const { out, code } = await here.call(hooksTest, SETTINGS, "--set", "tool_input.command=ls", "--json");
  const { items, left } = JSON.parse(out);
  assert.equal(items.length, 12);
  // 'false' fails, which is broken.
  assert.equal(code, 1);
  assert.deepEqual(
    items.map(({ word }: { word: string }) => word).filter((word: string) => word !== "held"),
    ["broken"],
  );
  assert.deepEqual(left.map(({ name, why }: { name: string; why: string }) => [name, why]), [
    [`${SETTINGS}#12 hooks.Notification[0].hooks[0]`, "hooks of type 'http' are not scripts"],
  ]);
  const [{ name, decision, run }] = items.filter(({ name }: { name: string }) => name.includes("guard"));
  assert.deepEqual([name, decision], [`${SETTINGS}#0 pre-tool-use@Bash.guard.sh`, "deny"]);
  assert.match(run.opinion.reason, /FROM-BESIDE it's \S+project$/m);
  assert.equal(existsSync(join(here.cwd, "hooks")), false);
  here.put({ [SETTINGS]: '{ "hooks": ' });
  const broken = await here.call(hooksTest, SETTINGS);
  assert.deepEqual([broken.code, /settings\.json/.test(broken.err)], [2, true]);
  assert.match((await here.call(hooksTest, SETTINGS, "--watch")).err, /settings\.json/);
});

test("what hooks test does not fire of settings is not measured if it has a command, and else no item", async () => {
  const rows: readonly (readonly [given: object, code: number, says: RegExp])[] = [
    [
      { Stop: [{ hooks: [command("true"), { type: "prompt", prompt: "ok?" }] }] },
      0,
      /left out: hooks of type 'prompt'/,
    ],
    [{ Stop: [{ hooks: [command("true"), command("true", { asyncRewake: true })] }] }, 3, /not measured: 1 of 2 tests/],
    [{ Stop: [{ hooks: [{ type: "prompt", prompt: "ok?" }] }] }, 2, /left out: hooks of type 'prompt'/],
  ];
  for (const [given, code, says] of rows) {
    using here = withSettings(given, {});
    const came = await here.call(hooksTest, SETTINGS);
    assert.equal(came.code, code, came.out + came.err);
    assert.match(came.out, says);
  }
  using here = place();
  const none = await here.call(hooksTest, "none.json");
  assert.equal(none.code, 2);
  assert.match(none.err, /Cannot test none\.json as there is no such file/);
});

test("of settings, a field that is set is set of the tools that have it; one that no tool has is refused", async () => {
  using here = withSettings({
    PreToolUse: [{ matcher: "Bash", hooks: [command("true")] }, { matcher: "Edit|Bash", hooks: [command("true")] }],
  }, {});
  const set = async (field: string) => await here.call(hooksTest, SETTINGS, "--set", `tool_input.${field}=x`, "--json");
  const inputs = JSON.parse((await set("new_string")).out).items.map(({ stdin }: { stdin: { tool_input: object } }) =>
    Object.keys(stdin.tool_input)
  );
  assert.deepEqual(inputs, [["command", "description"], [
    ...["file_path", "old_string", "new_string", "replace_all"],
  ]]);
  assert.match((await set("commnd")).err, /did you mean 'command'/);
});

test("a relative path that is set is absolute when a hook sees it, as tools and hosts make it", async () => {
  using here = place({
    "hooks/pre-tool-use@Edit+Write.no.ts":
      `export default ({ input }) => ({ action: "deny", reason: input.file_path });`,
  });
  for (
    const [set, path] of [["secret.txt", "secret.txt"], ["./a/../secret.txt", "secret.txt"], [
      "/etc/passwd",
      "/etc/passwd",
    ]] as const
  ) {
    const { out } = await here.call(
      hooksTest,
      "hooks/pre-tool-use@Edit+Write.no.ts",
      "--set",
      `tool_input.file_path=${set}`,
      "--json",
    );
    const { items: [{ stdin, run }] } = JSON.parse(out);
    const full = path.startsWith("/") ? path : join(here.cwd, path);
    assert.deepEqual([stdin.tool_input.file_path, run.opinion.reason], [full, full]);
  }
});
