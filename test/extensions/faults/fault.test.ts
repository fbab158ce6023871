import assert from "node:assert/strict";
import { linkSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { isToolResult } from "../../../lib/core/messages.ts";
import { agent, matchTool, promptGate } from "../../../lib/index.ts";
import { blocksOf, type Fault, FAULTS, faultText, PRESETS, readFault } from "../../../lib/extensions/faults/fault.ts";
import { choicesOf, faults, simplerSchedules } from "../../../lib/extensions/faults/schedules.ts";
import { readFaultFile, saveFaults } from "../../../lib/extensions/faults/kept-faults.ts";
import { faultFile } from "../../../lib/replay/fixture.ts";
import { FaultRun } from "../../../lib/extensions/faults/fault-run.ts";
import { type UnderFaults, underFaults } from "../../../lib/extensions/faults/under-faults.ts";
import { scripted } from "../../../lib/testing/index.ts";
import { Write } from "../../../lib/tools/index.ts";
import { rounds } from "../../_counts.ts";
import { taped } from "../../replay/_taped.ts";
import { writer, writtenRun } from "../../replay/_written-run.ts";

const made = await writtenRun();
after(() => made.remove());

/** What comes of a schedule, which at the Model seam is what comes of it through the SDK. */
async function under(...schedule: string[]): Promise<UnderFaults> {
  const [seam, wire] = await Promise.all(
    [false, true].map((wire) => underFaults(writer, made.tape, schedule.map(readFault), { files: made.files, wire })),
  );
  assert.deepEqual(outcome(wire!), outcome(seam!), schedule.join());
  return seam!;
}

function outcome(run: UnderFaults): unknown {
  const { stop, error } = run.result ?? {};
  const words = error?.message.replace(/https?:\/\/[\w.:]+/, "the API");
  return [run.broken, ran(run), transcript(run), stop, error?.type, words];
}

/** The names of the tools that ran, in order. */
function ran({ observed }: UnderFaults): string[] {
  return observed.events.flatMap((event) => event.type === "tool_start" ? [event.name] : []);
}

/** The transcript, wherever the workspace was. */
function transcript({ result }: UnderFaults): unknown {
  return JSON.parse(JSON.stringify(result?.messages ?? null).replace(/crochet-replay-\w+/g, "workspace"));
}

const ALL = ["Write", "Edit", "Write"];

test("faultText() and readFault() are always each other's reverse", () => {
  fc.assert(
    fc.property(faults(made.tape), (schedule) => {
      for (const fault of schedule) assert.deepEqual(readFault(faultText(fault)), fault);
    }),
    { numRuns: rounds(200, 2000) },
  );
  const texts = [
    "call 2 of main/toolu_1:hook, tool_use:Edit#2, delta 3: error:overloaded_error x3",
    "tool 1, Edit: kill",
    "tool 2 of main/toolu_1, Edit: throws x2",
    "hook a, b.ts, 3: crash for good",
  ];
  for (const text of texts) assert.equal(faultText(readFault(text)), text);
});

test("an invalid or misplaced fault is always refused with the fix", async () => {
  const refused: [text: string, reason: RegExp][] = [
    ["cut", /not in the form 'call 2, tool_use:Edit, delta 3: cut'/],
    ["call 1: cat", /there is no 'cat': did you mean 'cut'\?/],
    ["call 1: http:42", /'http:42' is not how 'http' is written: the API answers with a status, as http:529/],
    ["call 1, text: json drop", /'json drop' can only happen in the input of a tool$/],
    ["call 1: cut:3", /'cut:3' is not how 'cut' is written: the stream ends$/],
    ["call 0: cut", /calls are counted from 1/],
    ["call 2 of main/toolu_1:hook, tool_use:Edit#2, delta 3: http:429 x3", /'http' can only happen before the reply$/],
    ["tool 1, Edit: crash", /'crash' can only happen when a hook is asked$/],
    ["hook guard, 1: cut", /'cut' can only happen before the reply or in a block or at the/],
    ["mcp files: throws after 2", /can only happen when a tool runs$/],
    ["call 1: kill", /'kill' can only happen after a message or when a tool runs$/],
    ["kill after message 0", /calls are counted from 1$/],
  ];
  for (const [text, reason] of refused) assert.throws(() => readFault(text), reason, text);
  const written = ["call 1: cut", undefined, { call: "1", what: "cut" }] as unknown as Fault[];
  const reasons = [/fault "call 1: cut" as it has no 'what': .*readFault/, /fault undefined as/, /are counted from 1/];
  for (const [i, fault] of written.entries()) {
    await assert.rejects(underFaults(writer, made.tape, [fault]), reasons[i]!);
  }
  await assert.rejects(under("call 9: cut"), /the tape has no such call: it has 3 calls/);
  await assert.rejects(under("call 1 of other: cut"), /its lanes are main/);
  await assert.rejects(
    under("call 1, tool_use:Read: cut"),
    /the reply has no such block: it has thinking, text, tool_use:Write/,
  );
});

test("a fault that would lose nothing of an input is refused with its place, and never made by a search or a preset", async () => {
  const tools = [{ name: "Write", input: { file_path: "a", content: "a" } }, { name: "Write", raw: "" }];
  const run = await taped({ options: { tools: [Write] }, replies: [{ tools }, { text: "Over." }] });
  const [first, bare] = blocksOf(run.tape.calls[0]!);
  assert.deepEqual([first!.input > 1, bare!.input], [true, 0]);
  for (const kind of ["json truncate", "json drop"]) {
    const refused: [place: string, why: RegExp][] = [
      [
        `Write, delta ${first!.input}`,
        new RegExp(`by then: the last delta it can stand behind is ${first!.input - 1}$`),
      ],
      ["Write#2", /the call has no input that could be lost: take another fault$/],
    ];
    for (const [place, why] of refused) {
      await assert.rejects(underFaults(writer, run.tape, [readFault(`call 1, tool_use:${place}: ${kind}`)]), why);
    }
  }
  assert.deepEqual(PRESETS["bad-json"]!(run.tape).map(faultText), ["call 1, tool_use:Write: json truncate"]);
  const hit = new Set<string>();
  fc.assert(
    fc.property(faults(run.tape), (schedule) => {
      new FaultRun(run.tape, schedule); // throws where one is out of place
      for (const { what } of schedule) hit.add(what);
      return [...simplerSchedules(schedule, choicesOf(run.tape))].every((simpler) => new FaultRun(run.tape, simpler));
    }),
    { numRuns: rounds(100, 2000, 1000) },
  );
  assert.ok(hit.has("json truncate") && hit.has("json drop"));
  run.remove();
});

test(
  "U17: an attempt that fails is always repeated before anything has happened, and given up on in the end",
  async () => {
    const repeated: [fault: string, asked: number][] = [
      ["call 1: cut", 4],
      ["call 1, thinking: cut", 4],
      ["call 2, tool_use:Edit, delta 2: cut", 4],
      ["call 2, tool_use:Write, delta 9: reset", 4],
      ["call 2, end: cut", 4],
      ["call 2, end, delta 1: cut", 4],
      ["call 3, text, delta 1: stall", 4],
      ["call 2, tool_use:Edit, delta 2: cut x2", 5],
      ["call 2, tool_use:Edit: error:overloaded_error", 4],
      ["call 1: dup-start", 4],
      ["call 2, tool_use:Write: dup-start x2", 5],
      ["call 1: http:529", 3],
      ["call 1: http:429:retry-after=2 x2", 3],
      ["call 1: reset x2", 3],
      ["call 1: stall", 3],
    ];
    for (const [fault, asked] of repeated) {
      const run = await under(fault);
      assert.deepEqual(run.broken, [], fault);
      assert.equal(run.result?.stop, "done", fault);
      assert.equal(run.result?.text, "It is written.", fault);
      assert.deepEqual(ran(run), ALL, fault);
      assert.equal(run.observed.run.asked.length, asked, fault);
    }
    const final: [fault: string, code: string, tools: string[]][] = [
      ["call 1: cut x3", "cut", []],
      ["call 1: cut for good", "cut", []],
      ["call 2: http:529 for good", "overloaded_error", ["Write"]],
      ["call 2, end, delta 1: cut x4", "cut", ["Write"]],
      ["call 2, tool_use:Edit: stall x3", "stalled", ["Write"]],
      ["call 3, text: dup-start x3", "grammar", ALL],
      ["call 1: http:529 x3", "overloaded_error", []],
      ["call 2: http:429:retry-after=2 x3", "rate_limit_error", ["Write"]],
      ["call 2: http:400", "invalid_request_error", ["Write"]],
      ["call 2: reset x3", "network", ["Write"]],
      ["call 2: stall x3", "timeout", ["Write"]],
    ];
    for (const [fault, code, tools] of final) {
      const run = await under(fault);
      assert.deepEqual(run.broken, [], fault);
      assert.equal(run.result?.stop, "error", fault);
      assert.equal(run.result?.error?.type, code, fault);
      assert.deepEqual(ran(run), tools, fault);
    }
  },
);

test("U17: a tool input that does not parse, or was cut, never runs and goes back as an error", async () => {
  for (
    const [fault, tools] of [
      ["call 2, tool_use:Edit, delta 2: json truncate", ["Write", "Write"]],
      ["call 2, tool_use:Edit, delta 1: json drop", ["Write", "Write"]],
      ["call 2, tool_use:Edit, delta 2: stop:max_tokens", ["Write"]],
      ["call 2, tool_use:Write, delta 99: stop:max_tokens", ["Write", "Edit"]],
    ] as const
  ) {
    const run = await under(fault);
    assert.deepEqual(run.broken, [], fault);
    assert.deepEqual(ran(run), tools, fault);
    assert.equal(run.result?.stop, "done", fault);
    const errors = run.result!.messages.flatMap((m) => m.content.filter(isToolResult)).filter((block) =>
      block.is_error
    );
    assert.match(String(errors[0]?.content), /its input (is not valid JSON|was cut off)/, fault);
  }
});

test("U17: block index gaps and unknown blocks are always kept, and stop reasons end the turn as they say", async () => {
  const plain = await under();
  const gap = await under("call 1, text: gap", "call 2, tool_use:Edit: gap");
  assert.deepEqual(transcript(gap), transcript(plain));
  const unknown = await under("call 2, tool_use:Edit, delta 1: unknown-block");
  assert.deepEqual(ran(unknown), ALL);
  assert.deepEqual(unknown.result?.messages[3]?.content.at(-1), {
    type: "crochet_unknown",
    note: "A fault of the schedule",
    seen: true,
  });
  for (const delta of [1, 2, 9]) {
    const filtered = await under(`call 2, tool_use:Edit, delta ${delta}: stop:refusal`);
    assert.deepEqual([filtered.broken, ran(filtered)], [[], ["Write"]], "a call that a filter cut short is never run");
  }
  const stops = [["stop:max_tokens", "truncated"], ["stop:refusal", "refused"], ["stop:pause_turn", "done"]] as const;
  for (const [what, stop] of stops) {
    const run = await under(`call 3, text, delta 1: ${what}`);
    assert.deepEqual(run.broken, []);
    assert.equal(run.result?.stop, stop);
  }
});

test("every preset falls on every call that it can hit, and leaves every invariant whole", async () => {
  for (const [name, schedule] of Object.entries(PRESETS)) {
    const planned = schedule(made.tape);
    const hit = /^(bad-json|out-of-tokens)$/.test(name) ? [1, 2] : [1, 2, 3];
    assert.deepEqual([...new Set(planned.map(({ call }) => call))], hit, name);
    const run = await underFaults(writer, made.tape, planned, { files: made.files });
    assert.deepEqual(run.broken, [], name);
    const fails = name === "down";
    assert.equal(run.result?.stop, fails ? "error" : "done", name);
  }
  const reached = new Set(
    Object.values(PRESETS).flatMap((schedule) => schedule(made.tape).map((f) => f.what)),
  );
  for (const what of reached) assert.ok(Object.hasOwn(FAULTS, what.split(":")[0]!), what);
});

test("a model that falls silent for longer than a hook may take always ends the hook, without real waiting", async () => {
  const judge = scripted([], { then: { text: '{"ok": true}' } });
  const options = {
    tools: [Write],
    hooks: { preToolUse: matchTool("Write", promptGate(judge, "May it? {{.Input}}", { modelName: "small" })) },
  };
  const write = (content: string) => ({ tools: [{ name: "Write", input: { file_path: "a.txt", content } }] });
  const gated = await taped({ options, replies: [write("a"), write("b"), { text: "Over." }] });
  for (const wire of [false, true]) {
    const faults = [readFault("call 2 of main:hook: stall for good")];
    const { broken, result, observed } = await underFaults(agent(options), gated.tape, faults, { wire });
    assert.deepEqual([broken, result?.stop], [[], "done"]);
    const denied = observed.events.flatMap((e) => e.type === "tool_end" ? [e.content] : []);
    assert.match(denied[1]!, /^Denied by hook .*: it took longer than its limit of 60 s$/);
  }
  gated.remove();
});

test("a fixture's faults are kept once, as text, and a broken file is refused by name", async () => {
  const file = faultFile(made.path.replace("tape.jsonl", "other.jsonl"));
  assert.match(file, /other\.fault\.json$/);
  assert.match(faultFile(made.path), /made\.fault\.json$/);
  assert.deepEqual(readFaultFile(file), []);
  const found = { broke: "the run ends: no", faults: [{ call: 1, what: "cut" } satisfies Fault] };
  await saveFaults(file, found);
  await saveFaults(file, found);
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), [{ broke: "the run ends: no", faults: ["call 1: cut"] }]);
  assert.deepEqual(readFaultFile(file), [found]);
  const before = `${file}.before`;
  linkSync(file, before);
  await saveFaults(file, { ...found, faults: [{ call: 2, what: "cut" }] });
  assert.deepEqual([readFaultFile(before).length, readFaultFile(file).length], [1, 2], "it is never written in place");
  await assert.rejects(
    saveFaults(join(file, "x.fault.json"), found),
    /^Error: Cannot write \S+ as .*; found was 'call 1: cut': the run ends: no$/,
  );
  for (
    const [text, why] of [
      ["[null]", "Entry 1 has no text 'broke'"],
      [`[{"broke":"x","faults":["call 1: cut"]},{"faults":[]}]`, "Entry 2 has no text 'broke'"],
      [`[{"broke":"x","faults":"call 1: cut"}]`, "Entry 1 has no list 'faults' of texts"],
      [`[{"broke":"x","faults":[]}]`, "Entry 1 has no list 'faults' of texts"],
      ["{}", "It is not a list"],
    ] as const
  ) {
    writeFileSync(file, text);
    assert.throws(() => readFaultFile(file), new RegExp(`other\\.fault\\.json as .*: ${why}.*fix it, or delete it`));
  }
  assert.throws(
    () => readFaultFile(made.path),
    /Cannot read .*tape\.jsonl as it is not what a search for faults writes/,
  );
});
