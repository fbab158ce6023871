import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { quietly } from "../../core/json.ts";
import { isInside } from "../../files/confine.ts";
import type { EndFact } from "../../log/entry.ts";
import { keysOf } from "../../replay/drift/difference.ts";
import type { DriftReport, FileDrift } from "../../replay/drift/drift-report.ts";
import { MOST_BYTES } from "../../replay/record/keep-files.ts";
import { snapshot } from "../../replay/scratch.ts";
import { hashOf } from "../../runtime/sha256.ts";

/** What a program did besides asking, as a tape has it: what it printed, and the hashes of files; null of one that is gone. */
export type Doings = Pick<EndFact, "out"> & { readonly left?: { readonly [path: string]: string | null } };

/** Stands for a line, a file or all that was printed, if it differs from run to run. */
const VARIES = "{VARIES}";
/** Stands for what is too large to keep, or may not be kept. */
const LEFT_OUT = "{LEFT OUT}";

const MOST_PRINTED = 2 ** 20;

/**
 * Watches a folder: gives the paths of what was changed, made or removed since. A file with the same bytes as before is
 * not, which lies where `original` says, nor what is in `except`, the fixture's own folder.
 */
export function watchFiles(root: string, except: string, original: (path: string) => string): () => string[] {
  const before = snapshot(root, true);
  return () => {
    const now = snapshot(root, true);
    const isSame = (path: string) =>
      before.get(path) === now.get(path) ||
      (before.has(path) && quietly(() => readFileSync(original(path)).equals(readFileSync(join(root, path)))) === true);
    return keysOf(Object.fromEntries(before), Object.fromEntries(now))
      .filter((path) => !isInside(join(root, path), except) && !isSame(path)).sort();
  };
}

/** What a tape has of it. `on` writes a text as a tape does; `closed` are paths that may not be kept. */
export function doingsOf(
  { stdout, root, changed }: { stdout?: string | undefined; root: string; changed?: readonly string[] | undefined },
  on: (text: string) => string,
  closed: readonly string[] = [],
): Doings {
  const left = changed?.map((path) => {
    const isClosed = closed.some((other) => isInside(path, other));
    return [on(path), isClosed ? LEFT_OUT : hashed(join(root, path), on)];
  });
  return {
    ...(stdout !== undefined && { out: stdout.length > MOST_PRINTED ? LEFT_OUT : on(stdout) }),
    ...(left && { left: Object.fromEntries(left) }),
  };
}

function hashed(file: string, on: (text: string) => string): string | null {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (stat.isSymbolicLink()) return hashOf(on(`link to ${readlinkSync(file)}`), 16);
  if (stat.size > MOST_BYTES) return LEFT_OUT;
  const bytes = readFileSync(file);
  const text = bytes.toString("utf8");
  return hashOf(bytes.equals(Buffer.from(text)) ? on(text) : bytes, 16);
}

/** What two runs have in common of which nothing had changed: the rest of the first is said to vary. */
export function steady(one: Doings, other: Doings): Doings {
  const left = one.left && other.left && keysOf(one.left, other.left).sort().map((path) => {
    const is = one.left![path];
    return [path, is !== undefined && is === other.left![path] ? is : is === LEFT_OUT ? is : VARIES];
  });
  const [lines, others] = [one.out, other.out].map((out) => out?.split("\n"));
  const isLike = lines?.length === others?.length;
  const out = lines && (isLike ? lines.map((line, i) => line === others![i] ? line : VARIES).join("\n") : VARIES);
  return { ...(out !== undefined && { out }), ...(left && { left: Object.fromEntries(left) }) };
}

/** How what a program did differs from what is on its tape, and what is not compared of it. */
export function doneOtherwise(was: Doings, is: Doings): Pick<DriftReport, "files" | "printed" | "notes"> {
  const all = was.left && is.left ? keysOf(was.left, is.left).sort() : [];
  const marked = (mark: string) => all.filter((path) => was.left![path] === mark);
  const files = all.flatMap((path): FileDrift[] => {
    const [then, now] = [was.left![path], is.left![path]];
    if (then === now || then === VARIES || then === LEFT_OUT) return [];
    return [{ path, how: now === undefined ? "untouched" : now === null ? "missing" : then ? "changed" : "new" }];
  });
  const lines = (was.out ?? "").split("\n");
  const varied = lines.filter((line) => line === VARIES).length;
  const isWhole = was.out === VARIES || was.out === LEFT_OUT || was.out === undefined || is.out === undefined;
  const printed = isWhole ? undefined : like(lines, is.out!.split("\n"));
  const named = (out: string | undefined, paths: readonly string[]) =>
    [...out === undefined ? [] : [out], ...paths].join(", ");
  const count = lines.at(-1) === "" ? lines.length - 1 : lines.length;
  const few = varied > 0 ? `${varied} of ${count} lines that it printed` : undefined;
  const notes = [
    ["", named(was.out === undefined ? "stdout" : undefined, was.left ? [] : ["files"])],
    [", as it differs from run to run", named(was.out === VARIES ? "stdout" : few, marked(VARIES))],
    [", as it is not kept with the fixture", named(was.out === LEFT_OUT ? "stdout" : undefined, marked(LEFT_OUT))],
  ].flatMap(([why, what]) => what === "" ? [] : [`not compared${why}: ${what}`]);
  return { files, ...(printed && { printed }), notes };
}

/** The two sides if they differ, without what varies. */
function like(was: readonly string[], is: readonly string[]): DriftReport["printed"] {
  // Lines that vary are looked for from both ends, so that a line more is shown by itself.
  const by = is.length - was.length;
  const now = [...is];
  let first = was.findIndex((line, i) => line !== VARIES && line !== is[i]);
  if (first < 0) first = was.length;
  for (const [i, line] of was.entries()) {
    const at = i <= first ? i : i + by;
    if (line === VARIES && at < now.length) now[at] = VARIES;
  }
  const [expected, actual] = [was.join("\n"), now.join("\n")];
  return expected === actual ? undefined : { expected, actual };
}
