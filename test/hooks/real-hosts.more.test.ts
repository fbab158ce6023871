import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { install } from "../../lib/cli/hooks/install.ts";
import hooksTest from "../../lib/cli/hooks/test.ts";
import { hostEvent, type HostName, HOSTS } from "../../lib/hooks/hosts/index.ts";
import { LAB_HOSTS } from "../../lib/extensions/lab/hosts.ts";
import { ended } from "../_crochet.ts";
import { noSandbox } from "../_needs.ts";
import { type Place, place } from "../_place.ts";
import { hostProgram, messagesApi } from "./_real-hosts.ts";

/** Where the hosts are installed: outside the tree, and kept, as they are large. */
const FOLDER = process.env.CROCHET_TEST_HOSTS ?? join(tmpdir(), "crochet-test-hosts");

const GUARD = "hooks/pre-tool-use@Bash.10-guard.ts";
const REWRITE = "hooks/pre-tool-use@Bash.20-rewrite.ts";
const HOOKS = {
  [GUARD]:
    `export default ({ input }) => /^rm/.test(input.command) ? { action: "deny", reason: "REFUSED-BY-GUARD" } : undefined;`,
  [REWRITE]:
    `export default ({ input }) => input.command === "echo as written" ? { action: "modify", value: { ...input, command: "echo RE''WRITTEN" } } : undefined;`,
  "hooks/stop.tested.ts":
    `export default (e) => e.stop_hook_active || /tested/.test(e.last_assistant_message) ? undefined : { action: "deny", reason: "SENT-BACK" };`,
};
/** Codex itself refuses `rm -rf`: a hook would have no part in it. */
const REMOVES = ["--set", "tool_input.command=rm -r build"];
const WRITES = ["--set", "tool_input.command=echo as written"];

const SKIP = !process.env.CROCHET_TEST_LONG
  ? { skip: "real hosts run in test:long" }
  : "Deno" in globalThis
  ? { skip: "the hosts are the same under both runtimes" }
  : { skip: noSandbox };

/** The release for which the table of a host was written, or the newest that has a program for this machine. */
const releaseOf = (host: HostName) =>
  host === "opencode" && process.arch === "arm64" ? "1.18.18" : HOSTS[host].tried!.version;
const pinned = (host: HostName) => `${host}@${releaseOf(host)}`;

/** Tries a hook in a host. The sessions' folders have a space in their path. */
async function tried(here: Place, file: string, ...more: readonly string[]) {
  here.env.CROCHET_HOSTS = FOLDER;
  const keep = ["--keep", join(dirname(here.cwd), "all sessions")];
  const { out, err } = await here.call(hooksTest, file, "--json", ...keep, ...more);
  assert.notEqual(out, "", err);
  return JSON.parse(out).runs[0];
}

const REAL: readonly [host: HostName, ...form: string[]][] = [
  ...(Object.keys(LAB_HOSTS) as HostName[]).map((host) => [host] as [HostName]),
  ["claude", "--as", "plugin"],
  ["claude", "--as", "mod"],
];

for (const [host, ...form] of REAL) {
  const title = `${host}${form.length > 0 ? ` with a ${form[1]}` : ""}`;
  test(`in ${title} a guard denies, a module rewrites if the host can, and a Stop hook sends back`, SKIP, async (t) => {
    using here = place(HOOKS);
    const how = ["--in", pinned(host), "--install", ...form];
    const guard = await tried(here, GUARD, ...REMOVES, ...how);
    if (guard.state === "not installed") return t.skip(guard.why);
    assert.equal(guard.version, releaseOf(host), "the table is of another release");
    assert.deepEqual([guard.state, guard.effect], ["ok", "denied"], guard.why);
    assert.match(guard.read, /REFUSED-BY-GUARD/);
    const rewrite = await tried(here, REWRITE, ...WRITES, ...how);
    const can = HOSTS[host].events[hostEvent(host, "pre-tool-use")!]!.can!.includes("modify");
    assert.equal(rewrite.state, can ? "ok" : "cannot", rewrite.why);
    if (can) assert.match(rewrite.read, /REWRITTEN/);
    const stop = await tried(here, "hooks/stop.tested.ts", ...how);
    assert.deepEqual([stop.state, stop.effect], ["ok", "sent back"], stop.why);
    assert.match(stop.read, /SENT-BACK/);
  });
}

