import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { agent, type AgentOptions, anthropic, tool, type ToolContext } from "../../lib/index.ts";
import { scripted, type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { reportLines } from "../../lib/tape/drift/report.ts";
import { readTape } from "../../lib/tape/read.ts";
import { Fail, inFolder, Look, Note, offline, readLines, recordWire, take } from "./_stage.ts";

const options: AgentOptions = { system: "You look.\nYou note.", tools: [Look, Note, Fail] };
const look = (say: string): ScriptedReply => ({ text: `I look at ${say}`, tools: [{ name: "Look", input: { say } }] });
const note = (say: string): ScriptedReply => ({ text: `I note ${say}`, tools: [{ name: "Note", input: { say } }] });
const file = (folder: string) => join(folder, "tape.jsonl");

/** Sets variables of the environment for a while. */
async function withEnv<T>(env: Record<string, string | undefined>, work: () => Promise<T>): Promise<T> {
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  const set = (values: Record<string, string | undefined>) => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  set(env);
  try {
    return await work();
  } finally {
    set(before);
  }
}

test("record makes a new tape and never writes over one", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, async () => {
      await recordWire(options, [{ text: "one" }], { folder });
      const before = readFileSync(file(folder), "utf8");
      await assert.rejects(
        recordWire(options, [{ text: "two" }], { folder }),
        /Cannot record .* as there is a tape already/,
      );
      assert.equal(readFileSync(file(folder), "utf8"), before);
    });
  });
});

test("where CI is set, only replay and verify are possible", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, () => recordWire(options, [{ text: "one" }], { folder }));
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

test("replay without a tape says how to record one; a mode or path that is none is refused", async () => {
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

test("the environment names a tape and its mode, and overrides what the agent names", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined, CROCHET_TAPE: folder, CROCHET_TAPE_MODE: "record" }, async () => {
      const subject = agent({ ...options, model: scripted([{ text: "hi" }]), tape: join(folder, "other") });
      assert.equal((await subject.run("go", { cwd: folder })).text, "hi");
    });
    assert.equal(existsSync(join(folder, "other")), false);
    await withEnv({ CROCHET_TAPE: folder, CROCHET_TAPE_MODE: undefined }, async () => {
      assert.equal((await agent({ ...options, model: scripted([]) }).run("go", { cwd: folder })).text, "hi");
    });
    await withEnv({ CROCHET_TAPE: folder, CROCHET_TAPE_MODE: "back" }, async () => {
      await assert.rejects(offline(options).run("go"), /Cannot use CROCHET_TAPE_MODE 'back'/);
    });
    const unnamed = agent({ ...options, model: scripted([{ text: "real" }]) });
    for (const mode of ["replay", "record", "update", "verify"]) {
      await withEnv({ CROCHET_TAPE: undefined, CROCHET_TAPE_MODE: mode }, async () => {
        await assert.rejects(unnamed.run("go"), new RegExp(`Cannot ${mode} as .* no tape is named: set CROCHET_TAPE=`));
      });
    }
    await withEnv({ CROCHET_TAPE: undefined, CROCHET_TAPE_MODE: "live" }, async () => {
      assert.equal((await unnamed.run("go")).text, "real");
    });
    await withEnv({ CI: "1", CROCHET_TAPE: folder, CROCHET_TAPE_MODE: "live" }, async () => {
      await assert.rejects(unnamed.run("go"), /Cannot run live as CI is set, .*: run it live at home/);
    });
  });
});

test("live leaves the tape alone", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, async () => {
      await recordWire(options, [{ text: "recorded" }], { folder });
      const before = readFileSync(file(folder), "utf8");
      const live = await take(agent({ ...options, model: scripted([{ text: "live" }]) }), {
        folder,
        tape: { path: folder, mode: "live" },
      });
      assert.equal(live.result.text, "live");
      assert.equal(live.report, undefined);
      assert.equal(readFileSync(file(folder), "utf8"), before);
    });
  });
});

test("update answers from the tape up to the first difference and rewrites only what follows", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, async () => {
      await recordWire(options, [look("a"), look("b"), look("c"), { text: "done" }], { folder });
      const before = readFileSync(file(folder), "utf8").split("\n");
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

      const after = readFileSync(file(folder), "utf8").split("\n");
      const kept = before.findIndex((line) => line.startsWith('{"call":"main#3"'));
      const same = before.slice(0, kept).filter((line) => !line.startsWith('{"clock"'));
      assert.deepEqual(after.filter((line) => same.includes(line)), same);
      assert.deepEqual((await readTape(file(folder))).calls.map((call) => call.id), [
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
});

test("update of a tape that still fits never calls the model and changes no byte", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, async () => {
      await recordWire(options, [look("a"), { text: "done" }], { folder });
      const before = readFileSync(file(folder), "utf8");
      const told = await take(offline(options), { folder, tape: { path: folder, mode: "update" } });
      assert.equal(told.report?.ok, true);
      assert.equal(readFileSync(file(folder), "utf8"), before);
    });
  });
});

