import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { install } from "../../lib/cli/hooks/install.ts";
import { withEntries, withoutEntries } from "../../lib/hooks/install-text.ts";
import { HookFolder } from "../../lib/hooks/folder.ts";
import { HOST_NAMES, type HostName, HOSTS } from "../../lib/hooks/hosts/index.ts";
import { carryOut, type InstallPlace, planInstall, planUninstall } from "../../lib/hooks/install.ts";
import { absoluteLine, installedFile, portableLine } from "../../lib/hooks/install-line.ts";
import { place } from "../_place.ts";

/** A project with hooks, and what is done with them. */
function project(files: Record<string, string>) {
  const here = place(Object.fromEntries(Object.entries(files).map(([name, text]) => [`hooks/${name}`, text])));
  const { cwd, env } = here;
  const at = (host: InstallPlace["host"], scope: InstallPlace["scope"] = "project"): InstallPlace => ({
    host,
    scope,
    cwd,
    env,
  });
  const install = async (where: InstallPlace) => {
    const hooks = new HookFolder(`${cwd}/hooks`);
    const records = await hooks.load();
    assert.deepEqual(hooks.problems, []);
    const plan = await planInstall(hooks.files.map((file, i) => ({ file, record: records[i]! })), where);
    carryOut(plan, env);
    return plan;
  };
  const uninstall = async (where: InstallPlace) => carryOut(await planUninstall(`${cwd}/hooks`, where), env);
  return { ...here, at, install, uninstall };
}

const MODULE = "export default () => {};";

test("S2.2, S2.9, U14: hooks are added at the ends of the host's lists, after what is there", async () => {
  using p = project({
    "pre-tool-use@ExitPlanMode+AskUserQuestion+EnterPlanMode.watch.ts": MODULE,
    "stop.sh": "#!/bin/sh\n# crochet: timeout=7 mode=async\n",
    "post-tool-use-failure.x.ts": MODULE,
    "turn-start.y.ts": MODULE,
  });
  mkdirSync(`${p.cwd}/.claude`);
  const before = `{
  // the team's own
  "model": "opus",
  "hooks": {
    "Notification": [{ "hooks": [{ "type": "command", "command": "ding" }] }],
    "Stop": [
      { "hooks": [{ "type": "command", "command": "mine" }] },
    ],
  },
  "unknown": { "kept": [1, 2] }
}
`;
  const file = `${p.cwd}/.claude/settings.json`;
  writeFileSync(file, before);
  const { entries, left } = await p.install(p.at("claude"));
  const after = readFileSync(file, "utf8");
  const { parse } = await import("jsonc-parser");
  const { hooks, ...rest } = parse(after, [], { allowTrailingComma: true });
  assert.deepEqual(rest, { model: "opus", unknown: { kept: [1, 2] } });
  assert.ok(after.includes("// the team's own"));
  assert.deepEqual(Object.keys(hooks), ["Notification", "Stop", "PostToolUseFailure", "PreToolUse"]);
  assert.deepEqual(hooks.Notification, [{ hooks: [{ type: "command", command: "ding" }] }]);
  assert.deepEqual(hooks.PreToolUse, [{
    matcher: "ExitPlanMode|AskUserQuestion|EnterPlanMode",
    hooks: [{
      type: "command",
      command: entries[1]!.hook.command,
      timeout: 65,
      onFailure: "block",
    }],
  }]);
  assert.equal(hooks.Stop[0].hooks[0].command, "mine");
  assert.deepEqual({ ...hooks.Stop[1].hooks[0], command: "" }, {
    type: "command",
    command: "",
    timeout: 12,
    async: true,
  });
  assert.equal(entries.length, 3);
  assert.deepEqual(left, [{ name: "turn-start.y.ts", why: "claude has no event like turn-start" }]);
  await p.uninstall(p.at("claude"));
  assert.equal(readFileSync(file, "utf8"), before);
});

