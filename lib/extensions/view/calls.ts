import { isObject } from "../../core/json.ts";
import { contentText, type ToolResultBlock, type ToolUseBlock } from "../../core/messages.ts";
import type { CallOutcome, RunEvent } from "../../core/run-events.ts";
import { callSubject, type InputFields, type Words } from "../../cli/show/call-subject.ts";
import { several } from "../../cli/show/text.ts";
import { toolRow } from "../../input/tool-table.ts";
import type { OpenAgent, OpenRow, RunRows } from "./rows.ts";
import type { DiffHunk, Section, Tone } from "./shape.ts";

export type ViewEvent<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

/** A tool call and its row while the run goes on. */
export interface OpenCall {
  readonly row: OpenRow;
  readonly index: number;
  readonly asked: unknown;
  ran?: unknown;
  content?: string;
  outcome?: CallOutcome;
}

const TONES: Record<string, Tone> = { success: "good", denied: "denied" };

/** What the model reads if a person refused a call; the person knows who refused it. */
const REFUSED = /^The user refused this call(?: and says(?=:))?/;

const RESULTS: Words<"result", [got: InputFields, content: string]> = {
  printed: bashResult,
  lines: ({ file }, content) => typeof file?.numLines === "number" ? several(file.numLines, "line") : firstOf(content),
  written: ({ type, content, structuredPatch: patch }) => {
    if (type === "create") return `new, ${several(lineCount(String(content ?? "")), "line")}`;
    return Array.isArray(patch) && patch.length > 0 ? changed(patch) : "unchanged";
  },
  changed: ({ structuredPatch: patch }) => changed(Array.isArray(patch) ? patch : []),
  found: ({ numMatches, numFiles }, content) => {
    if (typeof numMatches === "number") return several(numMatches, "match", "matches");
    return typeof numFiles === "number" ? several(numFiles, "file") : firstOf(content);
  },
};

/** What came of a call, in a few words. */
function callResult(tool: string, outcome: CallOutcome, content: string, response: unknown): string {
  if (outcome === "interrupted") return "interrupted";
  if (outcome === "denied") return firstOf(content.replace(REFUSED, "refused"));
  const { result } = toolRow(tool) ?? {};
  if (outcome !== "success") return failureOf(result === "printed", content);
  return result ? RESULTS[result](isObject(response) ? response : {}, content) : firstOf(content);
}

/** The last line a command printed says most; the number of lines says the rest. */
function bashResult({ stdout = "", stderr = "", backgroundTaskId, persistedOutputSize }: InputFields, content: string) {
  if (backgroundTaskId !== undefined) return `in the background as ${backgroundTaskId}`;
  const printed = [stdout, stderr].map(String).filter((text) => text.trim() !== "").join("\n").trimEnd();
  if (printed === "") return stdout === "" && stderr === "" ? "" : firstOf(content);
  const last = printed.slice(printed.lastIndexOf("\n") + 1);
  if (persistedOutputSize !== undefined) return `${persistedOutputSize} bytes, ${last}`;
  const lines = lineCount(printed.trim());
  return lines === 1 ? last : `${lines} lines, ${last}`;
}

function failureOf(isCommand: boolean, content: string): string {
  const [head = "", ...rest] = content.trim().split("\n");
  const said = isCommand && /^Exit code/.test(head) ? rest.find((line) => line.trim() !== "") : undefined;
  return said === undefined ? head : `${head}: ${said.trim()}`;
}

function changed(hunks: readonly { readonly lines: readonly string[] }[]): string {
  const { added, removed } = countChanges(hunks);
  return `+${added} −${removed}`;
}

const firstOf = (text: string) => text.trimStart().split("\n", 1)[0]!;
const lineCount = (text: string) => text === "" ? 0 : text.replace(/\n$/, "").split("\n").length;

/** The model asks for a call: its row exists from now on. */
export function callAsked(run: RunRows, agent: OpenAgent, { id, name, input }: ToolUseBlock, now: number): OpenCall {
  const row = run.row("tool", agent, now, { name, line: callSubject(name, input, run.cwd) });
  const call: OpenCall = { row, index: run.rows.length - 1, asked: input };
  run.calls.set(`${agent.index} ${id}`, call);
  row.sections.push(fieldsSection("Input", input));
  return call;
}

