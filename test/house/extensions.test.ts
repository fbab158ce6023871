import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import type { Extension } from "../../lib/cli/kit/extension.ts";
import { importsIn } from "../_imports.ts";
import { LIB } from "./_files.ts";

/** What is wrong with the folders and the list of extensions, each with its fix. */
function faults(folders: readonly string[], list: readonly Extension[]): string[] {
  const named = new Map(list.map((one) => [one.name, one]));
  const typed = list.flatMap(({ name, commands }) => Object.keys(commands).map((command) => ({ name, command })));
  return [
    ...folders.filter((name) => !named.has(name)).map((name) =>
      `lib/extensions/${name} has no line in lib/extensions/list.ts: add it, or remove the folder`
    ),
    ...typed.flatMap(({ command, name }) =>
      typed.filter((other) => other.command === command && other.name < name).map((other) =>
        `lib/extensions/${name}/extension.ts has a command '${command}', as lib/extensions/${other.name}/extension.ts has: rename one`
      )
    ),
    ...list.flatMap(({ name, needs = [] }) =>
      needs.filter((one) => !named.has(one)).map((one) =>
        `lib/extensions/${name}/extension.ts needs '${one}', which is not there: remove it from needs`
      )
    ),
    ...list.filter(({ name }) => reached(name, named).has(name)).map(({ name }) =>
      `lib/extensions/${name}/extension.ts needs itself by way of others: move what they share into the kernel`
    ),
  ];
}

/** Lines of the list without a folder: the list itself cannot be loaded then. */
function withoutFolder(list: string, folders: readonly string[]): string[] {
  return [...list.matchAll(/from "\.\/(\w+)\/extension\.ts"/g)].map(([, name]) => name!)
    .filter((name) => !folders.includes(name))
    .map((name) => `lib/extensions/list.ts names '${name}', which has no folder: remove the line`);
}

/** All that an extension needs, and what those need. */
function reached(name: string, named: ReadonlyMap<string, Extension>): Set<string> {
  const seen = new Set<string>();
  for (const queue = [name]; queue.length > 0;) {
    for (const one of named.get(queue.pop()!)?.needs ?? []) if (!seen.has(one) && seen.add(one)) queue.push(one);
  }
  return seen;
}

const FOLDERS = readdirSync(join(LIB, "extensions"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory()).map(({ name }) => name);
const missing = withoutFolder(readFileSync(join(LIB, "extensions/list.ts"), "utf8"), FOLDERS);
const EXTENSIONS = missing.length > 0 ? [] : (await import("../../lib/extensions/list.ts")).EXTENSIONS;

test("every extension has a folder, a line, commands of its own, and needs that are there and form no circle", () => {
  assert.deepEqual(missing, []);
  assert.deepEqual(faults(FOLDERS, EXTENSIONS), []);
  for (const name of FOLDERS) assert.ok(existsSync(join(LIB, "extensions", name, "extension.ts")), name);
});

const made = (name: string, needs: readonly string[] = [], command = name): Extension => ({
  ...{ name, needs, commands: { [command]: ["", () => Promise.reject(new Error("not called"))] } },
});

test("what is wrong with an extension is named with its file and its fix", () => {
  const rows: readonly (readonly [folders: readonly string[], list: readonly Extension[], says: RegExp])[] = [
    [["a", "b"], [made("a")], /lib\/extensions\/b has no line in lib\/extensions\/list\.ts: add it/],
    [["a", "b"], [made("a"), made("b", [], "a")], /b\/extension\.ts has a command 'a', as \S+\/a\/extension\.ts has/],
    [["a"], [made("a", ["z"])], /a\/extension\.ts needs 'z', which is not there: remove it from needs/],
    [["a", "b"], [made("a", ["b"]), made("b", ["a"])], /a\/extension\.ts needs itself by way of others/],
  ];
  for (const [folders, list, says] of rows) assert.match(faults(folders, list).join("\n"), says);
  assert.deepEqual(withoutFolder('import { b } from "./b/extension.ts";\n', ["a"]), [
    "lib/extensions/list.ts names 'b', which has no folder: remove the line",
  ]);
});

const imports = importsIn("lib").map(({ from, to }) => ({ from: relative("lib", from), to: relative("lib", to) }));
const nameOf = (path: string) => /^extensions\/(\w+)\//.exec(path)?.[1];

test("an extension imports only those that it needs, and needs only those that it imports", () => {
  const pairs = imports.flatMap(({ from, to }) => {
    const [one, other] = [nameOf(from), nameOf(to)];
    return one !== undefined && other !== undefined && one !== other ? [`${one} ${other}`] : [];
  });
  const needed = EXTENSIONS.flatMap(({ name, needs = [] }) => needs.map((other) => `${name} ${other}`));
  assert.deepEqual([...new Set(pairs)].sort(), needed.sort());
});

test("extensions use of the command line only its kit and what draws", () => {
  const others = imports.filter(({ from, to }) =>
    nameOf(from) !== undefined && to.startsWith("cli/") && !/^cli\/(kit|show)\//.test(to)
  );
  assert.deepEqual(others, []);
});

test("the kernel names no extension: only the list, what answers early, and the entry of tests do", () => {
  const kernel = imports.filter(({ from, to }) => !from.startsWith("extensions/") && nameOf(to) !== undefined);
  assert.deepEqual(kernel, []);
  const texts = ["list.ts", "early.ts", "testing.ts"].map((file) =>
    readFileSync(join(LIB, "extensions", file), "utf8")
  );
  assert.ok(texts.every((text) => text.split("\n").length < 60), "they are lists, and hold no code");
});
