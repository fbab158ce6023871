import assert from "node:assert/strict";
import { test } from "node:test";
import { firstLine } from "../../../lib/extensions/view/calls.ts";
import { viewOf } from "../../../lib/extensions/view/view-of-run.ts";
import { alignRuns } from "../../../lib/extensions/view/align.ts";
import type { Row, Section, WholeView } from "../../../lib/extensions/view/shape.ts";
import { longRun } from "./_long-run.ts";
import { logOf, logOfReplay, replayed } from "./_runs.ts";

const rowOf = (view: WholeView, test: (row: Row) => boolean) => {
  const index = view.rows.findIndex(test);
  return { row: view.rows[index]!, sections: view.sections[index]! };
};
const section = <K extends Section["as"]>(sections: readonly Section[], as: K) =>
  sections.find((one) => one.as === as) as Extract<Section, { as: K }> | undefined;

test("viewOf() shows a run in the order it happened: prompt, calls, tools, hooks that sent it back, its end", async () => {
  const view = await replayed("keep-going");
  const kinds = view.rows.filter((row) => row.about === undefined && row.tone !== "quiet");
  assert.deepEqual(
    kinds.map(({ kind, name }) => kind === "call" ? kind : `${kind} ${name}`).join(", "),
    "prompt You, call, tool Read, call, tool Edit, call, tool Bash, tool Bash, call, fire stop, " +
      "input To the model, call, tool Edit, call, end done",
  );
  assert.deepEqual(new Set(kinds.flatMap(({ kind, name }) => kind === "call" ? [name] : [])), new Set(view.models));
  assert.deepEqual(view.models, ["claude-opus-5-5"]);
  assert.equal(view.title, "Fix the greeting");
  assert.equal(view.stop, "done");
  assert.deepEqual(view.notes, []);
});

test("viewOf() counts each agent's tokens exactly as the log has them", async () => {
  for (const name of ["keep-going", "delegate"]) {
    const log = await logOfReplay(name);
    const view = viewOf(log, name);
    for (const [agent, { id }] of view.agents.entries()) {
      const logged = log.events.flatMap((one) => one.agent_id === id && one.type === "usage" ? [one.usage] : []);
      const spent = view.rows.filter((row) => row.agent === agent && row.spent).map((row) => row.spent!);
      assert.ok(logged.length > 0, name);
      assert.deepEqual(
        spent.map(({ fresh, output }) => [fresh, output]),
        logged.map((usage) => [usage.input_tokens, usage.output_tokens]),
        name,
      );
    }
    assert.equal(view.totals.calls, view.rows.filter((row) => row.kind === "call").length);
  }
});

test("viewOf() shows each edit as a diff with the file as the model named it", async () => {
  const { row, sections } = rowOf(await replayed("keep-going"), (row) => row.name === "Edit");
  assert.deepEqual(row.edit, { file: "greet.sh", applied: true, added: 1, removed: 1 });
  assert.deepEqual(section(sections, "diff")?.hunks[0]?.lines, ['-echo "Helo, world"', '+echo "Hello, world"']);
});

test("viewOf() shows the change that a failed edit wanted as one that was not applied", () => {
  const input = { file_path: "a.ts", old_string: "one\ntwo", new_string: "three" };
  const view = viewed([call("Edit", input), ended("Edit", "failure", "String not found")]);
  const { row, sections } = rowOf(view, (row) => row.kind === "tool");
  assert.deepEqual(row.edit, { file: "a.ts", applied: false, added: 1, removed: 2 });
  assert.equal(row.tone, "bad");
  assert.equal(section(sections, "output")?.text, "String not found");
  assert.equal(view.totals.edits, 0, "an edit that was not made is not counted");
});

test("viewOf() shows a new file as lines that were all added", () => {
  const response = { type: "create", filePath: "/w/b.md", content: "one\ntwo\n", structuredPatch: [] };
  const input = { file_path: "b.md", content: "one\ntwo\n" };
  const view = viewed([call("Write", input), ended("Write", "success", "ok", response)]);
  const diff = section(rowOf(view, (row) => row.kind === "tool").sections, "diff");
  assert.deepEqual(diff?.hunks.flatMap(({ lines }) => lines), ["+one", "+two"]);
});

