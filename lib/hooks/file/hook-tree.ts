import { readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../../runtime/sha256.ts";

/** More than any hooks folder has, and less than a link to a whole disk. */
const MOST_FILES = 10_000;

interface Leaf {
  readonly name: string;
  readonly path: string;
  readonly link: string | undefined;
}

/** Every file in a folder, links followed, in an order that is the same everywhere. */
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
      throw new Error(`Cannot read folder '${root}': it holds more than ${MOST_FILES} files, keep only hooks in it`);
    }
    if (which(leaf.name)) found.push(leaf);
  }
  return found;
}

/** Reads a file; undefined if it cannot be hashed by its bytes. */
type Read = (path: string) => Uint8Array | undefined;

const readAny: Read = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path) : undefined;

/** The hash of each file of a folder by its name: its bytes, where it leads as a link, and whether it may be run. */
export function fileHashes(root: string, read = readAny): { [name: string]: string } {
  return Object.fromEntries(counted(root, () => true).map((leaf) => [leaf.name, hashOf(leaf, read)]));
}

export function treeHash(root: string): string {
  return joined(counted(root, () => true));
}

function joined(leaves: readonly Leaf[]): string {
  const hash = sha256();
  for (const leaf of leaves) hash.update(`${leaf.name}\0${hashOf(leaf, readAny)}\n`);
  return hash.digest("hex");
}

function hashOf({ path, link }: Leaf, read: Read): string {
  const bytes = read(path);
  const isProgram = ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o111) !== 0;
  const kind = bytes === undefined ? "other" : isProgram ? "program" : "file";
  return sha256().update(`${JSON.stringify([kind, link ?? null])}\n`).update(bytes ?? "").digest("hex");
}

/** The files that the hooks of a folder share: a change in one of them is a change in all. */
export function sharedFiles(root: string): { readonly hash: string; readonly paths: readonly string[] } {
  const shared = counted(root, (name) => name.startsWith("_"));
  return { hash: shared.length === 0 ? "" : joined(shared).slice(0, 16), paths: shared.map(({ path }) => path) };
}
