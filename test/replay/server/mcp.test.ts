import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reportLines } from "../../../lib/replay/drift/drift-report.ts";
import { fixtureAt } from "../../../lib/replay/fixture.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import { McpReplayer } from "../../../lib/replay/server/mcp-answers.ts";
import { LINE, SHIM } from "../../../lib/replay/server/mcp.ts";
import { recordCommand, type RecordOptions, replayCommand } from "../../../lib/replay/server/run-command.ts";
import { CROCHET, crochet } from "../../_crochet.ts";
import { RUNTIME } from "../../_runtime.ts";
import { scratch } from "../../_scratch.ts";
import { serve } from "../../_server.ts";
import { CLIENT, SERVER } from "./_mcp-scripts.ts";

type Steps = readonly (readonly unknown[])[];

const REPLY = JSON.stringify({
  ...{ id: "msg_1", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "ok" }] },
  ...{ stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } },
});

/** A project whose program has an MCP server, behind our command as one would write it into any client's settings. */
async function project(variables: { readonly [name: string]: string } = {}) {
  const folder = scratch({ "client.mjs": CLIENT, "server.mjs": SERVER });
  const api = await serve((request, response) => {
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/json" }).end(REPLY));
  });
  const started = join(folder.path, "..", `${folder.path.split("/").at(-1)}.started`);
  const env = { ...process.env, ANTHROPIC_BASE_URL: api.url, STARTED: started, ...variables };
  const fixture = fixtureAt(join(folder.path, "fixtures", "w"));
  const command = (steps: Steps) => [
    ...[...RUNTIME, "client.mjs", JSON.stringify(steps)],
    ...[...CROCHET, "tape", "mcp", "weather", "--env", "LABEL", "--", ...RUNTIME, join(folder.path, "server.mjs")],
  ];
  const given = (steps: Steps) => ({ command: command(steps), cwd: folder.path, env, quiet: true, timeout: 60 });
  return {
    folder,
    fixture,
    command,
    env,
    starts: () => existsSync(started) ? readFileSync(started, "utf8").trim().split("\n").length : 0,
    record: (steps: Steps, more: Partial<RecordOptions> = {}) => recordCommand(fixture, { ...given(steps), ...more }),
    replay: (steps: Steps, more: object = {}) => replayCommand(fixture, { ...given(steps), ...more }),
    mcp: async () => (await readTape(fixture.tape)).mcp ?? [],
    [Symbol.dispose]() {
      api[Symbol.dispose]();
      folder[Symbol.dispose]();
    },
  };
}

const BONN = ["call", "get_weather", { city: "Bonn" }] as const;

test("a server is recorded, and two replays say what it said without starting it", async () => {
  using here = await project();
  const steps = [["open"], ["send", "tools/list", {}], BONN, ["call", "get_cwd", {}], BONN, ["send", "tools/list", {}]];
  const { end } = await here.record(steps);
  assert.match(end.stdout, /Bonn 0\.\d+/);
  assert.equal(here.starts(), 1);
  for (const _ of [1, 2]) {
    const { report, end: again } = await here.replay(steps);
    assert.deepEqual([report.ok, report.divergences, report.mcp], [true, [], {
      served: { weather: 3 },
      differs: [],
      unused: [],
    }]);
    // Where it works is told as it is now: in a copy.
    assert.equal(again.stdout.replace(/^\/\S+/m, "{ROOT}"), end.stdout.replace(here.folder.path, "{ROOT}"));
  }
  assert.equal(here.starts(), 1);
  assert.match(JSON.stringify(await here.mcp()), /\{ROOT\} 0\./);
  assert.deepEqual((await here.mcp())[0]!.params, { protocolVersion: "2025-06-18" });
});

