import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type ScriptedReply, scriptedServer } from "crochet/testing";
import { type Place, place } from "../_place.ts";
import { asked } from "./_recorded.ts";
import { LIB } from "../_runtime.ts";

const script = (permissions: object) =>
  `import { agent } from "${LIB}/index.ts";\nimport { Bash } from "${LIB}/tools/index.ts";\n` +
  `export default agent({ from: import.meta.url, tools: [Bash], permissions: ${JSON.stringify(permissions)} });\n`;

const BYPASS = { mode: "bypassPermissions" };
const TOUCH: ScriptedReply[] = [{ tools: [{ name: "Bash", input: { command: "touch made" } }] }, { text: "done" }];

/** Every command that runs an agent, with what it needs besides. */
const DOORS: { readonly [door: string]: readonly string[] } = {
  run: ["run", "agent.ts", "go"],
  record: ["record", "agent.ts", "go", "--fixture", "x", "--tools"],
  attack: ["attack", "agent.ts", "--never", "pushes", "--runs", "1"],
  eval: ["eval", "--cases", "cases.yaml", "--runs", "1"],
};
const CASES = "agent: agent.ts\ncases:\n  - name: one\n    prompts: [go]\n    files: {}\n    grade: test -e made\n";

async function through(here: Place, args: readonly string[], replies: readonly ScriptedReply[] = TOUCH) {
  await using server = await scriptedServer(replies, { then: { text: "bye" } });
  const exit = await here.main(args, asked(server));
  return { ...exit, requests: server.requests.map(({ body }) => JSON.stringify(body)) };
}

for (const [door, args] of Object.entries(DOORS)) {
  test(`DOORS 10: a misspelt key of a script's permissions stops '${door}' before the first call`, async () => {
    using here = place({ "agent.ts": script({ ...BYPASS, denny: ["Bash(touch *)"] }), "cases.yaml": CASES });
    const { code, err, requests } = await through(here, args);
    assert.deepEqual([code, requests.length], [2, 0], err);
    assert.match(err, /Cannot take permissions as option 'denny' is unknown: did you mean 'deny'\?/);
    assert.ok(!existsSync(join(here.cwd, "made")));
  });
}

/** A server of one tool that leaves a line when it is started. */
const WALL = `import { createInterface } from "node:readline";
import { appendFileSync } from "node:fs";
appendFileSync("STARTED", "x");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const say = (result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
  if (method === "initialize") {
    say({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "wall", version: "1" } });
  } else if (method === "tools/list") {
    say({ tools: [{ name: "paint", description: "p", inputSchema: { type: "object", properties: {} } }] });
  } else if (id !== undefined) say({ content: [{ type: "text", text: "painted" }] });
}
`;

test(
  "DOORS 10: record has the servers of a trusted .mcp.json and keeps their results; without trust it has none",
  async () => {
    using here = place();
    const started = join(here.home, "started");
    const wall = { command: process.execPath, args: ["run", ...("Deno" in globalThis ? ["-A"] : []), "wall.mjs"] };
    here.put({
      "wall.mjs": WALL.replace('"STARTED"', JSON.stringify(started)),
      ".mcp.json": JSON.stringify({ mcpServers: { wall } }),
    });
    const paints: ScriptedReply[] = [{ tools: [{ name: "mcp__wall__paint", input: {} }] }, { text: "done" }];
    const record = (name: string) => ["record", "go", "--fixture", name, "--permission-mode", "bypassPermissions"];
    const without = await through(here, record("without"), [{ text: "done" }]);
    assert.equal(without.code, 0, without.err);
    assert.ok(!without.requests[0]!.includes("mcp__wall__paint") && !existsSync(started));
    assert.equal((await here.main(["trust"])).code, 0);
    const { code, err, requests } = await through(here, record("with"), paints);
    assert.equal(code, 0, err);
    assert.ok(requests[0]!.includes("mcp__wall__paint") && requests[1]!.includes("painted"));
    assert.match(readFileSync(join(here.cwd, "fixtures/with/tape.jsonl"), "utf8"), /painted/);
    const again = await here.main(["replay", "with"]);
    assert.equal(again.code, 0, again.out + again.err);
    assert.equal(readFileSync(started, "utf8"), "x", "a replay starts none");
  },
);

