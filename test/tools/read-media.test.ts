import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { test } from "node:test";
import type { Block } from "../../lib/core/messages.ts";
import { Read } from "../../lib/tools/index.ts";
import { refuses, text } from "./_read.ts";
import { call, plant } from "./_tree.ts";
import { inWorkspace } from "./_workspace.ts";

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

test("Read gives images as blocks, recognised by their content and not by their name", () =>
  inWorkspace(async (root) => {
    const images = { "image/png": PNG, "image/gif": GIF, "image/jpeg": JPEG, "image/webp": WEBP };
    for (const [type, bytes] of Object.entries(images)) {
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
      "long.ipynb": JSON.stringify({
        cells: [{ cell_type: "code", source: "", outputs: [{ output_type: "stream", text: "x".repeat(10_001) }] }],
      }),
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
    assert.match(
      await text(root, { file_path: "long.ipynb" }),
      /x{10000} \[cut: read all 10001 characters with Bash, for example jq\]\n<\/output>$/,
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
