import { lstatSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isObject } from "../core/json.ts";
import { hashOf } from "../runtime/sha256.ts";
import { LONGEST } from "../log/call-lines.ts";
import { mapParts } from "../log/redact/redact.ts";

/** Where the long texts of the tapes of a folder are: beside the fixtures, shared by them. */
export function blobsOf(path: string): string {
  return join(dirname(dirname(path)), "blobs");
}

/** A value whose long texts are `{"$blob": "<sha256>"}`; each text is given to `put` with its name. */
export function toBlobs<T>(value: T, put: (name: string, text: string) => void): T {
  const change = (text: unknown) => {
    // A text has at most three times as many bytes as characters.
    if (typeof text !== "string" || text.length * 3 <= LONGEST || Buffer.byteLength(text) <= LONGEST) return undefined;
    // A file cannot hold half a character, as a tool leaves it that cuts its output; a line can.
    if (!text.isWellFormed()) return undefined;
    const name = hashOf(text);
    put(name, text);
    return { $blob: name };
  };
  // Keys of the recorded content that would be taken for ours get a mark.
  return mapParts(value, change, (key) => /^\$+blob$/.test(key) ? `$${key}` : key);
}

/** The value again. @throws if `get` does not know a blob */
export function fromBlobs<T>(value: T, get: (name: string) => string): T {
  const change = (part: unknown) => isObject(part) && "$blob" in part ? get(part.$blob as string) : undefined;
  return mapParts(value, change, (key) => /^\$\$+blob$/.test(key) ? key.slice(1) : key);
}

/** A long text from the folder of blobs. A tape names it, so it is checked that the name leads nowhere else. */
export function readBlob(folder: string, name: string): string {
  if (!/^[0-9a-f]{64}$/.test(name)) throw new Error(`Cannot read blob '${name}' as a blob is named by its sha256`);
  const path = join(folder, name);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) throw new Error(`Cannot read ${path} as there is no such file: ${RENEW}`);
  if (!found.isFile()) throw new Error(`Cannot read ${path} as it is not a regular file: ${RENEW}`);
  const text = readFileSync(path, "utf8");
  if (hashOf(text) === name) return text;
  // Git may have changed the line endings: the hash shows whether that is all.
  const plain = text.replaceAll("\r\n", "\n");
  if (hashOf(plain) === name) return plain;
  throw new Error(`Cannot read ${path} as its text is not the one it is named by: ${RENEW}`);
}

const RENEW = "take it from version control, or delete the tape and record again";
