import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { fire, listeners } from "../../lib/core/dispatch.ts";
import { absoluteLine } from "../../lib/hooks/install-line.ts";
import { type FoundHooks, HookSources, type SourcesOptions } from "../../lib/hooks/sources.ts";
import { Switches } from "../../lib/hooks/switches.ts";
import { type Place, place } from "../_place.ts";
import { put } from "../_scratch.ts";
import { environment, STOP } from "./_fire.ts";

/** All that is found in a place, which is trusted unless a test says otherwise. */
const sourcesOf = ({ cwd, env }: Place, options: Partial<SourcesOptions> = {}) =>
  new HookSources({ cwd, env, trust: true, ...options });

const hook = (reason: string) => `export default () => ({ action: "deny", reason: "${reason}" });`;
const settings = (...words: string[]) =>
  JSON.stringify({
    hooks: { Stop: [{ hooks: words.map((word) => ({ type: "command", command: `echo ${word} >&2; exit 2` })) }] },
  });
const yaml = (name: string) =>
  `hooks:\n  definitions:\n    - { name: ${name}, type: command, command: "true", matcher: { events: [Stop] } }\n`;

/** The hooks that a stop asks, in their order. */
async function asked({ records }: FoundHooks, cwd: string): Promise<string[]> {
  const { runs } = await fire(records, structuredClone(STOP), environment(cwd).env);
  return runs.map((run) => run.hook);
}

test("U4: sources join in order: scope, then files, settings, hooks.yaml; priority comes before all of it", async () => {
  using p = place();
  put(p.home, {
    ".crochet/hooks/stop.user.ts": hook("user"),
    ".claude/settings.json": settings("user"),
    ".crochet/hooks.yaml": yaml("user-yaml"),
  });
  p.put({
    "hooks/stop.project.ts": hook("project"),
    "hooks/1-stop.early.ts": hook("early"),
    ".claude/settings.json": settings("project", "more"),
    "hooks.yaml": yaml("project-yaml"),
    ".agent/hook.toml": `[turn_end]\ncommand = "true"\n`,
    ".claude/settings.local.json": settings("local"),
    "other/stop.given.ts": hook("given"),
    "given.json": settings("typed"),
  });
  const found = await sourcesOf(p, { hooks: ["other"], settings: ["given.json"] }).load();
  assert.deepEqual(found.problems, []);
  const home = "~/.claude/settings.json";
  const names = await asked(found, p.cwd);
  assert.deepEqual(names.map((name) => name.replace(`${p.home}/`, "~/")), [
    "1-stop.early.ts",
    "stop.user.ts",
    `${home}#0`,
    "user-yaml",
    "stop.project.ts",
    ".claude/settings.json#0",
    ".claude/settings.json#1",
    "project-yaml",
    ".claude/settings.local.json#0",
    "stop.given.ts",
    "given.json#0",
  ]);
  assert.deepEqual(listeners(found.records, "turn-end").map((r) => r.name), [".agent/hook.toml#turn_end"]);
});

test("what is named on the command line is trusted, and never reported as untrusted because it was found too", async () => {
  using p = place({ "hooks/stop.a.ts": hook("a"), ".claude/settings.json": settings("b") });
  const none = await sourcesOf(p, { trust: false }).load();
  assert.deepEqual([await asked(none, p.cwd), none.unloaded.length], [[], 2]);
  const typed = { trust: false, hooks: ["./hooks/"], settings: [".claude/settings.json"] };
  const found = await sourcesOf(p, typed).load();
  assert.deepEqual([...new Set(await asked(found, p.cwd))], ["stop.a.ts", ".claude/settings.json#0"]);
  assert.deepEqual(found.unloaded.filter(({ why }) => why.includes("not trusted")), []);
  assert.deepEqual(found.problems.filter((problem) => problem.includes("not trusted")), []);
});

test("of hook.toml only the tables that are there are listed, and a mistake in it is reported", async () => {
  using p = place({ ".agent/hook.toml": `[turn_start]\ncommand = "true"\n` });
  const sources = sourcesOf(p);
  const names = async () => (await sources.load()).listed.map(({ record }) => record.name);
  assert.deepEqual(await names(), [".agent/hook.toml#turn_start"]);
  p.put({ ".agent/hook.toml": `[turn_start]\ncommand = "true"\n[turn_end]\ncommand = "true"\n` });
  assert.deepEqual(await names(), [".agent/hook.toml#turn_start", ".agent/hook.toml#turn_end"]);
  p.put({ ".agent/hook.toml": `[turn_stop]\ncommand = "true"\n` });
  assert.deepEqual((await sources.load()).problems, [
    "Cannot load .agent/hook.toml as option 'turn_stop' is unknown: did you mean 'turn_start'?",
  ]);
});

