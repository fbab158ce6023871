import { isObject } from "../core/json.ts";
import type { ToolResultBlock, ToolUseBlock } from "../core/messages.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { OpenAgent, OpenCall, Telling } from "./model.ts";
import { callLine, contentText, countChanges, diffSection, fieldsSection } from "./_sections.ts";
import type { Tone } from "./shape.ts";

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

const TONES: Record<string, Tone> = { success: "good", denied: "denied" };

/** The model asks for a call: the row is there from now on, whatever becomes of it. */
export function callAsked(run: Telling, agent: OpenAgent, { id, name, input }: ToolUseBlock, now: number): OpenCall {
  const row = run.row("tool", agent, now, { name, line: callLine(input) });
  const call: OpenCall = { row, index: run.rows.length - 1, asked: input };
  run.calls.set(`${agent.index} ${id}`, call);
  row.sections.push(fieldsSection("Input", input));
  return call;
}

/** A log whose beginning is lost has calls that nobody asked for. */
function callOf(run: Telling, agent: OpenAgent, id: string, name: string, input: unknown, now: number): OpenCall {
  return run.calls.get(`${agent.index} ${id}`) ??
    callAsked(run, agent, { type: "tool_use", id, name, input }, now);
}

export function callStarted(run: Telling, agent: OpenAgent, event: Of<"tool_start">, now: number): void {
  const call = callOf(run, agent, event.id, event.name, event.input, now);
  call.row.at = now;
  call.ran = event.input;
  if (!rewritten(call)) return;
  call.row.line = callLine(event.input);
  call.row.sections.splice(0, 1, fieldsSection("Asked for", call.asked), fieldsSection("Ran with", event.input));
}

/** Whether hooks changed what the model asked for; what the tool itself filled in does not count. */
function rewritten({ asked, ran }: OpenCall): boolean {
  if (!isObject(asked) || !isObject(ran)) return JSON.stringify(asked) !== JSON.stringify(ran);
  return Object.entries(asked).some(([name, value]) => {
    const now = ran[name];
    if (typeof value === "string" && typeof now === "string") return now !== value && !now.endsWith(`/${value}`);
    return JSON.stringify(now) !== JSON.stringify(value);
  });
}

export function callEnded(run: Telling, agent: OpenAgent, event: Of<"tool_end">, now: number): void {
  const call = callOf(run, agent, event.id, event.name, {}, now);
  const { row } = call;
  const { outcome, content, response, ms } = event;
  Object.assign(call, { ended: outcome, content });
  row.ms = Number(ms) || 0;
  row.tone = TONES[outcome] ?? "bad";
  const diff = diffSection(call.asked, response, outcome === "success");
  if (diff) {
    // The diff says all that the input says, and where.
    row.sections.splice(0, row.sections.length, diff);
    row.edit = { file: diff.file, applied: diff.applied, ...countChanges(diff) };
  }
  const bad = outcome !== "success";
  if (!diff || bad) {
    const title = bad ? outcome : "Result";
    row.sections.push({ as: "output", title, text: contentText(content), ...(bad && { bad }) });
  }
  // What denied a call is told beside its line.
  row.open = diff !== undefined || (bad && outcome !== "denied") || row.name === "Bash" && !bad;
  const agentId = isObject(response) ? response.agentId : undefined;
  const started = typeof agentId === "string" ? run.agents.find(({ id }) => id === agentId) : undefined;
  if (started) row.started ??= started.index;
}

/** What the model was given in the end: shown where a hook made it differ from what the tool gave. */
export function callRead(run: Telling, agent: OpenAgent, block: ToolResultBlock): void {
  const call = run.calls.get(`${agent.index} ${block.tool_use_id}`);
  if (!call) return;
  const text = contentText(block.content);
  if (call.ended === undefined) {
    call.row.tone = block.is_error ? "bad" : "good";
    call.row.sections.push({ as: "output", title: "Result", text, ...(block.is_error && { bad: true }) });
  } else if (text !== contentText(call.content) && text !== "") {
    call.row.sections.push({ as: "output", title: "What the model read", text });
  }
  call.ended ??= "success";
  call.content = text;
}

/** Finds the call that started an agent: the first that asked for its very task and has no agent yet. */
export function startedBy(run: Telling, agent: OpenAgent): void {
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

/** A call without an end is one that the log, or the run, did not live to see. */
export function closeOpen(run: Telling): void {
  for (const call of run.calls.values()) {
    if (call.ended !== undefined) continue;
    call.row.tone = "bad";
    call.row.open = true;
    call.row.sections.push({ as: "output", title: "No result", text: "The log ends before the call did", bad: true });
  }
}
