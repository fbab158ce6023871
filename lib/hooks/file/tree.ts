import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../files/sha256.ts";

/** More than any hooks folder has, and less than a link to a whole disk. */
const MOST_FILES = 10_000;

/** A change this near to now may be followed by another that no time stamp shows. */
const SETTLED_MS = 100;

interface Leaf {
  /** Relative to the root. */
  readonly name: string;
  readonly path: string;
  readonly link: string | undefined;
}

/** Whatever lies in a folder, links followed, in an order that is the same everywhere. */
function* leaves(root: string, prefix = "", above: readonly string[] = []): Generator<Leaf> {
  const real = realpathSync(root);
  if (above.includes(real)) return; // a link back up: what it leads to is counted already
  for (const entry of readdirSync(root, { withFileTypes: true }).sort((a, b) => a.name < b.name ? -1 : 1)) {
    const path = join(root, entry.name);
    const name = prefix + entry.name;
    const link = entry.isSymbolicLink() ? readlinkSync(path) : undefined;
    const folder = link === undefined ? entry.isDirectory() : statSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (folder) yield* leaves(path, `${name}/`, [...above, real]);
    else yield { name, path, link };
  }
}

function counted(root: string, which: (name: string) => boolean): Leaf[] {
  const found: Leaf[] = [];
  for (const leaf of leaves(root)) {
    if (found.length === MOST_FILES) {
      throw new Error(`Cannot watch folder '${root}' as it holds more than ${MOST_FILES} files: keep only hooks in it`);
    }
    if (which(leaf.name)) found.push(leaf);
  }
  return found;
}

/** What the bytes of a folder amount to: names, contents, links and whether a file may be run. */
export function treeHash(root: string, which: (name: string) => boolean = () => true): string {
  return hashOf(counted(root, which));
}

/** The same of each file by its name: what says which of them has changed. */
export function fileHashes(root: string): { [name: string]: string } {
  return Object.fromEntries(counted(root, () => true).map((leaf) => [leaf.name, hashOf([leaf])]));
}

function hashOf(leaves: readonly Leaf[]): string {
  const hash = sha256();
  for (const { name, path, link } of leaves) {
    const stat = statSync(path, { throwIfNoEntry: false });
    const bytes = stat?.isFile() ? readFileSync(path) : undefined;
    const kind = stat === undefined ? "broken" : bytes ? (stat.mode & 0o111 ? "program" : "file") : "other";
    hash.update(`${JSON.stringify([name, kind, link ?? null, bytes?.length ?? 0])}\n`);
    if (bytes) hash.update(bytes);
  }
  return hash.digest("hex");
}

/** A cheap sign that a folder has changed; `settled` says whether an unchanged sign can be believed. */
export function treeSign(root: string): { readonly sign: string; readonly settled: boolean } {
  let sign = "";
  let newest = 0;
  for (const { name, path, link } of counted(root, () => true)) {
    const stat = statSync(path, { throwIfNoEntry: false });
    sign += `${name}\0${link ?? ""}\0${stat?.mtimeMs}\0${stat?.ctimeMs}\0${stat?.size}\0${stat?.ino}\0${stat?.mode}\n`;
    newest = Math.max(newest, stat?.mtimeMs ?? 0, latest(stat?.ctimeMs ?? 0));
  }
  return { sign, settled: newest < Date.now() - SETTLED_MS };
}

/** The last moment that a time may stand for: Deno tells the time of a change in whole seconds. */
function latest(ms: number): number {
  return ms % 1000 === 0 ? ms + 999 : ms;
}

/** The files that the hooks of a folder share: a change in one of them is a change in all. */
export function sharedFiles(root: string): { readonly hash: string; readonly paths: readonly string[] } {
  const isShared = (name: string) => name.startsWith("_");
  const paths = counted(root, isShared).map(({ path }) => path);
  return { hash: paths.length === 0 ? "" : treeHash(root, isShared).slice(0, 16), paths };
}
