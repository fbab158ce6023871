import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { test } from "node:test";
import { dirname } from "node:path";
import { fire } from "../../lib/core/dispatch.ts";
import type { EventName, Fired } from "../../lib/core/events.ts";
import { findHooks, reportUnloaded } from "../../lib/cli/kit/find-hooks.ts";
import type { Io } from "../../lib/cli/kit/io.ts";
import hooks from "../../lib/cli/hooks.ts";
import { stateFile, userState } from "../../lib/files/state.ts";
import { HookSources } from "../../lib/hooks/sources.ts";
import { allTrusted, distrust, hookImports, revoke, standings, trust } from "../../lib/hooks/hook-trust.ts";
import { place } from "../_place.ts";
import { environment, PRE, STOP } from "./_fire.ts";

/** Leaves a mark wherever it is run. */
const marking = (mark: string) => `#!/bin/sh\necho x >> ${mark}\n`;

test("U16: files of a directory are not trusted until a person says so, and never by a file of the checkout", () => {
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
  const { records } = await sources.load();
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
  const found = await sources.load();
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

test("U16: a run keeps its modules; in the next one a file that changed or came is left out until it is trusted", async () => {
  const says = (words: string) => `export default () => ({ action: "deny", reason: "${words}" });`;
  using p = place({ "hooks/stop.a.ts": says("old"), "hooks/stop.same.ts": says("same") });
  trust(p.cwd, p.env);
  const sources = new HookSources({ cwd: p.cwd, env: p.env });
  const { records } = await sources.load();
  p.put({ "hooks/stop.a.ts": says("new"), "hooks/stop.b.ts": says("added") });
  assert.equal((await fire(records, structuredClone(STOP), environment(p.cwd).env)).reason, "old\nsame");
  assert.equal((await fired(sources, STOP, p.cwd)).reason, "same");
  assert.deepEqual((await sources.load()).unloaded.map(({ why }) => why.split(":", 1)[0]), [
    "hooks/stop.a.ts has changed since it was trusted",
    "hooks/stop.b.ts is not trusted",
  ]);
  trust(p.cwd, p.env);
  assert.equal((await fired(sources, STOP, p.cwd)).reason, "new\nadded\nsame");
});

test("U16: a command that changed in a run is not run, and what it judges is refused", async () => {
  using p = place();
  const file = `${p.cwd}/hooks/pre-tool-use.a.sh`;
  p.put({ "hooks/pre-tool-use.a.sh": marking(`${p.cwd}/old`), "hooks/_more.sh": "" });
  const { records } = await new HookSources({ cwd: p.cwd, env: p.env, trust: true }).load();
  const once = async () => await fire(records, structuredClone(PRE), environment(p.cwd).env);
  assert.equal((await once()).decision, "continue");
  assert.equal(existsSync(`${p.cwd}/old`), true);
  const { atime, mtime } = statSync(file);
  writeFileSync(file, marking(`${p.cwd}/new`));
  utimesSync(file, atime, mtime); // its size and its time are as they were
  const { decision, reason } = await once();
  assert.equal(decision, "deny");
  assert.match(reason!, /pre-tool-use\.a\.sh has changed since the run began/);
  assert.equal(existsSync(`${p.cwd}/new`), false);
  p.put({ "hooks/pre-tool-use.a.sh": marking(`${p.cwd}/old`), "hooks/stop.ts": "" });
  assert.equal((await once()).decision, "continue", "a file that came does not shut the gates of others");
  p.put({ "hooks/_more.sh": "echo" });
  assert.equal((await once()).decision, "deny");
});

test("U16: settings that changed are left out of the next run", async () => {
  const settings = (word: string) =>
    JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: "command", command: `echo ${word} >&2; exit 2` }] }] } });
  using p = place({ ".claude/settings.json": settings("old") });
  trust(p.cwd, p.env);
  const sources = new HookSources({ cwd: p.cwd, env: p.env });
  const { records } = await sources.load();
  p.put({ ".claude/settings.json": settings("new") });
  assert.match((await fire(records, structuredClone(STOP), environment(p.cwd).env)).reason!, /: old\n$/);
  assert.equal((await fired(sources, STOP, p.cwd)).reason, undefined);
  trust(p.cwd, p.env);
  assert.match((await fired(sources, STOP, p.cwd)).reason!, /: new\n$/);
});

