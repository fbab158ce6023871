import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { agent } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import { factsOf, writeTape } from "../../lib/replay/write-tape.ts";
import { frameOf, framesOf } from "../../lib/log/frames.ts";
import { packEvents, unpackEvents } from "../../lib/log/call-lines.ts";
import { factLine } from "../../lib/log/entry.ts";
import { placer } from "../../lib/log/redact/places.ts";
import { parseTape, readHeader, readTape } from "../../lib/replay/read-tape.ts";
import { rounds, rows } from "../_counts.ts";
import { rough, words } from "./_arbitraries.ts";
import { Fail, inFolder, Look, Note, readLines, recordWire, take, tapeIn } from "./_stage.ts";

const options = { system: "You look.", tools: [Look, Note, Fail] };
const script = { then: { text: "over" } };

test("a tape that is read and written again is always the same bytes", async () => {
  await fc.assert(
    fc.asyncProperty(rough, async (replies) => {
      await inFolder(async (folder) => {
        await recordWire(options, replies, { folder: join(folder, "a"), script });
        const path = tapeIn(join(folder, "a"));
        await writeTape(tapeIn(join(folder, "b")), await readTape(path));
        assert.equal(readFileSync(tapeIn(join(folder, "b")), "utf8"), readFileSync(path, "utf8"));
      });
    }),
    { numRuns: rounds(3, 100, 6) },
  );
});

test("a stream read into events is always the same bytes when put together, wherever it was cut", () => {
  const frame = fc.oneof(
    words.map((text) => `event: ping\ndata: ${JSON.stringify({ type: "ping", text })}\n\n`),
    words.map((text) => `event: ping\ndata: ${JSON.stringify({ type: "ping", text }).slice(0, -1)}     }\n\n`),
    words.map((text) => `data: {"type": "ping", "text": ${JSON.stringify(text)}}\r\n\r\n`),
    fc.constantFrom("data: [DONE]\n\n", ": a comment\n\n", "event: x\n", "data: {", "\n", "\r\n"),
  );
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 20 })), (frames, sizes) => {
      const bytes = new TextEncoder().encode(frames.join(""));
      const chunks: { ms: number; bytes: Uint8Array }[] = [];
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const size = sizes.length === 0 ? bytes.length : sizes[i % sizes.length]!;
        chunks.push({ ms: i * 3, bytes: bytes.subarray(at, at + size) });
        at += size;
      }
      const events = framesOf(chunks);
      assert.equal(events.map(frameOf).join(""), frames.join(""));
      assert.deepEqual(unpackEvents(packEvents(events)), events);
    }),
    { numRuns: rounds(100, 10_000, 300) },
  );
});

test("a place that is put on a tape is always put back, whatever the text looks like", () => {
  const places = { root: "/tmp/w/x", home: "/home/ada", tmp: "/tmp", user: "ada-l" };
  const { place, restore } = placer(places);
  const part = fc.oneof(
    words,
    fc.constantFrom(
      "/tmp/w/x",
      "/tmp/w/x/",
      "/tmp",
      "/home/ada",
      "/home/adam",
      "ada-l",
      "a/tmp",
      "{HOME}",
      "{==ROOT}",
      "/tmp/w/xy",
      "\\n/tmp",
      " ",
    ),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.constantFrom("plain" as const, "json" as const), (parts, form) => {
      const text = parts.join("");
      const given = form === "json" ? JSON.stringify(text) : text;
      assert.equal(restore(place(given, form), form), given);
      if (form === "json") assert.equal(JSON.parse(place(given, "json")), place(text));
    }),
    { numRuns: rounds(150, 20_000, 500) },
  );
});

