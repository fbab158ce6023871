import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type AgentOptions, anthropic } from "../../lib/index.ts";
import { scripted, type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { type DriftReport, reportLines } from "../../lib/replay/drift/drift-report.ts";
import type { TapeMode } from "../../lib/replay/policy.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { withEnv } from "../_env.ts";
import { Fail, inFolder, Look, look, Note, note, offline, recordWire, take, tapeIn } from "./_stage.ts";

const options: AgentOptions = { system: "You look.\nYou note.", tools: [Look, Note, Fail] };

test("record makes a new tape and never writes over one", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "one" }], { folder });
    const before = readFileSync(tapeIn(folder), "utf8");
    await assert.rejects(
      recordWire(options, [{ text: "two" }], { folder }),
      /Cannot record .* as a tape exists/,
    );
    assert.equal(readFileSync(tapeIn(folder), "utf8"), before);
  });
});

test("if CI is set, only replay and verify are possible", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "one" }], { folder });
    await withEnv({ CI: "true" }, async () => {
      for (const mode of ["record", "update", "live"] as const) {
        await assert.rejects(
          take(offline(options), { folder, tape: { path: folder, mode } }),
          new RegExp(`Cannot ${mode === "live" ? "run live" : mode} as CI is set`),
        );
      }
      assert.equal((await take(offline(options), { folder, tape: { path: folder } })).report?.ok, true);
      assert.equal((await take(offline(options), { folder, tape: { path: folder, mode: "verify" } })).report?.ok, true);
    });
  });
});

test("replay without a tape says how to record one; a wrong mode or path is refused", async () => {
  await inFolder(async (folder) => {
    await assert.rejects(
      take(offline(options), { folder, tape: { path: folder } }),
      /there is no tape: record it with 'crochet record'/,
    );
    await assert.rejects(
      take(offline(options), { folder, tape: { path: folder, mode: "rewind" as never } }),
      /no such mode: expected replay, record/,
    );
    await assert.rejects(take(offline(options), { folder, tape: {} }), /Cannot use a tape as it has no path/);
    await assert.rejects(agent({ model: scripted([]), tape: "fixtures/x" }).run("go"), /add from: import.meta.url/);
  });
});

test("CROCHET_TAPE, which is gone, never lets a run ask a model, and a run's tape counts before its agent's", async () => {
  await inFolder(async (folder) => {
    const { model, ...plain } = { ...options, model: scripted([{ text: "hi" }, { text: "real" }]) };
    const subject = agent({ ...plain, model, tape: join(folder, "other") });
    await withEnv({ CROCHET_TAPE: folder }, () =>
      assert.rejects(agent({ ...plain, model }).run("go"), {
        name: "TypeError",
        message: /^Cannot run as CROCHET_TAPE is gone: 'crochet record' and 'crochet replay' take the script$/,
      }));
    const run = (mode: TapeMode) => subject.run("go", { cwd: folder, tape: { path: folder, mode } });
    assert.equal((await run("record")).text, "hi");
    assert.deepEqual([existsSync(join(folder, "other")), (await run("replay")).text], [false, "hi"]);
    assert.equal((await run("live")).text, "real");
  });
});

test("live leaves the tape alone", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "recorded" }], { folder });
    const before = readFileSync(tapeIn(folder), "utf8");
    const live = await take(agent({ ...options, model: scripted([{ text: "live" }]) }), {
      folder,
      tape: { path: folder, mode: "live" },
    });
    assert.equal(live.result.text, "live");
    assert.equal(live.report, undefined);
    assert.equal(readFileSync(tapeIn(folder), "utf8"), before);
  });
});

test("an update of a run that is as it was leaves the tape alone", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "recorded" }], { folder });
    const before = statSync(tapeIn(folder)).ino;
    const { report } = await take(offline(options), { folder, tape: { path: folder, mode: "update" } });
    assert.deepEqual([report?.ok, report?.calls.live], [true, 0]);
    assert.equal(statSync(tapeIn(folder)).ino, before);
  });
});

test("of an agent that goes on after it has drifted the first difference is reported", async () => {
  await inFolder(async (folder) => {
    const talk = async (replies: readonly ScriptedReply[], mode: "record" | "replay", maxTokens: number) => {
      const found: DriftReport[] = [];
      const tape = { path: folder, mode, onReport: (report: DriftReport) => void found.push(report) };
      const session = await agent({ ...options, model: scripted(replies) }).open({ cwd: folder, tape });
      await session.prompt("first", { maxTokens });
      await session.prompt("second");
      await session.close();
      return found[0]!.divergences.map(({ call, path, actual }) => [call, path, actual]);
    };
    assert.deepEqual(await talk([{ text: "one" }, { text: "two" }], "record", 100), []);
    assert.deepEqual(await talk([], "replay", 200), [["main#1", "max_tokens", 200]]);
  });
});