test("the list stays the same list while nothing changes, and follows what does", async () => {
  using p = place({ "hooks/stop.a.ts": hook("a"), ".claude/settings.json": settings("s") });
  const sources = sourcesOf(p);
  const { records } = await sources.load();
  assert.equal((await sources.load()).records, records);
  p.put({ ".claude/settings.json": settings("s", "t") });
  assert.equal((await sources.load()).records.length, 3);
  p.put({ "hooks.yaml": yaml("y") });
  assert.equal((await sources.load()).records.length, 4);
  rmSync(`${p.cwd}/.claude/settings.json`);
  rmSync(`${p.cwd}/hooks/stop.a.ts`);
  assert.deepEqual((await sources.load()).records.map((r) => r.name), ["y"]);
});

test("a hook that is installed for Claude Code and found by us runs once", async () => {
  using p = place({ "hooks/stop.a.ts": hook("a") });
  const command = absoluteLine(`${p.cwd}/hooks/stop.a.ts`, "claude");
  const other = absoluteLine(`${p.home}/stop.elsewhere.ts`, "claude");
  const hooks = [{ type: "command", command }, { type: "command", command: "true" }, {
    type: "command",
    command: other,
  }];
  p.put({ ".claude/settings.json": JSON.stringify({ hooks: { Stop: [{ hooks }] } }) });
  const found = await sourcesOf(p).load();
  assert.deepEqual(found.records.map((r) => r.name), [
    "stop.a.ts",
    ".claude/settings.json#1",
    ".claude/settings.json#2",
  ]);
  assert.deepEqual(found.unloaded.map((u) => [u.name, u.why]), [
    [".claude/settings.json#0", "the file it serves is loaded already"],
  ]);
  assert.deepEqual(found.problems, []);
  const without = await sourcesOf(p, { scriptFolders: [] }).load();
  assert.equal(without.records.length, 3);
});

test("disableAllHooks switches off what is found, wherever it is from, until it goes", async () => {
  using p = place({ "hooks/stop.a.ts": hook("a"), ".claude/settings.local.json": `{ "disableAllHooks": true }` });
  const sources = sourcesOf(p);
  assert.deepEqual((await sources.load()).records.map((r) => r.enabled), [false]);
  p.put({ ".claude/settings.local.json": `{}` });
  assert.deepEqual((await sources.load()).records.map((r) => r.enabled), [true]);
});

test("a switch works on the next event, without another look at the files", async () => {
  using p = place({ "hooks/stop.a.ts": hook("a") });
  const { records } = await sourcesOf(p).load();
  const reason = async () => (await fire(records, structuredClone(STOP), environment(p.cwd).env)).reason;
  assert.equal(await reason(), "a");
  new Switches(p.cwd, p.env).set("stop.a.ts", false);
  assert.equal(await reason(), undefined);
  new Switches(p.cwd, p.env).set("stop.a.ts", true);
  assert.equal(await reason(), "a");
  records[0]!.enabled = false;
  assert.equal(await reason(), undefined);
});

test("a switch is kept with the person: no file of a checkout switches a hook off", async () => {
  using p = place();
  put(p.home, { ".crochet/hooks/stop.guard.ts": hook("guard") });
  for (const folder of ["switches", "hooks", ""]) {
    p.put({ [`.crochet/${folder}/x.json`]: JSON.stringify({ dir: p.cwd, disabled: ["stop.guard.ts"] }) });
  }
  const { records } = await new HookSources({ cwd: p.cwd, env: { ...p.env, CROCHET_HOME: ".crochet" } }).load();
  assert.deepEqual(records.map((r) => [r.name, r.enabled]), [["stop.guard.ts", true]]);
});

test("what is wrong in one source is reported and does not affect the others", async () => {
  using p = place({
    "hooks/stop.a.ts": hook("a"),
    "hooks/stp.ts": "",
    ".claude/settings.json": `{ "hooks": { "Stop": [{ "hooks": [{ "type": "command" }] }] } }`,
    "hooks.yaml": "hooks: [",
  });
  const found = await sourcesOf(p, { settings: ["none.json"] }).load();
  assert.deepEqual(listeners(found.records, "stop").map((r) => r.name), ["stop.a.ts"]);
  const told = found.problems.join("\n");
  for (
    const word of [/stp\.ts/, /settings\.json hooks\.Stop\[0\]/, /hooks\.yaml/, /none\.json': there is no such file/]
  ) {
    assert.match(told, word);
  }
});

test("the permissions of trusted settings are given, those of others are not", async () => {
  using p = place({ ".claude/settings.json": `{ "permissions": { "allow": ["Bash(ls)"] } }` });
  assert.deepEqual((await sourcesOf(p).load()).permissions.allow, ["Bash(ls)"]);
  assert.deepEqual((await sourcesOf(p, { trust: false }).load()).permissions, {});
});
