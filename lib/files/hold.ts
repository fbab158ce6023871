import { closeSync, constants, openSync, readlinkSync } from "node:fs";
import { ToolError } from "../core/tool.ts";

/** A directory that is held open. */
export interface Held {
  /** Leads into that very directory, for children too, whatever takes its name or that of one above it. */
  readonly path: string;
  close(): void;
}

/** Linux's O_PATH, which Node does not name: a directory can be held without the permission to list it. */
const O_PATH = 0o10000000;

/**
 * Holds a directory that was found to be allowed: between that and its use another program may put a link in its
 * place, or in that of a directory above. If the system does not show what is open, the directory is used by its name.
 *
 * @throws {ToolError} where another directory is there now
 */
export function hold(directory: string): Held {
  if (process.platform !== "linux") return { path: directory, close() {} };
  const fd = openSync(directory, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const isSure = refuseOther(fd, directory);
    return { path: isSure ? openPath(fd) : directory, close: () => closeSync(fd) };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Throws a ToolError where what was opened under a name lies elsewhere.
 *
 * @returns whether the system shows it
 */
export function refuseOther(fd: number, real: string): boolean {
  let opened: string;
  try {
    opened = readlinkSync(openPath(fd));
  } catch {
    return false;
  }
  // A file that was replaced since is still the one that was asked for.
  if (opened === real || opened === `${real} (deleted)`) return true;
  throw new ToolError(`Cannot use '${real}' as a link has taken the place of a directory above it: look again`, {
    code: "changed",
  });
}

function openPath(fd: number): string {
  return `/proc/${process.pid}/fd/${fd}`;
}