/** The call of an id. A log whose beginning is lost has calls without a message that asked for them. */
function callOf(run: RunRows, agent: OpenAgent, id: string, name: string, input: unknown, now: number): OpenCall {
  return run.calls.get(`${agent.index} ${id}`) ?? callAsked(run, agent, { type: "tool_use", id, name, input }, now);
}

export function callStarted(run: RunRows, agent: OpenAgent, event: ViewEvent<"tool_start">, now: number): OpenRow {
  const call = callOf(run, agent, event.id, event.name, event.input, now);
  call.row.at = now;
  call.ran = event.input ?? {};
  if (isRewritten(call)) {
    call.row.line = callSubject(event.name, event.input, run.cwd);
    call.row.sections.splice(0, 1, fieldsSection("Asked for", call.asked), fieldsSection("Ran with", event.input));
  }
  return call.row;
}

/** Whether hooks changed what the model asked for. A path that the tool itself made absolute does not count. */
function isRewritten({ asked, ran }: OpenCall): boolean {
  if (!isObject(asked) || !isObject(ran)) return JSON.stringify(asked) !== JSON.stringify(ran);
  return Object.entries(asked).some(([name, value]) => {
    const now = ran[name];
    if (typeof value === "string" && typeof now === "string") return now !== value && !now.endsWith(`/${value}`);
    return JSON.stringify(now) !== JSON.stringify(value);
  });
}

export function callEnded(run: RunRows, agent: OpenAgent, event: ViewEvent<"tool_end">, now: number): OpenRow {
  const call = callOf(run, agent, event.id, event.name, {}, now);
  const { row } = call;
  const { outcome, content, response, ms } = event;
  Object.assign(call, { outcome, content });
  row.ms = Number(ms) || 0;
  row.tone = TONES[outcome] ?? "bad";
  // The hook that denied a call is shown beside it, with its reason.
  const byHook = outcome === "denied" && row.fires?.some((fire) => run.rows[fire]?.tone === "denied");
  row.result = byHook ? "denied" : callResult(row.name, outcome, resultText(content), response);
  const diff = diffSection(call.asked, response, outcome === "success");
  if (diff) {
    // The diff shows all that the input says, and where.
    row.sections.splice(0, row.sections.length, diff);
    row.edit = { file: diff.file, applied: diff.applied, ...countChanges(diff.hunks) };
  }
  const bad = outcome !== "success";
  if (!diff || bad) {
    const title = bad ? outcome : "Result";
    row.sections.push({ as: "output", title, text: resultText(content), ...(bad && { bad }) });
  }
  // What denied a call is shown beside its line.
  row.open = diff !== undefined || (bad && outcome !== "denied") ||
    toolRow(row.name)?.result === "printed" && !bad;
  const agentId = isObject(response) ? response.agentId : undefined;
  const started = typeof agentId === "string" ? run.agents.find(({ id }) => id === agentId) : undefined;
  if (started) row.started ??= started.index;
  return row;
}

/** What the model reads in the end: shown if a hook made it differ from what the tool returned. */
export function callRead(run: RunRows, agent: OpenAgent, block: ToolResultBlock): void {
  const call = run.calls.get(`${agent.index} ${block.tool_use_id}`);
  if (!call) return;
  const text = resultText(block.content);
  if (call.outcome === undefined) {
    call.row.tone = block.is_error ? "bad" : "good";
    call.row.sections.push({ as: "output", title: "Result", text, ...(block.is_error && { bad: true }) });
  } else if (text !== resultText(call.content) && text !== "") {
    call.row.sections.push({ as: "output", title: "What the model read", text });
  }
  call.outcome ??= "success";
  call.content = text;
}

/** Finds the call that started an agent: the first that asked for its very task and has no agent yet. */
export function startedBy(run: RunRows, agent: OpenAgent): void {
  if (agent.index === 0 || agent.prompt === "") return;
  for (const { row, asked } of run.calls.values()) {
    if (row.started !== undefined || !isObject(asked) || asked.prompt !== agent.prompt) continue;
    row.started = agent.index;
    agent.parent = row.agent;
    const name = [asked.description, asked.subagent_type].find((name) => typeof name === "string" && name !== "");
    if (name !== undefined) agent.name = String(name);
    return;
  }
}