test("viewOf() keeps for every hook why it was skipped, with the call it was about", async () => {
  const view = await replayed("keep-going");
  const hook = view.hooks.find(({ name }) => name === "pre-tool-use@Bash.no-delete.ts")!;
  assert.deepEqual([hook.considered, hook.ran, hook.acted], [5, 2, 1]);
  const why = hook.outcomes.find((outcome) => outcome.why.includes("'Read'"))!;
  assert.equal(why.did, "skipped");
  assert.equal(why.why, "matcher 'Bash' does not match 'Read'");
  const fire = view.rows[why.rows[0]!]!;
  assert.equal(view.rows[fire.about!]!.name, "Read");
});

test("viewOf() shows what the model asked for and what hooks changed it to", async () => {
  const { sections } = rowOf(await replayed("keep-going"), (row) => row.line === "sh test.sh --quiet");
  const fields = sections.filter((one) => one.as === "fields");
  assert.deepEqual(fields.map(({ title, fields }) => [title, fields[0]![1]]), [
    ["Asked for", "sh test.sh"],
    ["Ran with", "sh test.sh --quiet"],
  ]);
});

test("viewOf() puts each agent below the call that started it", async () => {
  const view = await replayed("delegate");
  assert.deepEqual(view.agents.map(({ name, parent, depth }) => [name, parent, depth]), [
    ["main", -1, 0],
    ["Count long.txt", 0, 1],
    ["Count short.txt", 0, 1],
  ]);
  const started = view.rows.filter((row) => row.name === "Agent").map((row) => row.started);
  assert.deepEqual(started, [1, 2]);
});

test("viewOf() measures a model call from what happened last, and never runs backwards", () => {
  const view = viewOf(logOf(longRun(20, 40_000)), "x");
  for (const row of view.rows.filter((row) => row.kind === "call")) assert.ok(row.ms >= 800 && row.ms < 6000);
  const back = viewed([call("Bash", {}), { ...ended("Bash", "success", "ok"), at: "2020-01-01T00:00:00Z" }]);
  for (const { at, ms } of back.rows) assert.ok(at >= 0 && ms >= 0);
});

test("viewOf() marks a call that the log ends before, and counts the lines that it cannot show", () => {
  const view = viewed([{ type: "message", message: null }, call("Bash", { command: "sleep 100" })]);
  const { row, sections } = rowOf(view, (row) => row.kind === "tool");
  assert.equal(row.tone, "bad");
  assert.equal(section(sections, "output")?.text, "The log ends before the call did");
  assert.equal(view.stop, null);
  assert.deepEqual(view.notes, ["Lines left out because their fields are damaged: 1"]);
});

test("viewOf() marks a hook's command that failed, and none that went well", () => {
  const exec = (id: string, status: string) => [
    { type: "exec", exec: { type: "exec_begin", id, title: "Hook(TurnEnd)", command: ["make", id] } },
    { type: "exec", exec: { type: "exec_end", id, status, stdout: "", stderr: "", duration_ms: 9 } },
  ];
  const view = viewed([...exec("lint", "ok"), ...exec("test", "failed")]);
  assert.deepEqual(view.rows.map(({ line, result, tone, ms }) => [line, result, tone, ms]), [
    ["make lint", "ok", "plain", 9],
    ["make test", "failed", "bad", 9],
  ]);
  assert.equal(view.totals.problems, 1);
});

test("viewOf() names a hook that had not answered when the log ended", () => {
  const asked = (hook: string) => ({ type: "hook_start", hook, event: "stop" });
  const answered = { type: "hook_end", hook: "quick.ts", event: "stop", decision: "continue", ms: 1 };
  const view = viewed([asked("quick.ts"), asked("slow.ts"), answered]);
  assert.deepEqual(view.rows.map(({ line, tone }) => [line, tone]), [
    ["slow.ts had not answered when the log ended", "bad"],
  ]);
});