test("a tape says what it was recorded from, and with which versions", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "hi" }], { folder: join(folder, "wire"), prompt: "hello" });
    const { header, prompts, calls, end } = await readTape(tapeIn(join(folder, "wire")));
    assert.equal(header.source, "scripted server");
    assert.match(header.url!, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.deepEqual(Object.keys(header.versions), ["crochet", "sdk", "api", "runtime"]);
    assert.equal(header.versions.sdk, "1.9.0");
    assert.deepEqual(prompts, ["hello"]);
    assert.deepEqual(calls.map((call) => call.id), ["main#1"]);
    assert.equal(end?.end, "done");
    const model = scripted([{ text: "hi" }]);
    await take(agent({ ...options, model }), { folder, tape: { path: join(folder, "seam"), mode: "record" } });
    assert.equal((await readTape(tapeIn(join(folder, "seam")))).header.source, "model");
  });
});

test("of an answer's headers only those on the list are ever written", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ http: 529, retryAfter: 0.001 }, { text: "hi" }], { folder });
    const { calls } = await readTape(tapeIn(folder));
    const names = calls[0]!.attempts.map(({ status, headers }) => [status, Object.keys(headers!)]);
    assert.deepEqual(names, [[529, ["content-type", "request-id", "retry-after"]], [200, [
      "content-type",
      "request-id",
    ]]]);
  });
});

test("what a request has in common with the one before is written once: the reply is an echo", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "one", tools: [{ name: "Look", input: { say: "x" } }] }, { text: "two" }], {
      folder,
    });
    const lines = readLines(tapeIn(folder));
    const [first, second] = lines.filter((line) => "call" in line);
    assert.deepEqual([first.add.length, "parent" in first], [1, false]);
    assert.equal(second.parent, "main#1");
    assert.equal(second.add[0], "$echo");
    assert.equal(second.add[1].content[0].type, "tool_result");
    assert.equal(lines.filter((line) => "head" in line && !("call" in line)).length, 1);
    assert.equal(lines.filter((line) => "spec" in line).length, 3);
  });
});

test("a text over 16 KiB lies beside the tape, once for all tapes, and comes back", async () => {
  await inFolder(async (folder) => {
    const long = `${"ä".repeat(9000)}.`;
    const model = () =>
      scripted([{ text: "one", tools: [{ name: "Look", input: { say: "x", $blob: "y" } }] }, { text: long }]);
    const record = (name: string) =>
      take(agent({ ...options, system: long, model: model() }), {
        folder,
        tape: { path: join(folder, name), mode: "record" },
      });
    const { result } = await record("a");
    await record("b");
    assert.equal(readdirSync(join(folder, "blobs")).length, 2);
    assert.ok(statSync(tapeIn(join(folder, "a"))).size < 16_000);
    const again = await take(agent({ ...options, system: long, model: scripted([]) }), {
      folder,
      tape: { path: join(folder, "a") },
    });
    assert.deepEqual(again.result.messages, result.messages);
    assert.equal(again.report?.ok, true);
  });
});

