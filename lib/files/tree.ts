import { chmodSync, type Dirent, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { quietly } from "../core/json.ts";

interface TreeOptions {
  /** Whether an entry is part of the tree, by its name and its path from the root; a folder that is not is not entered. */
  readonly has?: (entry: Dirent, path: string) => boolean;
  /** Calls what lists a folder; undefined if it does without. */
  readonly list?: (folder: string, read: () => Dirent[]) => Dirent[] | undefined;
}

/**
 * Everything below a folder by its path from there, with `/` between parts, a folder before what is in it, in the order of
 * names: Bun lists a folder in any. Links are not followed.
 */
export function* treeOf(root: string, options: TreeOptions = {}, below = ""): Generator<[string, Dirent]> {
  for (const entry of entriesOf(join(root, below), options.list)) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (options.has?.(entry, path) === false) continue;
    yield [path, entry];
    if (entry.isDirectory()) yield* treeOf(root, options, path);
  }
}

/** What is in a folder, in the order of names. */
export function entriesOf(folder: string, list?: TreeOptions["list"]): Dirent[] {
  const read = () => readdirSync(folder, { withFileTypes: true });
  return (list ? list(folder, read) ?? [] : read()).sort((a, b) => a.name < b.name ? -1 : 1);
}

export function writeFiles(folder: string, files: Iterable<readonly [path: string, content: string | Uint8Array]>) {
  for (const [path, content] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

/** How often, in ms, and how many times a folder is removed again. */
const PAUSE = 10, AGAIN = 100;

/**
 * Removes a file or a folder with all in it, whatever a run has locked there or still writes while it ends: for that Bun
 * leaves the folder without a word, and others throw.
 */
export function removeTree(root: string): void {
  for (let left = AGAIN;; left--) {
    let why: unknown;
    try {
      rmSync(root, { recursive: true, force: true });
    } catch (error) {
      why = error;
      if (lstatSync(root, { throwIfNoEntry: false })?.isDirectory()) unlock(root);
    }
    if (lstatSync(root, { throwIfNoEntry: false }) === undefined) return;
    if (left === 0) throw why ?? new Error(`Cannot remove ${root} as something still writes there: end it`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE);
  }
}

function unlock(root: string): void {
  const list = (folder: string, read: () => Dirent[]) => quietly(() => (chmodSync(folder, 0o700), read()));
  Array.from(treeOf(root, { list }));
}
