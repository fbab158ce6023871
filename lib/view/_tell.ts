import { type Block, isToolResult, isToolUse, type Message } from "../core/messages.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { ExecRecord } from "../hooks/toml.ts";
import { acted, ledgerLines } from "./_ledger.ts";
import type { OpenAgent, OpenRow, Telling } from "./model.ts";
import { endTone, firstLine, wordsOf } from "./_sections.ts";
import { callAsked, callEnded, callRead, callStarted, startedBy } from "./_tell-tools.ts";
import type { Tone } from "./shape.ts";

/** Tells one event of an agent: what rows it makes, and what it says of rows that are there. */
export function tell(run: Telling, agent: OpenAgent, event: RunEvent, now: number): void {
  const note = (name: string, line: string, tone: Tone = "plain") => run.row("note", agent, now, { name, line, tone });
  switch (event.type) {
    case "start":
      return started(run, agent, event, now);
    case "usage":
      return answered(run, agent, event, now);
    case "message":
      return event.message.role === "assistant" ? said(run, agent, event, now) : heard(run, agent, event, now);
    case "tool_start":
      return callStarted(run, agent, event, now);
    case "tool_end":
      return callEnded(run, agent, event, now);
    case "fired":
      return fired(run, agent, event, now);
    case "hook_start":
      return void run.asked.set(
        hookKey(event),
        () => note(event.event, `${event.hook} had not answered when the log ends`, "bad"),
      );
    case "hook_end":
      return void run.asked.delete(hookKey(event));
    case "hook_input":
      return void run.row("input", agent, now, {
        name: `HookInput of ${event.hook}`,
        line: firstLine(event.text),
        tone: "changed",
        open: true,
        sections: [{ as: "words", text: wordsOf(event.text) }],
      });
    case "exec":
      return executed(run, agent, event.exec as ExecRecord, now);
    case "retry":
      return void note("retry", `attempt ${event.attempt} after ${event.wait_ms} ms: ${event.reason}`, "bad");
    case "model":
      agent.model = event.model;
      return void note("model", `${event.was} → ${event.model}${event.reason ? `: ${event.reason}` : ""}`, "changed");
    case "compact":
      return void note("compact", `${event.before} → ${event.after} tokens, ${event.messages.length} messages go on`);
    case "checkpoint":
      return void note("checkpoint", `${event.id} (${event.kind})`, "quiet");
    case "warning":
      return long(note("warning", firstLine(event.message), "bad"), event.message);
    case "log":
      return long(note(`log of ${event.hook}`, firstLine(event.message), "quiet"), event.message);
    case "system_message":
      return long(note(`${event.hook} says`, firstLine(event.text)), event.text);
    case "end":
      return ended(run, agent, event, now);
    default: // what streams by
  }
}

type Of<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>;

function hookKey({ agent_id, hook, event }: Of<"hook_start" | "hook_end">): string {
  return JSON.stringify([agent_id, hook, event]);
}

/** A text that its row's line does not hold is shown below it. */
function long(row: OpenRow, given: string): void {
  const text = wordsOf(given);
  if (row.line !== text) row.sections.push({ as: "output", title: "", text });
}

function started(run: Telling, agent: OpenAgent, { prompt, model }: Of<"start">, now: number): void {
  if (agent.prompt === "") agent.from = now;
  Object.assign(agent, { prompt: wordsOf(prompt), model, stop: null });
  if (model) run.models.add(model);
  startedBy(run, agent);
}

/** A reply has come: the call began when the agent last did anything. */
function answered(run: Telling, agent: OpenAgent, { usage, model, cost, hook }: Of<"usage">, now: number): void {
  run.models.add(model);
  const count = (value: unknown) => Number(value) || 0;
  const row = run.row("call", agent, agent.last, {
    ms: now - agent.last,
    name: hook === undefined ? model : `${model} for ${wordsOf(hook)}`,
    open: hook === undefined,
    spent: {
      fresh: count(usage.input_tokens),
      cacheRead: count(usage.cache_read_input_tokens),
      cacheWrite: count(usage.cache_creation_input_tokens),
      output: count(usage.output_tokens),
      cost: typeof cost === "number" ? cost : null,
    },
  });
  // What the agent says next is not the answer to a hook's question.
  if (hook === undefined) agent.call = row;
}