test("another argument is drift, which the report shows before what follows from it, and the call that was not made", async () => {
  using here = await project();
  await here.record([["open"], BONN]);
  const { report, end } = await here.replay([["open"], ["call", "get_weather", { city: "Köln" }]]);
  assert.equal(report.ok, false);
  assert.match(
    end.stdout,
    /Cannot answer from tape w: weather: get_weather \{"city":"Köln"\} is not what was recorded/,
  );
  assert.deepEqual(reportLines(report).slice(0, 5), [
    `mcp: weather: get_weather {"city":"Köln"} is not what was recorded`,
    `  - {"city":"Bonn"}`,
    `  + {"city":"Köln"}`,
    `not called: weather get_weather {"city":"Bonn"}`,
    "not requested: main#1",
  ]);
  const { report: more } = await here.replay([["open"], BONN, BONN]);
  assert.deepEqual(more.mcp!.differs, [{
    words: `weather: get_weather {"city":"Bonn"} is not on the tape, or fewer times`,
  }]);
});

test("equal calls at once get their answers in order, and each is used up", async () => {
  using here = await project();
  const steps = [["open"], ["calls", 8, "get_weather", { city: "Bonn" }]];
  const { end } = await here.record(steps);
  const { report, end: again } = await here.replay(steps);
  assert.equal(report.ok, true, JSON.stringify(report));
  assert.deepEqual(again.stdout.split("\n"), end.stdout.split("\n"));
  assert.equal(new Set(end.stdout.trim().split("\n")).size, 9);
  const { report: fewer } = await here.replay([["open"], ["calls", 7, "get_weather", { city: "Bonn" }]]);
  assert.deepEqual([fewer.ok, fewer.mcp!.unused], [false, [`weather get_weather {"city":"Bonn"}`]]);
});

