import { isToolUse, textOf } from "../../core/messages.ts";
import { price } from "../../models/anthropic/prices.ts";
import { brokenBy, replyOf } from "../../log/recorded-reply.ts";
import { type Call, MAIN, type Tape } from "../../log/tape.ts";
import type { LoggedRun, TimedEvent } from "../../log/logged-run.ts";

type Anonymous<T> = T extends unknown ? Omit<T, "at" | "agent_id"> : never;
type TapeEvent = Anonymous<TimedEvent>;

/** The run that a tape is of, without running anything of it. What hooks did is not on a tape. */
export function runOnTape(tape: Tape): Pick<LoggedRun, "events" | "notes"> {
  const began = Date.parse(tape.header.at);
  const events: { readonly at: number; readonly event: TimedEvent }[] = [];
  const add = (lane: string, at: number, event: TapeEvent) => {
    events.push({ at, event: { agent_id: lane, at: new Date(began + at).toISOString(), ...event } as TimedEvent });
  };
  const calls = tape.calls.toSorted((x, y) => x.at - y.at);
  const logged = new Map<string, readonly string[]>();
  for (const call of calls) {
    const { lane } = call;
    logged.set(lane, logCall(call, logged.get(lane) ?? [], (at, event) => add(lane, at, event), tape));
  }
  const last = calls.reduce((end, call) => Math.max(end, call.at + took(call)), 0);
  if (tape.end) add(MAIN, last, { type: "end", stop: tape.end.end as "done", text: "" });
  const missing = "Read from the tape alone: what hooks did is not on a tape";
  return { events: events.toSorted((x, y) => x.at - y.at).map(({ event }) => event), notes: [missing] };
}

/** Gives the messages logged of its lane so far, as JSON. */
function logCall(
  call: Call,
  before: readonly string[],
  add: (at: number, event: TapeEvent) => void,
  tape: Tape,
): readonly string[] {
  const { messages, model } = call.request;
  const texts = messages.map((message) => JSON.stringify(message));
  const goesOn = before.length > 0 && before.every((text, i) => texts[i] === text || i === before.length - 1);
  if (!goesOn) {
    const prompt = textOf(messages.findLast((message) => message.role === "user" && textOf(message) !== ""));
    add(call.at, { type: "start", session_id: call.lane, agent_type: call.lane, prompt, model });
  }
  for (const [index, message] of messages.entries()) {
    if (!goesOn || index >= before.length) add(call.at, { type: "message", message, index });
  }
  for (const [i, attempt] of call.attempts.entries()) {
    const { status, ended, why } = attempt;
    const refused = status !== undefined && status >= 300 ? `HTTP status ${status}` : undefined;
    const failed = ended ?? refused ?? brokenBy(attempt);
    if (failed === undefined) continue;
    const reason = why === undefined ? failed : `${failed}: ${why}`;
    add(call.at + took(call), { type: "retry", attempt: i + 1, reason, wait_ms: call.attempts[i + 1]?.waited ?? 0 });
  }
  const reply = replyOf(call);
  const end = call.at + took(call);
  if (call.error) add(end, { type: "warning", message: call.error.message });
  if (!reply) return texts;
  const cost = price(model, reply.usage);
  add(end, { type: "usage", usage: reply.usage, model, cost });
  add(end, { type: "message", message: reply.message, index: messages.length });
  for (const { id, name } of reply.message.content.filter(isToolUse)) {
    const fact = tape.tools.findLast((tool) => tool.tool === id && tool.lane === call.lane);
    if (!fact) continue;
    const { result, ms } = fact;
    add(end, { type: "tool_start", id, name, input: fact.input });
    add(end + ms, {
      type: "tool_end",
      id,
      name,
      outcome: result.is_error ? "failure" : "success",
      content: typeof result.content === "string" ? result.content : JSON.stringify(result.content),
      ms,
      ...(result.response !== undefined && { response: result.response }),
    });
  }
  return [...texts, JSON.stringify(reply.message)];
}

function took({ attempts }: Call): number {
  return attempts.reduce((sum, attempt) => sum + attempt.took + (attempt.waited ?? 0), 0);
}
