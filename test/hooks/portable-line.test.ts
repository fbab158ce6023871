import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { install } from "../../lib/cli/hooks/install.ts";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";
import { scratch } from "../_scratch.ts";
import { testData } from "../_data.ts";

const LAUNCHER = new URL("../../lib/cli/crochet", import.meta.url).pathname;

/** What each host calls its settings, its guarded event and its variable for the project. */
const HOSTS = {
  claude: { file: ".claude/settings.json", guard: "PreToolUse", stop: "Stop", root: "CLAUDE_PROJECT_DIR" },
  codex: { file: ".codex/hooks.json", guard: "PreToolUse", stop: "Stop", root: undefined },
  gemini: { file: ".gemini/settings.json", guard: "BeforeTool", stop: "AfterAgent", root: "GEMINI_PROJECT_DIR" },
  qwen: { file: ".qwen/settings.json", guard: "PreToolUse", stop: "Stop", root: "CLAUDE_PROJECT_DIR" },
  copilot: { file: ".github/hooks/crochet.json", guard: "preToolUse", stop: "agentStop", root: "COPILOT_PROJECT_DIR" },
  cursor: { file: ".cursor/hooks.json", guard: "preToolUse", stop: "stop", root: "CURSOR_PROJECT_DIR" },
} as const;

type Host = keyof typeof HOSTS;

const GUARD = `export default ({ input }) => ({ action: "deny", reason: "no " + input.command });`;
const STOP = `export default () => ({ action: "deny", reason: "go on" });`;

/** A project whose hooks are installed for a host, moved to where its name needs care. */
async function shippedProject(host: Host) {
  const here = place({ "hooks/pre-tool-use@Bash.guard.ts": GUARD, "hooks/stop.go-on.ts": STOP });
  const done = await here.call(install.default, join(here.cwd, "hooks"), "--for", host);
  assert.equal(done.code, 0, done.err);
  const cwd = join(here.home, `it's "$HOME" of \`a\` team`);
  renameSync(here.cwd, cwd);
  mkdirSync(join(cwd, "src"));
  return { ...here, cwd, text: readFileSync(join(cwd, HOSTS[host].file), "utf8") };
}

/** The first line for an event in a host's settings. */
function lineFor(text: string, event: string): string {
  const [item] = JSON.parse(text).hooks[event];
  return item.bash ?? item.command ?? item.hooks[0].command;
}

/** A folder for the PATH with these programs alone. */
function bin(folder: string, programs: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, join(folder, name));
  return folder;
}

/** Runs a line as a host does: in the session's folder, in a home of its own. */
async function run(
  host: Host,
  line: string,
  at: { cwd: string; path: string; project?: string; home: string },
  stdin: object,
) {
  const { root } = HOSTS[host];
  const env = { PATH: at.path, HOME: at.home, ...(root && { [root]: at.project ?? at.cwd }) };
  const given = JSON.stringify({ session_id: "s", cwd: at.cwd, ...stdin });
  // It replaces its variable by the path in quotes of its own.
  const ran = host === "gemini" ? line.replace(/\$GEMINI_PROJECT_DIR/g, () => `'${at.project ?? at.cwd}'`) : line;
  const { out, err, code } = await ended(["/bin/sh", "-c", ran], { cwd: join(at.cwd, "src"), env, stdin: given });
  return { said: out === "" ? undefined : JSON.parse(out), stderr: err, status: code };
}

const CALL = { tool_name: "Bash", tool_input: { command: "rm x" } };

/** How a host writes that call, and the end of a turn. */
function stdinOf(host: Host): { readonly call: object; readonly end: object } {
  const { guard, stop } = HOSTS[host];
  if (host === "copilot") {
    return { call: { toolName: "bash", toolArgs: CALL.tool_input }, end: { stopReason: "end_turn" } };
  }
  const name = host === "cursor" ? "Shell" : host === "gemini" || host === "qwen" ? "run_shell_command" : "Bash";
  return {
    call: { hook_event_name: guard, ...CALL, tool_name: name },
    end: { hook_event_name: stop, stop_hook_active: false },
  };
}