type DiffSection = Extract<Section, { as: "diff" }>;

/** A value as a person reads it: a text as it is, anything else as JSON. */
export function shownText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? String(value);
}

/** The tone for the end of a run or an agent: some ends are not failures. */
export function endTone(stop: string): Tone {
  return stop === "done" || stop === "halted" || stop === "waiting" ? "good" : "bad";
}

/** A tool's input, field by field: as JSON, the line breaks of a script would be unreadable. */
function fieldsSection(title: string, input: unknown): Section {
  const fields = isObject(input)
    ? Object.entries(input).map(([name, value]) => [name, shownText(value)] as const)
    : [["input", shownText(input)] as const];
  return { as: "fields", title, fields };
}

const LINE_LENGTH = 160;
/** Half of a character that takes two code units, left over by a cut. */
const HALF = /[\ud800-\udbff]$/;

/** The first line of a text, cut at 160 characters. */
export function firstLine(text: unknown): string {
  const start = shownText(text).trimStart();
  const end = start.indexOf("\n");
  const line = end < 0 ? start : start.slice(0, end);
  if (line.length <= LINE_LENGTH) return end < 0 ? line : `${line} …`;
  return `${line.slice(0, LINE_LENGTH - 1).replace(HALF, "")}…`;
}

/** The change a call made to a file; if it was not applied, the change it asked for. */
function diffSection(input: unknown, response: unknown, applied: boolean): DiffSection | undefined {
  const asked = isObject(input) ? input : {};
  const answer = isObject(response) ? response : {};
  const file = [asked.file_path, answer.filePath].find((path) => typeof path === "string");
  if (file === undefined) return undefined;
  const hunks = (applied ? patchOf(answer) : undefined) ??
    wantedEdits(asked)?.flatMap(({ before = "", after }) => wholeHunk(before, after));
  return hunks && hunks.length > 0 ? { as: "diff", file, hunks, applied } : undefined;
}

/** The patch in a tool's response, in the form that the edit tools share with other hosts. */
function patchOf(response: Readonly<Record<string, unknown>>): DiffHunk[] | undefined {
  const { structuredPatch, type, content } = response;
  if (!Array.isArray(structuredPatch)) return undefined;
  const hunks = structuredPatch.filter((hunk) => isObject(hunk) && Array.isArray(hunk.lines)).map((hunk) => ({
    oldStart: Number(hunk.oldStart) || 0,
    newStart: Number(hunk.newStart) || 0,
    lines: hunk.lines.map(String),
  }));
  if (hunks.length === 0 && type === "create" && typeof content === "string") return wholeHunk("", content);
  return hunks;
}

/** The texts that a call wants replaced; without a text before, the whole file. Undefined if it does not change one. */
export function wantedEdits(
  input: Readonly<Record<string, unknown>>,
): { before?: string; after: string }[] | undefined {
  const { old_string: before, new_string: after, edits, content } = input;
  if (typeof before === "string" && typeof after === "string") return [{ before, after }];
  if (Array.isArray(edits)) return edits.flatMap((edit) => isObject(edit) ? wantedEdits(edit) ?? [] : []);
  return typeof content === "string" ? [{ after: content }] : undefined;
}

/** All old lines out, all new lines in. A line number of 0 means that it is unknown. */
function wholeHunk(old: string, now: string): DiffHunk[] {
  const marked = (sign: string, text: string) =>
    text === "" ? [] : text.replace(/\n$/, "").split("\n").map((line) => sign + line);
  return [{ oldStart: 0, newStart: old === "" ? 1 : 0, lines: [...marked("-", old), ...marked("+", now)] }];
}

function countChanges(hunks: readonly Pick<DiffHunk, "lines">[]): { added: number; removed: number } {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return { added: count("+"), removed: count("-") };
}

/** The text of a tool result's content, which a log may have in any form. */
function resultText(content: unknown): string {
  return Array.isArray(content) ? contentText(content) : shownText(content);
}
