import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { install } from "../../lib/cli/hooks/install.ts";
import { type HostName, HOSTS } from "../../lib/hooks/hosts/index.ts";
import { LAB_HOSTS } from "../../lib/lab/hosts.ts";
import { ended, type Exit, type Given } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";
import { put } from "../_scratch.ts";
import {
  chatApi,
  geminiApi,
  hostProgram,
  messagesApi,
  type ModelServer,
  opencodeSession,
  responsesApi,
} from "./_real-hosts.ts";

const LAUNCHER = new URL("../../lib/cli/crochet", import.meta.url).pathname;

/** Where the hosts are installed: outside the tree, and kept, as they are large. */
const FOLDER = process.env.CROCHET_TEST_HOSTS ?? join(tmpdir(), "crochet-test-hosts");

const HOOKS = {
  "hooks/pre-tool-use@Bash.10-guard.ts":
    `export default ({ input }) => /^rm/.test(input.command) ? { action: "deny", reason: "REFUSED-BY-GUARD" } : undefined;`,
  "hooks/pre-tool-use@Bash.20-rewrite.ts":
    `export default ({ input }) => input.command === "echo as written" ? { action: "modify", value: { ...input, command: "echo RE''WRITTEN" } } : undefined;`,
  "hooks/stop.tested.ts":
    `export default (e) => e.stop_hook_active || /tested/.test(e.last_assistant_message) ? undefined : { action: "deny", reason: "SENT-BACK" };`,
};

interface RealHost {
  readonly host: string;
  readonly table: HostName;
  /** The newest release with a program for this machine, if the one of the table has none. */
  readonly instead?: string | false;
  /** What it needs beside its own package. */
  readonly more?: readonly string[];
  readonly program: string;
  readonly model: () => Promise<ModelServer>;
  /** How hooks are installed. */
  readonly install: readonly string[];
  /** The words and the environment of a session without a person. */
  readonly session: (here: Place, url: string) => {
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
  };
  /** What the model reads of the call that a module rewrites. @default its new output */
  readonly rewritten?: RegExp;
  /** Plays the session, if the program does not by itself. */
  readonly play?: (path: string, given: Given) => Promise<Exit>;
}

/** The release for which the table of a host was written. */
const pinned = (table: HostName, instead?: string | false) =>
  `${LAB_HOSTS[table]!.package}@${instead || HOSTS[table].tried!.version}`;

const claude = {
  table: "claude",
  program: "claude",
  model: messagesApi,
  session: (here: Place, url: string) => {
    // As a person who answered its first question does.
    const state = { hasCompletedOnboarding: true, projects: { [here.cwd]: { hasTrustDialogAccepted: true } } };
    writeFileSync(join(here.home, ".claude.json"), JSON.stringify(state));
    return {
      args: ["-p", "go", "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: "test",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
      },
    };
  },
} as const;