test("U16: a trusted guard that changed or is gone keeps the next run from starting", async () => {
  const deny = `{ "permissions": { "deny": ["Bash"] } }`;
  const guards: Record<string, string> = {
    "hooks/pre-tool-use.a.ts": "export default () => {};",
    "hooks/stop.also.ts": `export const config = { also: ["pre-tool-use"] }; export default () => {};`,
    "hooks/user-prompt-submit.sh": "",
    ".claude/settings.json": `{ "hooks": { "PermissionRequest": [] } }`,
    ".claude/settings.local.json": deny,
    "hooks.yaml": "hooks: { definitions: [] }",
    ".crochet/config.yaml": `permissions: { deny: [Bash] }`,
  };
  using p = place({ ...guards, "hooks/stop.b.ts": "", ".agent/hook.toml": "" });
  const changed = async (options: { trust?: boolean; scriptFolders?: string[] } = {}) =>
    (await new HookSources({ cwd: p.cwd, env: p.env, ...options }).load()).changedGuards.map((why) =>
      why.split(" ", 1)[0]
    );
  trust(p.cwd, p.env);
  p.put({ "hooks/stop.b.ts": "export default () => {};", ".agent/hook.toml": "# other", "hooks/stop.c.ts": "" });
  assert.deepEqual(await changed(), []);
  for (const [file, text] of Object.entries(guards)) {
    p.put({ [file]: `${text} ` });
    assert.deepEqual(await changed(), [file]);
    assert.deepEqual(await changed({ trust: true }), []);
    assert.deepEqual(await changed({ scriptFolders: [] }), file.startsWith("hooks/") ? [] : [file]);
    rmSync(`${p.cwd}/${file}`);
    assert.deepEqual(await changed(), [file]);
    p.put({ [file]: text });
  }
  p.put({ "hooks/_shared.ts": "" });
  assert.deepEqual(new Set(await changed()), new Set(["hooks/_shared.ts"]));
});

test("U16: a trusted guard that is left out by its name is listed with the reason, and reported at every run", async () => {
  const [spec, test, aside] = ["pre-tool-use.a.spec.ts", "pre-tool-use.a.test.ts", "pre-tool-use.a.sh.orig"];
  using p = place({ [`hooks/${spec}`]: "", [`hooks/${test}`]: "", [`hooks/${aside}`]: "#!/bin/sh\n" });
  p.put({ "hooks/stop.b.ts": "export default () => {};" });
  chmodSync(`${p.cwd}/hooks/${aside}`, 0o755);
  // What an earlier version trusted as guards.
  const trusted = { ...trust(p.cwd, p.env), guards: [spec, aside].map((name) => `hooks/${name}`) };
  const file = stateFile("trust", trusted.dir, p.env);
  writeFileSync(file, JSON.stringify(trusted));
  const { out } = await p.call(hooks, "ls", "--json");
  const { hooks: on, unloaded } = JSON.parse(out);
  const working = on.filter(({ broken }: { broken: boolean }) => !broken);
  assert.deepEqual(working.map(({ name }: { name: string }) => name), ["stop.b.ts"]);
  assert.deepEqual(
    unloaded.map(({ name, why }: { name: string; why: string }) => [name, /trusted as a guard/.test(why)]),
    [
      [spec, true],
      [test, false],
    ],
  );
  const warned = async () => {
    let said = "";
    const io: Io = { ...p, out: () => {}, err: (text) => void (said += text), tty: false, signal: AbortSignal.abort() };
    reportUnloaded((await findHooks(p.cwd, {}, {}, io, undefined)).first, io);
    return [/\.spec\.ts is trusted as a guard and does not run/, /\.test\.ts/, /\.sh\.orig' as/].map((x) =>
      x.test(said)
    );
  };
  assert.deepEqual([await warned(), await warned()], [[true, false, true], [true, false, true]]);
  trust(p.cwd, p.env);
  assert.deepEqual(await warned(), [false, false, true], "trusted again, a test is no guard");
});

