import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { ToolError } from "../../lib/core/tool.ts";
import { changedSinceRead } from "../../lib/files/file-history.ts";
import { edit, Read, read } from "../../lib/tools/index.ts";
import type { ReadResponse } from "../../lib/tools/read.ts";
import { tries } from "../_counts.ts";
import { inWorkspace } from "./_workspace.ts";

type Text = Extract<ReadResponse, { type: "text" }>;

const piece = fc.constantFrom(
  "a",
  "b",
  " ",
  "\t",
  "\n",
  "\n",
  "\r\n",
  "é",
  "😀",
  "\u2028",
  "\uFEFF",
  "12\t",
  "[cut]",
  "x".repeat(40),
);
const document = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));

/** The lines of a text as a person counts them: a byte order mark and the CR of CRLF are no part of them. */
function linesOf(text: string): string[] {
  return text.replace(/^\uFEFF/, "").split(/\r?\n/);
}

test("Read always shows every line of a text once, in order, behind its number", () =>
  inWorkspace((root) =>
    fc.assert(
      fc.asyncProperty(document, async (text) => {
        writeFileSync(join(root, "a.txt"), text);
        const shown = Read.render!(await read({ file_path: "a.txt" }, { cwd: root })) as string;
        const lines = linesOf(text);
        if (text.replace(/^\uFEFF/, "") === "") return assert.equal(shown, "[The file exists but is empty]");
        const found = shown.split("\n").map((line) => /^ *(\d+)(?:\t(.*))?$/s.exec(line)!);
        assert.deepEqual(found.map(([, number]) => Number(number)), lines.map((_, i) => i + 1));
        assert.deepEqual(found.map(([, , line]) => line ?? ""), lines);
      }),
      { numRuns: tries(150, 3000) },
    )
  ));

test("Read always gives a whole file page by page, each line once, by the offsets it names", () =>
  inWorkspace((root) =>
    fc.assert(
      fc.asyncProperty(document, fc.integer({ min: 1, max: 7 }), async (text, limit) => {
        writeFileSync(join(root, "a.txt"), text);
        const pages: string[] = [];
        for (let offset: number | undefined = 1; offset !== undefined;) {
          const { file } = await read({ file_path: "a.txt", offset, limit }, { cwd: root }) as Text;
          assert.ok(file.numLines <= limit && file.startLine === offset);
          pages.push(...file.content.split("\n"));
          const next: string | undefined = /set offset to (\d+)/.exec(file.notice ?? "")?.[1];
          offset = next === undefined ? undefined : Number(next);
        }
        const lines = linesOf(text);
        // A page that is full with the last line does not show that a line break ends it.
        const closed = lines.length > 1 && lines.at(-1) === "" ? lines.slice(0, -1) : lines;
        assert.deepEqual(pages, pages.length > closed.length ? lines : closed);
      }),
      { numRuns: tries(100, 2000) },
    )
  ));

test("Read never fails on any bytes but with a ToolError, and always records what it showed", () =>
  inWorkspace((root) =>
    fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 80 }),
          fc.tuple(
            fc.constantFrom(
              "\x89PNG\r\n\x1a\n",
              "GIF89a",
              "\xff\xd8\xff",
              "RIFF....WEBPVP8X",
              "RIFF....WEBPVP8 ",
              "%PDF-",
              "\xff\xfe",
              "\xfe\xff",
              "\xef\xbb\xbf",
            ),
            fc.uint8Array({ maxLength: 60 }),
          ).map(([head, rest]) => Buffer.concat([Buffer.from(head, "latin1"), rest])),
        ),
        fc.constantFrom("a.txt", "a.ipynb"),
        async (bytes, name) => {
          writeFileSync(join(root, name), bytes);
          const state = new Map<string, unknown>();
          try {
            const response = await read({ file_path: name }, { cwd: root, state });
            assert.ok(Read.render!(response).length > 0);
            assert.equal(changedSinceRead(state, join(root, name), bytes), false);
          } catch (error) {
            assert.ok(error instanceof ToolError, String(error));
            assert.equal(changedSinceRead(state, join(root, name), bytes), undefined);
          }
        },
      ),
      { numRuns: tries(300, 5000) },
    )
  ));

test("what Read shows of a line can always be edited", () =>
  inWorkspace(async (root) => {
    let edited = 0;
    const runs = tries(100, 2000);
    await fc.assert(
      fc.asyncProperty(document, fc.boolean(), fc.nat(), async (given, utf16, pick) => {
        const text = given.replaceAll("\uFEFF", "");
        const path = join(root, "a.txt");
        writeFileSync(path, utf16 ? Buffer.from(`\uFEFF${text}`, "utf16le") : text);
        const { file } = await read({ file_path: "a.txt" }, { cwd: root }) as Text;
        const lines = file.content.split("\n");
        const line = lines[pick % lines.length]!;
        if (line === "" || file.content.indexOf(line) !== file.content.lastIndexOf(line)) return;
        edited++;
        await edit({ file_path: "a.txt", old_string: line, new_string: "CHANGED" }, { cwd: root });
        const after = await read({ file_path: "a.txt" }, { cwd: root }) as Text;
        assert.equal(after.file.content, lines.map((l) => l === line ? "CHANGED" : l).join("\n"));
      }),
      { numRuns: runs },
    );
    assert.ok(edited > runs / 4, `${edited} of ${runs} had such a line`);
  }));
