import { relative } from "node:path";
import { isObject } from "../../core/json.ts";
import { type ToolRow, toolRow } from "../../input/tool-table.ts";

export type InputFields = { readonly [name: string]: any };

/** How each kind of subject or result that a tool's row names is put into words. */
export type Words<Of extends "subject" | "result", Given extends unknown[]> = {
  readonly [kind in NonNullable<ToolRow[Of]>]: (...given: Given) => string;
};

const SUBJECTS: Words<"subject", [given: InputFields, cwd: string | undefined]> = {
  command: ({ command }) => String(command ?? "").trim().replace(/\s*\n\s*/g, " ⏎ "),
  search: ({ pattern, path }, cwd) =>
    `${pattern ?? ""}${path === undefined ? "" : ` in ${pathFrom(cwd, String(path))}`}`,
  task: ({ description, prompt }) => String(description ?? prompt ?? ""),
  questions: ({ questions }) => Array.isArray(questions) ? questions.map((one) => one?.header).join(", ") : "",
  nothing: () => "",
};

/** What a call is about, in a few words: the command, the file, the pattern. Paths are relative to `cwd`, if given. */
export function callSubject(tool: string, input: unknown, cwd?: string): string {
  const given: InputFields = isObject(input) ? input : {};
  const path = given.file_path ?? given.notebook_path;
  if (typeof path === "string") return pathFrom(cwd, path);
  const { subject } = toolRow(tool) ?? {};
  if (subject) return SUBJECTS[subject](given, cwd);
  return Object.entries(given)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
}

/** A path as a person in that directory would write it. */
export function pathFrom(cwd: string | undefined, path: string): string {
  if (cwd === undefined || !path.startsWith("/")) return path;
  const short = relative(cwd, path);
  return short === "" ? "." : short.startsWith("../") ? path : short;
}