test("update answers from the tape up to the first difference and rewrites only what follows", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [look("a"), look("b"), look("c"), { text: "done" }], { folder });
    const before = readFileSync(tapeIn(folder), "utf8").split("\n");
    const Other = {
      ...Look,
      run: ({ say }: { say: string }) => say === "b" ? "changed" : `${say} in ${join(folder, "work")}`,
    };
    const changed = { ...options, tools: [Other, Note, Fail] };
    const drifted = await take(offline(changed), { folder, tape: { path: folder } });
    assert.deepEqual(drifted.report?.divergences.map((d) => [d.call, d.path, d.cause]), [[
      "main#3",
      "messages.4.content.0.content",
      "tool",
    ]]);
    assert.deepEqual(drifted.report?.price.update.calls, 2);

    await using server = await scriptedServer([look("d"), { text: "updated" }]);
    const live = agent({ ...changed, model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }) });
    const updated = await take(live, { folder, tape: { path: folder, mode: "update" } });
    assert.equal(updated.result.text, "updated");
    assert.deepEqual(updated.report?.calls, { recorded: 4, served: 2, live: 2 });
    server.done();

    const after = readFileSync(tapeIn(folder), "utf8").split("\n");
    const kept = before.findIndex((line) => line.startsWith('{"call":"main#3"'));
    const same = before.slice(0, kept).filter((line) => !line.startsWith('{"clock"'));
    assert.deepEqual(after.filter((line) => same.includes(line)), same);
    assert.deepEqual((await readTape(tapeIn(folder))).calls.map((call) => call.id), [
      "main#1",
      "main#2",
      "main#3",
      "main#4",
    ]);
    const again = await take(offline(changed), { folder, tape: { path: folder } });
    assert.equal(again.report?.ok, true);
    assert.deepEqual(again.result.messages, updated.result.messages);
  });
});

test("update of a tape that still fits never calls the model and changes no byte", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [look("a"), { text: "done" }], { folder });
    const before = readFileSync(tapeIn(folder), "utf8");
    const told = await take(offline(options), { folder, tape: { path: folder, mode: "update" } });
    assert.equal(told.report?.ok, true);
    assert.equal(readFileSync(tapeIn(folder), "utf8"), before);
  });
});

test("update of a tape with tool results uses the recorded ones up to the first difference, and drops those no longer requested", async () => {
  await inFolder(async (folder) => {
    const path = folder;
    await recordWire(options, [look("a"), note("b"), look("c"), { text: "done" }], {
      folder,
      tape: { path, tools: true },
    });
    const before = await readTape(tapeIn(folder));
    const ran: string[] = [];
    const elsewhere = options.tools!.map((tool) => ({
      ...tool as typeof Look,
      run: ({ say }: { say: string }) => (ran.push(say), `${say} elsewhere`),
    }));
    const update = async (changed: AgentOptions, replies: ScriptedReply[]) => {
      await using server = await scriptedServer(replies);
      const live = agent({ ...changed, model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }) });
      const { report } = await take(live, { folder, tape: { path, mode: "update" } });
      server.done();
      const again = await take(offline(changed), { folder, tape: { path } });
      assert.equal(again.report?.ok, true);
      return { calls: report?.calls, tape: await readTape(tapeIn(folder)) };
    };
    const hooks: AgentOptions["hooks"] = [{
      preToolUse: [
        ({ input }) => (input as { say: string }).say === "c" ? { action: "modify", value: { say: "d" } } : undefined,
      ],
    }];
    const late = await update({ ...options, tools: elsewhere, hooks }, [{ text: "updated" }]);
    assert.deepEqual(late.calls, { recorded: 4, served: 3, live: 1 });
    assert.deepEqual(late.tape.tools.slice(0, 2), before.tools.slice(0, 2));
    assert.deepEqual(late.tape.tools.slice(2).map(({ input, result }) => [input, result.content]), [
      [{ say: "d" }, "d elsewhere"],
    ]);
    assert.deepEqual(ran, ["a", "b", "d"], "what follows may build on what the tools did");

    const whole = await update({ system: "You are new.", tools: elsewhere }, [look("e"), { text: "new" }]);
    assert.deepEqual(whole.calls, { recorded: 4, served: 0, live: 2 });
    assert.deepEqual(whole.tape.tools.map(({ input }) => input), [{ say: "e" }]);
  });
});

test("update through the SDK calls the model from the first call that it sends differently", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [look("a"), { text: "done" }], { folder });
    const old = readFileSync(tapeIn(folder), "utf8").replaceAll(
      /"anthropic-version":"[^"]+"/g,
      '"anthropic-version":"1"',
    )
      .replace('"source":"scripted server"', '"source":"live API"');
    writeFileSync(tapeIn(folder), old);
    const wire = { path: folder, wire: true };
    const { report } = await take(offline(options), { folder, tape: wire });
    assert.deepEqual(report?.divergences.map((d) => [d.call, d.path, d.cause]), [[
      "main#1",
      "headers.anthropic-version",
      "wire",
    ]]);
    assert.deepEqual([report?.calls.served, report?.unused, report?.price.update.calls], [0, ["main#1", "main#2"], 2]);
    assert.match(reportLines(report!).at(-1)!, /\(crochet replay \S+ --wire --update\)$/);

    await using server = await scriptedServer([look("a"), { text: "updated" }]);
    const live = agent({ ...options, model: anthropic({ baseURL: server.url, apiKey: "not-a-key" }) });
    const updated = await take(live, { folder, tape: { ...wire, mode: "update" } });
    assert.deepEqual([updated.result.text, updated.report?.calls.live], ["updated", 2]);
    server.done();
    assert.equal((await readTape(tapeIn(folder))).header.source, "scripted server", "as all of it is from there now");
    for (const tape of [wire, { path: folder }]) {
      const again = await take(offline(options), { folder, tape });
      assert.equal(again.report?.ok, true);
      assert.deepEqual(again.events, updated.events);
    }
  });
});