function said(run: Telling, agent: OpenAgent, { message, index }: Of<"message">, now: number): void {
  if (isRepeated(agent, message, index)) return;
  const row = agent.call ?? run.row("call", agent, agent.last, { ms: now - agent.last, name: agent.model, open: true });
  agent.call = undefined;
  for (const block of message.content) {
    const { text, thinking } = block as { text?: unknown; thinking?: unknown };
    if (isToolUse(block)) continue;
    else if (block.type === "text") row.sections.push({ as: "words", text: String(text) });
    else if (block.type === "thinking") row.sections.push({ as: "thinking", text: String(thinking ?? "") });
    else row.sections.push({ as: "output", title: block.type, text: wordsOf(block) });
  }
  const uses = message.content.filter(isToolUse);
  const words = row.sections.find((section) => section.as === "words");
  row.line = firstLine(words?.text ?? "") || uses.map((use) => use.name).join(", ");
  for (const use of uses) callAsked(run, agent, use, now);
}

/** What the model reads: the results of its calls, the prompt, and what hooks added. */
function heard(run: Telling, agent: OpenAgent, { message, index }: Of<"message">, now: number): void {
  const before = agent.texts.get(index) ?? new Set<string>();
  const texts = message.content.filter((block) => !isToolResult(block)).map(blockText);
  agent.texts.set(index, new Set([...before, ...texts]));
  for (const block of message.content) if (isToolResult(block)) callRead(run, agent, block);
  for (const text of texts) {
    if (before.has(text)) continue;
    const prompted = text === agent.prompt;
    run.row(prompted ? "prompt" : "input", agent, now, {
      name: prompted ? (agent.index === 0 ? "You" : "Task") : "To the model",
      line: firstLine(text),
      tone: prompted ? "plain" : "changed",
      open: true,
      sections: [{ as: "words", text }],
    });
  }
}

function isRepeated(agent: OpenAgent, { content }: Message, index: number): boolean {
  const text = JSON.stringify(content);
  const known = agent.texts.get(index)?.has(text) === true;
  agent.texts.set(index, new Set([text]));
  return known;
}

function blockText(block: Block): string {
  return block.type === "text" ? String((block as { text: unknown }).text) : `[${block.type}]`;
}

function fired(run: Telling, agent: OpenAgent, { event, folded, tool_use_id }: Of<"fired">, now: number): void {
  const lines = ledgerLines(event, folded);
  const telling = lines.filter(acted);
  const ms = lines.reduce((sum, line) => sum + line.ms, 0);
  const row = run.row("fire", agent, Math.max(0, now - ms), {
    ms,
    name: event,
    line: telling.map(({ hook, did, why }) => `${hook}: ${did}${why ? `: ${firstLine(why)}` : ""}`).join(" · ") ||
      `${lines.length} considered, none did anything`,
    tone: (["bad", "denied", "changed", "good"] as const).find((t) => telling.some((l) => l.tone === t)) ?? "quiet",
    sections: [{ as: "ledger", event, runs: lines }],
  });
  if (folded.modified) {
    row.sections.push({ as: "output", title: "What it became", text: wordsOf(folded.value) });
  }
  const index = run.rows.length - 1;
  run.ledgers.add(event, lines, index);
  const call = tool_use_id === undefined ? undefined : run.calls.get(`${agent.index} ${tool_use_id}`);
  if (!call) return;
  (call.row.fires ??= []).push(index);
  row.about = call.index;
}

/** A command that runs for a hook is one row from its begin to its end. */
function executed(run: Telling, agent: OpenAgent, exec: ExecRecord, now: number): void {
  if (exec.type === "exec_begin") {
    const line = firstLine(exec.command.join(" "));
    run.execs.set(exec.id, run.row("note", agent, now, { name: exec.title, line }));
    return;
  }
  const row = run.execs.get(exec.id);
  if (exec.type !== "exec_end" || !row) return;
  row.ms = Number(exec.duration_ms) || 0;
  if (exec.status !== "ok") Object.assign(row, { tone: "bad", line: `${row.line} (${exec.status})` });
  for (const title of ["stdout", "stderr"] as const) {
    if (exec[title]) row.sections.push({ as: "output", title, text: wordsOf(exec[title]) });
  }
}

function ended(run: Telling, agent: OpenAgent, event: Of<"end">, now: number): void {
  const stop = wordsOf(event.stop), text = wordsOf(event.text ?? "");
  agent.stop = stop;
  const last = run.rows.findLast((row) => row.agent === agent.index && row.kind === "call");
  const heardAlready = last?.sections.some((section) => section.as === "words" && section.text === text);
  run.row("end", agent, now, {
    name: stop,
    line: heardAlready ? "" : firstLine(text),
    tone: endTone(stop),
    open: true,
    sections: heardAlready || text === "" ? [] : [{ as: "words", text }],
  });
}
