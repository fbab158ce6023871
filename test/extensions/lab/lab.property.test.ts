import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NOTHING } from "../../../lib/core/fold.ts";
import type { EventName, Fired } from "../../../lib/core/events.ts";
import { hostEvent, type HostName, HOSTS } from "../../../lib/hooks/hosts/index.ts";
import { sampleEvent } from "../../../lib/hooks/samples.ts";
import { LAB_HOSTS } from "../../../lib/extensions/lab/hosts.ts";
import { expectedIn, judge, type SeenEffect } from "../../../lib/extensions/lab/lab-judge.ts";
import type { Traces } from "../../../lib/extensions/lab/room.ts";
import { modelOf, playsOf, TASK } from "../../../lib/extensions/lab/script.ts";
import { tries } from "../../_counts.ts";

const runs = { numRuns: tries(200, 2000) };
const HOSTED = Object.keys(LAB_HOSTS) as HostName[];

// Kills: a script that counts requests, which hosts also make for titles and summaries.
test("the model always makes its call while the agent that has the tool has seen no result, and never otherwise", async () => {
  const request = fc.record({ results: fc.nat(3), conversation: fc.constant("[]"), isTitle: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 8 }), async (requests) => {
      const { next } = modelOf({ prompt: "go", text: "done", allowed: [], calls: [{ name: "bash", input: {} }] });
      for (const { results, conversation, isTitle } of requests) {
        const { tools = [] } = await next({ results, conversation, tools: isTitle ? [] : ["read", "bash"] });
        assert.equal(tools.length, results === 0 && !isTitle ? 1 : 0);
      }
    }),
    runs,
  );
});

const EVENTS: readonly EventName[] = [
  "pre-tool-use",
  "permission-request",
  "post-tool-use",
  "user-prompt-submit",
  "stop",
  "session-start",
];
const ANSWERS = {
  deny: { decision: "deny", reason: "no" },
  ask: { decision: "ask", reason: "who?" },
  modify: { modified: true, value: "new" },
  context: { contexts: [{ hook: "h", text: "words" }] },
  halt: { halt: { hook: "h", reason: "over" } },
} as const;

// Kills: a fault for what the table of the host lacks, and nothing expected of what it has.
test("what a host cannot do is never expected of it, and what it can always is", () => {
  let cannot = 0;
  const answer = fc.constantFrom(...Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]);
  fc.assert(
    fc.property(fc.constantFrom(...HOSTED), fc.constantFrom(...EVENTS), answer, (host, event, what) => {
      const row = HOSTS[host].events[hostEvent(host, event) ?? ""];
      const given = ["pre-tool-use", "permission-request"].includes(event) && what === "modify"
        ? { value: { command: "x", description: "y" } }
        : {};
      const folded = { ...NOTHING, ...ANSWERS[what], ...given };
      const fired = sampleEvent(event, { cwd: "/p" }) as Fired<EventName>;
      const expected = expectedIn(host, fired, folded);
      if (row?.can?.includes(what)) assert.notEqual(expected.effect, "none", `${host} ${event} ${what}`);
      if (row?.can?.includes("halt") && what === "halt") assert.equal(expected.effect, "ended", `${host} ${event}`);
      if (expected.cannot === undefined) return;
      cannot++;
      assert.equal(row?.can?.includes(what) ?? false, false, `${host} ${event} ${what}: ${expected.cannot}`);
    }),
    { numRuns: tries(400, 4000) },
  );
  assert.ok(cannot > 20, "there were answers that hosts cannot carry out");
});

const body = { messages: [{ role: "tool", content: "12 passing" }], tools: [{ name: "bash" }] };
const QUIET: Traces = {
  ...{ project: "/p", asked: [{ body }], lacks: false, ms: 1, alive: [], files: [], fired: [] },
  ...{ shells: ["-c\nnpm test\n"], ran: { code: 0, signal: null, stderr: "" } },
};