for (const host of Object.keys(HOSTS) as Host[]) {
  const { guard, stop } = HOSTS[host];
  const { call, end } = stdinOf(host);

  test(`a shared line for ${host} runs after a move, in another home, with crochet in the project or on the PATH`, async () => {
    using p = await shippedProject(host);
    assert.ok(!p.text.includes(p.home) && !p.text.includes("/lib/cli/"), p.text);
    const tools = bin(join(p.home, "tools"), { readlink: "/usr/bin/readlink", sh: "/bin/sh" });
    const global = bin(join(p.home, "global"), { crochet: LAUNCHER });
    const local = bin(join(p.cwd, "node_modules/.bin"), { crochet: LAUNCHER });
    for (const path of [tools, `${global}:${tools}`]) {
      const at = { cwd: p.cwd, path, home: join(p.home, "another") };
      const denied = await run(host, lineFor(p.text, guard), at, call);
      assert.equal(denied.status, 0, denied.stderr);
      assert.match(JSON.stringify(denied.said), /"deny".*"no rm x"/);
      const sent = await run(host, lineFor(p.text, stop), at, end);
      assert.equal(sent.said.reason ?? sent.said.followup_message, "go on", sent.stderr);
      rmSync(local, { recursive: true, force: true });
    }
  });

  test(`without crochet, or a runtime for it, a guard of ${host} refuses and any other hook passes with a warning`, async () => {
    using p = await shippedProject(host);
    const tools = bin(join(p.home, "tools"), { readlink: "/usr/bin/readlink", sh: "/bin/sh" });
    const at = { cwd: p.cwd, path: tools, home: p.home };
    const lives = async () => {
      const denied = await run(host, lineFor(p.text, guard), at, call);
      assert.equal(denied.status, 0, denied.stderr);
      assert.match(JSON.stringify(denied.said), /"deny"/);
      assert.match(
        JSON.stringify(denied.said),
        /crochet is not installed, so hooks\/pre-tool-use@Bash\.guard\.ts cannot check this: npm install/,
      );
      const passed = await run(host, lineFor(p.text, stop), at, end);
      assert.deepEqual(passed.said, {
        systemMessage: "crochet is not installed, so hooks/stop.go-on.ts did not run: npm install",
      });
      assert.equal(passed.status, 0);
    };
    await lives();
    const alone = join(p.home, "package/lib/cli");
    mkdirSync(alone, { recursive: true });
    copyFileSync(LAUNCHER, join(alone, "crochet"));
    bin(join(p.cwd, "node_modules/.bin"), { crochet: join(alone, "crochet") });
    await lives();
  });
}

test("a worktree that Claude Code makes uses the packages of its checkout", async () => {
  using p = await shippedProject("claude");
  bin(join(p.cwd, "node_modules/.bin"), { crochet: LAUNCHER });
  const tree = join(p.cwd, ".claude/worktrees/feature");
  cpSync(join(p.cwd, "hooks"), join(tree, "hooks"), { recursive: true });
  mkdirSync(join(tree, "src"));
  const tools = bin(join(p.home, "tools"), { readlink: "/usr/bin/readlink" });
  const at = { cwd: tree, path: tools, home: p.home };
  const { said } = await run("claude", lineFor(p.text, "PreToolUse"), at, { hook_event_name: "PreToolUse", ...CALL });
  assert.equal(said.hookSpecificOutput.permissionDecisionReason, "no rm x");
});

test("installing after a move replaces absolute lines of the old place, and uninstalling finds both", async () => {
  using here = place({ "hooks/stop.go-on.ts": STOP, ".claude/settings.json": `{ "model": "opus" }\n` });
  const file = ".claude/settings.json";
  const folder = (cwd: string) => join(cwd, "hooks");
  assert.equal((await here.call(install.default, folder(here.cwd), "--for", "claude", "--scope", "local")).code, 0);
  // As releases wrote it before lines were portable.
  const old = readFileSync(join(here.cwd, ".claude/settings.local.json"), "utf8");
  const cwd = join(here.home, "moved");
  renameSync(here.cwd, cwd);
  mkdirSync(here.cwd);
  cpSync(join(cwd, "hooks"), join(here.cwd, "hooks"), { recursive: true });
  writeFileSync(join(cwd, file), old);
  const install1 = await here.main(["hooks", "install", "--for", "claude", folder(cwd)], {}, "", cwd);
  assert.equal(install1.code, 0, install1.err);
  const { Stop } = JSON.parse(readFileSync(join(cwd, file), "utf8")).hooks;
  assert.equal(Stop.length, 1);
  assert.match(Stop[0].hooks[0].command, /"\$CLAUDE_PROJECT_DIR\/hooks\/stop\.go-on\.ts"/);
  writeFileSync(join(cwd, file), old);
  await here.main(["hooks", "uninstall", "--for", "claude", folder(cwd)], {}, "", cwd);
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, file), "utf8")).hooks, undefined);
});

test("a folder outside the project is not written into settings that are shared", async () => {
  using here = place();
  using elsewhere = scratch({ "hooks/stop.go-on.ts": STOP });
  const folder = join(elsewhere.path, "hooks");
  const refused = await here.call(install.default, folder, "--for", "claude");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /outside the project; use --scope user/);
  assert.equal((await here.call(install.default, folder, "--for", "claude", "--scope", "user")).code, 0);
});

test("only a host with local settings has --scope local", async () => {
  using here = place({ "hooks/stop.go-on.ts": STOP });
  const refused = await here.call(install.default, join(here.cwd, "hooks"), "--for", "codex", "--scope", "local");
  assert.match(refused.err, /codex has no local settings; use project or user/);
});

test(
  "the lines read what the hosts really write to stdin",
  async () => {
    for (
      const [host, event, name] of [["codex", "PreToolUse", "PreToolUse"], [
        "gemini",
        "BeforeTool",
        "BeforeTool",
      ]] as const
    ) {
      using p = await shippedProject(host);
      const global = bin(join(p.home, "global"), { crochet: LAUNCHER, readlink: "/usr/bin/readlink", sh: "/bin/sh" });
      const stdin = JSON.parse(readFileSync(testData(`hosts/${host}/stdin/${name}.json`), "utf8"));
      const { said, stderr } = await run(
        host,
        lineFor(p.text, event),
        { cwd: p.cwd, path: global, home: p.home },
        stdin,
      );
      assert.match(JSON.stringify(said), /"no /, stderr);
    }
  },
);
