import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { type Place, place } from "../_place.ts";
import { asked, LONG } from "./_recorded.ts";

const LIB = fileURLToPath(new URL("../../lib", import.meta.url));
const script = (permissions = "") =>
  `import { agent } from "${LIB}/index.ts";\nimport { Bash } from "${LIB}/tools/index.ts";\n` +
  `export default agent({ from: import.meta.url, tools: [Bash]${permissions} });\n`;
const REPLIES: ScriptedReply[] = [
  { tools: [{ name: "Bash", input: { command: "touch made", description: "Make" } }] },
  { text: "done" },
];

/** Records a run that makes a file; what was said, the rules on the tape, and whether the file was made. */
async function record(here: Place, ...flags: string[]) {
  const name = `run-${flags.length}-${Math.random().toString(36).slice(2)}`;
  await using server = await scriptedServer(REPLIES);
  const args = ["record", "agent.ts", "make it", "--fixture", name, ...flags];
  const { code, err } = await here.crochet(args, asked(server));
  const tape = join(here.cwd, "fixtures", name, "tape.jsonl");
  const text = readFileSync(tape, "utf8");
  const { permissions } = JSON.parse(text.split("\n", 1)[0]!);
  return { code, err, name, tape, permissions, made: /"end":.*"made":/.test(text) };
}

test(
  "record decides as run does: flag, script, trusted settings, asking; without a terminal refusals are shown and kept",
  LONG,
  async () => {
    using here = place({ "agent.ts": script() });
    const asking = await record(here);
    assert.deepEqual([asking.code, asking.made, asking.permissions.mode], [0, false, "default"]);
    assert.match(asking.err, /refused Bash .*to allow it: permissions\.allow/);
    assert.equal((await record(here, "--permission-mode", "bypassPermissions")).made, true);

    here.put({ "agent.ts": script(`, permissions: { mode: "bypassPermissions" }`) });
    assert.equal((await record(here)).made, true);
    assert.equal((await record(here, "--permission-mode", "default")).made, false);

    here.put({ ".claude/settings.json": `{ "permissions": { "deny": ["Bash(touch *)"] } }` });
    assert.equal((await record(here)).made, true, "settings that are not trusted do not count");
    const denied = await record(here, "--trust");
    assert.deepEqual([denied.made, denied.permissions.deny], [false, ["Bash(touch *)"]]);
    const given = await record(here, "--settings", `{ "permissions": { "deny": ["Bash(touch *)"] } }`);
    assert.equal(given.made, false);
  },
);

test("a recording whose tools work in the directory itself does not see itself", LONG, async () => {
  using here = place({ "agent.ts": script(`, permissions: { mode: "bypassPermissions" }`) });
  const find = { tools: [{ name: "Bash", input: { command: "find . | sort", description: "List" } }] };
  await using server = await scriptedServer([find, { text: "done" }]);
  const { code, err } = await here.crochet(["record", "agent.ts", "look", "--tools"], asked(server));
  assert.equal(code, 0, err);
  const [tool] = readFileSync(join(here.cwd, "fixtures/look/tape.jsonl"), "utf8").split("\n")
    .filter((line) => line.startsWith('{"tool"')).map((line) => JSON.parse(line));
  assert.equal(tool.result.content, ".\n./agent.ts");
});

test("replay decides by the tape's header, never by the settings of its machine", LONG, async () => {
  using here = place({ "agent.ts": script() });
  const allowed = await record(here, "--permission-mode", "bypassPermissions");
  const refused = await record(here);
  here.put({ ".claude/settings.json": `{ "permissions": { "deny": ["Bash"] } }` });
  assert.equal((await here.crochet(["trust"])).code, 0);
  assert.equal((await here.crochet(["replay", allowed.name])).code, 0);
  here.put({ ".claude/settings.json": `{ "permissions": { "allow": ["Bash"] } }` });
  assert.equal((await here.crochet(["replay", refused.name])).code, 0);
});

test("a fixture that was recorded in a sandbox is reported as not run if there is none here", LONG, async () => {
  using here = place({ "agent.ts": script(`, permissions: { mode: "bypassPermissions" }`) });
  const { name, tape } = await record(here);
  const [header, ...rest] = readFileSync(tape, "utf8").split("\n");
  writeFileSync(tape, [header!.replace('"tools":', '"sandbox":{"mode":"workspace"},"tools":'), ...rest].join("\n"));
  const { code, out } = await here.crochet(["replay", name], { PATH: join(here.cwd, "none") });
  assert.equal(code, 1);
  assert.match(out, /was not run, as it was recorded in a sandbox: .*bubblewrap/);
  assert.equal(existsSync(join(here.cwd, "made")), false);
});