test("verify gives the model what was recorded, runs the tools for real, and reports only what they do otherwise", async () => {
  await inFolder(async (folder) => {
    for (const tools of [false, true]) {
      const path = join(folder, String(tools));
      await withEnv(
        { CI: undefined },
        () => recordWire(options, [look("a"), note("b"), { text: "done" }], { folder, tape: { path, tools } }),
      );
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
    const recorded = await withEnv(
      { CI: undefined },
      () => recordWire(all, calls, { folder, tape: { path: folder, tools: true } }),
    );
    const { tools, header } = await readTape(file(folder));
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
        work: "work",
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
    await withEnv(
      { CI: undefined },
      () => recordWire(options, [note("b"), { text: "done" }], { folder, tape: { path: folder, tools: true } }),
    );
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
    const slow = tool<{ say: string }>({ ...Look, input: Look.input_schema, run: ({ say }) => say });
    const subject: AgentOptions = { ...options, tools: [slow], limits: { seconds: 60 } };
    await withEnv(
      { CI: undefined },
      () =>
        recordWire(subject, [{ http: 529, retryAfter: 1 }, { text: "cut", cut: 3 }, { ...look("a"), delay: 300 }, {
          text: "done",
        }], { folder }),
    );
    const lines = readLines(file(folder));
    const waited = lines.find((line) => line.waited)?.waited;
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

test("ids, cookies and keys that go over the wire as headers are known to be secret everywhere else", async () => {
  await inFolder(async (folder) => {
    const org = "0b9ff1f1-0000-4000-8000-5c0de5c0de00";
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        response.writeHead(400, {
          "content-type": "application/json",
          "anthropic-organization-id": org,
          "set-cookie": "__cf_bm=c00k1e-v4lue; path=/; HttpOnly",
          "request-id": "req_1",
        });
        response.end(
          JSON.stringify({
            type: "error",
            error: { type: "invalid_request_error", message: `too many for ${org} with c00k1e-v4lue` },
          }),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const model = anthropic({
        baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        apiKey: "my-very-own-credential-1",
      });
      const subject = agent({ ...options, model });
      const told = await withEnv(
        { CI: undefined },
        () => take(subject, { folder, tape: { path: folder, mode: "record" } }),
      );
      assert.equal(told.result.stop, "error");
      const text = readFileSync(file(folder), "utf8");
      assert.equal(/0b9ff1f1|c00k1e|my-very-own/.test(text), false, text);
      assert.match(text, /too many for \{ORGANISATION:[0-9a-f]{6}\} with \{COOKIE:[0-9a-f]{6}\}/);
      const errors: Error[] = [];
      await take(subject, {
        folder,
        prompt: "use my-very-own-credential-1",
        tape: { path: join(folder, "leak"), mode: "record", onError: (e) => errors.push(e as Error) },
      });
      assert.match(errors[0]!.message, /Cannot write tape .* shows what looks like a secret \(api-key\)/);
      assert.equal(existsSync(join(folder, "leak")), false);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

test("a tape that cannot be written takes no Result away: the run warns", async () => {
  await inFolder(async (folder) => {
    const told = await withEnv(
      { CI: undefined },
      () =>
        take(agent({ ...options, model: scripted([{ text: `sk-ant-${"a".repeat(40)}` }]) }), {
          folder,
          tape: { path: folder, mode: "record" },
        }),
    );
    assert.equal(told.result.stop, "done");
    assert.match(told.warnings.join(), /Cannot write tape .* record with --redact/);
    assert.equal(existsSync(file(folder)), false);
  });
});

test("declared normalisers do not count, are named in every report, and nothing else is let through", async () => {
  await inFolder(async (folder) => {
    const normalise = [{ name: "build", path: "system", pattern: "build \\d+" }];
    const at = (system: string): AgentOptions => ({ ...options, system });
    await withEnv(
      { CI: undefined },
      () =>
        recordWire(at("This is build 17.\nGo."), [look("a"), { text: "done" }], {
          folder,
          tape: { path: folder, normalise },
        }),
    );
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

test("what the SDK sends otherwise is drift of the wire: a version, a beta, a field", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, () => recordWire(options, [{ text: "done" }], { folder }));
    const model = (headers: Record<string, string>) =>
      anthropic({ baseURL: "http://127.0.0.1:9", apiKey: "k", headers });
    const beta = await take(agent({ ...options, model: model({ "anthropic-beta": "new-2027" }) }), {
      folder,
      tape: { path: folder, wire: true },
    });
    assert.deepEqual(beta.report?.divergences.map((d) => [d.path, d.cause, d.actual]), [[
      "headers.anthropic-beta",
      "wire",
      "new-2027",
    ]]);
    assert.equal(beta.result.stop, "error");
    const seam = await take(agent({ ...options, model: model({ "anthropic-beta": "new-2027" }) }), {
      folder,
      tape: { path: folder },
    });
    assert.equal(seam.report?.ok, true);
  });
});

test("calls that are never asked for make a replay fail, and are named", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, () => recordWire(options, [look("a"), { text: "done" }], { folder }));
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

test("a tape without keys or calls is no tape to replay from", async () => {
  await inFolder(async (folder) => {
    await withEnv({ CI: undefined }, () => recordWire(options, [{ text: "done" }], { folder }));
    writeFileSync(file(folder), readFileSync(file(folder), "utf8").replace(/"key":"[0-9a-f]+"/, '"key":"0"'));
    await assert.rejects(take(offline(options), { folder, tape: { path: folder } }), /does not fit its key/);
    rmSync(file(folder));
  });
});
