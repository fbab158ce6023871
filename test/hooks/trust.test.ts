import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fire } from "../../lib/core/dispatch.ts";
import type { EventName, Fired } from "../../lib/core/events.ts";
import { userState } from "../../lib/hooks/file/places.ts";
import { HookSources } from "../../lib/hooks/sources.ts";
import { allTrusted, distrust, revoke, standings, trust } from "../../lib/hooks/trust.ts";
import { place } from "../_place.ts";
import { environment, PRE, STOP } from "./_fire.ts";

/** Leaves a mark wherever it is run. */
const marking = (mark: string) => `#!/bin/sh\necho x >> ${mark}\n`;

test("U16: what lies in a directory is not trusted until a person says so, and never by a file of the checkout", () => {
  using p = place({ "hooks/stop.sh": "", "hooks.yaml": "", ".crochet/trust/x.json": "{}" });
  assert.deepEqual(standings(p.cwd, p.env), [
    { thing: "hooks", state: "untrusted" },
    { thing: "hooks.yaml", state: "untrusted" },
  ]);
  trust(p.cwd, p.env);
  assert.ok(standings(p.cwd, p.env).every((s) => s.state === "trusted"));
  assert.ok(existsSync(`${p.home}/.crochet/trust`));
  assert.equal(userState({ ...p.env, CROCHET_HOME: ".crochet" }), `${p.home}/.crochet`);
  assert.equal(userState({ ...p.env, CROCHET_HOME: "/elsewhere" }), "/elsewhere");
});

test("U16: any change of the folder ends its trust: bytes, names, _ files, links, the right to be run", () => {
  using p = place({ "hooks/stop.sh": "a", "hooks/_lib/x.ts": "b" });
  const changes: (() => void)[] = [
    () => p.put({ "hooks/stop.sh": "A" }),
    () => p.put({ "hooks/_lib/x.ts": "B" }),
    () => p.put({ "hooks/_lib/y.ts": "" }),
    () => p.put({ "hooks/README.md": "" }),
    () => rmSync(`${p.cwd}/hooks/README.md`),
    () => chmodSync(`${p.cwd}/hooks/stop.sh`, 0o644),
    () => symlinkSync("_lib/x.ts", `${p.cwd}/hooks/_link.ts`),
    () => p.put({ "hooks/_lib/x.ts": "through the link" }),
  ];
  for (const [i, change] of changes.entries()) {
    trust(p.cwd, p.env);
    assert.equal(distrust(p.cwd, "hooks", p.env), undefined, `before change ${i}`);
    change();
    assert.match(distrust(p.cwd, "hooks", p.env) ?? "", /has changed since it was trusted/, `change ${i}`);
  }
});

test("U16: each thing is trusted by itself: a changed settings file leaves the hooks folder trusted", () => {
  using p = place({ "hooks/stop.sh": "", ".claude/settings.json": "{}", ".agent/hook.toml": "" });
  trust(p.cwd, p.env);
  p.put({ ".claude/settings.json": "{ }" });
  assert.deepEqual(standings(p.cwd, p.env).map((s) => `${s.thing} ${s.state}`), [
    "hooks trusted",
    ".claude/settings.json changed",
    ".agent/hook.toml trusted",
  ]);
});

test("trust is forgotten when it is revoked, and a damaged record trusts nothing", () => {
  using p = place({ "hooks/stop.sh": "" });
  trust(p.cwd, p.env);
  assert.equal(allTrusted(p.env).length, 1);
  assert.equal(revoke(p.cwd, p.env), true);
  assert.equal(revoke(p.cwd, p.env), false);
  assert.match(distrust(p.cwd, "hooks", p.env)!, /is not trusted/);
  trust(p.cwd, p.env);
  const folder = `${p.home}/.crochet/trust`;
  const [file] = readdirSync(folder);
  writeFileSync(`${folder}/${file}`, readFileSync(`${folder}/${file}`, "utf8").slice(0, 20));
  assert.match(distrust(p.cwd, "hooks", p.env)!, /is not trusted/);
});

test("a link that leads back up, or to a whole disk, does not hang the hash", () => {
  using p = place({ "hooks/stop.sh": "" });
  symlinkSync("..", `${p.cwd}/hooks/_up`);
  trust(p.cwd, p.env);
  assert.equal(distrust(p.cwd, "hooks", p.env), undefined);
  symlinkSync("/usr", `${p.cwd}/hooks/_disk`);
  assert.throws(() => trust(p.cwd, p.env), /holds more than 10000 files/);
});

async function fired(sources: HookSources, event: Fired<EventName>, cwd: string) {
  const { records } = await sources.refresh();
  return await fire(records, structuredClone(event), environment(cwd).env);
}