test("Copilot's sub-agent is started with the fields without which it starts none", () => {
  const plays = playsOf("copilot", "pre-tool-use", { tool: "Bash", input: {} }, "/p");
  const [start] = plays.find(({ channel }) => channel === "sub-agent")!.starts!;
  assert.deepEqual(Object.keys(start!.input).sort(), ["agent_type", "description", "name", "prompt"]);
});

const asks = (tools: string, said: string) => ({
  body: { messages: [{ role: "user", content: said }], tools: tools.split(" ").map((name) => ({ name })) },
});
const STARTED = [asks("Agent Bash", "go"), asks("Bash", TASK)];
const SEARCHED = [asks("Bash ToolSearch", "go"), asks("Bash ToolSearch NotebookEdit", "go")];

/** What a host asked until its hook ended the run, and then without the hook; whether that shows an end. */
const ENDS: readonly (readonly [name: string, asked: Traces["asked"], more: Traces["asked"], ends: boolean])[] = [
  ["a sub-agent", STARTED, [asks("Bash", TASK), asks("Agent Bash", TASK)], true],
  ["a sub-agent alone", [...STARTED, asks("Agent Bash", TASK)], [asks("Bash", TASK)], true],
  ["a tool that was searched for", SEARCHED, [asks("Bash ToolSearch NotebookEdit", "go")], true],
  ["a memory beside it", [asks("Agent Bash", "go")], [asks("Bash", "What is to be kept?")], false],
];

for (const [name, asked, more, ends] of ENDS) {
  test(`a run that a hook ${ends ? "ended" : "did not end"} is seen as that: ${name}`, () => {
    const input = { file_path: "/p/none.txt", content: "x" };
    const { effect } = judge({
      ...{ host: "claude", version: "1", event: "pre-tool-use", isMod: false, template: "/p" },
      ...{ hooked: { ...QUIET, asked }, control: { ...QUIET, asked: [...asked, ...more] } },
      ...{ expected: { effect: "ended", words: [] }, call: { tool: "Write", input } },
    });
    assert.equal(effect, ends ? "ended" : "none");
  });
}

// Kills: a green row of a host that ran no hook, or in which nothing came of it.
test("two sessions between which nothing differs are never ok, unless the hook ran and had nothing to say", () => {
  const effect = fc.constantFrom<SeenEffect>("denied", "changed", "sent back", "ended", "allowed", "none");
  const event = fc.constantFrom("pre-tool-use", "post-tool-use", "stop", "user-prompt-submit", "permission-request");
  fc.assert(
    fc.property(effect, event, fc.nat(2), fc.boolean(), (effect, event, calls, isMod) => {
      const fired = Array.from({ length: calls }, () => ({ stdout: "", code: 0 }));
      const call = { tool: "Bash", input: { command: "npm test" } };
      const { state } = judge({
        ...{ host: "qwen", version: "1", event, isMod, hooked: { ...QUIET, fired }, control: QUIET },
        ...{ expected: { effect, words: ["words of the hook"] }, call, template: "/t" },
      });
      assert.equal(state === "ok", effect === "none" && calls > 0 && !isMod, state);
    }),
    runs,
  );
});

// Kills: a green row for the belt of a mod, which refuses while the mod itself is not loaded.
test("a call that is refused in words that are not the hook's is never denied by it", () => {
  const call = { tool: "Bash", input: { command: "npm test" } };
  const refused = (content: string): Traces => ({
    ...QUIET,
    ...{ shells: [], asked: [{ body }, { body: { ...body, messages: [{ role: "tool", content }] } }] },
    fired: [{ stdout: "", code: 0 }],
  });
  const state = (content: string, isMod: boolean) =>
    judge({
      ...{ host: "claude", version: "1", event: "pre-tool-use", isMod, hooked: refused(content), control: QUIET },
      ...{ expected: { effect: "denied", words: ["words of the hook"] }, call, template: "/t" },
    }).state;
  assert.deepEqual([state("words of the hook", true), state("words of the hook", false)], ["ok", "ok"]);
  assert.deepEqual([state("The mod is not loaded", true), state("Not allowed", false)], ["not fired", "no effect"]);
});

