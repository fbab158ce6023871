import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { type ToolContext, ToolError, type ToolOutput } from "../../lib/core/tool.ts";
import { recordRead } from "../../lib/files/file-history.ts";
import { standaloneContext } from "../../lib/tools/standalone.ts";
import { Edit } from "../../lib/tools/edit.ts";
import { testData } from "../_data.ts";
import { call } from "./_tree.ts";
import { inWorkspace, picture } from "./_workspace.ts";

interface File {
  base64?: string;
  mode?: string;
  dir?: boolean;
  symlink?: string;
  hardlink?: string;
  fifo?: boolean;
}

interface Vector {
  id: string;
  group: string;
  title: string;
  files: Record<string, File>;
  seen?: Record<string, { base64: string }>;
  call?: Record<string, unknown>;
  calls?: Record<string, unknown>[];
  expect: {
    ok?: boolean;
    code?: string;
    error_contains?: string[];
    unchanged?: boolean;
    files?: Record<string, File>;
    absent?: string[];
    listing?: Record<string, string[]>;
    files_one_of?: Record<string, string[]>;
    ok_count?: number;
  };
}

const vectors: Vector[] = readFileSync(testData("edit-vectors.jsonl"), "utf8").split("\n").filter((line) => line !== "")
  .map((line) => JSON.parse(line));

for (const [group, cases] of Object.entries(Object.groupBy(vectors, ({ group }) => group))) {
  test(`Edit passes all ${cases!.length} vectors of '${group}'`, async () => {
    for (const vector of cases!) {
      await inWorkspace((root) => check(vector, root)).catch((error) => {
        error.message = `${vector.id} (${vector.title}): ${error.message}`;
        throw error;
      });
    }
  });
}

test("the vectors are all 178, in 21 groups", () => {
  assert.equal(vectors.length, 178);
  assert.equal(new Set(vectors.map(({ group }) => group)).size, 21);
});

async function check(vector: Vector, root: string): Promise<void> {
  const named = (name: string) => join(root, name.replaceAll("{BASE}", "root"));
  for (const [name, file] of Object.entries(vector.files)) make(named(name), file, root);
  const context = standaloneContext("Edit", {}, { cwd: root });
  for (const [name, { base64 }] of Object.entries(vector.seen ?? {})) {
    recordRead(context.state, named(name), Buffer.from(base64, "base64"));
  }
  const before = picture(dirname(root));
  const calls = (vector.calls ?? [vector.call!]).map((call) =>
    JSON.parse(JSON.stringify(call).replaceAll("{ROOT}", root))
  );
  const answers = await Promise.all(calls.map((call) => run(call, context)));
  const { expect } = vector;
  if (expect.ok !== undefined) assert.equal(answers[0] instanceof ToolError, !expect.ok, String(answers[0]));
  if (expect.ok_count !== undefined) {
    assert.equal(answers.filter((a) => !(a instanceof ToolError)).length, expect.ok_count);
  }
  for (const part of expect.error_contains ?? []) {
    const { message } = answers[0] as ToolError;
    assert.ok(message.includes(part), message);
    if (part.startsWith("String ")) assert.ok(message.startsWith(part), message);
  }
  if (expect.code) assert.equal((answers[0] as ToolError).code, expect.code);
  if (expect.unchanged) assert.deepEqual(picture(dirname(root)), before);
  for (const name of expect.absent ?? []) assert.equal(existsSync(named(name)), false);
  for (const [name, names] of Object.entries(expect.listing ?? {})) assert.deepEqual(readdirSync(named(name)), names);
  for (const [name, file] of Object.entries(expect.files ?? {})) compare(named(name), file, root);
  for (const [name, some] of Object.entries(expect.files_one_of ?? {})) {
    assert.ok(some.includes(readFileSync(named(name)).toString("base64")));
  }
  assert.deepEqual(Object.keys(picture(dirname(root))), Object.keys(before), "a file was left behind");
  if (vector.seen && expect.ok) {
    assert.match((answers[0] as ToolOutput).content as string, /changed on disk since it was read/);
  }
}

async function run(input: unknown, context: ToolContext): Promise<ToolOutput | ToolError> {
  try {
    return await call(Edit, input, context);
  } catch (error) {
    if (error instanceof ToolError) return error;
    throw error;
  }
}

function make(path: string, file: File, root: string): void {
  if (file.dir) return void mkdirSync(path, { recursive: true });
  mkdirSync(dirname(path), { recursive: true });
  if (file.symlink !== undefined) return symlinkSync(file.symlink, path);
  if (file.hardlink !== undefined) return linkSync(join(root, file.hardlink), path);
  if (file.fifo) return void assert.equal(spawnSync("mkfifo", [path]).status, 0);
  writeFileSync(path, Buffer.from(file.base64!, "base64"));
  if (file.mode) chmodSync(path, parseInt(file.mode, 8));
}

function compare(path: string, file: File, root: string): void {
  if (file.symlink !== undefined) return assert.equal(readlinkSync(path), file.symlink);
  assert.equal(readFileSync(path).toString("base64"), file.base64);
  if (file.mode) assert.equal((statSync(path).mode & 0o7777).toString(8), file.mode);
  if (file.hardlink) assert.equal(statSync(path).ino, statSync(join(root, file.hardlink)).ino);
}
