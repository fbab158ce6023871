import assert from "node:assert/strict";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { exchangeOf } from "../../lib/extensions/import/exchange.ts";
import { readRecording } from "../../lib/extensions/import/read-recording.ts";
import { normaliserOf } from "../../lib/replay/normalise.ts";
import { readTape, TapeError } from "../../lib/replay/read-tape.ts";
import { assertLinear } from "../_processor-time.ts";
import { scratch } from "../_scratch.ts";
import { inFolder, Note, offline, recordWire, take } from "./_stage.ts";

const HELLO = fileURLToPath(new URL("../../fixtures/hello", import.meta.url));

/** A copy of the tape `hello`, changed, read as a stranger's. */
async function reading(change: (text: string) => string, prepare: (dir: string) => void = () => {}): Promise<unknown> {
  using dir = scratch();
  cpSync(HELLO, join(dir.path, "hello"), { recursive: true });
  mkdirSync(join(dir.path, "blobs"));
  prepare(dir.path);
  const tape = join(dir.path, "hello", "tape.jsonl");
  writeFileSync(tape, change(readFileSync(tape, "utf8")));
  return await readTape(tape);
}

const asBlob = (name: string) => (text: string) =>
  text.replace('"You greet people, briefly."', JSON.stringify({ $blob: name }));
const HASH = "0".repeat(64);

test("a tape never reads a file that is not one of its blobs", async () => {
  const secret = (dir: string) => writeFileSync(join(dir, "secret"), "You greet people, briefly.");
  await assert.rejects(reading(asBlob("../secret"), secret), /as a blob is named by its sha256/);
  await assert.rejects(reading(asBlob("/etc/hostname")), /as a blob is named by its sha256/);
  const link = (dir: string) => (secret(dir), symlinkSync("../secret", join(dir, "blobs", HASH)));
  await assert.rejects(reading(asBlob(HASH), link), /as it is not a regular file/);
  const other = (dir: string) => writeFileSync(join(dir, "blobs", HASH), "You greet people, briefly.");
  await assert.rejects(reading(asBlob(HASH), other), /as its text is not the one it is named by/);
});

test("a small tape that unpacks to more than any memory holds is refused", async () => {
  const padded = (blanks: string) => reading((text) => text.replace('"attempt":1,', `"attempt":1,"pad":[${blanks}],`));
  await assert.rejects(
    padded("1e9"),
    (error) => error instanceof TapeError && /not a number of spaces/.test(error.message),
  );
  await assert.rejects(padded("-1"), /not a number of spaces/);
});

test("a recording that was zipped to fill the memory is refused", async () => {
  const bomb = gzipSync(Buffer.alloc(300 * 1024 * 1024), { level: 1 });
  assert.ok(bomb.length < 4 * 1024 * 1024);
  await assert.rejects(readRecording(bomb), /it cannot be decompressed/);
});

test("a recorded body that was packed to fill the memory is refused, however it was packed", () => {
  const zeros = Buffer.alloc(80 * 1024 * 1024);
  const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
  const packed: [string, Uint8Array][] = [
    ["gzip", gzipSync(zeros, { level: 1 })],
    ["deflate", deflateSync(zeros, { level: 1 })],
    ["br", brotliCompressSync(zeros, quick)],
    ["zstd", zstdCompressSync(zeros)],
  ];
  for (const [encoding, bytes] of packed) {
    assert.ok(bytes.length < 1024 * 1024);
    const { body } = exchangeOf({ status: 200, headers: { "content-encoding": encoding }, body: () => bytes });
    assert.throws(body, /a body that cannot be decompressed/, encoding);
  }
});

test("a tape whose normaliser could search forever is refused when it is read", async () => {
  const declared = (pattern: string) => [{ name: "x", path: "messages.**", pattern }];
  for (const pattern of ["(a+)+$", "(\\w|\\d)*x"]) {
    assert.throws(() => normaliserOf(declared(pattern)), /Cannot use normaliser 'x' as .* takes exponential time/);
    const normalise = JSON.stringify(declared(pattern));
    await assert.rejects(reading((text) => text.replace("1,", `1,"normalise":${normalise},`)), /exponential time/);
  }
  assert.equal(normaliserOf(declared("\\d+ days ago"))!("3 days ago", "messages.0"), "{x}");
});

