import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { sha256 } from "../core/sha256.ts";
import type { Json } from "../core/messages.ts";

/** Folders that are no part of a workspace's content. */
export const SKIPPED = new Set([".git", "node_modules", ".crochet"]);

/** What each file looked like from outside, by path: enough to see that it changed without reading it. */
type Snapshot = ReadonlyMap<string, string>;

/** Every file of a workspace by its path from the root, with `/` between parts; links are not followed. */
function walk(root: string, below: string, found: (path: string) => void): void {
  for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name)) walk(root, path, found);
    } else if (entry.isFile()) found(path);
  }
}

export function snapshot(root: string): Snapshot {
  const files = new Map<string, string>();
  walk(root, "", (path) => {
    const { size, mtimeMs, ino } = statSync(join(root, path));
    files.set(path, `${size} ${mtimeMs} ${ino}`);
  });
  return files;
}

/** The files of a workspace by the hash of their bytes, or of what `shown` makes of those that are texts. */
export function hashFiles(root: string, shown?: (text: string) => string): { [path: string]: string } {
  const files: { [path: string]: string } = {};
  walk(root, "", (path) => {
    const content = shown && contentOf(join(root, path));
    const hashed = typeof content === "string" ? shown!(content) : readFileSync(join(root, path));
    files[path] = sha256().update(hashed).digest("hex").slice(0, 16);
  });
  return Object.fromEntries(Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1));
}

/** The texts of a workspace's files. */
export function readFiles(root: string): Map<string, string> {
  const files = new Map<string, string>();
  walk(root, "", (path) => files.set(path, readFileSync(join(root, path), "utf8")));
  return files;
}

/** What has changed since a snapshot: new content by path, null for what is gone. */
export function changesSince(root: string, before: Snapshot): { [path: string]: Json } {
  const now = snapshot(root);
  const changed: { [path: string]: Json } = {};
  for (const [path, sign] of now) if (before.get(path) !== sign) changed[path] = contentOf(join(root, path));
  for (const path of before.keys()) if (!now.has(path)) changed[path] = null;
  return changed;
}

function contentOf(path: string): string | { base64: string } {
  const bytes = readFileSync(path);
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : { base64: bytes.toString("base64") };
}

/**
 * Puts recorded changes into a workspace, and nowhere else: whoever wrote the tape wrote the paths.
 *
 * @throws {ToolError} where one of them leads out of it, also by a link; then nothing is changed
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
      mkdirSync(dirname(real), { recursive: true });
      writeFileSync(
        real,
        typeof content === "string" ? content : Buffer.from((content as { base64: string }).base64, "base64"),
      );
    }
  }
}
