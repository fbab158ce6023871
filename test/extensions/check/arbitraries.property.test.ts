import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { agent } from "../../../lib/agent/agent.ts";
import { compileMatcher } from "../../../lib/hooks/hook-matcher.ts";
import { invalidConversation } from "../../../lib/core/messages.ts";
import { EVENT_NAMES, resolveEvent } from "../../../lib/core/names.ts";
import { HOSTS as TABLES } from "../../../lib/hooks/hosts/index.ts";
import { ourEvents } from "../../../lib/hooks/hosts/read-event.ts";
import { conversationArbitrary, eventArbitrary, modelArbitrary } from "../../../lib/testing/index.ts";
import type { WireEvent } from "../../../lib/hooks/hosts/host.ts";
import { tool } from "../../../lib/tools/make-tool.ts";
import { rounds } from "../../_counts.ts";
import { testData } from "../../_data.ts";

const numRuns = rounds(18, 1_000, 60);

/** Some values, the same in every run: what has to come up among them must not depend on luck. */
function sample<T>(of: fc.Arbitrary<T>, numRuns: number): T[] {
  return fc.sample(of, { numRuns, seed: 2026 });
}

/** Texts in a value, wherever they are. */
function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}

test("an event of ours always survives JSON, has the name that was asked for and the scope of that name", () => {
  for (const name of EVENT_NAMES) {
    const { event: expected, scope, outcome } = resolveEvent(name)!;
    fc.assert(
      fc.property(eventArbitrary(name), (event) => {
        assert.deepEqual(JSON.parse(JSON.stringify(event)), event);
        assert.equal(event.event, expected);
        if (scope !== "all") assert.equal("parent_agent_id" in event, scope === "sub");
        if (outcome !== undefined) assert.equal((event as { outcome?: unknown }).outcome, outcome);
      }),
      { numRuns: rounds(6, 300, 20) },
    );
  }
});

test("what hangs together in an event always does: a failed call has an error, a stop hook that was heard a count", () => {
  fc.assert(
    fc.property(eventArbitrary("post-tool-use"), ({ failed, outcome, error, result }) => {
      assert.deepEqual([outcome === "failure", error !== null, result.is_error], [failed, failed, failed]);
    }),
    { numRuns },
  );
  fc.assert(
    fc.property(eventArbitrary("stop"), ({ stop_hook_active, continuations, stalled, remaining }) => {
      assert.equal(stop_hook_active, continuations > 0);
      assert.ok(stalled <= continuations);
      assert.ok(remaining === null || remaining + stalled === 8);
    }),
    { numRuns },
  );
});

test("texts of events never hold a NUL or half a character, and never more than 256 KiB", () => {
  fc.assert(
    fc.property(eventArbitrary("pre-tool-use", { host: "claude" }), (event) => {
      for (const text of texts(event)) {
        assert.ok(!text.includes("\0"));
        assert.ok(text.isWellFormed());
        assert.ok(Buffer.byteLength(text) <= 256 * 1024 + 100);
      }
    }),
    { numRuns: rounds(62, 5_000, 200) },
  );
});

const HOSTS = {
  claude: "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop SubagentStop".split(" "),
  codex: "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SubagentStop".split(" "),
  gemini: "SessionStart BeforeAgent BeforeTool AfterTool AfterAgent SessionEnd".split(" "),
};

test("an event of a host is always read as one of ours by what serves hooks to that host", () => {
  for (const host of ["claude", "codex", "gemini"] as const) {
    for (const name of HOSTS[host]) {
      fc.assert(
        fc.property(eventArbitrary(name, { host }), (wire: WireEvent) => {
          assert.equal(wire.hook_event_name, name);
          const all = ourEvents(JSON.parse(JSON.stringify(wire)), TABLES[host]);
          const [heard] = all;
          assert.ok(heard, `${name} of ${host} is not known`);
          assert.equal(heard.session_id, wire.session_id);
          assert.equal(heard.cwd, wire.cwd);
          if ("tool_name" in wire) assert.ok(all.some((one) => one.toolNames.includes(String(wire.tool_name))));
        }),
        { numRuns: rounds(6, 300, 20) },
      );
    }
  }
});

const captures = testData("captures");

/** Every field Claude Code was seen to write at an event, and those it always wrote. */
function recorded(): Map<string, { all: Set<string>; always: Set<string> }> {
  const seen = new Map<string, { all: Set<string>; always: Set<string> }>();
  for (const file of readdirSync(captures)) {
    const stdin = JSON.parse(readFileSync(`${captures}/${file}`, "utf8")).stdin as WireEvent;
    const fields = new Set(Object.keys(stdin));
    const { all, always } = seen.get(stdin.hook_event_name) ?? { all: new Set(), always: fields };
    seen.set(stdin.hook_event_name, { all: all.union(fields), always: always.intersection(fields) });
  }
  return seen;
}

