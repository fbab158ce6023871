import { isObject } from "../../core/json.ts";

/** How much of the end of a transcript is read: its last entries. */
const MOST_BYTES = 1 << 18;

/** The end of a file; empty if it cannot be read, as a host may name one that is not there. */
export function endOf(path: string): string {
  const { closeSync, fstatSync, openSync, readSync, constants } = process.getBuiltinModule("node:fs");
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return "";
  }
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) return "";
    const bytes = new Uint8Array(Math.min(stat.size, MOST_BYTES));
    return new TextDecoder().decode(
      bytes.subarray(0, readSync(file, bytes, 0, bytes.length, stat.size - bytes.length)),
    );
  } finally {
    closeSync(file);
  }
}

/** The API's error with which a transcript of Claude Code ends: its last message is the program's own, and says so. */
export function lastErrorIn(transcript: string): string | undefined {
  for (const line of transcript.trimEnd().split("\n").reverse()) {
    const entry = parsed(line);
    if (entry?.type !== "assistant" && entry?.type !== "user") continue;
    if (entry.isApiErrorMessage !== true) return undefined;
    const content = isObject(entry.message) ? entry.message.content : undefined;
    const texts = Array.isArray(content) ? content.flatMap((block) => isObject(block) ? [block.text] : []) : [content];
    return texts.filter((text) => typeof text === "string").join("\n") || "API error";
  }
  return undefined;
}

/** The first line of a part of a file may be half a line. */
function parsed(line: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value = JSON.parse(line) as unknown;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
