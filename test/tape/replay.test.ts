import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  agent,
  type AgentOptions,
  anthropic,
  type AnthropicOptions,
  type Middleware,
  tool,
  type ToolContext,
} from "../../lib/index.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { reportLines } from "../../lib/tape/drift/report.ts";
import { readTape } from "../../lib/tape/read.ts";
import { Fail, inFolder, Look, look, Note, note, offline, readLines, recordWire, take, tapeIn } from "./_stage.ts";

const options: AgentOptions = { system: "You look.\nYou note.", tools: [Look, Note, Fail] };

test("with tools on the tape, what reads or writes is served and not run, files and errors too; what has no effect runs", async () => {
  await inFolder(async (folder) => {
    const Pure = tool<{ say: string }>({
      ...Look,
      name: "Pure",
      effect: "none",
      input: Look.input_schema,
      run: ({ say }) => `pure ${say}`,
    });
    const all: AgentOptions = { ...options, tools: [Look, Note, Fail, Pure] };
    const calls: ScriptedReply[] = [look("a"), note("b"), {
      tools: [{ name: "Fail", input: { say: "ouch" } }, { name: "Pure", input: { say: "p" } }],
    }, { text: "done" }];
    const recorded = await recordWire(all, calls, { folder, tape: { path: folder, tools: true } });
    const { tools, header } = await readTape(tapeIn(folder));
    assert.equal(header.tools, true);
    assert.deepEqual(tools.map((t) => [t.name, t.effect, t.files]), [
      ["Look", "read", undefined],
      ["Note", "write", { "notes.txt": "b\n" }],
      ["Fail", "read", undefined],
      ["Pure", "none", undefined],
    ]);
    const ran: string[] = [];
    const watched = [Look, Note, Fail, Pure].map((t) => ({
      ...t,
      run: (input: { say: string }, ctx: ToolContext) => (ran.push(t.name), t.run(input, ctx)),
    }));
    for (const wire of [false, true]) {
      const again = await take(offline({ ...all, tools: watched }), {
        folder,
        tape: { path: folder, wire },
      });
      assert.equal(again.report?.ok, true);
      assert.deepEqual(again.result.messages, recorded.result.messages);
      assert.deepEqual(again.files, recorded.files);
      assert.deepEqual(again.rollout, recorded.rollout);
    }
    assert.deepEqual(ran, ["Pure", "Pure"]);
  });
});

test("a recorded tool result is never served for another input", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [note("b"), { text: "done" }], { folder, tape: { path: folder, tools: true } });
    const rewriting: AgentOptions = {
      ...options,
      hooks: [{ preToolUse: [() => ({ action: "modify", value: { say: "c" } })] }],
    };
    const told = await take(offline(rewriting), { folder, tape: { path: folder } });
    assert.match(JSON.stringify(told.result.messages), /Cannot replay Note as its input.say is not the recorded one/);
    assert.deepEqual(told.report?.divergences.map((d) => d.cause), ["tool"]);
    assert.equal(told.files.has("notes.txt"), false);
  });
});

test("on replay no wait takes real time: back-off, retry-after and slow replies pass at once, and a deadline still holds", async () => {
  await inFolder(async (folder) => {
    const subject: AgentOptions = { ...options, limits: { seconds: 60 } };
    const busy = { http: 529, retryAfter: 1 };
    const replies = [busy, { text: "cut", cut: 3 }, { ...look("a"), delay: 300 }, { text: "done" }];
    await recordWire(subject, replies, { folder });
    const waited = readLines(tapeIn(folder)).find((line) => line.waited)?.waited;
    assert.ok(waited >= 900, `waited ${waited} ms`);
    for (const wire of [false, true]) {
      const took: number[] = [];
      for (let i = 0; i < 3; i++) {
        const began = performance.now();
        const again = await take(offline(subject), { folder, tape: { path: folder, wire } });
        took.push(performance.now() - began);
        assert.equal(again.result.text, "done");
      }
      assert.ok(Math.min(...took) < waited, "the replay waited as the recording did");
    }
    const late = await take(offline({ ...subject, limits: { seconds: 1 } }), { folder, tape: { path: folder } });
    assert.equal(late.result.stop, "deadline");
  });
});

