import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { changedSinceRead } from "../../lib/files/file-history.ts";
import { Glob, Read, read } from "../../lib/tools/index.ts";
import type { ReadResponse } from "../../lib/tools/read.ts";
import { testData } from "../_data.ts";
import { refuses, text } from "./_read.ts";
import { call, plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

const captured = testData("captures/PostToolUse.Read.json");
const capturedFailure = testData("captures/PostToolUseFailure.Read.json");
const oracle = testData("oracle-cases.jsonl");

test(
  "Read gives hooks the input and the result that Claude Code gives them",
  () =>
    inWorkspace(async (root) => {
      const { stdin } = JSON.parse(readFileSync(captured, "utf8").replaceAll("/PROJ", root));
      plant(root, { "a.txt": stdin.tool_response.file.content });
      const input = Read.prepare!(await Read.parse({ file_path: "a.txt" }), { cwd: root });
      assert.equal(JSON.stringify(input), JSON.stringify(stdin.tool_input));
      const { response } = await call(Read, { file_path: "a.txt" }, { cwd: root });
      assert.equal(JSON.stringify(response), JSON.stringify(stdin.tool_response));
    }),
);

test(
  "Read refuses a missing file in Claude Code's words",
  () =>
    inWorkspace(async (root) => {
      const { stdin } = JSON.parse(readFileSync(capturedFailure, "utf8").replaceAll("/PROJ", root));
      await assert.rejects(call(Read, { file_path: "nope.txt" }, { cwd: root }), { message: stdin.error });
    }),
);

test("Read shows a result that a hook replaced, as Claude Code shows it (oracle read_updated_output)", () => {
  const found = readFileSync(oracle, "utf8").split("\n").find((line) => line.includes('"read_updated_output"'))!;
  const { hook_scripts, host } = JSON.parse(found);
  const verdict = JSON.parse(/printf '%s' '(.*)'/.exec(hook_scripts["h0.sh"])![1]!);
  const shown = Read.render!(verdict.hookSpecificOutput.updatedToolOutput);
  assert.equal(shown, host.model_saw_next[0].content[0].tool_result);
});

test("Read.render() refuses a result of an unknown form", () => {
  const other = { type: "other", file: {} };
  for (const wrong of [null, undefined, "text", {}, { type: "text" }, { type: "text", file: {} }, other]) {
    assert.throws(() => Read.render!(wrong), /Cannot show a result of Read as it has another form/);
  }
});

test("Read numbers lines, right-aligned and followed by a tab, and marks the final line break", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": Array.from({ length: 10 }, (_, i) => `line ${i + 1}\n`).join(""), "b.txt": "no end" });
    const lines = (await text(root, { file_path: "a.txt" })).split("\n");
    assert.equal(lines[0], " 1\tline 1");
    assert.equal(lines[9], "10\tline 10");
    assert.equal(lines[10], "11");
    assert.equal(await text(root, { file_path: "b.txt" }), "1\tno end");
  }));

test("Read shows lines from offset, as many as limit, and says how to continue", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "one\ntwo\nthree\nfour\n" });
    assert.equal(
      await text(root, { file_path: "a.txt", offset: 2, limit: 2 }),
      "2\ttwo\n3\tthree\n\n[Lines 2 to 3 of 4: to go on, set offset to 4]",
    );
    assert.equal(await text(root, { file_path: "a.txt", offset: 4, limit: 1 }), "4\tfour");
    assert.equal(
      await text(root, { file_path: "a.txt", offset: 0, limit: 1 }),
      "1\tone\n\n[Lines 1 to 1 of 4: to go on, set offset to 2]",
    );
    assert.equal(
      await text(root, { file_path: "a.txt", offset: 9 }),
      "[The file has 4 lines: offset 9 is past its end]",
    );
  }));

test("Read stops at 2000 lines by default and says so, but never for the final line break alone", () =>
  inWorkspace(async (root) => {
    plant(root, { "long.txt": "x\n".repeat(2001), "exact.txt": "x\n".repeat(2000) });
    const long = await text(root, { file_path: "long.txt" });
    assert.match(long, /^2000\tx\n\n\[Lines 1 to 2000 of 2001: to go on, set offset to 2001\]$/m);
    assert.match(await text(root, { file_path: "long.txt", limit: 2001 }), /2001\tx$/);
    assert.match(await text(root, { file_path: "exact.txt" }), /2000\tx\n2001$/);
  }));

test("Read cuts long lines and says how to get the rest, never inside a character", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": `short\n${"x".repeat(1999)}😀${"y".repeat(50)}\n` });
    const shown = await text(root, { file_path: "a.txt" });
    assert.ok(shown.includes(`2\t${"x".repeat(1999)} [cut]\n`));
    assert.match(shown, /Cut after 2000 characters: line 2 \(2051 characters\); .* sed -n 2p FILE \| cut -c2001-\]$/);
  }));

test("Read stops at 100,000 characters, at a whole line, and says how to continue", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": `${"x".repeat(1000)}\n`.repeat(500) });
    const { response } = await call(Read, { file_path: "a.txt", limit: 400 }, { cwd: root });
    const { file } = response as ReadResponse & { type: "text" };
    assert.equal(file.numLines, 99);
    assert.equal(file.content.length, 99 * 1001 - 1);
    assert.equal(file.notice, "Lines 1 to 99 of 500: to go on, set offset to 100");
  }));

