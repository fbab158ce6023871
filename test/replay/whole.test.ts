import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { thisOwner } from "../../lib/process/owner.ts";
import { agent, type AgentOptions } from "../../lib/index.ts";
import { draftIn, sweep } from "../../lib/files/drafts.ts";
import { parseTape, readTape } from "../../lib/replay/read-tape.ts";
import { runFixture } from "../../lib/replay/run-fixture.ts";
import { fixtureAt } from "../../lib/replay/fixture.ts";
import { writeTape } from "../../lib/replay/write-tape.ts";
import { scripted } from "../../lib/testing/index.ts";
import { inFolder, Look, look, Note, recordWire, tapeIn } from "./_stage.ts";

const options: AgentOptions = { system: "You look.", tools: [Look, Note] };

test("a recorded tape that was cut, be it between two lines, is always refused as cut; so is what follows its end", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [look("a"), look("b"), { text: "done" }], { folder });
    const lines = readFileSync(tapeIn(folder), "utf8").trimEnd().split("\n");
    assert.ok(lines.length > 10);
    const cut =
      /^Cannot read tape x as its last line is not an 'end' line, so it was cut off: take it from version control/;
    for (let kept = 1; kept < lines.length; kept++) {
      await assert.rejects(parseTape(`${lines.slice(0, kept).join("\n")}\n`, "x"), { name: "TapeError", message: cut });
    }
    const twice = `${lines.join("\n")}\n${lines.at(-1)}\n`;
    const after = new RegExp(`line ${lines.length + 1}: it comes after the line that ends the tape`);
    await assert.rejects(parseTape(twice, "x"), after);
  });
});

test("a session in which nothing was asked is never kept, and never put in the place of a run that was", async () => {
  await inFolder(async (folder) => {
    const close = async (mode: "record" | "update") => {
      const told: string[] = [];
      const tape = { path: folder, mode, onError: (error: unknown) => told.push((error as Error).message) };
      const session = await agent({ ...options, model: scripted([]) }).open({ cwd: folder, tape });
      await session.close();
      return told;
    };
    assert.deepEqual(await close("record"), [`Cannot record ${folder} as nothing was asked`]);
    assert.equal(existsSync(tapeIn(folder)), false);
    await recordWire(options, [{ text: "one" }], { folder });
    const before = readFileSync(tapeIn(folder), "utf8");
    assert.deepEqual(await close("update"), [`Cannot update ${folder} as nothing was asked`]);
    assert.equal(readFileSync(tapeIn(folder), "utf8"), before);
  });
});

test("a tape is never updated if its workspace cannot be copied: a full disk changes neither", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: "one" }], { folder });
    const before = readFileSync(tapeIn(folder), "utf8");
    const done: string[] = [];
    const workspace = {
      ready: () => {
        throw new Error("No space is left");
      },
      keep: () => done.push("kept"),
      drop: () => done.push("dropped"),
    };
    const onError = (error: unknown) => done.push((error as Error).message);
    const other = agent({ ...options, system: "You look again.", model: scripted([{ text: "two" }]) });
    await other.run("go", { cwd: folder, tape: { path: folder, mode: "update", workspace, onError } });
    assert.deepEqual(done, ["dropped", "No space is left"]);
    assert.equal(readFileSync(tapeIn(folder), "utf8"), before);
  });
});

const LONG_TEXT = "a long line\n".repeat(3000);

test("a damaged or missing blob is named, and always written again with the next tape that needs it", async () => {
  await inFolder(async (folder) => {
    await recordWire(options, [{ text: LONG_TEXT }], { folder: join(folder, "a") });
    const tape = await readTape(tapeIn(join(folder, "a")));
    const blobs = join(folder, "blobs");
    const names = readdirSync(blobs);
    assert.ok(names.length > 0);
    for (const name of names) appendFileSync(join(blobs, name), "!");
    await assert.rejects(
      readTape(tapeIn(join(folder, "a"))),
      /Cannot read \S+\/blobs\/[0-9a-f]{64} as its text is not/,
    );
    await writeTape(tapeIn(join(folder, "b")), tape);
    for (const path of ["a", "b"]) assert.deepEqual(await readTape(tapeIn(join(folder, path))), tape);
    assert.deepEqual(readdirSync(blobs), names);
  });
});

test("a checkout with other ends of lines reads the same tapes, and files that differ in nothing else are said to", async () => {
  await inFolder(async (folder) => {
    const made = join(folder, "made");
    mkdirSync(join(made, "files"), { recursive: true });
    writeFileSync(join(made, "files", "notes.md"), "one\ntwo\n");
    const subject = agent({ ...options, model: scripted([look("a"), { text: LONG_TEXT }]) });
    await runFixture(fixtureAt(made), subject, { mode: "record", prompts: ["go"] });
    const tape = await readTape(tapeIn(made));
    const crlf = (path: string) => writeFileSync(path, readFileSync(path, "utf8").replaceAll("\n", "\r\n"));
    crlf(tapeIn(made));
    for (const name of readdirSync(join(folder, "blobs"))) crlf(join(folder, "blobs", name));
    assert.deepEqual(await readTape(tapeIn(made)), tape);
    crlf(join(made, "files", "notes.md"));
    const drifted = (await runFixture(fixtureAt(made), subject)).report;
    assert.deepEqual(drifted.files, [{ path: "notes.md", how: "changed" }]);
    assert.match(drifted.notes.join(), /only line endings differ: .* in \.gitattributes/);
    appendFileSync(join(made, "files", "notes.md"), "three");
    const { files, notes } = (await runFixture(fixtureAt(made), subject)).report;
    assert.deepEqual([files.length, notes], [1, []]);
  });
});

test("what a killed process has left is removed with the next tape, and what one still makes never is", async () => {
  await inFolder(async (folder) => {
    const path = tapeIn(join(folder, "a"));
    mkdirSync(dirname(path));
    const left = join(dirname(path), basename(draftIn(folder)).replace(/\d+/, "999999999"));
    const [mine, foreign] = [draftIn(dirname(path)), join(dirname(path), ".draft-1-1-elsewhere-0")];
    for (const draft of [left, mine, foreign]) mkdirSync(join(draft, "files"), { recursive: true });
    assert.ok(left !== mine && mine.includes(thisOwner()));
    await recordWire(options, [{ text: "one" }], { folder: dirname(path) });
    const drafts = () => readdirSync(dirname(path)).filter((name) => name.startsWith(".draft-")).sort();
    assert.deepEqual([existsSync(path), drafts()], [true, [basename(foreign), basename(mine)].sort()]);
    sweep(dirname(path));
    assert.equal(drafts().length, 2);
  });
});
