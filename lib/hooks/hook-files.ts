import type { HookEnv, HookFiles } from "../core/hook.ts";

/** What a runtime, or a host that runs hooks inside itself, can do with files. All paths are absolute. */
export interface HookDisk extends Pick<HookFiles, "read" | "write" | "list"> {
  /** The real path of what is there; undefined if nothing is. @throws {Error} if links cannot be followed */
  real(path: string): Promise<string | undefined>;
}

/** The files of hooks whose agent is in a folder. */
export function filesOn(disk: HookDisk, cwd: string): HookFiles {
  const at = (path: string) => absolute(cwd, path);
  return {
    read: (path) => disk.read(at(path)),
    write: (path, text) => disk.write(at(path), text),
    list: async (path) => [...await disk.list(at(path))].sort(),
    realPath: (path) => realPath(disk, at(path)),
  };
}

/** A longer path is not opened anywhere. */
const LONGEST_PATH = 4096;

/** The nearest folder that is there decides where the rest is. */
async function realPath(disk: HookDisk, path: string): Promise<string> {
  let end = path.length > LONGEST_PATH ? path.lastIndexOf("/", LONGEST_PATH) : path.length;
  for (;; end = path.lastIndexOf("/", end - 1)) {
    const real = await disk.real(path.slice(0, end) || "/");
    if (real !== undefined || end <= 0) return absolute(real ?? "/", `.${path.slice(end)}`);
  }
}

/** As `resolve` of `node:path`, which not every host has. */
export function absolute(cwd: string, path: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith("/") ? path : `${cwd}/${path}`).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Loaded when a hook uses files: few do. */
function fs(): typeof import("node:fs").promises {
  return process.getBuiltinModule("node:fs").promises;
}

/** What some work on files gives, or what stands for a file or folder that is not there. */
export function orAbsent<T, A>(work: Promise<T>, absent: A): Promise<T | A> {
  return work.catch((error) => {
    if (/\b(?:ENOENT|ENOTDIR|EISDIR|ENAMETOOLONG)\b/.test((error as Error).message)) return absent;
    throw error;
  });
}

const DISK: HookDisk = {
  read: (path) => orAbsent(fs().readFile(path, "utf8"), undefined),
  write: async (path, text) => {
    await fs().mkdir(path.slice(0, path.lastIndexOf("/")) || "/", { recursive: true });
    await fs().writeFile(path, text);
  },
  list: (path) => orAbsent(fs().readdir(path), []),
  real: (path) => orAbsent(fs().realpath(path), undefined),
};

/** The files of this machine. */
export const hookFiles: NonNullable<HookEnv["files"]> = async (cwd) => filesOn(DISK, absolute(process.cwd(), cwd));