test("declared normalisers do not count, are named in every report, and nothing else is let through", async () => {
  await inFolder(async (folder) => {
    const normalise = [{ name: "build", path: "system", pattern: "build \\d+" }];
    const at = (system: string): AgentOptions => ({ ...options, system });
    await recordWire(at("This is build 17.\nGo."), [look("a"), { text: "done" }], {
      folder,
      tape: { path: folder, normalise },
    });
    for (const wire of [false, true]) {
      const same = await take(offline(at("This is build 18.\nGo.")), { folder, tape: { path: folder, wire } });
      assert.equal(same.report?.ok, true, JSON.stringify(same.report?.divergences));
      assert.match(reportLines(same.report!).join(), /does not count: build/);
    }
    const given = await take(offline(at("This is build 18.\nGo on.")), {
      folder,
      tape: { path: folder, normalise: [{ name: "go", path: "*", pattern: "Go.*" }] },
    });
    assert.equal(given.report?.ok, true);
    const other = await take(offline(at("This is build 18.\nGo now.")), { folder, tape: { path: folder } });
    assert.deepEqual(other.report?.divergences.map((d) => d.path), ["system"]);
    await assert.rejects(
      take(agent({ ...options, model: scripted([]) }), {
        folder,
        tape: { path: join(folder, "x"), mode: "record", normalise: [{ name: "bad", path: "system", pattern: "(" }] },
      }),
      /Cannot use normaliser 'bad' as its pattern is wrong/,
    );
  });
});

test("what the SDK sends otherwise is drift of the wire, and of nothing else: a version, a beta, a field", async () => {
  const field: Middleware = async (request, next) => {
    const body = await new Response(request.body).json();
    return await next({ ...request, body: JSON.stringify({ ...body, top_k: 3 }) });
  };
  const cases: [given: AnthropicOptions, path: string, actual: unknown][] = [
    [{ headers: { "anthropic-version": "2027-01-01" } }, "headers.anthropic-version", "2027-01-01"],
    [{ headers: { "anthropic-beta": "new-2027" } }, "headers.anthropic-beta", "new-2027"],
    [{ middleware: [field] }, "top_k", 3],
  ];
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "done" }], { folder });
    for (const [given, path, actual] of cases) {
      const model = anthropic({ baseURL: "http://127.0.0.1:9", apiKey: "k", ...given });
      const wire = await take(agent({ ...options, model }), { folder, tape: { path: folder, wire: true } });
      assert.deepEqual(wire.report?.divergences.map((d) => [d.path, d.cause, d.actual]), [[path, "wire", actual]]);
      assert.equal(wire.result.stop, "error");
      const seam = await take(agent({ ...options, model }), { folder, tape: { path: folder } });
      assert.equal(seam.report?.ok, true, path);
    }
  });
});

test("a number of a reply that no runtime can hold is no drift of the wire, where it is sent back as null", async () => {
  await inFolder(async (folder) => {
    const Any = { ...Look, parse: (input: unknown) => input as { say: string }, input_schema: { type: "object" } };
    const replies = ["1e400", "-1e400", "-0"].map((n) => ({ tools: [{ name: "Look", raw: `{"say":${n}}` }] }));
    await recordWire({ tools: [Any] }, [...replies, { text: "done" }], { folder });
    for (const wire of [false, true]) {
      const { report } = await take(offline({ tools: [Any] }), { folder, tape: { path: folder, wire } });
      assert.deepEqual([report!.divergences, report!.ok], [[], true]);
    }
  });
});

test("calls that are never asked for make a replay fail, and are named", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [look("a"), { text: "done" }], { folder });
    const halting: AgentOptions = {
      ...options,
      hooks: [{ postToolUse: [() => ({ action: "halt", reason: "enough" })] }],
    };
    const told = await take(offline(halting), { folder, tape: { path: folder } });
    assert.equal(told.result.stop, "halted");
    assert.deepEqual(told.report?.unused, ["main#2"]);
    assert.equal(told.report?.ok, false);
    const silent = await take(offline(halting), { folder, tape: { path: folder, onReport: undefined } as never });
    assert.match(silent.warnings.join(), /never asked for: main#2/);
  });
});

test("a tape that was changed by hand is never replayed from", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "done" }], { folder });
    const tape = readFileSync(tapeIn(folder), "utf8");
    for (const [was, is] of [[/"key":"[0-9a-f]+"/, '"key":"0"'], [/"text":"go"/, '"text":"stay"']] as const) {
      assert.match(tape, was);
      writeFileSync(tapeIn(folder), tape.replace(was, is));
      await assert.rejects(take(offline(options), { folder, tape: { path: folder } }), /does not fit its key/);
    }
  });
});
