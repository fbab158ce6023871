import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, realpathSync } from "node:fs";
import { relative } from "node:path";
import { isInside } from "../../files/confine.ts";

/** More than any hook or settings file has, and less than fills the memory. */
const MOST_BYTES = 10_000_000;

/**
 * Reads a file that a checkout brought along: a regular file of at most 10 MB that does not lead out of the project.
 * Undefined if there is nothing.
 *
 * @throws {Error} with the reason, by the file's name
 */
export function readBrought(project: string, path: string): Uint8Array | undefined {
  const name = relative(project, path);
  const refuse = (why: string) => new Error(`'${name}' ${why}`);
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  let real: string;
  try {
    real = realpathSync(path);
  } catch {
    throw refuse("is a link that leads nowhere");
  }
  if (!isInside(real, realpathSync(project))) throw refuse("is a link that leads out of the project");
  if (!lstatSync(real).isFile()) throw refuse("is not a regular file");
  // Looked at again once it is open: a pipe put in its place meanwhile would never end.
  const file = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw refuse("is not a regular file");
    if (stat.size > MOST_BYTES) throw refuse(`is larger than ${MOST_BYTES / 1_000_000} MB`);
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}