/** What the published types have beside what was seen. */
const TYPED = ["title", "error_details", "teammate_name", "agent_id", "agent_type", "effort", "mcp_server", "content"];

/** What the published types mark as optional, or only newer versions write. */
const OPTIONAL = [
  ...["prompt_id", "duration_ms", "is_interrupt", "background_tasks", "session_crons", "last_assistant_message"],
  ...["context_tokens", "prompt_cache_warm", "cache_ttl", "estimated_cache_write_usd", "pricing", "command_source"],
  ...["mode", "requested_schema", "task_description", "file_path", ...TYPED],
];

test("events of Claude Code have the fields that were recorded: each may come, none is made up", () => {
  for (const [name, { all, always }] of recorded()) {
    const made = sample(eventArbitrary(name, { host: "claude" }), 120).map((event) => Object.keys(event));
    const ever = new Set(made.flat());
    assert.deepEqual([...all].filter((field) => !ever.has(field) && !TYPED.includes(field)), [], `${name} never has`);
    assert.deepEqual([...ever].filter((field) => !all.has(field) && !TYPED.includes(field)), [], `${name} makes up`);
    for (const fields of made) {
      const lacks = [...always].filter((field) => !fields.includes(field) && !OPTIONAL.includes(field));
      assert.deepEqual(lacks, [], `${name} lacks`);
    }
  }
});

test("the tools of a matcher are all that it matches, and never another", () => {
  const cases: [string | undefined, readonly string[]][] = [
    ["Bash", ["Bash"]],
    ["Edit|Write", ["Edit", "Write"]],
    ["Task", ["Agent"]],
    ["mcp__linear__list", ["mcp__linear__list"]],
    ["mcp__linear__.*", ["mcp__linear__any"]],
    ["mcp__.*", ["mcp__github__create_issue", "mcp__my-server__do_it"]],
    ["^(Read|Glob)$", ["Read", "Glob"]],
    [undefined, ["Bash", "Edit", "Write", "Read", "WebFetch", "AskUserQuestion", "mcp__memory__delete"]],
    ["*", ["Bash", "mcp__memory__delete"]],
  ];
  for (const [matcher, expected] of cases) {
    const options = matcher === undefined ? {} : { tool: matcher };
    const tools = new Set(sample(eventArbitrary("pre-tool-use", options), 400).map(({ tool_name }) => tool_name));
    for (const tool of expected) assert.ok(tools.has(tool), `${matcher} never calls ${tool}`);
    for (const tool of tools) assert.ok(compileMatcher(matcher)(tool), `${matcher} calls ${tool}`);
  }
});

test("a counter-example always shrinks to a small and plain event", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const found = fc.check(
        fc.property(
          eventArbitrary("pre-tool-use", { tool: "Bash", host: "claude" }),
          ({ tool_input }) => !String((tool_input as { command: unknown }).command).includes("rm -rf"),
        ),
        { seed, numRuns: 2_000 },
      );
      assert.ok(found.counterexample, "2000 commands and none deletes anything");
      const [event] = found.counterexample;
      assert.deepEqual(Object.keys(event.tool_input as object), ["command"]);
      assert.ok(JSON.stringify(event).length < 600, JSON.stringify(event));
    }),
    { numRuns: rounds(4, 50, 5) },
  );
});

test("what is not an event, a host or a tool is refused before anything is made", () => {
  assert.throws(() => eventArbitrary("pre-tool-usage"), /no such event: did you mean 'pre-tool-use'/);
  assert.throws(
    () => eventArbitrary("stop", { host: "windsurf" as "claude" }),
    /expected crochet, claude, codex, gemini/,
  );
  assert.throws(() => eventArbitrary("PermissionRequest", { host: "gemini" }), /expected one of SessionStart/);
  assert.throws(() => eventArbitrary("pre-tool-use", { tool: "(" }), /not a regular expression/);
  assert.throws(() => eventArbitrary("pre-tool-use", { tool: "^never[ ]this$" }), /it matches no tool/);
  assert.throws(() => conversationArbitrary({ replies: 0 }), /'replies' must be 1 or more/);
  assert.throws(() => modelArbitrary({ replies: -1 }), /whole number/);
});

test("conversations are always what the API would accept", () => {
  fc.assert(
    fc.property(conversationArbitrary(), (messages) => {
      assert.equal(invalidConversation(messages), undefined);
      for (const text of messages.flatMap(({ content }) => content.filter((b) => b.type === "text"))) {
        assert.notEqual((text as { text: string }).text.trim(), "");
      }
    }),
    { numRuns: rounds(93, 5_000, 300) },
  );
  for (const ends of ["user", "assistant"] as const) {
    fc.assert(fc.property(conversationArbitrary({ ends }), (messages) => messages.at(-1)?.role === ends), { numRuns });
  }
});