test("verify gives the model what was recorded, runs the tools for real, and reports only what they do differently", async () => {
  await inFolder(async (folder) => {
    for (const tools of [false, true]) {
      const path = join(folder, String(tools));
      await recordWire(options, [look("a"), note("b"), { text: "done" }], { folder, tape: { path, tools } });
      const ran: string[] = [];
      const Other = { ...Look, run: ({ say }: { say: string }) => (ran.push(say), `other ${say}`) };
      const told = await take(offline({ ...options, tools: [Other, Note, Fail] }), {
        folder,
        tape: { path, mode: "verify" },
      });
      assert.equal(told.result.stop, "done");
      assert.deepEqual(ran, ["a"]);
      assert.deepEqual(told.report?.divergences, []);
      assert.deepEqual(told.report?.tools.map((d) => [d.tool, d.path, d.expected, d.actual]), [[
        "Look",
        "result.content",
        "a in {ROOT}",
        "other a",
      ]]);
      assert.equal(told.report?.ok, false);
      assert.equal(told.files.get("notes.txt"), "b\n");
    }
  });
});

test("verify passes a tool's error to hooks as recorded, and does not report calls that a limit ended", async () => {
  await inFolder(async (folder) => {
    const Hang = {
      ...Look,
      name: "Hang",
      run: (_: unknown, { signal }: { signal: AbortSignal }) =>
        new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
    };
    const failing: AgentOptions = {
      tools: [Fail, Hang],
      limits: { seconds: 1.5 },
      hooks: { error: (event, ctx) => void ctx.addContext(`${event.tool}: ${event.error_message}`) },
    };
    const calls = ["Fail", "Hang"].map((name) => ({ tools: [{ name, input: { say: "no" } }] }));
    const was = await recordWire(failing, calls, { folder });
    const is = await take(offline(failing), { folder, tape: { path: folder, mode: "verify" } });
    assert.deepEqual([is.report!.ok, is.report!.tools, is.report!.divergences], [true, [], []]);
    assert.deepEqual([was.result.stop, is.result], ["deadline", was.result]);
  });
});

test("verify compares results after hooks with what the model read, and ignores declared differences", async () => {
  await inFolder(async (folder) => {
    let tries = 0;
    const Count = { ...Look, run: ({ say }: { say: string }) => `${say} for the ${++tries}. time` };
    const rewriting: AgentOptions = {
      tools: [Count, Note],
      hooks: {
        postToolUse: ({ result }) => ({ action: "modify", value: { ...result, content: `> ${result.content}` } }),
      },
    };
    for (const tools of [false, true]) {
      const path = join(folder, String(tools));
      tries = 0;
      const was = await recordWire(rewriting, [look("a"), note("b"), { text: "done" }], {
        folder,
        tape: { path, tools, normalise: [{ name: "time", path: "messages.**", pattern: "\\d+\\. time" }] },
      });
      assert.match(JSON.stringify(was.result.messages), /> a for the 1\. time/);
      const is = await take(offline(rewriting), { folder, tape: { path, mode: "verify" } });
      assert.deepEqual([is.report!.tools, is.report!.divergences, is.report!.ok], [[], [], true]);
      assert.deepEqual(is.result.messages, was.result.messages);
      const louder = { ...Count, run: ({ say }: { say: string }) => `${say}!` };
      const other = await take(offline({ ...rewriting, tools: [louder, Note] }), {
        folder,
        tape: { path, mode: "verify" },
      });
      assert.deepEqual(other.report!.tools.map((d) => [d.tool, d.path]), [["Look", "result.content"]]);
      assert.deepEqual([other.report!.divergences, other.result.messages], [[], was.result.messages]);
    }
  });
});

test("a session with a run that the user interrupted is not kept, even if it continued: no replay would get that far", async () => {
  await inFolder(async (folder) => {
    const path = join(folder, "kept");
    const ended = new AbortController();
    const looker = agent({
      model: scripted([look("a"), { text: "second" }]),
      tools: [{ ...Look, run: () => (ended.abort(), "seen") }],
    });
    let error: unknown;
    const session = await looker.open({ cwd: folder, tape: { path, mode: "record", onError: (e) => error = e } });
    const first = await session.prompt("one", { signal: ended.signal });
    const second = await session.prompt("two");
    await session.close();
    assert.deepEqual([first.stop, second.stop], ["aborted", "done"]);
    assert.match(String(error), /Cannot record .*kept as the run was interrupted: let it finish/);
    assert.equal(existsSync(tapeIn(path)), false);
  });
});