test("a tape never changes a file outside the workspace, by its path or by a link", async () => {
  await inFolder(async (folder) => {
    const options = { system: "You note.", tools: [Note] };
    const tape = join(folder, "fixture", "tape.jsonl");
    const note = { tools: [{ name: "Note", input: { say: "a" } }] };
    await recordWire(options, [note, { text: "done" }], {
      folder,
      tape: { path: join(folder, "fixture"), tools: true },
    });
    const text = readFileSync(tape, "utf8");
    assert.match(text, /"files":\{"notes\.txt":"a\\n"\}/);
    const secret = join(folder, "secret");
    mkdirSync(secret);
    writeFileSync(join(secret, "kept.txt"), "kept");
    const led: [path: string, content: string][] = [
      ["../secret/new.txt", '"x"'],
      ["link/new.txt", '"x"'],
      ["../secret/kept.txt", "null"],
    ];
    for (const [path, content] of led) {
      writeFileSync(tape, text.replace('{"notes.txt":"a\\n"}', `{"notes.txt":"a\\n","${path}":${content}}`));
      const hooks = [{ sessionStart: () => symlinkSync(secret, join(folder, "work", "link")) }];
      const told = await take(offline({ ...options, hooks }), {
        folder,
        tape: { path: join(folder, "fixture") },
      });
      assert.match(JSON.stringify(told.result.messages), /as it is outside the workspace/, path);
      assert.equal(told.report?.ok, false);
      assert.deepEqual(readdirSync(secret), ["kept.txt"], path);
      assert.equal(told.files.has("notes.txt"), false, "nothing is changed where one path leads out");
    }
  });
});

test("a normaliser of a tape that lacks something is refused with what it lacks", async () => {
  const refused: [declared: unknown, why: RegExp][] = [
    [null, /as its name is 'undefined': give it a word/],
    [{ name: "x", pattern: "a" }, /normaliser 'x' as it has no path: for example 'messages\.\*\*'/],
    [{ name: "x", path: "system" }, /normaliser 'x' as it has no pattern: for example '\\d\+ days ago'/],
    [{ name: "x", path: "system", pattern: "(" }, /normaliser 'x' as its pattern is wrong/],
  ];
  for (const [declared, why] of refused) {
    const normalise = JSON.stringify([declared]);
    await assert.rejects(reading((text) => text.replace("1,", `1,"normalise":${normalise},`)), {
      name: "TapeError",
      message: why,
    });
  }
});

/** Whether the text of a path is one that a normaliser for a pattern looks at. */
const looksAt = (pattern: string, path: string) =>
  normaliserOf([{ name: "x", path: pattern, pattern: "." }])!("a", path) === "{x}";

test("a normaliser's path is read part by part: one for *, one or more for **, and a name for itself", () => {
  const cases: [pattern: string, at: string[], notAt: string[]][] = [
    ["system", ["system"], ["systems", "system.0", "a.system"]],
    ["messages.*.content", ["messages.0.content"], ["messages.content", "messages.0.1.content", "messages..content"]],
    ["messages.**", ["messages.0", "messages.0.content.0.text"], ["messages", "other.0"]],
    ["**.text", ["a.text", "a.b.text", "a.text.b.text"], ["text", "a.text.b"]],
    ["**.a.**.b", ["x.a.y.b", "x.a.a.y.z.b", "a.a.b.b"], ["a.y.b", "x.a.b", "x.a.y.c"]],
    ["a[.b+", ["a[.b+"], ["a[.bb"]],
  ];
  for (const [pattern, at, notAt] of cases) {
    for (const path of at) assert.equal(looksAt(pattern, path), true, `${pattern} is at ${path}`);
    for (const path of notAt) assert.equal(looksAt(pattern, path), false, `${pattern} is not at ${path}`);
  }
});

test("a normaliser's path never takes a power of what it is held against", async () => {
  await assertLinear(
    1 << 16,
    (size) => () => assert.equal(looksAt(`${"**.".repeat(50)}x`, "a.".repeat(size / 2)), false),
  );
});