const REAL: readonly RealHost[] = [
  { host: "Claude Code", install: ["--for", "claude"], ...claude },
  { host: "Claude Code with a plugin", install: ["--for", "claude", "--as", "plugin"], ...claude },
  {
    host: "Codex",
    table: "codex",
    program: "codex",
    model: responsesApi,
    install: ["--for", "codex"],
    session: (here, url) => {
      const home = join(here.home, ".codex");
      mkdirSync(home);
      const provider = `[model_providers.test]\nname = "test"\nbase_url = "${url}"\nwire_api = "responses"\n`;
      writeFileSync(join(home, "config.toml"), `model = "gpt-5"\nmodel_provider = "test"\n${provider}`);
      const skips = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"];
      return { args: ["exec", ...skips, "--dangerously-bypass-hook-trust", "go"], env: { CODEX_HOME: home } };
    },
  },
  {
    host: "Gemini CLI",
    table: "gemini",
    program: "gemini",
    model: geminiApi,
    install: ["--for", "gemini"],
    session: (here, url) => {
      const settings = { security: { auth: { selectedType: "gemini-api-key" } } };
      put(here.home, {
        ".gemini/settings.json": JSON.stringify(settings),
        ".gemini/trustedFolders.json": JSON.stringify({ [here.cwd]: "TRUST_FOLDER" }),
      });
      return {
        args: ["-p", "go", "--yolo", "-m", "gemini-2.5-flash"],
        env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "test" },
      };
    },
  },
  {
    host: "Qwen Code",
    table: "qwen",
    program: "qwen",
    model: () => chatApi("run_shell_command"),
    install: ["--for", "qwen"],
    rewritten: /qwen cannot rewrite anything there/,
    session: (here, url) => {
      const settings = { security: { auth: { selectedType: "openai" } } };
      put(here.home, { ".qwen/settings.json": JSON.stringify(settings) });
      return {
        args: ["-p", "go", "--yolo"],
        env: { OPENAI_BASE_URL: url, OPENAI_API_KEY: "test", OPENAI_MODEL: "m" },
      };
    },
  },
  {
    host: "Copilot CLI",
    table: "copilot",
    program: "copilot",
    model: () => chatApi(),
    install: ["--for", "copilot"],
    session: (here, url) => ({
      args: ["-p", "go", "--allow-all-tools", "--trust-folder"],
      env: {
        COPILOT_PROVIDER_BASE_URL: url,
        COPILOT_MODEL: "m",
        COPILOT_OFFLINE: "true",
        COPILOT_HOME: join(here.home, ".copilot"),
      },
    }),
  },
  {
    host: "pi",
    table: "pi",
    // It needs a newer Node than a machine may have.
    more: ["node@22"],
    program: "pi",
    model: () => chatApi(),
    install: ["--for", "pi"],
    session: (here, url) => {
      const folder = join(here.home, ".pi/agent");
      mkdirSync(folder, { recursive: true });
      const provider = { baseUrl: url, api: "openai-completions", apiKey: "test", models: [{ id: "m" }] };
      writeFileSync(join(folder, "models.json"), JSON.stringify({ providers: { test: provider } }));
      return {
        args: ["-p", "--approve", "--provider", "test", "--model", "m", "go"],
        env: { PI_OFFLINE: "1", PI_CODING_AGENT_DIR: folder },
      };
    },
  },
  {
    host: "opencode",
    table: "opencode",
    instead: process.arch === "arm64" && "1.18.18",
    program: "opencode",
    model: () => chatApi(),
    install: ["--for", "opencode"],
    play: opencodeSession,
    session: (here, url) => {
      const models = { m: { name: "m", limit: { context: 100_000, output: 4_000 } } };
      const test = { npm: "@ai-sdk/openai-compatible", options: { baseURL: url, apiKey: "test" }, models };
      const config = { model: "test/m", small_model: "test/m", permission: "allow", provider: { test } };
      here.put({ "opencode.json": JSON.stringify({ ...config, autoupdate: false, share: "disabled" }) });
      return { args: [], env: { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1" } };
    },
  },
];

const SKIP = !process.env.CROCHET_TEST_LONG
  ? { skip: "real hosts run in test:long" }
  : "Deno" in globalThis
  ? { skip: "the hosts are the same under both runtimes" }
  : {};

for (const { host, table, instead, more = [], program, model, install: how, session, play, rewritten } of REAL) {
  test(`in ${host} a guard denies, a module rewrites, and a Stop hook sends back and lets go`, SKIP, async (t) => {
    const path = hostProgram(join(FOLDER, program), [pinned(table, instead), ...more], program);
    if (path === undefined) return t.skip(`${pinned(table, instead)} cannot be installed`);
    using here = place({ ...HOOKS, "build/kept.txt": "", "package.json": "{}" }, "a project");
    mkdirSync(join(here.cwd, "node_modules/.bin"), { recursive: true });
    symlinkSync(LAUNCHER, join(here.cwd, "node_modules/.bin/crochet"));
    const done = await here.call(install.default, join(here.cwd, "hooks"), ...how);
    assert.equal(done.code, 0, done.err);
    await using server = await model();
    const { args, env } = session(here, server.url);
    const around = { HOME: here.home, PATH: `${dirname(path)}:${process.env.PATH}`, ...env };
    const given = { cwd: here.cwd, env: around };
    const { out: release } = await ended([path, "--version"], given);
    assert.ok(
      release.includes(instead || HOSTS[table].tried!.version),
      `the table is of another release than ${release}`,
    );
    const { code, out, err } = await (play ? play(path, given) : ended([path, ...args], given));
    const shown = `${out}\n${err}\n${server.asked().slice(-3000)}`;
    assert.equal(code, 0, shown);
    assert.ok(existsSync(join(here.cwd, "build/kept.txt")), shown);
    assert.match(server.asked(), /REFUSED-BY-GUARD/, shown);
    assert.match(server.asked(), rewritten ?? /REWRITTEN/, shown);
    assert.match(server.asked(), /SENT-BACK/, shown);
    assert.match(out, /I tested it/, shown);
  });
}

test("in Claude Code a module rewrites what is shown, at an event that we do not fire", SKIP, async (t) => {
  const path = hostProgram(join(FOLDER, "claude"), [pinned("claude")], "claude");
  if (path === undefined) return t.skip("Claude Code cannot be installed");
  using here = place({
    "hooks/message-display.x.ts":
      `export default ({ delta }) => ({ action: "modify", value: delta.replace("done", "SHOWN-INSTEAD") });`,
    "package.json": "{}",
  }, "a project");
  await here.call(install.default, join(here.cwd, "hooks"), "--for", "claude", "--scope", "local");
  await using server = await messagesApi();
  const { args, env } = claude.session(here, server.url);
  const { out, err } = await ended([path, ...args], { cwd: here.cwd, env: { HOME: here.home, ...env } });
  assert.match(out, /SHOWN-INSTEAD/, err);
  assert.doesNotMatch(server.asked(), /SHOWN-INSTEAD/);
});

test("doctor learns from Codex that no person has trusted the hooks", SKIP, async (t) => {
  const path = hostProgram(join(FOLDER, "codex"), [pinned("codex")], "codex");
  if (path === undefined) return t.skip("Codex cannot be installed");
  using here = place(HOOKS);
  await here.call(install.default, join(here.cwd, "hooks"), "--for", "codex");
  const env = { PATH: `${dirname(path)}:${process.env.PATH}`, CODEX_HOME: undefined };
  const { out } = await here.crochet(["doctor"], env);
  assert.match(out, /Codex does not run 3 of 3 hooks as no person trusts them/);
});
