import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOTS } from "../../lib/core/tool.ts";
import { changeFile } from "../../lib/files/change-file.ts";
import { thisOwner } from "../../lib/process/owner.ts";
import { recordRead, refreshRead } from "../../lib/files/file-history.ts";
import { edit, multiEdit, write } from "../../lib/tools/index.ts";
import { run, withFile } from "./_edit-file.ts";
import { withScript } from "./_edit-scripts.ts";
import { inWorkspace } from "./_workspace.ts";

test("P18: edits of one file by its hard links at the same time lose nothing, and mix nothing", () =>
  inWorkspace(async (root) => {
    const lines = Array.from({ length: 12 }, (_, i) => `line ${i}. ${"x".repeat(200)}\n`);
    for (let round = 0; round < 5; round++) {
      writeFileSync(join(root, "a"), lines.join(""));
      linkSync(join(root, "a"), join(root, `b${round}`));
      await Promise.all(lines.map((_, i) => {
        const edited = { old_string: `line ${i}.`, new_string: `Line ${i}, ${"y".repeat(i * 37)}` };
        return edit({ file_path: i % 2 ? "a" : `b${round}`, ...edited }, { cwd: root });
      }));
      const expected = lines.map((line, i) => line.replace(/line (\d+)\./, `Line $1, ${"y".repeat(i * 37)}`));
      assert.equal(readFileSync(join(root, "a"), "utf8"), expected.join(""));
    }
  }));

test("S0.23: Edit, MultiEdit and Write refuse a binary file in the words of Read, and leave it alone", () =>
  inWorkspace(async (root) => {
    const far = Buffer.concat([Buffer.alloc(70_000, "x"), Buffer.from([0])]);
    const files: [name: string, bytes: Buffer, isBinary: boolean][] = [
      ["early.bin", Buffer.from("a\0b"), true],
      ["elf", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 97]), true],
      ["wide.txt", Buffer.from("\ufeffa", "utf16le"), false],
      ["far.txt", far, false],
      ["plain.txt", Buffer.from("a"), false],
    ];
    const ways: [verb: string, run: (file_path: string) => Promise<unknown>][] = [
      ["edit", (file_path) => edit({ file_path, old_string: "a", new_string: "b" }, { cwd: root })],
      ["edit", (file_path) => multiEdit({ file_path, edits: [{ old_string: "a", new_string: "b" }] }, { cwd: root })],
      ["write", (file_path) => write({ file_path, content: "b" }, { cwd: root })],
    ];
    for (const [name, bytes, isBinary] of files) {
      for (const [verb, run] of ways) {
        writeFileSync(join(root, name), bytes);
        const said = await run(name).then(() => "done", (error: Error) => error.message);
        if (!isBinary) assert.doesNotMatch(said, /binary/, name);
        else {
          const words = "as it is a binary file: look into it with Bash, for example file or xxd";
          assert.equal(said, `Cannot ${verb} '${join(root, name)}' ${words}`);
          assert.ok(readFileSync(join(root, name)).equals(bytes), name);
        }
      }
    }
  }));

test("rule 4: a path is not decoded, expanded or corrected, and a trailing slash asks for a directory", () =>
  withFile("x", async ({ root, context }) => {
    for (const file_path of ["a%2Etxt", "~/a.txt", "A.txt", "a.txt/", "file:a.txt", " a.txt"]) {
      await assert.rejects(
        run({ file_path, old_string: "x", new_string: "y" }, context),
        { code: "no_such_file" },
        file_path,
      );
    }
    await assert.rejects(run({ file_path: "a\0.txt", old_string: "x", new_string: "y" }, context), {
      code: "invalid_input",
    });
    assert.deepEqual(readdirSync(root), ["a.txt"]);
  }));

test("rule 4: a directory the agent allowed beside its own can be edited too, and no other", () =>
  withFile("x", async ({ root, context }) => {
    for (const name of ["allowed", "other"]) {
      mkdirSync(join(root, "..", name));
      writeFileSync(join(root, "..", name, "b.txt"), "x");
    }
    context.state.set(ROOTS, [root, join(root, "..", "allowed")]);
    await run({ file_path: "../allowed/b.txt", old_string: "x", new_string: "y" }, context);
    assert.equal(readFileSync(join(root, "../allowed/b.txt"), "utf8"), "y");
    await assert.rejects(run({ file_path: "../other/b.txt", old_string: "x", new_string: "y" }, context), {
      code: "outside_root",
    });
  }));

test("rule 5: a file over 1 GiB is refused without being read", () =>
  withFile("x", async ({ path, context }) => {
    truncateSync(path, 2 ** 30 + 1);
    await assert.rejects(run({ file_path: path, old_string: "x", new_string: "y" }, context), { code: "too_large" });
  }));

test("rule 13, S0.18: a file that was never read can be edited, and one that changed since says so, in errors too", () =>
  withFile("a\nb\n", async ({ path, context }) => {
    const plain = await run({ file_path: path, old_string: "a", new_string: "A" }, context);
    assert.doesNotMatch(plain.content, /changed on disk/);
    recordRead(context.state, realpathSync(path), readFileSync(path));
    utimesSync(path, 1, 1);
    assert.doesNotMatch(
      (await run({ file_path: path, old_string: "A", new_string: "aa" }, context)).content,
      /changed on disk/,
    );
    assert.doesNotMatch(
      (await run({ file_path: path, old_string: "aa", new_string: "a" }, context)).content,
      /changed on disk/,
    );
    writeFileSync(path, "x\nb\n"); // of the same size
    assert.match(
      (await run({ file_path: path, old_string: "b", new_string: "B" }, context)).content,
      /changed on disk since it was read/,
    );
    assert.match(
      (await run({ file_path: path, old_string: "B", new_string: "b" }, context)).content,
      /changed on disk since it was read/,
    );
    await assert.rejects(run({ file_path: path, old_string: "q", new_string: "B" }, context), {
      message: /since it was read: read it again$/,
    });
    writeFileSync(path, "b\nb\n");
    await assert.rejects(run({ file_path: path, old_string: "b", new_string: "B" }, context), {
      message: /^String appears 2 times[^]*since it was read: read it again$/,
    });
  }));