test("of what a command adds, its own words are looked for in a host, and none of those around them", () => {
  const around = (words: string) => ({ ...NOTHING, contexts: [{ hook: "h", text: words }] });
  const fired = sampleEvent("session-start", { cwd: "/p" }) as Fired<EventName>;
  const text = "<system-reminder>\nSessionStart:startup hook success: hello\n</system-reminder>";
  assert.deepEqual(expectedIn("claude", fired, around(text)).words, ["hello"]);
  assert.deepEqual(expectedIn("claude", fired, around("[it.sh]: hello")).words, ["hello"]);
});

test("a call is made in each way of a host, and once in a sub-agent", async () => {
  const bash = { tool: "Bash", input: { command: "ls" } };
  const edit = { tool: "Edit", input: { file_path: "/p/a.txt", old_string: "a", new_string: "b" } };
  const rows = [
    ["claude", bash, ["Bash", "sub-agent"]],
    ["claude", edit, ["Edit", "sub-agent"]],
    ["claude", { ...edit, input: { ...edit.input, file_path: "/p/a.ipynb" } }, ["NotebookEdit", "sub-agent"]],
    ["codex", bash, ["Bash", "sub-agent"]],
    ["codex", edit, ["apply_patch", "Bash", "sub-agent"]],
    ["qwen", bash, ["run_shell_command", "monitor"]],
  ] as const;
  for (const [host, call, channels] of rows) {
    const plays = playsOf(host, "pre-tool-use", call, "/p");
    const shown = plays.map(({ channel }) => channel).filter((one) => host !== "qwen" || one !== "sub-agent");
    assert.deepEqual(shown, channels, host);
    assert.equal(playsOf(host, "post-tool-use", call, "/p").length, 1);
  }
  // One agent starts the other, which makes the call and says that it is done.
  const { starts, calls } = playsOf("claude", "pre-tool-use", bash, "/p").at(-1)!;
  const { next } = modelOf({ prompt: "go", text: "done", allowed: [], starts: starts!, calls: calls! });
  const tools = ["Bash", "Agent"];
  const task = String(starts![0]!.input.prompt);
  const main = `${task} "name":"Agent"`;
  const said = [["go", 0], [task, 0], [task, 1], [main, 1]] as const;
  const steps = [];
  for (const [conversation, results] of said) steps.push(await next({ results, conversation, tools }));
  assert.deepEqual(steps.map((step) => step.tools?.[0]?.name ?? step.text), ["Agent", "Bash", "done", "done"]);
});

test("a notebook is read before a call changes it, and a tool that a host holds back is asked for", async () => {
  const edit = {
    tool: "Edit",
    input: { file_path: "/p/a.ipynb", old_string: "a", new_string: "b", replace_all: false },
  };
  const [{ calls, more } = assert.fail()] = playsOf("claude", "pre-tool-use", edit, "/p");
  const { next, lacks } = modelOf({ prompt: "go", text: "done", allowed: [], calls: calls!, more: more! });
  const tools = ["Read", "ToolSearch"];
  const asked: unknown[] = [];
  let conversation = "go";
  for (let results = 0; results < 4; results++) {
    const { tools: [call] = [] } = await next({ results, conversation, tools });
    asked.push(call && [call.name, call.input]);
    conversation += JSON.stringify(call);
    if (call?.name === "ToolSearch") tools.push("NotebookEdit");
  }
  assert.deepEqual(asked, [
    ["Read", { file_path: "/p/a.ipynb" }],
    ["ToolSearch", { query: "select:NotebookEdit" }],
    ["NotebookEdit", { notebook_path: "/p/a.ipynb", cell_id: "cell-0", new_source: "b" }],
    undefined,
  ]);
  assert.equal(lacks(), false);
});