test("U7: a guard that dies in the host refuses there too, if its failure does here", async () => {
  const rows: [name: string, text: string, block: boolean][] = [
    ["pre-tool-use.a.ts", MODULE, true],
    ["user-prompt-submit.a.ts", MODULE, true],
    ["pre-tool-use.b.ts", `${MODULE} export const config = { onError: "continue" };`, false],
    ["pre-tool-use.c.ts", `${MODULE} export const config = { mode: "observe" };`, false],
    ["pre-tool-use.d.rules", 'tool equals "Bash" -> deny("no")\n', true],
    ["pre-tool-use.e.sh", "#!/bin/sh\n", false],
    ["pre-tool-use.f.sh", "#!/bin/sh\n# crochet: onError=deny\n", true],
    ["post-tool-use.a.ts", MODULE, false],
    ["stop.a.ts", `${MODULE} export const config = { onError: "deny" };`, false],
  ];
  for (const [name, text, block] of rows) {
    using p = project({ [name]: text });
    const { entries } = await p.install(p.at("claude"));
    assert.equal(entries[0]!.hook.onFailure, block ? "block" : undefined, name);
    const file = `${p.cwd}/.claude/settings.json`;
    const written = readFileSync(file, "utf8");
    // As it was written before hosts could be told.
    writeFileSync(file, written.replace(/,\s*"onFailure": "block"/, ""));
    await p.install(p.at("claude"));
    assert.equal(readFileSync(file, "utf8"), written, name);
    const others = await p.install(p.at("codex"));
    assert.equal(others.entries[0]!.hook.onFailure, undefined, name);
  }
});

test("U14: installing twice is installing once, and a change of the hooks is followed", async () => {
  for (const scope of ["project", "user"] as const) {
    using p = project({ "stop.a.ts": MODULE });
    const at = p.at("claude", scope);
    await p.install(at);
    const folder = `${scope === "user" ? p.home : p.cwd}/.claude`;
    const file = `${folder}/settings.json`;
    const first = readFileSync(file, "utf8");
    await p.install(at);
    assert.equal(readFileSync(file, "utf8"), first);
    writeFileSync(`${p.cwd}/hooks/stop.b.ts`, MODULE);
    writeFileSync(`${p.cwd}/hooks/stop.a.ts`, `export const config = { timeout: 1 };\n${MODULE}`);
    await p.install(at);
    const { Stop } = JSON.parse(readFileSync(file, "utf8")).hooks;
    assert.deepEqual(Stop.map(({ hooks }: { hooks: { timeout: number }[] }) => hooks[0]!.timeout), [6, 65], scope);
    await p.uninstall(at);
    assert.equal(existsSync(folder), false);
  }
});

test("U14: installing again takes out what serves a file that is gone, and leaves what is not ours", async () => {
  using p = project({ "stop.a.ts": MODULE, "stop.b.ts": MODULE });
  const at = p.at("claude");
  const file = `${p.cwd}/.claude/settings.json`;
  const commands = () =>
    JSON.parse(readFileSync(file, "utf8")).hooks.Stop
      .flatMap(({ hooks }: { hooks: { command: string }[] }) => hooks.map(({ command }) => command)) as string[];
  await p.install(at);
  const settings = JSON.parse(readFileSync(file, "utf8"));
  settings.hooks.Stop.unshift({ hooks: [{ type: "command", command: "/gone/of-the-user.sh" }] });
  writeFileSync(file, JSON.stringify(settings));
  renameSync(`${p.cwd}/hooks/stop.b.ts`, `${p.cwd}/hooks/stop.c.ts`);
  await p.install(at);
  assert.deepEqual(commands().map((line) => installedFile(line, p.cwd)?.split("/").at(-1)), [
    undefined,
    "stop.a.ts",
    "stop.c.ts",
  ]);
});

test("each host gets its own file, names, units and matchers, and runtime and script by absolute paths", async () => {
  using p = project({
    "pre-tool-use@Bash+Edit.a.ts": MODULE,
    "stop.b.rules": `event equals "x" -> continue()`,
    "pre-tool-use.c.ts": `export const config = { matcher: "^mcp__" };\n${MODULE}`,
    "post-tool-use@mcp__srv__echo.e.ts": MODULE,
  });
  const codex = await p.install(p.at("codex"));
  assert.equal(codex.settings, `${p.cwd}/.codex/hooks.json`);
  const gemini = await p.install(p.at("gemini", "user"));
  assert.equal(gemini.settings, `${p.home}/.gemini/settings.json`);
  const written = JSON.parse(readFileSync(gemini.settings, "utf8")).hooks;
  const [first, second] = written.BeforeTool;
  assert.equal(first.matcher, undefined);
  assert.equal(second.matcher, "^(run_shell_command|replace)$");
  const [hook] = second.hooks;
  assert.equal(hook.timeout, 65_000);
  assert.equal(hook.name, "pre-tool-use@Bash+Edit.a.ts");
  assert.match(
    hook.command,
    "Deno" in globalThis
      ? /^\/\S+ run -A --quiet --config \/\S+\/deno\.json \/\S+\/cli\/hook\.ts \/\S+ --dialect gemini$/
      // Nothing of the project it is started in has a say.
      : /^\/\S+ --no-env-file --config=\/dev\/null --tsconfig-override=\/\S+ \/\S+\/cli\/hook\.ts \/\S+ --dialect gemini$/,
  );
  assert.equal(written.AfterAgent[0].hooks[0].timeout, undefined);
  // Its versions call such tools otherwise: the hook looks itself.
  assert.equal(written.AfterTool[0].matcher, undefined);
  const theirs = JSON.parse(readFileSync(codex.settings, "utf8")).hooks;
  assert.deepEqual(theirs.PreToolUse.map((g: { matcher: string }) => g.matcher), ["^mcp__", "Bash|Edit|apply_patch"]);
});

