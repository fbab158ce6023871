import assert from "node:assert/strict";
import { test } from "node:test";
import { BONN, project } from "./_mcp-project.ts";

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

test("of a recording with --mcp live the server runs in a replay too, and of any other it does not", async () => {
  using here = await project();
  const steps = [["open"], ["send", "tools/list", {}], ["ask", "one"]];
  await here.record(steps, { mcp: "live" });
  assert.deepEqual([await here.mcp(), here.starts()], [[], 1]);
  const { report } = await here.replay(steps);
  assert.deepEqual([report.ok, report.mcp, here.starts()], [true, undefined, 2]);
  await here.record(steps, { replace: true });
  await here.replay(steps);
  assert.equal(here.starts(), 3);
});