test("conversations have everything a conversation can have", () => {
  const blocks = sample(conversationArbitrary(), 200).flat().flatMap(({ content }) => content);
  const types = new Set(blocks.map(({ type }) => type));
  assert.deepEqual([...types].sort(), ["image", "text", "thinking", "tool_result", "tool_use"]);
  assert.ok(blocks.some((block) => block.type === "tool_result" && "is_error" in block));
});

test("a run with any of the models always ends by itself, and each model is asked what its script answers", async () => {
  await fc.assert(
    fc.asyncProperty(modelArbitrary({ tool: "Read", replies: 4 }), async (model) => {
      const { stop, messages } = await agent({ model, tools: [] }).run("go");
      assert.equal(stop, "done");
      assert.equal(invalidConversation(messages), undefined);
      const [, json] = /^scripted\((.*)\)$/s.exec(fc.stringify(model))!;
      const script: { tools?: unknown[] }[] = JSON.parse(json!);
      const last = script.findIndex(({ tools }) => tools === undefined);
      assert.equal(model.requests.length, (last < 0 ? script.length : last) + 1);
    }),
    { numRuns: rounds(12, 500, 40) },
  );
});

test("models of all three ways come up: those that only talk, only call, and do both", () => {
  const shown = sample(modelArbitrary({ tool: "Bash" }), 100).map((model) => fc.stringify(model));
  assert.ok(shown.every((text) => text.startsWith("scripted([")));
  assert.ok(shown.some((text) => text.includes('"thinking"') && text.includes('"tools"')));
  assert.ok(shown.some((text) => text.includes('"tools"') && !text.includes('"text"')));
  assert.ok(shown.some((text) => text.includes('"text"') && !text.includes('"tools"')));
});

const SCHEMA = {
  type: "object",
  properties: {
    amount: { type: "number", exclusiveMinimum: 0, maximum: 500 },
    to: { $ref: "#/$defs/account" },
    on: { type: "string", format: "date" },
    note: { type: ["string", "null"], maxLength: 12 },
    parts: { type: "array", items: { type: "integer", multipleOf: 5 }, minItems: 1, uniqueItems: true },
    kind: { enum: ["once", "monthly"] },
    by: { anyOf: [{ const: "me" }, { type: "object", properties: { id: { type: "integer" } }, required: ["id"] }] },
    after: { $ref: "#" },
  },
  required: ["amount", "to"],
  additionalProperties: false,
  $defs: { account: { type: "string", pattern: "^[A-Z]{2}\\d{4,6}$" } },
};

/** A tool that counts how often it has run. */
function payment(input: object) {
  const paid: unknown[] = [];
  return {
    paid,
    pay: tool({ name: "Pay", description: "Pays.", input: input as never, run: (given) => `${paid.push(given)}` }),
  };
}

test("a model that is given tools always calls them with inputs that their schema describes, and in most runs", async () => {
  for (const input of [{ type: "object", required: ["amount"] }, SCHEMA]) {
    let runs = 0;
    let refused = 0;
    let paying = 0;
    const { paid, pay } = payment(input);
    await fc.assert(
      fc.asyncProperty(modelArbitrary({ tools: [pay] }), async (model) => {
        const before = paid.length;
        const { messages } = await agent({ model, tools: [pay], permissions: { allow: ["Pay"] } }).run("go");
        refused += JSON.stringify(messages).split('"is_error":true').length - 1;
        runs++;
        paying += Number(paid.length > before);
      }),
      { numRuns: rounds(18, 500, 60), seed: 3 },
    );
    assert.equal(refused, 0);
    assert.ok(paying > 0.6 * runs, `${paying} of ${runs}`);
  }
});

test("a tool's own arbitrary always makes its inputs, and what names no tool is refused", () => {
  const { pay } = payment(SCHEMA);
  const inputs = { Pay: fc.constant({ amount: 7, to: "AB1234" }) };
  const shown = sample(modelArbitrary({ tools: [pay], inputs }), 50).map((model) => fc.stringify(model)).join("");
  assert.deepEqual([...new Set(shown.match(/"amount":[^,}]*/g))], ['"amount":7']);
  assert.throws(() => modelArbitrary({ inputs }), /'inputs' names Pay, which is not among 'tools'/);
  assert.throws(() => modelArbitrary({ tools: [] }), /'tools' is empty/);
  assert.throws(() => modelArbitrary({ tools: [pay], tool: "Pay" }), /give 'tool' or 'tools'/);
  assert.throws(() => modelArbitrary({ tols: [pay] } as object), /did you mean 'tools'\?/);
});

test("texts that a hook looks for come up in what it is given", () => {
  const events = eventArbitrary("pre-tool-use", { tool: "Bash", words: ["npm publish"] });
  assert.ok(sample(events, 60).some(({ input }) => String(input.command).includes("npm publish")));
});