test("viewOf() never guesses an unknown cost", () => {
  const usage = { type: "usage", usage: { input_tokens: 5, output_tokens: 1 }, model: "new" };
  assert.equal(viewed([usage]).totals.spent.cost, null);
});

test("alignRuns() finds no difference between two replays of one fixture", async () => {
  const [a, b] = [await replayed("delegate"), await replayed("delegate")];
  const pairs = await alignRuns(a, b);
  assert.ok(pairs.length > 10);
  assert.deepEqual(pairs.filter(({ same }) => !same), []);
});

test("alignRuns() ignores the order in which agents took their turns", async () => {
  const { events, ...rest } = await logOfReplay("delegate");
  const ids = viewOf({ events, ...rest }, "x").agents.map(({ id }) => id);
  const of = (event: (typeof events)[number]) => ids.indexOf(event.agent_id);
  // All that one sub-agent does before all that the other does, between what the lead does before and after.
  const first = events.findIndex((event) => of(event) > 0);
  const last = events.findLastIndex((event) => of(event) > 0);
  const within = events.slice(first, last + 1);
  const sorted = [2, 1, 0].flatMap((agent) => within.filter((event) => of(event) === agent));
  const other = viewOf({ ...rest, events: [...events.slice(0, first), ...sorted, ...events.slice(last + 1)] }, "x");
  const pairs = await alignRuns(viewOf({ events, ...rest }, "x"), other);
  assert.deepEqual(pairs.filter(({ same }) => !same), []);
});

test("alignRuns() never counts as a difference what is new in every run: scratch folders, ids of agents, times", async () => {
  const run = (folder: string, agent: string, ms: number) => {
    const content = `/tmp/crochet-replay-${folder}/a.txt was read by ${agent}`;
    return viewed([call("Bash", {}), { ...ended("Bash", "success", content), ms }]);
  };
  const pairs = await alignRuns(run("xY12ab", "a0123456789abcdef", 1), run("Zz98cd", "afedcba9876543210", 9));
  assert.equal(pairs.length, 2);
  assert.deepEqual(pairs.filter(({ same }) => !same), []);
});

test("alignRuns() pairs what differs with what it differs from, and leaves what is new alone", async () => {
  const text = longRun(12, 24_000);
  const lines = text.split("\n");
  const changed = lines.map((line) => line.replaceAll("Step 4:", "Step four:"));
  const missing = changed.filter((line) => !/toolu_9"|Step 9:/.test(line)).join("\n");
  const a = viewOf(logOf(text), "x"), b = viewOf(logOf(missing), "x");
  const different = (await alignRuns(a, b)).filter(({ same }) => !same);
  const named = different.map((pair) => [a.rows[pair.a]?.line.slice(0, 7), b.rows[pair.b]?.line.slice(0, 10)]);
  assert.deepEqual(named[0], ["Step 4:", "Step four:"]);
  assert.ok(different.some((pair) => pair.b === -1 && a.rows[pair.a]!.line === "make test-9"));
});

const at = "2026-11-15T10:00:00.000Z";

function viewed(lines: readonly object[]): WholeView {
  const all = [{ type: "start", prompt: "go", model: "m", session_id: "s" }, ...lines];
  return viewOf(logOf(all.map((line) => JSON.stringify({ at, agent_id: "a", ...line })).join("\n")), "x");
}

function call(name: string, input: object): object {
  const content = [{ type: "tool_use", id: "t1", name, input }];
  return { type: "message", index: 1, message: { role: "assistant", content } };
}

function ended(name: string, outcome: string, content: string, response?: unknown): object {
  return { type: "tool_end", id: "t1", name, outcome, content, response, ms: 3 };
}

test("the line of a row is never cut inside a character", () => {
  for (const blanks of [0, 1]) {
    const line = firstLine(`${"x".repeat(blanks)}${"🧶".repeat(200)}`);
    assert.ok(line.isWellFormed() && line.endsWith("🧶…") && line.length <= 160, line);
  }
});