test("codex is given no matcher that it would read otherwise: the hook looks itself", async () => {
  const cases: [matcher: string, written: string | undefined, claude?: string][] = [
    ["^mcp__", "^mcp__"],
    ["Bash|Edit.*", "Bash|Edit.*|apply_patch"],
    ["^(?!Read)", undefined],
    ["(.)\\1", undefined],
    ["\\bEdit\\b", undefined, "\\bEdit\\b|NotebookEdit"],
    ["[^]", undefined],
    ["*", undefined],
    ["Bash,Edit", undefined, "Bash,Edit|NotebookEdit"],
    [" Bash ", undefined],
  ];
  for (const [matcher, written, claude = matcher] of cases) {
    using p = project({
      "pre-tool-use.a.ts": `${MODULE} export const config = { matcher: ${JSON.stringify(matcher)} };`,
    });
    assert.equal((await p.install(p.at("codex"))).entries[0]!.matcher, written, matcher);
    assert.equal((await p.install(p.at("claude"))).entries[0]!.matcher, claude);
  }
});

test("a time limit is written in whole units, which is all that Codex reads", async () => {
  using p = project({ "stop.a.ts": `${MODULE} export const config = { timeout: 0.25 };` });
  const written = async (host: InstallPlace["host"]) => (await p.install(p.at(host))).entries[0]!.hook.timeout;
  assert.deepEqual([await written("claude"), await written("codex"), await written("gemini")], [6, 6, 5250]);
});

test("the line that is written for this machine serves the hook, from wherever a host runs it", async () => {
  using p = project({ "stop.it.ts": `export default () => ({ action: "deny", reason: "go on" });` });
  const { entries } = await p.install(p.at("claude", "local"));
  const stdin = JSON.stringify({ session_id: "s", cwd: p.cwd, hook_event_name: "Stop", stop_hook_active: false });
  const out = execFileSync("/bin/sh", ["-c", entries[0]!.hook.command], { cwd: "/", input: stdin, encoding: "utf8" });
  assert.deepEqual(JSON.parse(out), { decision: "block", reason: "go on" });
});

test("a hook that is a link is served by its own name, known as ours, and goes again", async () => {
  using p = project({ "_shared.sh": "#!/bin/sh\necho no >&2\nexit 2\n" });
  symlinkSync("_shared.sh", `${p.cwd}/hooks/stop.linked.sh`);
  const { settings, entries } = await p.install(p.at("claude", "local"));
  assert.equal(installedFile(entries[0]!.hook.command, p.cwd), `${p.cwd}/hooks/stop.linked.sh`);
  const stdin = JSON.stringify({ session_id: "s", cwd: p.cwd, hook_event_name: "Stop", stop_hook_active: false });
  const { status, stderr } = spawnSync("/bin/sh", ["-c", entries[0]!.hook.command], { input: stdin, encoding: "utf8" });
  assert.deepEqual([status, stderr], [2, "no\n"]);
  writeFileSync(settings, `${readFileSync(settings, "utf8")}\n`);
  await p.uninstall(p.at("claude", "local"));
  assert.deepEqual(JSON.parse(readFileSync(settings, "utf8")), {});
});

test("a further moment that a host has no event for is reported as left out", async () => {
  using p = project({ "pre-tool-use.x.ts": `${MODULE} export const config = { also: ["turn-end", "stop"] };` });
  const { entries, left } = await p.install(p.at("codex"));
  assert.deepEqual(entries.map((entry) => entry.event), ["PreToolUse", "Stop"]);
  assert.deepEqual(left, [{ name: "pre-tool-use.x.ts", why: "codex has no event like turn-end" }]);
});

