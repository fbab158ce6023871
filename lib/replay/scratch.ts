import type { Dirent } from "node:fs";
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { treeOf } from "../files/tree.ts";
import { hashOf } from "../runtime/sha256.ts";
import type { Json } from "../core/messages.ts";
import type { ToolFact } from "../log/entry.ts";

/** Folders that are not part of a workspace's content. */
export const SKIPPED = new Set([".git", "node_modules", ".crochet"]);

/** Our own unfinished writes: another agent may list the folder at that moment. */
const BEGUN = /^\.crochet-\d+-\w+-\w+-\d+\.tmp$/;

/** What each file looked like from outside, by path: enough to see that it changed without reading it. */
type Snapshot = ReadonlyMap<string, string>;

/** A larger file is never taken for a text: no runtime has texts that long. */
const MOST_TEXT = 256 * 2 ** 20;

/**
 * Every file of a workspace by its path. Unreadable files are left out, unless the workspace is ours (`own`): then they are
 * made readable.
 */
function* filesIn(root: string, own: boolean, links = false): Generator<string> {
  const isFile = (entry: Dirent) => entry.isFile() || (links && entry.isSymbolicLink() && !SKIPPED.has(entry.name));
  const tree = treeOf(root, {
    has: (entry) => entry.isDirectory() ? !SKIPPED.has(entry.name) : isFile(entry) && !BEGUN.test(entry.name),
    list: (folder, read) => ifReadable(read, own ? folder : undefined),
  });
  for (const [path, entry] of tree) if (isFile(entry)) yield path;
}

/**
 * What is read; undefined if it may not be read, or was removed meanwhile by a process the run left behind. A path of our
 * own is made readable.
 */
function ifReadable<T>(read: () => T, own?: string): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EACCES" && own !== undefined) {
      chmodSync(own, 0o700);
      return read();
    }
    if (["ENOENT", "ENOTDIR", "EACCES"].includes(code)) return undefined;
    throw error;
  }
}

/** With `links` a symbolic link is a file, too, whatever it leads to. */
export function snapshot(root: string, links = false): Snapshot {
  const files = new Map<string, string>();
  for (const path of filesIn(root, false, links)) {
    const stat = ifReadable(() => lstatSync(join(root, path)));
    if (stat) files.set(path, `${stat.size} ${stat.mtimeMs} ${stat.ino}`);
  }
  return files;
}

interface Hashing {
  /** What a tape would have of a text. */
  readonly shown: (text: string) => string;
  /** The files as they were before: one that is still the same may name places, and is the same everywhere. */
  readonly before?: string | undefined;
}

const DIGITS = 16;

/** The files of a scratch workspace by the hash of their bytes, or of what is shown of those that are texts. */
export function hashFiles(root: string, as?: Hashing): { [path: string]: string } {
  const files: [path: string, hash: string][] = [];
  for (const path of filesIn(root, true)) {
    const file = join(root, path);
    const hash = ifReadable(() => {
      const content = as && statSync(file).size <= MOST_TEXT ? contentOf(file) : undefined;
      if (typeof content !== "string") return hashOf(readFileSync(file), DIGITS);
      const plain = hashOf(content, DIGITS);
      const old = as!.before === undefined ? undefined : join(as!.before, path);
      return old !== undefined && existsSync(old) && hashOf(readFileSync(old), DIGITS) === plain
        ? plain
        : hashOf(as!.shown(content), DIGITS);
    }, file);
    if (hash !== undefined) files.push([path, hash]);
  }
  return Object.fromEntries(files.sort(([a], [b]) => a < b ? -1 : 1));
}

/** The texts of a scratch workspace's files. */
export function readFiles(root: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const path of filesIn(root, true)) {
    const file = join(root, path);
    const text = ifReadable(() => statSync(file).size > MOST_TEXT ? undefined : readFileSync(file, "utf8"), file);
    if (text !== undefined) files.set(path, text);
  }
  return files;
}

/** What has changed since a snapshot: new content by path, null for what is gone. What no tape could hold is left out. */
export function changesSince(root: string, before: Snapshot): { [path: string]: Json } {
  const now = snapshot(root);
  const changed: [path: string, content: Json][] = [];
  for (const [path, sign] of now) {
    const isKept = before.get(path) !== sign && Number.parseInt(sign) <= MOST_TEXT;
    const content = isKept ? ifReadable(() => contentOf(join(root, path))) : undefined;
    if (content !== undefined) changed.push([path, content]);
  }
  for (const path of before.keys()) if (!now.has(path)) changed.push([path, null]);
  return Object.fromEntries(changed);
}

/** Changes of files with other texts. Bytes stay: with a text in them changed they would be a broken file. */
export function withTexts<C extends { readonly [path: string]: Json }>(files: C, change: <T>(value: T) => T): C {
  const texts = Object.entries(files).map(([path, content]) => [
    change(path),
    typeof content === "string" ? change(content) : content,
  ]);
  return Object.fromEntries(texts);
}

type Binary = { readonly base64: string };

function contentOf(path: string): string | Binary {
  const bytes = readFileSync(path);
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : { base64: bytes.toString("base64") };
}

/** Makes a folder that was there when a run was recorded; one outside the workspace is ignored. */
export async function makeFolder(root: string, path: string): Promise<void> {
  const { confine } = await import("../files/confine.ts");
  const inside = await confine(path, { cwd: root, state: new Map() }).catch(() => undefined);
  if (inside) mkdirSync(inside.real, { recursive: true });
}

/**
 * Puts recorded changes into a workspace, and nowhere else: the paths come from the tape, which may be anyone's.
 *
 * @throws {ToolError} if one of them leads out of it, also through a link; then nothing is changed
 */
export async function applyChanges(root: string, changes: { readonly [path: string]: Json }): Promise<void> {
  const { confine } = await import("../files/confine.ts");
  const workspace = { cwd: root, state: new Map() };
  const placed = await Promise.all(
    Object.entries(changes).map(async ([path, content]) => ({ ...await confine(path, workspace), content })),
  );
  for (const { path, real, content } of placed) {
    if (content === null) rmSync(path, { force: true });
    else {
      const bytes = typeof content === "string" ? content : Buffer.from((content as Binary).base64, "base64");
      mkdirSync(dirname(real), { recursive: true });
      writeFileSync(real, bytes);
    }
  }
}

/** A call with all of its texts changed, those of its files too. */
export function withOtherTexts({ files, ...fact }: ToolFact, change: <T>(value: T) => T): ToolFact {
  return { ...change(fact), ...(files && { files: withTexts(files, change) }) };
}