test("a reader refuses what it does not know, with the line and the reason", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "one", tools: [{ name: "Look", input: { say: "x" } }] }, { text: "two" }], {
      folder,
    });
    const text = readFileSync(tapeIn(folder), "utf8");
    const lines = text.trimEnd().split("\n");
    const call = lines.findIndex((line) => line.startsWith('{"call":"main#2"'));
    const head = lines.findIndex((line) => line.startsWith('{"head":1'));
    const at = (index: number, line: string) => `${lines.with(index, line).join("\n")}\n`;
    const edited = (index: number, change: (fact: any) => void) => {
      const fact = JSON.parse(lines[index]!);
      change(fact);
      return at(index, JSON.stringify(fact));
    };
    const cases: [text: string, why: RegExp][] = [
      [edited(0, (h) => h.tape = 2), /its version is 2: this release reads version 1/],
      [edited(0, (h) => Object.assign(h, { tape: 2, more: 1 })), /as its version is 2: this release reads version 1/],
      [edited(0, (h) => h.at = "yesterday"), /line 1: 'at' of a line of kind 'tape' is not a time/],
      [lines.slice(1).join("\n") + "\n", /its first line is not a header/],
      ["", /it is empty: take it from version control, or delete it and record again/],
      [text.slice(0, -10), /its last line is cut off: take it from version control/],
      [at(1, "<<<<<<< HEAD"), /line 2: it is the mark of a merge: take one side whole/],
      [
        `version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n`,
        /as Git LFS has not fetched it: git lfs pull$/,
      ],
      [`\ufffd{\0"\0t\0`, /as it is not UTF-8 text: take it/],
      [edited(0, (h) => h.tape = 0), /its version is 0: this release reads version 1, delete it and record again/],
      [at(1, "{nonsense"), /line 2: it is not JSON/],
      [at(1, ""), /line 2: it is empty: take it out/],
      [at(1, "[1]"), /line 2: it is not an object/],
      [at(1, '{"music":1}'), /line 2: there is no line that begins with 'music'/],
      [edited(1, (p) => p.extra = 1), /line 2: a line of kind 'prompt' has no 'extra'/],
      [edited(call, (c) => delete c.key), new RegExp(`line ${call + 1}: a line of kind 'call' needs 'key'`)],
      [edited(call, (c) => c.at = "now"), /'at' of a line of kind 'call' is not milliseconds/],
      [edited(call, (c) => c.at = 1e300), /'at' of a line of kind 'call' is not milliseconds/],
      [edited(call, (c) => c.parent = "main#7"), /there is no call 'main#7' before it/],
      [edited(call, (c) => c.head = 9), /head 9 is not described before it/],
      [
        edited(call, (c) => c.add[1].content[0].content = "forged"),
        /line \d+: the call does not fit its key, so it was changed by hand: take it from version control/,
      ],
      [edited(call, (c) => c.key = "0"), /the call does not fit its key/],
      [edited(call, (c) => c.add = ["$echo", 7]), /it adds something that is not a message: 7/],
      [
        edited(call, (c) => c.add[1].content[0] = null),
        /it adds something that is not a message: \{"role":"user","content":\[null\]\}/,
      ],
      [edited(head, (h) => h.system = [null]), new RegExp(`line ${head + 1}: 'system' is neither a text nor blocks`)],
      [edited(call + 1, (e) => e.events = "main#1"), /attempt 1 of 'main#1' does not follow its call/],
      [edited(call + 1, (e) => e.list = [{ run: "odd", index: 0, of: ["x"] }]), /run of 'odd'/],
      [edited(1, (p) => p.prompt = { $blob: "00" }), /line 2: a long text of it is missing/],
    ];
    const mend = /: (?:(?:take|delete|record|update|git|this release) .*|Cannot read blob .*)$/;
    for (const [broken, why] of cases) {
      const { message } = await parseTape(broken, "x.jsonl").then(() => assert.fail(`${why}`), (error: Error) => error);
      assert.match(message, why);
      assert.match(message, mend, "it says what to do");
    }
    for (
      const [version, told] of [["999.1.0", /: it was recorded with crochet 999\.1\.0, .*: update crochet$/], [
        "0.0.1",
        /: take it/,
      ]] as const
    ) {
      const other = edited(0, (h) => h.versions.crochet = version).replace('{"prompt":', '{"music":');
      writeFileSync(tapeIn(folder), other);
      await assert.rejects(readTape(folder), told);
    }
    writeFileSync(tapeIn(folder), `<<<<<<< HEAD\n${text}`);
    assert.throws(() => readHeader(tapeIn(folder)), /as line 1: it is the mark of a merge/);
    await assert.rejects(
      readTape(join(folder, "none.jsonl")),
      /Cannot read tape .*none\.jsonl as there is no such file/,
    );
  });
});

test("a tape is read by its folder too, a byte order mark is passed over, and a folder in its place is called one", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "one" }], { folder });
    const path = tapeIn(folder);
    const plain = await readTape(path);
    writeFileSync(path, `\ufeff${readFileSync(path, "utf8")}`);
    assert.deepEqual(await readTape(path), plain);
    assert.deepEqual(readHeader(path), plain.header);
    assert.deepEqual(await readTape(folder), plain);
    rmSync(path);
    mkdirSync(path);
    const refused = /^Cannot read tape .*tape\.jsonl as it is a folder: a tape is a file/;
    await assert.rejects(readTape(path), { name: "TapeError", message: refused });
    assert.throws(() => readHeader(path), { name: "TapeError", message: refused });
  });
});