test("rule 18: a file that a formatter hook rewrote counts as read", () =>
  withFile("a = 1", async ({ path, context }) => {
    recordRead(context.state, realpathSync(path), readFileSync(path));
    await run({ file_path: path, old_string: "1", new_string: "2" }, context);
    writeFileSync(path, "a = 2;\n");
    await refreshRead({ file_path: path }, context);
    assert.doesNotMatch(
      (await run({ file_path: path, old_string: "2", new_string: "3" }, context)).content,
      /changed on disk/,
    );
  }));

test("rule 14: an edit is done again when another program changed the file meanwhile, and given up the second time", () =>
  withFile("one\n", async ({ path, read, context }) => {
    let attempts = 0;
    const appendOther = (upTo: number) => (bytes: Uint8Array | undefined) => {
      if (++attempts <= upTo) writeFileSync(path, Buffer.concat([bytes!, Buffer.from("other\n")]));
      return { splices: [{ start: 0, end: 3, bytes: Buffer.from("1") }] };
    };
    await changeFile(path, context, { verb: "edit", plan: appendOther(1) });
    assert.equal(attempts, 2);
    assert.equal(read(), "1\nother\n");
    attempts = 0;
    await assert.rejects(changeFile(path, context, { verb: "edit", plan: appendOther(9) }), { code: "changed" });
    assert.equal(attempts, 2);
    assert.equal(read(), "1\nother\nother\nother\n");
  }));

test(
  "rule 14: an edit waits for the lock of another process, can be interrupted then, and takes it over from a dead one",
  () =>
    withFile("a", async ({ root, path, read }) => {
      await withScript("_edit-hold.ts", [path], async (holder) => {
        const waiting = edit({ file_path: path, old_string: "a", new_string: "b" }, {
          cwd: root,
          signal: AbortSignal.timeout(150),
        });
        await assert.rejects(waiting, { name: "TimeoutError" });
        assert.equal(read(), "a");
        holder.kill("SIGKILL");
        await edit({ file_path: path, old_string: "a", new_string: "b" }, { cwd: root });
        assert.equal(read(), "b");
        assert.deepEqual(readdirSync(root), ["a.txt"]);
      });
    }),
);

test("an interrupted run edits nothing", () =>
  withFile("a", async ({ root, path, read }) => {
    await assert.rejects(
      edit({ file_path: path, old_string: "a", new_string: "b" }, { cwd: root, signal: AbortSignal.abort() }),
    );
    assert.equal(read(), "a");
  }));

test("rule 15: a symbolic link stays a link, and a hard link is written in place and says so", () =>
  withFile("old\n", async ({ root, path, context }) => {
    symlinkSync("a.txt", join(root, "soft"));
    linkSync(path, join(root, "hard"));
    const { ino } = statSync(path);
    const { content } = await run({ file_path: "soft", old_string: "old", new_string: "much longer" }, context);
    assert.match(content, /several hard links/);
    await run({ file_path: "hard", old_string: "much longer", new_string: "new" }, context);
    for (const name of ["a.txt", "soft", "hard"]) {
      assert.equal(readFileSync(join(root, name), "utf8"), "new\n");
      assert.equal(statSync(join(root, name)).ino, ino);
    }
  }));

test("rule 15: what a killed edit left is swept, what a running one writes is not", {
  ...(process.platform !== "linux" && { skip: "looks a process up in /proc" }),
}, () =>
  inWorkspace(async (root) => {
    writeFileSync(join(root, "a.txt"), "a");
    await withScript("_edit-hold.ts", [join(root, "b.txt")], async ({ pid }) => {
      const [, , place] = thisOwner().split("-");
      const start = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ")[19];
      const running = `.crochet-${pid}-${start}-${place}-1.tmp`, dead = `.crochet-${pid}-0-${place}-1.tmp`;
      for (const name of [running, dead, ".crochet-notes.tmp", "keep.tmp"]) writeFileSync(join(root, name), "");
      await edit({ file_path: "a.txt", old_string: "a", new_string: "b" }, { cwd: root });
      assert.deepEqual(readdirSync(root).sort(), [running, ".crochet-notes.tmp", "a.txt", "keep.tmp"].sort());
    });
  }));

test("a file over 8 MiB gets no originalFile, a diff of its changed lines alone, and says that undo keeps no copy", () =>
  withFile(`${"line of text\n".repeat(700_000)}the end\nlast\n`, async ({ root, path, read, context }) => {
    const { content, response } = await run({ file_path: path, old_string: "the end", new_string: "THE END" }, context);
    assert.ok(read().endsWith("THE END\nlast\n"));
    assert.equal("originalFile" in response, false);
    assert.deepEqual(response.structuredPatch, [{
      oldStart: 700_001,
      oldLines: 1,
      newStart: 700_001,
      newLines: 1,
      lines: ["-the end", "+THE END"],
    }]);
    if (existsSync(join(root, ".crochet"))) assert.doesNotMatch(content, /undo cannot/);
    else assert.match(content, /undo cannot take this back: the file is over 8 MiB/);
  }));
