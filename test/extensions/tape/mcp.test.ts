import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { reportLines } from "../../../lib/replay/drift/drift-report.ts";
import { McpReplayer } from "../../../lib/extensions/tape/mcp-answers.ts";
import { LINE, SHIM } from "../../../lib/extensions/tape/mcp.ts";
import { RUNTIME } from "../../_runtime.ts";
import { serve } from "../../_server.ts";
import { BONN, project } from "./_mcp-project.ts";

test("a server is recorded, and a replay says what it said without starting it", async () => {
  using here = await project();
  const steps = [["open"], ["send", "tools/list", {}], BONN, ["call", "get_cwd", {}], BONN, ["send", "tools/list", {}]];
  const { end } = await here.record(steps);
  assert.match(end.stdout, /Bonn 0\.\d+/);
  assert.equal(here.starts(), 1);
  const { report, end: again } = await here.replay(steps);
  const mcp = { served: { weather: 3 }, differs: [], unused: [] };
  assert.deepEqual([report.ok, report.divergences, report.mcp], [true, [], mcp]);
  // Where it works is told as it is now: in a copy.
  assert.equal(again.stdout.replace(/^\/\S+/m, "{ROOT}"), end.stdout.replace(here.cwd, "{ROOT}"));
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
    replayer.answer({ sent: { method, path }, headers, bytes } as never, response).catch(() => response.destroy());
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

test("on the command line a replay says how many calls of each server it served, and without a tape the server only runs", async () => {
  using here = await project();
  const steps = [["open"], BONN];
  const recorded = await here.main(["record", "--fixture", "w", "--", ...here.command(steps)], here.env);
  assert.equal(recorded.code, 0, recorded.err);
  const replayed = await here.main(["replay", "w", "--trust", "--", ...here.command(steps)], here.env);
  assert.match(replayed.out, /^w +held +1\/1, 1 of weather /m);
  const wrong = await here.main(["record", "--fixture", "x", "--mcp", "dead", "--", "true"], here.env);
  assert.deepEqual([wrong.code, wrong.err], [
    2,
    "crochet: Cannot use MCP servers 'dead': write --mcp live, or leave it out\n",
  ]);
  const alone = await here.crochet(
    ["mcp", "weather", "--", ...RUNTIME, join(here.cwd, "server.mjs")],
    here.env,
    `{"jsonrpc":"2.0","id":7,"method":"tools/list"}\n`,
  );
  assert.deepEqual([alone.code, JSON.parse(alone.out).id], [0, 7]);
  const none = await here.main(["mcp", "weather", "--", "no-such-command"], here.env);
  assert.deepEqual([none.code, none.err], [2, "crochet: Cannot run 'no-such-command' as there is no such command\n"]);
});
