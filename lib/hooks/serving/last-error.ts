import { isObject, type JsonObject, parsed } from "../../core/json.ts";

/** How much of the end of a transcript is read: its last entries. */
const MOST_BYTES = 1 << 18;

/** The end of a file; empty if it cannot be read, as a host may name one that is not there. */
export function endOf(path: string): string {
  const { closeSync, fstatSync, openSync, readSync, constants } = process.getBuiltinModule("node:fs");
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = fstatSync(file);
    const bytes = new Uint8Array(Math.min(size, MOST_BYTES));
    return new TextDecoder().decode(bytes.subarray(0, readSync(file, bytes, 0, bytes.length, size - bytes.length)));
  } catch {
    return "";
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The API's error with which a transcript of Claude Code ends: its last message is the program's own, and says so. */
export function lastErrorIn(transcript: string): string | undefined {
  const entries = transcript.split("\n").map((line) => parsed(line)).filter(isObject) as JsonObject[];
  const last = entries.findLast(({ type }) => type === "assistant" || type === "user");
  if (last?.isApiErrorMessage !== true) return undefined;
  const { content = "" } = (last.message ?? {}) as { readonly content?: unknown };
  return /"text":"(.+?)"/.exec(JSON.stringify(content))?.[1] ?? "API error";
}
