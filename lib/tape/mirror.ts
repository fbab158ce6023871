import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { removeScratch } from "./_workspace.ts";
import { mapTexts } from "./redact/redact.ts";

/**
 * A copy of a workspace for those who may look at it and must not change it. It follows the workspace; what is changed
 * in the copy stays there until the workspace itself changes the same file.
 */
export class Mirror {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "crochet-shadow-")));
  readonly #of: string;
  /** What the workspace looked like when it was last followed, by path. */
  #seen = new Map<string, string>();

  constructor(workspace: string) {
    this.#of = workspace;
  }

  /** Brings over what has changed in the workspace since the last time. */
  follow(): void {
    const now = new Map<string, string>();
    this.#walk("", now);
    for (const path of this.#seen.keys()) if (!now.has(path)) remove(join(this.root, path));
    this.#seen = now;
  }

  #walk(folder: string, now: Map<string, string>): void {
    for (const { name } of present(() => readdirSync(join(this.#of, folder), { withFileTypes: true })) ?? []) {
      const path = join(folder, name);
      const stat = present(() => lstatSync(join(this.#of, path)));
      if (!stat) continue;
      const isFolder = stat.isDirectory() && name !== "node_modules";
      const sign = isFolder ? "folder" : `${stat.mode} ${stat.size} ${stat.mtimeMs} ${stat.ino}`;
      now.set(path, sign);
      if (this.#seen.get(path) !== sign) present(() => this.#bring(path, stat));
      if (isFolder) this.#walk(path, now);
    }
  }

  /** Packages are many and nobody's to change: they are looked at where they are. */
  #bring(path: string, stat: ReturnType<typeof lstatSync> & object): void {
    const [from, to] = [join(this.#of, path), join(this.root, path)];
    remove(to);
    mkdirSync(dirname(to), { recursive: true });
    if (stat.isFile()) copyFileSync(from, to);
    else if (stat.isSymbolicLink()) symlinkSync(this.there(readlinkSync(from)), to);
    else if (stat.isDirectory() && path.endsWith("node_modules")) symlinkSync(from, to, "dir");
    else if (stat.isDirectory()) mkdirSync(to);
  }

  /** A value in which every path of the workspace is one of the copy. */
  there<T>(value: T): T {
    return mapTexts(value, (text) => text.replaceAll(this.#of, this.root));
  }

  /** A text without the names of either, which are others in every run. */
  unplaced(text: string): string {
    return text.replaceAll(this.root, "{ROOT}").replaceAll(this.#of, "{ROOT}");
  }

  end(): void {
    removeScratch(this.root);
  }
}

function remove(path: string): void {
  present(() => rmSync(path, { recursive: true, force: true }));
}

/** What was read; undefined where it was taken away meanwhile, or nobody may read it. */
function present<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EACCES" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
