import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Block } from "../../lib/core/messages.ts";
import type { ToolError } from "../../lib/core/tool.ts";
import { changedSinceRead } from "../../lib/files/read-record.ts";
import { Read, read, type ReadResponse } from "../../lib/tools/index.ts";
import { sharedData } from "../_shared.ts";
import { call, plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

const captured = sharedData("captures/PostToolUse.Read.json");
const oracle = sharedData("oracle-cases.jsonl");
const absent = { skip: "the shared test data is not here" };

async function text(root: string, input: Record<string, unknown>): Promise<string> {
  return (await call(Read, input, { cwd: root })).content as string;
}

function refuses(work: Promise<unknown>, code: string, message: RegExp): Promise<void> {
  return assert.rejects(work, (error: ToolError) => {
    assert.equal(error.name, "ToolError");
    assert.match(error.message, message);
    assert.equal(error.code, code);
    return true;
  });
}

/** A PNG of one pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==",
  "base64",
);
const GIF = Buffer.from("R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs=", "base64");
const JPEG = Buffer.concat([
  Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 11, 8, 0, 7, 0, 9, 1, 1, 0x11, 0]),
  Buffer.from([0xff, 0xd9]),
]);
const WEBP = Buffer.from("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", "base64");
const PDF = Buffer.from("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n");

test(
  "Read gives hooks the input and the result that Claude Code gives them",
  { ...(!captured && absent) },
  () =>
    inWorkspace(async (root) => {
      const { stdin } = JSON.parse(readFileSync(captured!, "utf8").replaceAll("/PROJ", root));
      plant(root, { "a.txt": stdin.tool_response.file.content });
      const input = Read.prepare!(await Read.parse({ file_path: "a.txt" }), { cwd: root });
      assert.equal(JSON.stringify(input), JSON.stringify(stdin.tool_input));
      const { response } = await call(Read, { file_path: "a.txt" }, { cwd: root });
      assert.equal(JSON.stringify(response), JSON.stringify(stdin.tool_response));
    }),
);

test(
  "Read refuses a missing file in Claude Code's words",
  { ...(!captured && absent) },
  () =>
    inWorkspace(async (root) => {
      const { stdin } = JSON.parse(
        readFileSync(sharedData("captures/PostToolUseFailure.Read.json")!, "utf8").replaceAll("/PROJ", root),
      );
      await assert.rejects(call(Read, { file_path: "nope.txt" }, { cwd: root }), { message: stdin.error });
    }),
);

test("Read shows a result that a hook replaced, as Claude Code shows it (oracle read_updated_output)", {
  ...(!oracle && absent),
}, () => {
  const found = readFileSync(oracle!, "utf8").split("\n").find((line) => line.includes('"read_updated_output"'))!;
  const { hook_scripts, host } = JSON.parse(found);
  const verdict = JSON.parse(/printf '%s' '(.*)'/.exec(hook_scripts["h0.sh"])![1]!);
  const shown = Read.render!(verdict.hookSpecificOutput.updatedToolOutput);
  assert.equal(shown, host.model_saw_next[0].content[0].tool_result);
});

test("Read.render() refuses a result of another form", () => {
  for (
    const wrong of [null, undefined, "text", {}, { type: "text" }, { type: "text", file: {} }, {
      type: "other",
      file: {},
    }]
  ) {
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

test("Read shows lines from offset, as many as limit, and says how to go on", () =>
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

test("Read stops at 100,000 characters, at a whole line, and says how to go on", () =>
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

test("Read gives images as blocks, told by their content and not by their name", () =>
  inWorkspace(async (root) => {
    for (
      const [bytes, type] of [[PNG, "image/png"], [GIF, "image/gif"], [JPEG, "image/jpeg"], [
        WEBP,
        "image/webp",
      ]] as const
    ) {
      plant(root, { "picture.txt": bytes });
      const { content, response } = await call(Read, { file_path: "picture.txt" }, { cwd: root });
      const base64 = bytes.toString("base64");
      assert.deepEqual(response, { type: "image", file: { base64, type, originalSize: bytes.length } });
      assert.deepEqual(content, [{ type: "image", source: { type: "base64", media_type: type, data: base64 } }]);
    }
  }));

test("Read refuses images that the API would refuse with the whole conversation", () =>
  inWorkspace(async (root) => {
    const wide = Buffer.from(PNG);
    wide.writeUInt32BE(8001, 16);
    plant(root, {
      "cut.png": PNG.subarray(0, 40),
      "head.png": PNG.subarray(0, 12),
      "cut.jpg": JPEG.subarray(0, 10),
      "cut.webp": WEBP.subarray(0, 31),
      "cut.gif": GIF.subarray(0, 20),
      "wide.png": wide,
      "big.png": Buffer.concat([PNG, Buffer.alloc(4 << 20)]),
    });
    for (const name of ["cut.png", "head.png", "cut.jpg", "cut.webp", "cut.gif"]) {
      await refuses(text(root, { file_path: name }), "damaged", /it is damaged or cut off/);
    }
    await refuses(text(root, { file_path: "wide.png" }), "too_large", /over 8000 pixels: .*8001x1/);
    await refuses(text(root, { file_path: "big.png" }), "too_large", /over 3932160 bytes: make a smaller copy/);
  }));

test("Read gives a PDF as a document, and refuses one that is too large, encrypted or cut off", () =>
  inWorkspace(async (root) => {
    plant(root, {
      "a.pdf": PDF,
      "cut.pdf": PDF.subarray(0, 20),
      "locked.pdf": Buffer.concat([PDF, Buffer.from("/Encrypt %%EOF")]),
      "big.pdf": Buffer.concat([PDF, Buffer.alloc(11 << 20)]),
    });
    const { content, response } = await call(Read, { file_path: "a.pdf" }, { cwd: root });
    const data = PDF.toString("base64");
    assert.deepEqual(response, {
      type: "pdf",
      file: { filePath: join(root, "a.pdf"), base64: data, originalSize: PDF.length },
    });
    assert.deepEqual(content, [{ type: "document", source: { type: "base64", media_type: "application/pdf", data } }]);
    await refuses(text(root, { file_path: "cut.pdf" }), "damaged", /damaged/);
    await refuses(text(root, { file_path: "locked.pdf" }), "encrypted", /decrypt it first/);
    await refuses(text(root, { file_path: "big.pdf" }), "too_large", /over 10 MiB: .*pdftotext/);
  }));

test("Read shows a notebook as cells, with outputs as text, and counts cells by offset and limit", () =>
  inWorkspace(async (root) => {
    const cells = [
      { cell_type: "markdown", id: "m1", source: ["# Title\n", "words"] },
      {
        cell_type: "code",
        execution_count: 3,
        source: "1 + 1",
        outputs: [
          { output_type: "stream", text: ["out\n"] },
          {
            output_type: "execute_result",
            data: { "text/plain": ["2"], "image/png": "aGk=", "text/html": "<b>2</b>" },
          },
          { output_type: "error", ename: "ValueError", evalue: "bad", traceback: ["\x1b[0;31mtrace\x1b[0m"] },
        ],
      },
    ];
    plant(root, {
      "n.ipynb": JSON.stringify({ cells, nbformat: 4 }),
      "broken.ipynb": "{",
      "none.ipynb": '{"cells":[]}',
    });
    assert.equal(
      await text(root, { file_path: "n.ipynb" }),
      '<cell number="1" type="markdown" id="m1">\n# Title\nwords\n</cell>\n\n' +
        '<cell number="2" type="code" execution_count="3">\n1 + 1\n</cell>\n<output>\nout\n\n</output>\n' +
        "<output>\n2\n[image/png, 4 characters]\n</output>\n<output>\nValueError: bad\ntrace\n</output>",
    );
    assert.match(
      await text(root, { file_path: "n.ipynb", limit: 1 }),
      /\[Cells 1 to 1 of 2: to go on, set offset to 2\]$/,
    );
    assert.match(await text(root, { file_path: "n.ipynb", offset: 2 }), /^<cell number="2" type="code"/);
    assert.equal(
      await text(root, { file_path: "n.ipynb", offset: 3 }),
      "[The notebook has 2 cells: offset 3 is past its end]",
    );
    assert.equal(await text(root, { file_path: "broken.ipynb" }), "1\t{");
    assert.equal(await text(root, { file_path: "none.ipynb" }), "[The notebook has no cells]");
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
    await refuses(text(root, { file_path: "folder" }), "is_directory", /is a directory: list it with Glob/);
    await refuses(text(root, { file_path: "pipe" }), "not_regular", /Not a regular file/);
    await refuses(text(root, { file_path: "huge.log" }), "too_large", /over 256 MiB: search it with Grep/);
  }));

test("Read names similar files where one is missing, and never opens one instead", () =>
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

test("Read refuses inputs that are none", async () => {
  for (
    const input of [{}, { file_path: 5 }, { file_path: "" }, { file_path: "a", offset: "2" }, {
      file_path: "a",
      limit: 0,
    }]
  ) {
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

test("Read.render() always gives back what Read gave the model", () =>
  inWorkspace(async (root) => {
    plant(root, { "a.txt": "one\n\ntwo\n", "a.png": PNG, "a.pdf": PDF, "empty": "" });
    for (const file_path of ["a.txt", "a.png", "a.pdf", "empty"]) {
      const { content, response } = await call(Read, { file_path }, { cwd: root });
      assert.deepEqual(Read.render!(JSON.parse(JSON.stringify(response))) as string | Block[], content);
    }
  }));
