import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { ROLLOUT_VERSION, type RolloutLine } from "../transcript/rollout.ts";
import type { Told } from "./model.ts";
import { several } from "./_sections.ts";

/**
 * Reads a rollout as far as it can be read: a log that a crash tore or somebody cut is looked at because of that. What
 * was passed over is in the notes.
 *
 * @throws {Error} where there is no such file, nothing in it can be read, or its version is another
 */
export function readForView(path: string): Told {
  const text = readText(path);
  const lines: unknown[] = [];
  const bad: number[] = [];
  for (const [i, line] of text.split("\n").entries()) {
    if (line === "") continue;
    try {
      lines.push(JSON.parse(line));
    } catch {
      bad.push(i + 1);
    }
  }
  const known = lines.filter(isLine);
  if (known.length === 0) {
    throw new Error(`Cannot view ${path} as no line of it is a rollout's: 'crochet run --rollout FILE' writes one`);
  }
  const notes: string[] = [];
  const head = known.find((line) => line.type === "rollout");
  if (head === undefined) notes.push("The log has no header: its beginning is missing");
  else if (head.version !== ROLLOUT_VERSION) {
    throw new Error(`Cannot view ${path} as its version is ${head.version}: this release reads ${ROLLOUT_VERSION}`);
  }
  const strange = lines.length - known.length;
  if (bad.length > 0) {
    const where = bad.length > 5 ? `${bad.slice(0, 5).join(", ")} …` : bad.join(", ");
    notes.push(
      `${several(bad.length, "line")} could not be read and ${bad.length === 1 ? "is" : "are"} left out: ${where}`,
    );
  }
  if (strange > 0) notes.push(`${several(strange, "line")} of another kind left out`);
  return { id: head?.id ?? basename(path).replace(/(\.rollout)?\.jsonl$/, ""), lines: known, notes };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as { code?: string }).code;
    const why = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a directory" : code;
    throw new Error(`Cannot view ${path} as ${why}: 'crochet transcripts ls' lists the runs of this project`);
  }
}

function isLine(value: unknown): value is RolloutLine {
  const { type, agent_id } = (value ?? {}) as { type?: unknown; agent_id?: unknown };
  return type === "rollout" || (typeof type === "string" && typeof agent_id === "string");
}