test("U14: a file that was touched since keeps what was done to it; only our entries go", async () => {
  const settings = (command: string) =>
    `{\n  "hooks": {\n    "Stop": [\n      { "hooks": [{ "type": "command", "command": "${command}" }] }\n    ]\n  }\n}\n`;
  using p = project({ "stop.a.ts": MODULE, "../.claude/settings.json": settings("mine") });
  const at = p.at("claude");
  const file = `${p.cwd}/.claude/settings.json`;
  await p.install(at);
  writeFileSync(file, readFileSync(file, "utf8").replace(`"mine"`, `"mine, changed"`));
  await p.uninstall(at);
  assert.equal(readFileSync(file, "utf8"), settings("mine, changed"));
});

test("U14: uninstalling one folder leaves the hooks of another, and the last one gives the file as it was", async () => {
  using p = project({ "stop.a.ts": MODULE, "../more/stop.b.ts": MODULE });
  const file = `${p.cwd}/.claude/settings.json`;
  const installMore = async () => {
    const more = new HookFolder(`${p.cwd}/more`);
    const [record] = await more.load();
    carryOut(await planInstall([{ file: more.files[0]!, record: record! }], p.at("claude")), p.env);
  };
  await p.install(p.at("claude"));
  const first = readFileSync(file, "utf8");
  await installMore();
  assert.match(readFileSync(file, "utf8"), /hooks\/stop\.a\.ts[^]*more\/stop\.b\.ts/);
  carryOut(await planUninstall(`${p.cwd}/more`, p.at("claude")), p.env);
  assert.equal(readFileSync(file, "utf8"), first);
  await p.uninstall(p.at("claude"));
  assert.ok(!existsSync(file));
});

test("a settings file that cannot be understood is not touched", async () => {
  using p = project({ "stop.a.ts": MODULE });
  mkdirSync(`${p.cwd}/.claude`);
  const file = `${p.cwd}/.claude/settings.json`;
  const cases: [string | Uint8Array, RegExp][] = [
    ["{ no", /not valid JSON/],
    ["[]", /they are not an object/],
    [`{ "hooks": [] }`, /'hooks' is not an object/],
    [`{ "hooks": { "Stop": {} } }`, /'hooks\.Stop' is not a list/],
    [`{ "hooks": { "Stop": [{ "type": "command" }] } }`, /'hooks\.Stop' is not a list/],
    [new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), /not UTF-8/],
  ];
  for (const [text, message] of cases) {
    writeFileSync(file, text);
    await assert.rejects(p.install(p.at("claude")), message);
    assert.deepEqual(readFileSync(file), Buffer.from(text as string));
    await assert.rejects(p.uninstall(p.at("claude")), message);
  }
});

test("the file keeps its mode and its link, and leaves nothing beside it", async () => {
  using p = project({ "stop.a.ts": MODULE });
  mkdirSync(`${p.cwd}/.claude`);
  mkdirSync(`${p.cwd}/dotfiles`);
  const real = `${p.cwd}/dotfiles/claude.json`;
  writeFileSync(real, "{}");
  chmodSync(real, 0o640);
  symlinkSync(real, `${p.cwd}/.claude/settings.json`);
  await p.install(p.at("claude"));
  assert.ok(lstatSync(`${p.cwd}/.claude/settings.json`).isSymbolicLink());
  assert.equal(statSync(real).mode & 0o777, 0o640);
  assert.deepEqual(readdirSync(`${p.cwd}/dotfiles`), ["claude.json"]);
  await p.uninstall(p.at("claude"));
  assert.equal(readFileSync(real, "utf8"), "{}");
});

test("U16: settings are never written through a link out of the checkout, by any host, nor into a pipe", async () => {
  const refused: string[] = [];
  for (const host of HOST_NAMES) {
    for (const scope of ["project", "local"] as const) {
      const file = scope === "local" ? HOSTS[host].settings.local : HOSTS[host].settings.files[0]!;
      if (file === undefined) continue;
      for (const way of ["file", "no file", "folder", "pipe"]) {
        using p = project({ "stop.a.ts": MODULE });
        const outside = join(p.home, "outside");
        mkdirSync(outside);
        writeFileSync(join(outside, "kept"), "{}");
        const path = join(p.cwd, file);
        const [top] = file.split("/");
        if (way === "folder") symlinkSync(outside, join(p.cwd, top!));
        else {
          mkdirSync(dirname(path), { recursive: true });
          if (way === "pipe") execFileSync("mkfifo", [path]);
          else symlinkSync(join(outside, way === "file" ? "kept" : "new"), path);
        }
        await assert.rejects(p.install(p.at(host, scope)), /Cannot write '\S+' as .* (?:link that leads|regular file)/);
        assert.deepEqual(readdirSync(outside), ["kept"], `${host} ${scope} ${way}`);
        assert.equal(readFileSync(join(outside, "kept"), "utf8"), "{}");
        refused.push(host);
      }
    }
  }
  assert.ok(refused.length >= 4 * HOST_NAMES.length);
});

