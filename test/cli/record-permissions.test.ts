import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import record from "../../lib/cli/record.ts";
import replay from "../../lib/cli/replay.ts";
import { type ScriptedServer, scriptedServer } from "../../lib/testing/index.ts";
import { type Place, place } from "../_place.ts";
import "../replay/_no-ci.ts";
import { LIB } from "../_runtime.ts";

const BYPASS = `permissions: { mode: "bypassPermissions" }`;
const script = ({ url }: ScriptedServer, permissions = "") =>
  `import { agent, anthropic } from "${LIB}/index.ts";\nimport { Bash } from "${LIB}/tools/index.ts";\n` +
  `const model = anthropic({ baseURL: "${url}", apiKey: "not-a-key" });\n` +
  `export default agent({ from: import.meta.url, model, tools: [Bash], ${permissions} });\n`;

/** A model that runs a command once. */
const runs = (command: string) =>
  scriptedServer([], {
    then: ({ messages }) => messages.length > 1 ? { text: "done" } : { tools: [{ name: "Bash", input: { command } }] },
  });

/** Records a run that makes a file; what was said, the rules on the tape, and whether the file was made. */
async function recorded(here: Place, agent: string, ...flags: string[]) {
  const name = `run-${flags.length}-${Math.random().toString(36).slice(2)}`;
  const { code, err } = await here.call(record, agent, "make it", "--fixture", name, ...flags);
  const tape = join(here.cwd, "fixtures", name, "tape.jsonl");
  const text = readFileSync(tape, "utf8");
  const { permissions } = JSON.parse(text.split("\n", 1)[0]!);
  return { code, err, name, tape, permissions, made: /"end":.*"made":/.test(text) };
}

test("record decides as run does: flag, script, trusted settings, asking; refusals are shown and kept", async () => {
  await using server = await runs("touch made");
  using here = place({ "agent.ts": script(server), "sure.ts": script(server, BYPASS) });
  const asking = await recorded(here, "agent.ts");
  assert.deepEqual([asking.code, asking.made, asking.permissions.mode], [0, false, "default"]);
  assert.match(asking.err, /refused Bash .*to allow it: permissions\.allow/);
  assert.equal((await recorded(here, "agent.ts", "--permission-mode", "bypassPermissions")).made, true);
  assert.equal((await recorded(here, "sure.ts")).made, true);
  assert.equal((await recorded(here, "sure.ts", "--permission-mode", "default")).made, false);

  here.put({ ".claude/settings.json": `{ "permissions": { "deny": ["Bash(touch *)"] } }` });
  assert.equal((await recorded(here, "sure.ts")).made, true, "settings that are not trusted do not count");
  const denied = await recorded(here, "sure.ts", "--trust");
  assert.deepEqual([denied.made, denied.permissions.deny], [false, ["Bash(touch *)"]]);
  here.put({ "given.json": `{ "permissions": { "deny": ["Bash(touch *)"] } }` });
  const given = await recorded(here, "sure.ts", "--settings", "given.json");
  assert.equal(given.made, false);
});

test("a recording whose tools work in the directory itself does not see itself", async () => {
  await using server = await runs("find . | sort");
  using here = place({ "agent.ts": script(server, BYPASS) });
  const { code, err } = await here.call(record, "agent.ts", "look", "--tools");
  assert.equal(code, 0, err);
  const [tool] = readFileSync(join(here.cwd, "fixtures/look/tape.jsonl"), "utf8").split("\n")
    .filter((line) => line.startsWith('{"tool"')).map((line) => JSON.parse(line));
  assert.equal(tool.result.content, ".\n./agent.ts");
});

test("a replay never decides by the rules of a machine, and those of the project are part of the program", async () => {
  await using server = await runs("touch made");
  using here = place({ "agent.ts": script(server) });
  const allowed = await recorded(here, "agent.ts", "--permission-mode", "bypassPermissions");
  const refused = await recorded(here, "agent.ts");
  const replayed = async ({ name }: { readonly name: string }) => {
    const { code, out } = await here.call(replay, name, "--trust");
    return [code, /rule: (.*?) \(at/.exec(out)?.[1]];
  };
  here.put({ "../home/.claude/settings.json": `{ "permissions": { "deny": ["Bash"], "allow": ["Read"] } }` });
  assert.deepEqual([await replayed(allowed), await replayed(refused)], [[0, undefined], [0, undefined]]);
  const settings = (rules: object) => here.put({ ".claude/settings.json": JSON.stringify({ permissions: rules }) });
  settings({ deny: ["Bash(curl *)"] });
  assert.deepEqual(await replayed(allowed), [0, undefined], "no call meets it");
  settings({ deny: ["Bash"] });
  assert.equal((await replayed(allowed))[0], 1, "the call is refused now");
  settings({ allow: ["Bash"] });
  assert.deepEqual(await replayed(refused), [1, "permissions.allow has a new rule"]);
  settings({ allow: ["Read"] });
  assert.equal((await here.call(replay, refused.name, "--trust", "--update")).code, 0);
  assert.deepEqual(await replayed(refused), [0, undefined], "an update takes the rules of today");
  here.put({ ".claude/settings.json": "{}", ".crochet/config.yaml": "permissions: { mode: acceptEdits }\n" });
  assert.deepEqual(await replayed(allowed), [1, "permissions.mode is another one"]);
});

test("a fixture that was recorded in a sandbox is reported as not run if there is none here", async () => {
  await using server = await runs("touch made");
  using here = place({ "agent.ts": script(server, BYPASS) });
  const { name, tape } = await recorded(here, "agent.ts");
  const [header, ...rest] = readFileSync(tape, "utf8").split("\n");
  writeFileSync(tape, [header!.replace('"tools":', '"sandbox":{"mode":"workspace"},"tools":'), ...rest].join("\n"));
  const { code, out } = await here.main(["replay", name], { PATH: join(here.cwd, "none") });
  assert.equal(code, 2);
  assert.match(out, /was not run, as it was recorded in a sandbox: .*bubblewrap/);
  assert.equal(existsSync(join(here.cwd, "made")), false);
});
