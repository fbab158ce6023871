import {
  chmodSync,
  type Dirent,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  type Stats,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { quietly } from "../core/json.ts";
import { removeTree, treeOf } from "./tree.ts";

/** Every file of a tree has this time, so that any write to it shows. */
const THEN = new Date("2026-01-01T00:00:00Z");

/** A file, link or folder as it should be. */
interface TreeEntry {
  readonly mode: number;
  readonly bytes?: Uint8Array;
  readonly link?: string;
  /** Tells the file from another one in its place: its inode, and the time of change, which cannot be set back. */
  readonly print?: string;
}

export type Difference = "made" | "changed" | "removed";

/** A folder that can be put back as it was. */
export class KeptTree {
  readonly #root: string;
  readonly #skipped: ReadonlySet<string>;
  readonly #exact: boolean;
  #kept = new Map<string, TreeEntry>();

  /**
   * `skipped` are relative paths that are not looked at, such as what is mounted there. `exact`: a file that was written and
   * set back counts as changed; of one folder there can be only one such tree, as to adopt it changes the prints.
   */
  constructor(root: string, { skipped = [], exact = false }: { skipped?: Iterable<string>; exact?: boolean } = {}) {
    this.#root = root;
    this.#skipped = new Set(skipped);
    this.#exact = exact;
  }

  /** Remembers the folder as it is now. */
  adopt(): void {
    this.#kept = new Map(
      statsIn(this.#root, Infinity, this.#skipped).map(([path, stats]) => [path, keep(join(this.#root, path), stats)]),
    );
  }

  /** Relative paths of what was adopted. */
  get paths(): string[] {
    return [...this.#kept.keys()];
  }

  /** Relative paths of what was added, changed or removed. */
  changes(): string[] {
    return [...this.#changed().keys()];
  }

  /** The same as far as it shows: bytes, mode, link or existence differ. Each has a print that another change changes. */
  differences(): Map<string, { readonly how: Difference; readonly print: string }> {
    const all = [...this.#changed()].flatMap(([path, stats]) => {
      const kept = this.#kept.get(path);
      if (stats && kept && isEqual(join(this.#root, path), stats, kept)) return [];
      const how: Difference = !kept ? "made" : stats ? "changed" : "removed";
      return [[path, { how, print: stats ? `${how} ${stats.mode} ${printOf(stats)}` : how }] as const];
    });
    return new Map(all);
  }

  restore(): void {
    const now = this.#changed();
    const changes = [...now.keys()];
    for (const path of changes) {
      const isFolder = isFolderOf(this.#kept.get(path)) && now.get(path)?.isDirectory();
      if (isFolder) chmodSync(join(this.#root, path), this.#kept.get(path)!.mode);
      else removeTree(join(this.#root, path));
    }
    // A removed folder takes its files with it.
    const gone = [...this.#kept.keys()].filter((path) => changes.some((c) => path === c || path.startsWith(`${c}/`)));
    for (const path of gone.sort()) {
      const full = join(this.#root, path);
      const { bytes, link, mode } = this.#kept.get(path)!;
      if (link !== undefined) {
        rmSync(full, { force: true });
        symlinkSync(link, full);
      } else if (bytes === undefined) {
        mkdirSync(full, { recursive: true });
        chmodSync(full, mode); // whatever the umask of what ran here
      } else {
        rmSync(full, { force: true });
        writeFileSync(full, bytes);
        chmodSync(full, mode);
        this.#kept.set(path, { bytes, mode, print: stamped(full) });
      }
    }
  }

  /** What is not as it was noted, with what is there now. */
  #changed(): Map<string, Stats | undefined> {
    const now = new Map(statsIn(this.#root, Infinity, this.#skipped));
    const other = [...now].filter(([path, stats]) =>
      !isSame(join(this.#root, path), stats, this.#kept.get(path), this.#exact)
    );
    const gone = [...this.#kept.keys()].filter((path) => !now.has(path)).map((path) => [path, undefined] as const);
    return new Map<string, Stats | undefined>([...other, ...gone]);
  }
}

function isFolderOf(kept: TreeEntry | undefined): boolean {
  return kept !== undefined && kept.bytes === undefined && kept.link === undefined;
}

function printOf({ ino, ctimeMs }: Stats): string {
  return `${ino} ${ctimeMs}`;
}

/** Gives a file the time that shows any write to it, and its print after that. */
function stamped(path: string): string {
  utimesSync(path, THEN, THEN);
  return printOf(lstatSync(path));
}

function keep(path: string, stats: Stats): TreeEntry {
  const mode = stats.mode & 0o7777;
  if (stats.isSymbolicLink()) return { mode, link: readlinkSync(path) };
  if (!stats.isFile()) return { mode };
  return { mode, bytes: readFileSync(path), print: stamped(path) };
}

function isSame(path: string, stats: Stats, kept: TreeEntry | undefined, exact: boolean): boolean {
  if (!kept || kept.mode !== (stats.mode & 0o7777)) return false;
  if (stats.isSymbolicLink()) return kept.link === readlinkSync(path);
  if (!stats.isFile()) return stats.isDirectory() && isFolderOf(kept);
  if (exact && kept.print !== printOf(stats)) return false;
  // Deno knows times of change by the second: a write in the same one shows by its bytes alone.
  if (exact && stats.ctimeMs % 1000 === 0 && !isEqual(path, stats, kept)) return false;
  return kept.bytes?.length === stats.size && stats.mtimeMs === THEN.getTime();
}

/** Whether a file that was touched is still what it was. */
function isEqual(path: string, stats: Stats, kept: TreeEntry): boolean {
  if (!stats.isFile() || kept.bytes === undefined || kept.mode !== (stats.mode & 0o7777)) return false;
  return kept.bytes.length === stats.size && Buffer.compare(kept.bytes, readFileSync(path)) === 0;
}

/** Everything in a folder, folders before their files. A folder that may not be read has lost what is in it: its mode was changed. */
export function statsIn(
  root: string,
  most = Infinity,
  skipped: ReadonlySet<string> = new Set(),
): [path: string, stats: Stats][] {
  const found: [string, Stats][] = [];
  const list = (_: string, read: () => Dirent[]) => quietly(read, ["EACCES"]);
  for (const [path] of treeOf(root, { has: (_, path) => !skipped.has(path), list })) {
    const stats = lstatSync(`${root}/${path}`, { throwIfNoEntry: false });
    if (stats) found.push([path, stats]);
    if (found.length >= most) break;
  }
  return found;
}
