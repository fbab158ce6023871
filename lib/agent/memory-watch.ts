import { hashOf } from "../runtime/sha256.ts";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Run, WatchedCall } from "../core/run.ts";
import { isEdit } from "../input/tool-table.ts";
import { findMemory, MEMORY_FILES, textAt } from "./memory-files.ts";

/** Watches memory files, whether or not the agent reads them; what is given before a call tells of each that it changed. */
export function memoryWatch(cwd: string, memory: boolean | readonly string[]) {
  const names = [...new Set([...MEMORY_FILES, ...(typeof memory === "object" ? memory : [])])];
  let known: FileStates | undefined;
  return async (run: Run, { tool, call, input }: WatchedCall): Promise<() => Promise<void>> => {
    const { file_path } = input as { file_path?: unknown };
    const isOther = isEdit(tool.name) && typeof file_path === "string" && !names.includes(basename(file_path));
    if (isOther) return async () => {};
    known ??= await look(cwd, names);
    return async () => {
      // What was found is a step's: a run that is run again finds files as they are now, and must not see it.
      const found = await run.step("memory", call.id, async () => {
        return { before: [...known!], now: [...await look(cwd, names)] };
      });
      known = new Map(found.now);
      await report(run, new Map(found.before), known);
    };
  };
}

async function report(run: Run, before: FileStates, now: FileStates): Promise<void> {
  for (const path of new Set([...before.keys(), ...now.keys()])) {
    const [was, is] = [before.get(path), now.get(path)];
    if (was?.hash === is?.hash) continue;
    await run.fire({
      event: "memory-update",
      file_path: path,
      update_type: was === undefined ? "created" : is === undefined ? "deleted" : "modified",
      content_size: is?.size ?? null,
      previous_hash: was?.hash ?? null,
      new_hash: is?.hash ?? null,
    });
  }
}

/** What memory files hold, by their paths. */
type FileStates = ReadonlyMap<string, { readonly hash: string; readonly size: number }>;

/** More than any project has that its people made. */
const MOST_FOLDERS = 20_000;

/** Folders of what others wrote. */
const OTHERS: ReadonlySet<string> = new Set([".git", "node_modules"]);

/** The memory files above, in and below a directory; no link is followed. */
async function look(cwd: string, names: readonly string[]): Promise<FileStates> {
  const found = new Map(findMemory(cwd, names).map(({ path, text }) => [path, text]));
  const folders = [cwd];
  for (let i = 0; i < folders.length && i < MOST_FOLDERS; i++) {
    const folder = folders[i]!;
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (entry.isDirectory() && !OTHERS.has(entry.name)) folders.push(join(folder, entry.name));
      const text = folder !== cwd && names.includes(entry.name) ? textAt(folder, entry.name) : undefined;
      if (text !== undefined) found.set(join(folder, entry.name), text);
    }
  }
  return new Map([...found].map(([path, text]) => {
    return [path, { hash: hashOf(text), size: Buffer.byteLength(text) }];
  }));
}