test("U16: what modules import of the project is trusted with them, and a change of it is one of theirs", async () => {
  using p = place({
    "hooks/stop.a.ts": `import { b } from "../lib/b"; import "zod"; export default () => b();`,
    "lib/b.ts": `import { c } from "./c.ts"; export const b = () => ({ action: "deny", reason: c });`,
    "lib/c.ts": `export const c = "c"; await import("node:fs");`,
  });
  assert.deepEqual(hookImports(p.cwd), { inside: ["lib/b.ts", "lib/c.ts"], outside: ["zod"] });
  trust(p.cwd, p.env);
  assert.equal(distrust(p.cwd, "hooks", p.env), undefined);
  p.put({ "lib/c.ts": `export const c = "other";` });
  const { records, unloaded } = await new HookSources({ cwd: p.cwd, env: p.env }).load();
  assert.equal(records.length, 0);
  assert.match(unloaded[0]!.why, /^lib\/c\.ts has changed since it was trusted/);
});

test("DOORS 17: what a module takes by createRequire and by #imports is trusted as its imports are, or named", async () => {
  using p = place({
    "package.json": JSON.stringify({
      imports: { "#lib/*": { bun: "./lib/*.ts", default: "./lib/*.js" }, "#one": "./one.js" },
    }),
    "hooks/stop.a.ts": `import { createRequire } from "node:module"; import "#lib/b"; import "#one"; import "#none";
      createRequire(import.meta.url)("../lib/c.cjs"); export default () => undefined;`,
    "lib/b.ts": `export {};`,
    "lib/c.cjs": `require("./d.cjs");`,
    "lib/d.cjs": ``,
    "one.js": ``,
  });
  const { inside, outside } = hookImports(p.cwd);
  assert.deepEqual(inside, ["lib/b.ts", "lib/c.cjs", "lib/d.cjs", "one.js"]);
  assert.deepEqual(outside, ["#none", `${p.cwd}/lib/b.js`, "createRequire()"].sort());
  for (const file of inside.toReversed()) {
    trust(p.cwd, p.env);
    assert.equal(distrust(p.cwd, "hooks", p.env), undefined);
    p.put({ [file]: `// changed` });
    assert.match(distrust(p.cwd, "hooks", p.env) ?? "", /has changed since it was trusted/, file);
  }
});

test("U16: a pipe, a device, a link out of the project and a huge file are refused by name, and never read", async () => {
  const things = [".claude/settings.json", "hooks.yaml", ".agent/hook.toml", "hooks/stop.sh"];
  const puts: readonly ((path: string) => void)[] = [
    (path) => void execFileSync("mkfifo", [path]),
    (path) => symlinkSync("/dev/zero", path),
    (path) => symlinkSync("/etc/passwd", path),
    (path) => {
      writeFileSync(path, "");
      truncateSync(path, 20_000_000);
    },
  ];
  for (const thing of things) {
    for (const putAt of puts) {
      using p = place();
      mkdirSync(dirname(`${p.cwd}/${thing}`), { recursive: true });
      putAt(`${p.cwd}/${thing}`);
      const [standing] = standings(p.cwd, p.env);
      assert.equal(standing!.state, "refused");
      assert.match(standing!.why!, new RegExp(`^'${thing}' is `));
      assert.throws(() => trust(p.cwd, p.env), new RegExp(`'${thing}' is `));
      assert.deepEqual((await new HookSources({ cwd: p.cwd, env: p.env }).load()).records, []);
    }
  }
});

test("a path that was typed, and --trust, are trusted for that call and leave no trust behind", async () => {
  using p = place({ "hooks/stop.a.ts": `export default () => ({ action: "deny", reason: "ran" });` });
  const typed = new HookSources({ cwd: p.cwd, env: p.env, hooks: ["hooks"] });
  assert.equal((await fired(typed, STOP, p.cwd)).reason, "ran");
  const trusted = new HookSources({ cwd: p.cwd, env: p.env, trust: true });
  assert.equal((await fired(trusted, STOP, p.cwd)).reason, "ran");
  assert.deepEqual(allTrusted(p.env), []);
});
