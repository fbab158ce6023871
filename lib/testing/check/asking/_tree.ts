import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  type Stats,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { Buffer } from "node:buffer";
import { dirname, join } from "node:path";

interface Kept {
  readonly sign: string;
  /** Whether it was so young that another write could have left the same sign: then its content tells. */
  readonly young: boolean;
  readonly mode: number;
  readonly bytes?: Uint8Array;
  readonly link?: string;
}

/** A folder that can be put back as it was: only what has changed is written again. */
export class Tree {
  readonly #root: string;
  #kept = new Map<string, Kept>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Takes the folder as it is now for what it shall be. */
  adopt(): void {
    const old = this.#kept;
    this.#kept = new Map();
    for (const [path, stats] of this.#walk()) {
      const same = old.get(path);
      const isSame = same && same.sign === signOf(stats) && !same.young;
      this.#kept.set(path, isSame ? same : keep(join(this.#root, path), stats));
    }
  }

  /** What is not as it was, by relative path: added, changed or gone. */
  changes(): string[] {
    const found: string[] = [];
    let seen = 0;
    for (const [path, stats] of this.#walk()) {
      const kept = this.#kept.get(path);
      if (kept) seen++;
      if (kept?.sign !== signOf(stats) || (kept.young && this.#hasOther(path, kept))) found.push(path);
    }
    if (seen < this.#kept.size) {
      const now = new Set(this.#walk().map(([path]) => path));
      for (const path of this.#kept.keys()) if (!now.has(path)) found.push(path);
    }
    return found;
  }

  /** Whether the content is another; once that has been looked at, the sign tells. */
  #hasOther(path: string, kept: Kept): boolean {
    const full = `${this.#root}/${path}`;
    const stats = lstatSync(full, { throwIfNoEntry: false });
    const now = stats && keep(full, stats);
    const same = now?.link === kept.link && Buffer.compare(now?.bytes ?? NOTHING, kept.bytes ?? NOTHING) === 0;
    if (same) this.#kept.set(path, now!);
    return !same;
  }

  restore(changes: readonly string[]): void {
    for (const path of changes) rmSync(join(this.#root, path), { recursive: true, force: true });
    // What lay in a folder that went with it comes back too.
    const gone = [...this.#kept.keys()].filter((path) => changes.some((c) => path === c || path.startsWith(`${c}/`)));
    for (const path of gone.sort()) {
      const full = join(this.#root, path);
      const { bytes, link, mode } = this.#kept.get(path)!;
      mkdirSync(dirname(full), { recursive: true });
      if (link !== undefined) symlinkSync(link, full);
      else if (bytes === undefined) mkdirSync(full, { recursive: true, mode });
      else {
        writeFileSync(full, bytes);
        chmodSync(full, mode);
      }
    }
    for (const path of gone) {
      const stats = lstatSync(join(this.#root, path));
      this.#kept.set(path, { ...this.#kept.get(path)!, sign: signOf(stats), young: isYoung(stats) });
    }
  }

  #walk(): [path: string, stats: Stats][] {
    const found: [string, Stats][] = [];
    const enter = (folder: string) => {
      for (const name of readdirSync(`${this.#root}/${folder}`)) {
        const path = folder === "" ? name : `${folder}/${name}`;
        const stats = lstatSync(`${this.#root}/${path}`, { throwIfNoEntry: false });
        if (!stats) continue;
        found.push([path, stats]);
        if (stats.isDirectory()) enter(path);
      }
    };
    enter("");
    return found;
  }
}

const NOTHING = new Uint8Array();

function keep(path: string, stats: Stats): Kept {
  const kept = { sign: signOf(stats), young: isYoung(stats), mode: stats.mode & 0o7777 };
  if (stats.isSymbolicLink()) return { ...kept, link: readlinkSync(path) };
  return stats.isFile() ? { ...kept, bytes: readFileSync(path) } : kept;
}

/** Times of files go on in steps of some milliseconds; Deno tells whole seconds. */
function isYoung(stats: Stats): boolean {
  const step = stats.ctimeMs % 1000 === 0 ? 1050 : 50;
  return !stats.isDirectory() && Date.now() - stats.ctimeMs < step;
}

/** A folder is as it was while it is one: its own time changes with what lies in it. */
function signOf(stats: Stats): string {
  if (stats.isDirectory()) return `folder ${stats.mode}`;
  return `${stats.mode} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs} ${stats.ino}`;
}
