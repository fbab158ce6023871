import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { readRecording } from "../../lib/tape/import/read.ts";
import { readTape, TapeError } from "../../lib/tape/read.ts";

const HELLO = fileURLToPath(new URL("../../fixtures/hello", import.meta.url));

/** A copy of the tape `hello`, changed, read as a stranger's. */
async function reading(change: (text: string) => string, prepare: (dir: string) => void = () => {}): Promise<unknown> {
  const dir = mkdtempSync(join(tmpdir(), "crochet-hostile-"));
  try {
    cpSync(HELLO, join(dir, "hello"), { recursive: true });
    mkdirSync(join(dir, "blobs"));
    prepare(dir);
    const tape = join(dir, "hello", "tape.jsonl");
    writeFileSync(tape, change(readFileSync(tape, "utf8")));
    return await readTape(tape);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const asBlob = (name: string) => (text: string) =>
  text.replace('"You greet people, briefly."', JSON.stringify({ $blob: name }));
const HASH = "0".repeat(64);

test("a tape never reads a file that is none of its blobs", async () => {
  const secret = (dir: string) => writeFileSync(join(dir, "secret"), "You greet people, briefly.");
  await assert.rejects(reading(asBlob("../secret"), secret), /as a blob is named by its sha256/);
  await assert.rejects(reading(asBlob("/etc/hostname")), /as a blob is named by its sha256/);
  const link = (dir: string) => (secret(dir), symlinkSync("../secret", join(dir, "blobs", HASH)));
  await assert.rejects(reading(asBlob(HASH), link), /as it is no plain file/);
  const other = (dir: string) => writeFileSync(join(dir, "blobs", HASH), "You greet people, briefly.");
  await assert.rejects(reading(asBlob(HASH), other), /as its text is another/);
});

test("a small tape that unpacks to more than any memory holds is refused", async () => {
  const padded = (blanks: string) => reading((text) => text.replace('"attempt":1,', `"attempt":1,"pad":[${blanks}],`));
  await assert.rejects(
    padded("1e9"),
    (error) => error instanceof TapeError && /no number of blanks/.test(error.message),
  );
  await assert.rejects(padded("-1"), /no number of blanks/);
});

test("a recording that was zipped to fill the memory is refused", async () => {
  const bomb = gzipSync(Buffer.alloc(300 * 1024 * 1024), { level: 1 });
  assert.ok(bomb.length < 4 * 1024 * 1024);
  await assert.rejects(readRecording(bomb, "bomb.gz"), /it cannot be unzipped/);
});