test("what a client says counts in the order in which it says it, however its lines come", async () => {
  const facts = ["first", "second"].map((result) => ({
    ...{ mcp: "weather", method: "tools/call", params: { name: "get" }, result, after: 0, ms: 0 },
  }));
  const same = <T>(value: T) => value;
  const replayer = new McpReplayer(facts, { name: "w", mask: () => ({ on: same, off: same }), named: same, note() {} });
  using server = await serve((request, response) => {
    const { method = "", url: path = "", headers } = request;
    const bytes = Buffer.from(JSON.stringify({ id: 1, method: "tools/call", params: { name: "get" } }));
    request.resume();
    void replayer.answer({ sent: { method, path }, headers, bytes } as never, response);
  });
  const said = async (line: number) => {
    const headers = { [SHIM]: "one", [LINE]: String(line) };
    return (await (await fetch(`${server.url}/weather`, { method: "POST", headers })).json()).result;
  };
  const second = said(1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([await said(0), await second], ["first", "second"]);
});

test("no byte of a server's own variables is on the tape: without --redact nothing is kept", async () => {
  using here = await project({
    SERVER_ENV: JSON.stringify({ LABEL: "a quite ordinary label", API_TOKEN: "tk-88-ordinary" }),
  });
  const steps = [["open"], ["call", "get_env", { name: "LABEL" }], ["call", "get_env", { name: "API_TOKEN" }]];
  await assert.rejects(here.record(steps), /shows the value of the environment variable (?:LABEL|API_TOKEN)/);
  assert.equal(existsSync(here.fixture.tape), false);
  await here.record(steps, { redact: true });
  const tape = readFileSync(here.fixture.tape, "utf8");
  assert.doesNotMatch(tape, /quite ordinary|tk-88/);
  assert.match(tape, /\{SECRET:LABEL\}/);
  const { report } = await here.replay(steps);
  assert.equal(report.ok, true, JSON.stringify(report));
});

test("a server that is killed leaves its call unanswered, and a replay ends the connection there", async () => {
  using here = await project();
  const steps = [["open"], BONN, ["call", "die", {}], ["ask", "over"]];
  const { end } = await here.record(steps);
  assert.match(end.stdout, /closed/);
  assert.deepEqual((await here.mcp()).at(-1), {
    ...{ mcp: "weather", method: "tools/call", params: { name: "die", arguments: {} }, unanswered: true },
    ...{ after: 1, ms: (await here.mcp()).at(-1)!.ms },
  });
  const { report, end: again } = await here.replay(steps);
  assert.deepEqual([report.ok, again.stdout], [true, end.stdout]);
});

test("questions of a server are asked again, progress has the new token, and answers are not compared", async () => {
  using here = await project();
  const steps = [["open"], ["call", "confirm", {}]];
  const { end } = await here.record(steps);
  assert.match(end.stdout, /heard notifications\/progress true .*\nheard elicitation\/create true .*\naccept 0\./);
  const { report, end: again } = await here.replay(steps, { env: { ...here.env, ACTION: "decline" } });
  assert.deepEqual([report.ok, again.stdout], [true, end.stdout]);
});

test("what a server says by itself is said again", async () => {
  using here = await project({ TELLS: "1" });
  const steps = [["open"], ["send", "tools/list", {}], ["ask", "one"]];
  const { end } = await here.record(steps);
  assert.equal(
    (await here.mcp()).filter(({ own }) => own).length + (end.stdout.match(/heard/g)?.length ?? 0) > 0,
    true,
  );
  const { report, end: again } = await here.replay(steps);
  assert.deepEqual([report.ok, again.stdout.match(/up 0\.\d+/)?.[0]], [true, end.stdout.match(/up 0\.\d+/)?.[0]]);
});

test("an answer is held until as many requests have come to models as then", async () => {
  using here = await project({ SLOW: "2000" });
  const steps = [
    ["meanwhile", "initialize", { protocolVersion: "1" }],
    ["pause", 1000],
    ["ask", "one"],
    ["ask", "two"],
    [
      "send",
      "tools/list",
      {},
    ],
  ];
  await here.record(steps);
  const [first] = await here.mcp();
  assert.equal(first!.after, 2);
  const { end, report } = await here.replay(steps);
  assert.equal(report.ok, true);
  assert.ok(end.stdout.indexOf("late") > end.stdout.lastIndexOf("200"), end.stdout);
});

test("what is not on the tape and may be asked at any time is answered as by an old server, with a note", async () => {
  using here = await project();
  await here.record([["open"], BONN]);
  const { report, end } = await here.replay([["send", "server/discover", {}], ["open"], BONN]);
  assert.match(end.stdout, /Method not found/);
  assert.deepEqual([
    report.ok,
    report.notes.filter((note) => /^server\/discover of MCP server 'weather'/.test(note)).length,
  ], [true, 1]);
});

test("with --mcp live, and on a tape without its lines, the server runs", async () => {
  using here = await project();
  const steps = [["open"], ["send", "tools/list", {}], ["ask", "one"]];
  await here.record(steps, { mcp: "live" });
  assert.deepEqual([await here.mcp(), here.starts()], [[], 1]);
  const { report } = await here.replay(steps);
  assert.deepEqual([report.ok, report.mcp, here.starts()], [true, undefined, 2]);
  await here.record(steps, { replace: true });
  await here.replay(steps);
  assert.equal(here.starts(), 3);
  await here.replay(steps, { mcp: "live" });
  assert.equal(here.starts(), 4);
});

test("on the command line a replay says how many calls of each server it served, and without a tape the server only runs", async () => {
  using here = await project();
  const steps = [["open"], BONN];
  const { cwd, env } = { cwd: here.folder.path, env: here.env };
  const recorded = await crochet(["tape", "record", "--fixture", "w", "--", ...here.command(steps)], { cwd, env });
  assert.equal(recorded.code, 0, recorded.err);
  const replayed = await crochet(["tape", "replay", "w", "--trust", "--", ...here.command(steps)], { cwd, env });
  assert.match(replayed.err, /^✓ w 1\/1 calls, 1 of weather$/m);
  const wrong = await crochet(["tape", "replay", "w", "--mcp", "dead", "--", "true"], { cwd, env });
  assert.deepEqual([wrong.code, wrong.err], [
    2,
    "crochet: Cannot use MCP servers 'dead': write --mcp live, or leave it out\n",
  ]);
  const alone = await crochet(["tape", "mcp", "weather", "--", ...RUNTIME, join(cwd, "server.mjs")], {
    ...{ cwd, env, stdin: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n` },
  });
  assert.deepEqual([alone.code, JSON.parse(alone.out).id], [0, 7]);
  const none = await crochet(["tape", "mcp", "weather", "--", "no-such-command"], { cwd, env });
  assert.deepEqual([none.code, none.err], [2, "crochet: Cannot run 'no-such-command' as there is no such command\n"]);
});
