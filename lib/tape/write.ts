import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { blobsOf, holdsBlob, toBlobs } from "./_blobs.ts";
import { sweep, writeWhole } from "./drafts.ts";
import { factsOf } from "./_facts.ts";
import { factLine } from "./lines.ts";
import { type Finding, type Redactor, redactor } from "./redact/redact.ts";
import { scanFacts, whatIs } from "./redact/scan.ts";
import type { Tape } from "./tape.ts";

interface WriteOptions {
  /** Writes over a tape that is there. @default false */
  readonly replace?: boolean;
  /** Searches for secrets before anything is written. @default one of this process's environment */
  readonly redactor?: Redactor;
}

/**
 * Writes a tape, whole or not at all. A tape that shows a secret is not written.
 *
 * @throws {Error} if a secret is found, with its place and never with the secret, or if the tape exists
 */
export async function writeTape(path: string, tape: Tape, options: WriteOptions = {}): Promise<void> {
  const { replace = false, redactor: search = redactor() } = options;
  if (!replace && existsSync(path)) throw isThere(path);
  const facts = await factsOf(tape);
  refuseSecrets(path, scanFacts(facts, tape, search));
  const blobs = new Map<string, string>();
  const lines = facts.map((fact) => factLine(toBlobs(fact, (name, text) => blobs.set(name, text))));
  const folder = blobsOf(path);
  if (blobs.size > 0) prepare(folder);
  for (const [name, text] of blobs) {
    if (!holdsBlob(folder, name)) writeWhole(join(folder, name), text, { replace: true });
  }
  prepare(dirname(path));
  try {
    writeWhole(path, `${lines.join("\n")}\n`, { replace });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EEXIST" ? isThere(path) : error;
  }
}

function prepare(folder: string): void {
  mkdirSync(folder, { recursive: true });
  sweep(folder);
}

/**
 * Asked before a model is paid: what it said could not be kept.
 *
 * @throws {Error} if a tape cannot be written at the path
 */
export function checkWritable(path: string): void {
  let folder = dirname(path);
  while (!existsSync(folder)) folder = dirname(folder);
  if (!statSync(folder).isDirectory()) throw new Error(`Cannot write tape ${path} as ${folder} is not a folder`);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch {
    throw new Error(`Cannot write tape ${path} as ${folder} may not be written to: look at its owner and mode`);
  }
}

function isThere(path: string): Error {
  return new Error(`Cannot write tape ${path} as it exists: replay it with --update, or delete it`);
}

function refuseSecrets(path: string, found: readonly Finding[]): void {
  const [first] = found;
  if (!first) return;
  const more = found.length > 1 ? ` (and ${found.length - 1} more)` : "";
  // A rule is written as it was given: a placeholder in its place would find nothing.
  const fix = first.path.startsWith("line 1.normalise")
    ? "write the rule of --normalise without it"
    : /\.files\..*\.base64$/.test(first.path)
    ? "keep it out of the run, as a binary file cannot be redacted"
    : "keep it out of the run, or record with --redact";
  throw new Error(`Cannot write tape ${path} as ${first.path} shows ${whatIs(first)}${more}: ${fix}`);
}
