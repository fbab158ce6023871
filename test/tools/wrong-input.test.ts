import assert from "node:assert/strict";
import { test } from "node:test";
import { agent } from "crochet";
import { scripted } from "crochet/testing";
import { Bash, Edit, Glob, Grep, Read, Write } from "crochet/tools";
import { scratch } from "../_scratch.ts";

const FILES = { "a.txt": "one\n", "src/b.ts": "two\n", "src/deep/c.ts": "two\n" };
const invalid = (name: string, why: string) => `Cannot call ${name} as its input is not valid: ${why}`;
const known = (names: string) => `There is no such property: there are ${names}`;

/** What models send that is not quite right, and what they read of it; `ROOT` is the workspace. */
const CASES: readonly [name: string, input: object, read: string][] = [
  ["Read", { file_path: "a.txt", end_line: 3 }, invalid("Read", `end_line: ${known("file_path, offset, limit")}`)],
  [
    "Bash",
    { command: "ls", cwd: "src" },
    invalid("Bash", `cwd: ${known("command, description, timeout, run_in_background")}`),
  ],
  [
    "Write",
    { file_path: "a.txt", content: "two\n", append: true },
    invalid("Write", `append: ${known("file_path, content")}`),
  ],
  ["Glob", { pattern: "*", limit: 3 }, invalid("Glob", `limit: ${known("pattern, path")}`)],
  [
    "Grep",
    { pattern: "two", include: "*.txt" },
    invalid(
      "Grep",
      `include: ${
        known("pattern, path, glob, type, output_mode, -i, -n, -A, -B, -C, context, head_limit, offset, multiline")
      }`,
    ),
  ],
  ["Glob", { pattern: "./src/*.ts" }, "src/b.ts"],
  ["Glob", { pattern: ".//*.txt" }, "a.txt"],
  ["Glob", { pattern: "../*.ts" }, "Cannot use glob '../*.ts' as it goes up with '..': give the folder as path"],
  [
    "Glob",
    { pattern: "*.ts, *.txt" },
    "No files found\n\n[The pattern is one glob: for several use braces, such as *.{ts,tsx}]",
  ],
  [
    "Glob",
    { pattern: "*", path: "lib" },
    "Cannot search 'ROOT/lib' as it does not exist: the working directory is ROOT",
  ],
  ["Grep", { pattern: "two", glob: "./src/*.ts" }, "Found 1 file\nsrc/b.ts"],
  ["Grep", { pattern: "two", glob: "*.ts !./src/*.ts" }, "Found 1 file\nsrc/deep/c.ts"],
  [
    "Grep",
    { pattern: "two", glob: "src/../*.ts" },
    "Cannot use glob 'src/../*.ts' as it goes up with '..': give the folder as path",
  ],
  [
    "Grep",
    { pattern: "x", path: "lib" },
    "Cannot search 'ROOT/lib' as it does not exist: the working directory is ROOT",
  ],
  [
    "Edit",
    { file_path: "b.txt", old_string: "x", new_string: "y" },
    "File not found: 'ROOT/b.txt' does not exist: find it with Glob, or make it with Write",
  ],
  [
    "Edit",
    { file_path: "src", old_string: "x", new_string: "y" },
    "Cannot edit 'ROOT/src' as it is a directory: name a file in it",
  ],
  ["Write", { file_path: "src", content: "x" }, "Cannot write 'ROOT/src' as it is a directory: name a file in it"],
];

for (const [name, input, read] of CASES) {
  test(`a model that sends ${name} ${JSON.stringify(input)} reads what it needs to continue`, async () => {
    using folder = scratch(FILES);
    const model = scripted([{ tools: [{ name, input: input as never }] }, { text: "done" }]);
    const { messages } = await agent({ model, tools: [Read, Write, Edit, Bash, Glob, Grep] })
      .run("go", { cwd: folder.path });
    const [result] = messages[2]!.content as unknown as { content: string }[];
    assert.equal(result!.content.replaceAll(folder.path, "ROOT"), read);
  });
}