test("a tape that shows a secret is refused again when it is read", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "the key is k-e-y" }], { folder });
    const path = tapeIn(folder);
    const leaked = readFileSync(path, "utf8").replace('"-e-y"', `" sk-ant-Kx82QmZ4","tWvB91LsYd7RfNc3HgTj60PuEo5a"`);
    writeFileSync(path, leaked);
    await assert.rejects(
      readTape(path),
      /shows what looks like a secret \(random word\).*: take it out of the repository/,
    );
  });
});

test("a tape is written whole or not at all, and never over another", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "hi" }], { folder: join(folder, "a") });
    const tape = await readTape(tapeIn(join(folder, "a")));
    const path = tapeIn(join(folder, "b"));
    mkdirSync(join(folder, "b"));
    const ends = await Promise.allSettled([writeTape(path, tape), writeTape(path, tape), writeTape(path, tape)]);
    assert.equal(ends.filter((end) => end.status === "fulfilled").length, 1);
    for (const end of ends.filter((end) => end.status === "rejected")) {
      assert.match(end.reason.message, /^Cannot write tape \S+ as it exists: replay it with --update, or delete it$/);
    }
    assert.deepEqual(readdirSync(join(folder, "b")), ["tape.jsonl"]);
    const secret = { ...tape, prompts: ["sk-ant-Kx82QmZ4tWvB91LsYd7RfNc3HgTj60PuEo5a"] };
    await assert.rejects(
      writeTape(tapeIn(join(folder, "c")), secret),
      /Cannot write tape .* as line 2.prompt shows/,
    );
    assert.equal(existsSync(join(folder, "c")), false);
  });
});

test("doubling the turns never more than doubles a tape (x1.1), also if hooks add context for one turn", async () => {
  const size = async (turns: number, ephemeral: boolean) =>
    await inFolder(async (folder) => {
      const reply = (i: number) => ({
        text: `turn ${i} of it`,
        tools: [{ name: "Look", input: { say: `thing ${i}` } }],
      });
      const model = scripted([...Array.from({ length: turns }, (_, i) => reply(i)), { text: "over" }]);
      const hooks = ephemeral
        ? [{
          name: "e",
          onEvent: (event: { event: string }, ctx: any) => {
            if (event.event === "iteration") ctx.addContext("only now", { ephemeral: true });
          },
        }]
        : [];
      const { result } = await take(agent({ ...options, model, hooks, limits: { iterations: 1000 } }), {
        folder,
        tape: { path: folder, mode: "record" },
      });
      assert.equal(result.iterations, turns + 1);
      const bytes = readFileSync(tapeIn(folder), "utf8");
      return bytes.length - bytes.indexOf('{"call"');
    });
  for (const ephemeral of [false, true]) {
    const sizes = [];
    for (const turns of rows(3, [10, 20, 40, 80])) sizes.push(await size(turns, ephemeral));
    for (let i = 1; i < sizes.length; i++) {
      assert.ok(sizes[i]! <= sizes[i - 1]! * 2 * 1.1, `${sizes[i - 1]} → ${sizes[i]} bytes`);
    }
  }
});

test("the lines of a tape always have their keys in one order", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ http: 529, retryAfter: 0.001 }, { text: "hi" }], { folder });
    const text = readFileSync(tapeIn(folder), "utf8");
    const facts = await factsOf(await readTape(tapeIn(folder)));
    const shuffled = facts.map((fact) => {
      const [first, ...rest] = Object.entries(fact);
      return Object.fromEntries([first!, ...rest.reverse()]) as unknown as typeof fact;
    });
    assert.equal(`${shuffled.map(factLine).join("\n")}\n`, text);
  });
});
