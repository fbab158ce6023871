import { relative } from "node:path";
import type { CallOutcome } from "../../core/run-events.ts";
import type { Hunk } from "../../tools/edit/diff.ts";
import { changed } from "./diff.ts";
import { count, firstLine, lastLine, oneLine, openText, several } from "./text.ts";

type Fields = { readonly [name: string]: any };

/** What a call is about, in a few words: the command, the file, the pattern. A path is shown as the model wrote it, or from `cwd`. */
export function subjectOf(tool: string, input: unknown, cwd: string, written?: unknown): string {
  const given = (typeof input === "object" && input !== null ? input : {}) as Fields;
  const path = given.file_path ?? given.notebook_path;
  const own = (written as Fields | undefined)?.file_path;
  if (typeof path === "string") {
    return openText(typeof own === "string" && path.endsWith(`/${own}`) ? own : pathFrom(cwd, path));
  }
  switch (tool) {
    case "Bash":
      return openText(String(given.command ?? "").trim()).replace(/\s*\n\s*/g, " ⏎ ");
    case "Glob":
    case "Grep":
      return oneLine(`${given.pattern ?? ""}${given.path === undefined ? "" : ` in ${pathFrom(cwd, given.path)}`}`);
    case "Agent":
    case "Task":
      return oneLine(String(given.description ?? given.prompt ?? ""));
    case "AskUserQuestion":
      return oneLine((given.questions as Fields[] ?? []).map((q) => q.header).join(", "));
    case "ExitPlanMode":
    case "EnterPlanMode":
      return "";
    default:
      return Object.entries(given).map(([name, value]) =>
        `${name}: ${oneLine(typeof value === "string" ? value : JSON.stringify(value) ?? "")}`
      ).join(", ");
  }
}

/** A path as a person in that directory would write it. */
export function pathFrom(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short === "" ? "." : short.startsWith("../") || !path.startsWith("/") ? path : short;
}

/** What the model reads of a person who said no; the person knows who said it. */
const REFUSED = /^The user refused this call(?: and says(?=:))?/;

/** What came of a call, in a few words. */
export function outcomeOf(tool: string, outcome: CallOutcome, content: string, response: unknown): string {
  if (outcome === "interrupted") return "interrupted";
  if (outcome === "denied") return firstLine(content.replace(REFUSED, "refused"));
  if (outcome !== "success") return failure(tool, content);
  const got = (typeof response === "object" && response !== null ? response : {}) as Fields;
  switch (tool) {
    case "Bash":
      return bashSays(got, content);
    case "Read":
      return typeof got.file?.numLines === "number" ? several(got.file.numLines, "line") : firstLine(content);
    case "Write":
      if (got.type === "create") return `new, ${several(linesIn(String(got.content ?? "")), "line")}`;
      return hunksOf(got).length > 0 ? changed(hunksOf(got)) : "as it was";
    case "Edit":
    case "MultiEdit":
      return changed(hunksOf(got));
    case "Glob":
    case "Grep":
      if (typeof got.numMatches === "number") return several(got.numMatches, "match", "matches");
      return typeof got.numFiles === "number" ? several(got.numFiles, "file") : firstLine(content);
    default:
      return firstLine(content);
  }
}

/** The end of what a command printed says most; how much there was before it says the rest. */
function bashSays(got: Fields, content: string): string {
  const { stdout = "", stderr = "", backgroundTaskId, persistedOutputSize } = got;
  if (backgroundTaskId !== undefined) return `in the background as ${backgroundTaskId}`;
  const printed = [stdout, stderr].filter((text) => text.trim() !== "").join("\n");
  if (printed === "") return stdout === "" && stderr === "" ? "" : firstLine(content);
  if (persistedOutputSize !== undefined) return `${count(persistedOutputSize)} bytes, ${lastLine(printed)}`;
  const lines = linesIn(printed.trim());
  return lines === 1 ? lastLine(printed) : `${lines} lines, ${lastLine(printed)}`;
}

function failure(tool: string, content: string): string {
  const [head = "", ...rest] = content.trim().split("\n");
  const said = tool === "Bash" && /^Exit code/.test(head) ? rest.map(oneLine).find((line) => line !== "") : undefined;
  return said === undefined ? firstLine(head) : `${firstLine(head)}: ${said}`;
}

/** The change a call made to a file, if it is one that tells. */
export function hunksOf(response: unknown): readonly Hunk[] {
  const found = (response as { structuredPatch?: unknown } | undefined)?.structuredPatch;
  return Array.isArray(found) ? found : [];
}

function linesIn(text: string): number {
  return text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;
}