test(
  "DOORS 10: a trusted guard of the project stands before a call in record as in run, and in its replay",
  async () => {
    using here = place({
      "hooks/pre-tool-use@Bash.no.mjs": `export default () => ({ action: "deny", reason: "Not here" });\n`,
    });
    assert.equal((await here.main(["trust"])).code, 0);
    for (const args of [["run", "go"], ["record", "go", "--fixture", "x"]]) {
      const { code, err, requests } = await through(here, [...args, "--permission-mode", "bypassPermissions"]);
      assert.equal(code, 0, err);
      assert.match(requests.at(-1)!, /Not here/, args.join(" "));
    }
    const { code, out, err } = await here.main(["replay", "x"]);
    assert.equal(code, 0, out + err);
  },
);

test("DOORS 11: record reads the memory of the project, and never what lies above its scratch copy", async () => {
  using here = place({ "CLAUDE.md": "OWN-MEMORY\n" });
  here.put({ "../CLAUDE.md": "FROM-ABOVE\n" });
  const { code, err, requests } = await (async () => {
    await using server = await scriptedServer([{ text: "ok" }]);
    const exit = await here.main(["record", "go", "--fixture", "x"], {
      ...asked(server),
      TMPDIR: join(here.cwd, ".."),
    });
    return { ...exit, requests: server.requests.map(({ body }) => JSON.stringify(body)) };
  })();
  assert.equal(code, 0, err);
  assert.match(requests[0]!, /OWN-MEMORY/);
  assert.doesNotMatch(requests[0]!, /FROM-ABOVE/);
  const again = await here.main(["replay", "x"]);
  assert.equal(again.code, 0, again.out + again.err);
});

const BROKEN = `{\n  "permissions": { "deny": ["Bash(touch *)"]\n`;

const SETTINGS_DOORS = { run: DOORS.run!, record: DOORS.record!, replay: ["replay"], attack: DOORS.attack! };

test(
  "SEEDS 12: settings that count and cannot be read stop run, record, replay and attack, by file, line and cure",
  async () => {
    using here = place({ "agent.ts": script(BYPASS) });
    const says = /Cannot use the settings .*settings\.json as .* at line 3, column 1: correct it, as its rules/;
    for (const whose of ["the user's", "the project's"]) {
      const ofUser = whose === "the user's";
      here.put({
        "../home/.claude/settings.json": ofUser ? BROKEN : "{}",
        ".claude/settings.json": ofUser ? "{}" : BROKEN,
      });
      for (const [door, args] of Object.entries(SETTINGS_DOORS)) {
        if (!ofUser && door === "attack") continue; // it takes what is trusted already, and has no --trust
        const { code, err, requests } = await through(here, ofUser ? args : [...args, "--trust"]);
        assert.deepEqual([code, requests.length], [2, 0], `${door}: ${err}`);
        assert.match(err, says, door);
      }
    }
    assert.ok(!existsSync(join(here.cwd, "made")));
  },
);

test(
  "SEEDS 12: settings that cannot be read count as empty in lists, with a warning, and are never written",
  async () => {
    using here = place({
      "hooks/stop.check.mjs": "export default () => undefined;\n",
      ".claude/settings.json": BROKEN,
    });
    here.put({ "../home/.claude/settings.json": BROKEN });
    const { code, out, err } = await here.main(["hooks", "ls"]);
    assert.match(out + err, /settings\.json: Cannot read the settings as .* at line 3/, String(code));
    const installed = await here.main(["hooks", "install", "--for", "claude"]);
    assert.notEqual(installed.code, 0, installed.out);
    assert.equal(readFileSync(join(here.cwd, ".claude/settings.json"), "utf8"), BROKEN);
  },
);