/** Puts a program on the PATH that starts the real one of a host as it likes. */
async function before(here: Place, host: "claude" | "codex", script: (real: string) => string) {
  await tried(here, GUARD, "--in", pinned(host), "--install", ...REMOVES);
  const packages = join(FOLDER, host, HOSTS[host].tried!.version, "node_modules");
  // Beside the real one, as a session sees no other folder.
  const bin = join(packages, `.${basename(dirname(here.cwd))}`);
  mkdirSync(bin);
  writeFileSync(join(bin, host), `#!/bin/sh\n${script(join(packages, ".bin", host))}\n`);
  chmodSync(join(bin, host), 0o755);
  here.env.PATH = `${bin}:${process.env.PATH}`;
  return { [Symbol.dispose]: () => rmSync(bin, { recursive: true }) };
}

test("Codex runs hooks in a project that a person trusts, and none in another: the lab says so", SKIP, async () => {
  const distrust = `sed -i '/^.projects/,$d' "$HOME/.codex/config.toml" 2>/dev/null`;
  for (const [first, expected] of [["", "ok"], [distrust, "not fired"]] as const) {
    using here = place(HOOKS);
    // With approvals bypassed it asks for no trust.
    using _ = await before(here, "codex", (real) =>
      `${first}
for word; do shift; case $word in --dangerously-bypass-approvals-*) word=--color=never ;; esac; set -- "$@" "$word"; done
exec ${real} "$@"`);
    const { state, why } = await tried(here, "hooks/stop.tested.ts", "--in", "codex");
    assert.equal(state, expected, why);
  }
});

test("Claude Code answers with a model that it was told to use, as it does with its own", SKIP, async () => {
  using here = place(HOOKS);
  using _ = await before(here, "claude", (real) => `exec ${real} "$@" --model claude-sonnet-4-5`);
  const { state, why } = await tried(here, GUARD, "--in", "claude", ...REMOVES);
  assert.equal(state, "ok", why);
});

test("in Claude Code a module rewrites what is shown, at an event that we do not fire", SKIP, async (t) => {
  const { package: name, start } = LAB_HOSTS.claude!;
  const path = hostProgram(join(FOLDER, "claude"), [`${name}@${releaseOf("claude")}`], "claude");
  if (path === undefined) return t.skip("Claude Code cannot be installed");
  using here = place({
    "hooks/message-display.x.ts":
      `export default ({ delta }) => ({ action: "modify", value: delta.replace("done", "SHOWN-INSTEAD") });`,
    "package.json": "{}",
  }, "a project");
  await here.call(install.default, join(here.cwd, "hooks"), "--for", "claude", "--scope", "local");
  await using server = await messagesApi();
  const given = {
    project: here.cwd,
    home: here.home,
    url: server.url,
    event: "message-display",
    prompt: "go",
    allowed: [],
  };
  const { files = {}, calls: [args = []], env } = start(given);
  for (const [file, text] of Object.entries(files)) writeFileSync(file, text);
  const { out, err } = await ended([path, ...args], { cwd: here.cwd, env: { HOME: here.home, ...env } });
  assert.match(out, /SHOWN-INSTEAD/, err);
  assert.doesNotMatch(server.asked(), /SHOWN-INSTEAD/);
});

test("doctor learns from Codex that no person has trusted the hooks", SKIP, async () => {
  using here = place(HOOKS);
  using _ = await before(here, "codex", (real) => `exec ${real} "$@"`);
  await here.call(install.default, join(here.cwd, "hooks"), "--for", "codex");
  const { out } = await here.crochet(["doctor"], { PATH: here.env.PATH, CODEX_HOME: undefined });
  assert.match(out, /Codex does not run 3 of 3 hooks as no person trusts them/);
});