test("U16: untrusted files are listed by their names alone: not imported, not run, not even read as hooks", async () => {
  using p = place();
  const mark = `${p.cwd}/mark`;
  const write = `import { writeFileSync } from "node:fs"; writeFileSync(${
    JSON.stringify(mark)
  }, "x"); export default () => {};`;
  const command = { type: "command", command: `touch ${mark}` };
  p.put({
    "hooks/stop.a.ts": write,
    "hooks/stop.b.sh": marking(mark),
    "hooks/pre-tool-use@Bash.c.rules.yaml": "{{{",
    "hooks/stp.sh": "",
    ".claude/settings.json": JSON.stringify({ hooks: { Stop: [{ hooks: [command] }] } }),
    "hooks.yaml":
      `hooks: { definitions: [{ name: d, type: command, command: touch ${mark}, matcher: { events: [Stop] } }] }`,
    ".agent/hook.toml": `[turn_start]\ncommand = "touch"\nargs = ["${mark}"]\n`,
  });
  const sources = new HookSources({ cwd: p.cwd, env: p.env });
  const found = await sources.refresh();
  assert.deepEqual(found.records, []);
  assert.deepEqual(found.problems, []);
  assert.deepEqual(found.unloaded.map((u) => [u.name, u.event, u.matcher, u.kind]), [
    ["pre-tool-use@Bash.c.rules.yaml", "pre-tool-use", "Bash", "rules"],
    ["stop.a.ts", "stop", undefined, "module"],
    ["stop.b.sh", "stop", undefined, "command"],
    ["stp.sh", undefined, undefined, undefined],
    [".claude/settings.json", undefined, undefined, undefined],
    ["hooks.yaml", undefined, undefined, undefined],
    [".agent/hook.toml", undefined, undefined, undefined],
  ]);
  for (const { name, why } of found.unloaded) {
    assert.match(
      why,
      name === "stp.sh" ? /did you mean 'stop\.sh'/ : /is not trusted: look at it, then run 'crochet trust'/,
    );
  }
  await fired(sources, STOP, p.cwd);
  assert.equal(existsSync(mark), false);
  rmSync(`${p.cwd}/hooks/stp.sh`);
  rmSync(`${p.cwd}/hooks/pre-tool-use@Bash.c.rules.yaml`);
  trust(p.cwd, p.env);
  await fired(sources, STOP, p.cwd);
  assert.equal(existsSync(mark), true);
});

test("U16: in a run, a module that changed goes on as it was trusted, and its new bytes never run", async () => {
  using p = place({ "hooks/stop.a.ts": `export default () => ({ action: "deny", reason: "old" });` });
  trust(p.cwd, p.env);
  const sources = new HookSources({ cwd: p.cwd, env: p.env });
  assert.equal((await fired(sources, STOP, p.cwd)).reason, "old");
  p.put({
    "hooks/stop.a.ts": `export default () => ({ action: "deny", reason: "new" });`,
    "hooks/stop.b.ts": `export default () => ({ action: "deny", reason: "added" });`,
  });
  assert.equal((await fired(sources, STOP, p.cwd)).reason, "old");
  assert.match((await sources.refresh()).unloaded[0]!.why, /has changed since it was trusted/);
  trust(p.cwd, p.env);
  assert.equal((await fired(sources, STOP, p.cwd)).reason, "new\nadded");
});

test("U16: a command that changed is not run, not even between two looks at the folder, and its gate stays shut", async () => {
  using p = place();
  p.put({ "hooks/pre-tool-use.a.sh": marking(`${p.cwd}/old`) });
  trust(p.cwd, p.env);
  const { records } = await new HookSources({ cwd: p.cwd, env: p.env }).refresh();
  const once = async () => await fire(records, structuredClone(PRE), environment(p.cwd).env);
  assert.equal((await once()).decision, "continue");
  assert.equal(existsSync(`${p.cwd}/old`), true);
  p.put({ "hooks/pre-tool-use.a.sh": marking(`${p.cwd}/new`) });
  const { decision, reason } = await once();
  assert.equal(decision, "deny");
  assert.match(reason!, /hooks has changed since it was trusted/);
  assert.equal(existsSync(`${p.cwd}/new`), false);
  trust(p.cwd, p.env);
  assert.equal((await once()).decision, "continue");
  assert.equal(existsSync(`${p.cwd}/new`), true);
});

test("U16: a command that changed is not run, though its size and its time are as they were", async () => {
  using p = place();
  const file = `${p.cwd}/hooks/pre-tool-use.a.sh`;
  p.put({ "hooks/pre-tool-use.a.sh": marking(`${p.cwd}/one`) });
  trust(p.cwd, p.env);
  const sources = new HookSources({ cwd: p.cwd, env: p.env });
  // Both changes within one second: on Deno the time of a change has no smaller part.
  while (Date.now() % 1000 > 200) await sleep(20);
  const { atime, mtime } = statSync(file);
  utimesSync(file, atime, mtime);
  await sleep(300);
  await sources.refresh();
  writeFileSync(file, marking(`${p.cwd}/two`));
  utimesSync(file, atime, mtime);
  assert.equal((await fired(sources, PRE, p.cwd)).decision, "deny");
  assert.equal(existsSync(`${p.cwd}/two`), false);
});

test("U16: in a run, settings that changed go on as they were trusted", async () => {
  const settings = (word: string) =>
    JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command: `echo ${word} >&2; exit 2` }] }] } });
  using p = place({ ".claude/settings.json": settings("old") });
  trust(p.cwd, p.env);
  const sources = new HookSources({ cwd: p.cwd, env: p.env });
  assert.match((await fired(sources, STOP, p.cwd)).reason!, /: old\n$/);
  p.put({ ".claude/settings.json": settings("new") });
  assert.match((await fired(sources, STOP, p.cwd)).reason!, /: old\n$/);
  trust(p.cwd, p.env);
  assert.match((await fired(sources, STOP, p.cwd)).reason!, /: new\n$/);
});

test("a path that was typed, and --trust, are trust for that call and leave none behind", async () => {
  using p = place({ "hooks/stop.a.ts": `export default () => ({ action: "deny", reason: "ran" });` });
  const typed = new HookSources({ cwd: p.cwd, env: p.env, hooks: ["hooks"] });
  assert.equal((await fired(typed, STOP, p.cwd)).reason, "ran");
  const trusted = new HookSources({ cwd: p.cwd, env: p.env, trust: true });
  assert.equal((await fired(trusted, STOP, p.cwd)).reason, "ran");
  assert.deepEqual(allTrusted(p.env), []);
});