test("U16: a plugin is never written through a link out of the checkout", async () => {
  using p = project({ "stop.a.ts": MODULE });
  const outside = join(p.home, "outside");
  mkdirSync(outside);
  symlinkSync(outside, join(p.cwd, ".claude"));
  const made = await p.crochet(["hooks", "install", "hooks", "--for", "claude", "--as", "plugin"]);
  assert.match(made.err, /^crochet: Cannot write '\S+' as its folder is a link that leads out of the project: /);
  assert.deepEqual([made.code, readdirSync(outside)], [1, []]);
});

test("a line of ours is known by the file it serves, whatever its path is made of", () => {
  for (const path of ["/p/hooks/stop.sh", "/my project/hooks/stop.it's.sh", "/p/$HOME/`x`/stop.sh"]) {
    assert.equal(installedFile(absoluteLine(path, "codex"), "/p"), path);
    for (const host of HOST_NAMES) {
      assert.equal(installedFile(portableLine(path.slice(1), host, {}), "/q"), `/q${path}`);
    }
  }
  for (const line of ["true", "bun run hook x --dialect claude", "bun /a/cli/hook.ts x --dialect claude && rm x"]) {
    assert.equal(installedFile(line, "/p"), undefined);
  }
});

test("matchers reach every channel of the host, and install says what no hook sees and what a person has to trust", async () => {
  using p = project({ "pre-tool-use@Edit+Write.a.ts": MODULE, "pre-tool-use@Bash.b.ts": MODULE });
  const [claude, qwen] = ["no hook of claude sees a skill", "no hook of qwen"];
  const cases: readonly (readonly [HostName, matchers: readonly string[], unseen: readonly string[]])[] = [
    ["codex", ["Bash", "Edit|Write|apply_patch|Bash"], ["no hook of codex sees write_stdin: what is typed"]],
    ["claude", ["Bash", "Edit|Write|NotebookEdit"], [claude, "no hook of claude sees a slash command"]],
    ["qwen", ["^(run_shell_command|monitor)$", "^(edit|notebook_edit|write_file)$"], []],
  ];
  for (const [host, matchers, unseen] of cases) {
    for (const dry of [["--dry-run"], []]) {
      const { out } = await p.call(install.default, `${p.cwd}/hooks`, "--for", host, ...dry);
      for (const words of unseen) assert.match(out, new RegExp(`^  ${words}`, "m"));
      if (unseen.length === 0) assert.ok(!out.includes(qwen), out);
      const trusts = /^Codex runs none .*\[projects\."(.*)"\] trust_level = "trusted".* \/hooks$/m.exec(out)?.[1];
      assert.equal(trusts, host === "codex" ? realpathSync(p.cwd) : undefined);
    }
    const json = JSON.parse((await p.call(install.default, `${p.cwd}/hooks`, "--for", host, "--json")).out);
    assert.equal(json.unseen.length, unseen.length);
    const { entries } = await p.install(p.at(host));
    assert.deepEqual(entries.map(({ matcher }) => matcher), matchers);
  }
});

test("install says of which events no run of the host has shown anything", async () => {
  using p = project({ "session-end.x.ts": MODULE, "stop.x.ts": MODULE });
  const { out } = await p.call(install.default, `${p.cwd}/hooks`, "--for", "qwen");
  assert.deepEqual(
    out.match(/^.*documents.*$/gm),
    ["  SessionEnd is known by the documents of qwen alone: no run here has shown it"],
  );
  const json = await p.call(install.default, `${p.cwd}/hooks`, "--for", "cursor", "--json");
  assert.deepEqual(JSON.parse(json.out).untried, ["sessionEnd", "stop"]);
});

test("the form of a settings file is that of its host's row", async () => {
  const lists = { at: "on", version: 7, entry: { command: "run", timeout: "limit", failClosed: "strict" } };
  const hook = { type: "command", command: "ours", timeout: 5, onFailure: "block" } as const;
  const text = await withEntries("", [{ event: "Stop", matcher: "a", hook }], lists);
  const item = { run: "ours", matcher: "a", limit: 5, strict: true };
  assert.deepEqual(JSON.parse(text), { version: 7, on: { Stop: [item] } });
  const seen: unknown[] = [];
  assert.equal(await withoutEntries(text, (entry) => seen.push(entry) > 0, lists), '{\n  "version": 7\n}\n');
  assert.deepEqual(seen, [{ event: "Stop", matcher: "a", hook }]);
});