test("Read shows line breaks alike whether LF or CRLF, no byte order mark, and UTF-16 as text", () =>
  inWorkspace(async (root) => {
    const little = Buffer.from("\uFEFFé\r\nb", "utf16le");
    plant(root, {
      "crlf.txt": "a\r\nb\r\n",
      "bom.txt": "\uFEFFa\n",
      "le.txt": little,
      "be.txt": Buffer.from(little).swap16(),
      "cr.txt": "a\rb",
    });
    assert.equal(await text(root, { file_path: "crlf.txt" }), "1\ta\n2\tb\n3");
    assert.equal(await text(root, { file_path: "bom.txt" }), "1\ta\n2");
    assert.equal(await text(root, { file_path: "le.txt" }), "1\té\n2\tb");
    assert.equal(await text(root, { file_path: "be.txt" }), "1\té\n2\tb");
    assert.equal(await text(root, { file_path: "cr.txt" }), "1\ta\rb");
  }));

test("Read shows what is not UTF-8 as such and says so", () =>
  inWorkspace(async (root) => {
    plant(root, { "latin.txt": Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a, 0x78]) });
    assert.match(
      await text(root, { file_path: "latin.txt" }),
      /^1\tcaf\uFFFD\n2\tx\n\n\[Some bytes are not valid UTF-8/,
    );
    assert.equal(await text(root, { file_path: "latin.txt", offset: 2 }), "2\tx");
  }));

test("Read says that a file is empty", () =>
  inWorkspace(async (root) => {
    plant(root, { "empty.txt": "" });
    assert.equal(await text(root, { file_path: "empty.txt" }), "[The file exists but is empty]");
  }));

test("Read refuses binary files with what to do instead", () =>
  inWorkspace(async (root) => {
    plant(root, {
      "a.bin": Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]),
      "b.txt": Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0]),
    });
    await refuses(text(root, { file_path: "a.bin" }), "binary", /it is a binary file: look into it with Bash/);
    await refuses(text(root, { file_path: "b.txt" }), "binary", /binary/);
  }));

test("Read refuses directories, FIFOs and huge files, and never waits for a writer", () =>
  inWorkspace(async (root) => {
    mkdirSync(join(root, "folder"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    plant(root, { "huge.log": "x" });
    truncateSync(join(root, "huge.log"), (256 << 20) + 1);
    await refuses(text(root, { file_path: "folder" }), "is_directory", /is a directory: name a file in it/);
    await refuses(text(root, { file_path: "pipe" }), "not_regular", /Not a regular file/);
    await refuses(text(root, { file_path: "huge.log" }), "too_large", /over 256 MiB: use Grep or Bash/);
  }));

test("Read names similar files if one is missing, and never opens one instead", () =>
  inWorkspace(async (root) => {
    plant(root, { "config.json": "{}", "config.yaml": "", "Readme.md": "", "unrelated.txt": "" });
    const hint = (path: string) => text(root, { file_path: path }).catch((error: Error) => error.message);
    assert.match(
      await hint("config.toml"),
      /^File does not exist\. Note: your current working directory is .* Did you mean config\.json or config\.yaml\?$/,
    );
    assert.match(await hint("README.md"), /Did you mean Readme\.md\?$/);
    assert.match(await hint("confg.json"), /Did you mean config\.json/);
    assert.doesNotMatch(await hint("zzz.rs"), /Did you mean/);
    assert.doesNotMatch(await hint("no/folder.txt"), /Did you mean/);
  }));

test("U16: Read refuses what lies outside the workspace, by path, by dots and by link", () =>
  inWorkspace(async (root) => {
    const secret = join(root, "..", "secret.txt");
    writeFileSync(secret, "secret");
    symlinkSync(secret, join(root, "link.txt"));
    plant(root, { "inside.txt": "inside\n" });
    symlinkSync("inside.txt", join(root, "near.txt"));
    for (const file_path of [secret, "../secret.txt", "link.txt", "/etc/hostname"]) {
      await refuses(text(root, { file_path }), "outside_root", /outside the workspace/);
    }
    assert.equal(await text(root, { file_path: "near.txt" }), "1\tinside\n2");
  }));

test("EDIT rule 13: Read records the bytes it read, by the file's real path, also of a part", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "one\ntwo\n" });
    symlinkSync("a.txt", join(root, "link.txt"));
    const state = new Map<string, unknown>();
    const real = realpathSync(join(root, "a.txt"));
    assert.equal(changedSinceRead(state, real, Buffer.from("one\ntwo\n")), undefined);
    await read({ file_path: "link.txt", limit: 1 }, { cwd: root, state });
    assert.equal(changedSinceRead(state, real, Buffer.from("one\ntwo\n")), false);
    assert.equal(changedSinceRead(state, real, Buffer.from("one\nTWO\n")), true);
  }));

test("Read refuses invalid inputs", async () => {
  const wrong = [{}, { file_path: 5 }, { file_path: "" }, { file_path: "a", offset: "2" }, {
    file_path: "a",
    limit: 0,
  }];
  for (const input of wrong) {
    await assert.rejects(async () => await Read.parse(input), { name: "InvalidInput" });
  }
});

test("Read never reads on once the run is interrupted", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "x" });
    await assert.rejects(
      read({ file_path: "a.txt" }, { cwd: root, signal: AbortSignal.abort(new Error("stop")) }),
      /stop/,
    );
  }));

test("Read and Glob take a name or a pattern of one character, and refuse an empty one", async () => {
  assert.deepEqual(await Read.parse({ file_path: "a", offset: 0, limit: 1 }), { file_path: "a", offset: 0, limit: 1 });
  assert.deepEqual(await Glob.parse({ pattern: "*" }), { pattern: "*" });
  for (const input of [{ file_path: "" }, { file_path: "a", offset: -1 }, { file_path: "a", limit: 0 }]) {
    await assert.rejects(async () => await Read.parse(input), { name: "InvalidInput" }, JSON.stringify(input));
  }
  await assert.rejects(async () => await Glob.parse({ pattern: "" }), { name: "InvalidInput" });
});
