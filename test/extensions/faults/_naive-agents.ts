import { type Message, promptText } from "../../../lib/core/messages.ts";
import type { Model, ModelEvent } from "../../../lib/core/model.ts";
import { EMPTY_REPLY } from "../../../lib/core/reply.ts";
import type { Result } from "../../../lib/core/run-events.ts";
import { TapedSession } from "../../../lib/replay/taped-session.ts";
import type { Faultable } from "../../../lib/extensions/faults/under-faults.ts";

/** What a loop gets wrong that somebody wrote in an afternoon. */
export type Mistake =
  | "none"
  | "ignores the index"
  | "retries after effects"
  | "runs malformed input"
  | "keeps cut turns"
  | "runs tools while they stream"
  | "leaves calls open"
  | "never gives up";

/** A loop of its own, with one mistake, that says what it does in our events. */
export function naive(mistake: Mistake): Faultable {
  return {
    open: ({ tape, cwd, on, signal = new AbortController().signal }) => {
      const session = new TapedSession(tape, tape.tape, cwd);
      const none: Model = async function* () {};
      const model = session.lane("main").model(none);
      const ask = (messages: readonly Message[]) =>
        model({ model: "m", system: "", messages, tools: [], max_tokens: 1 }, signal);
      return Promise.resolve({
        prompt: (prompt) =>
          loop(promptText(prompt), ask, mistake, (event) => on({ agent_id: "a", ...event } as never), signal),
        close: () => Promise.resolve(),
      });
    },
  };
}

type Emit = (event: object) => void;

async function loop(
  prompt: string,
  ask: (messages: readonly Message[]) => AsyncIterable<ModelEvent>,
  mistake: Mistake,
  emit: Emit,
  signal: AbortSignal,
): Promise<Result> {
  const messages: Message[] = [{ role: "user", content: [{ type: "text", text: prompt }] }];
  let turnStart = messages.length;
  let failures = 0;
  for (let asked = 0; asked < 60 || mistake === "never gives up"; asked++) {
    if (signal.aborted) break;
    const blocks: any[] = [];
    const run = (block: any) => emit({ type: "tool_start", id: block.id, name: block.name, input: block.input });
    let whole = false;
    let limited = false;
    let starts = 0;
    try {
      for await (const event of ask(messages.slice())) {
        if (event.type === "message_start" && ++starts > 1) throw new Error("twice");
        add(blocks, event, mistake);
        if (event.type === "error") throw new Error(event.error.type);
        if (event.type === "message_stop") whole = true;
        if (event.type === "message_delta") limited = /max_tokens|exceeded/.test(String(event.delta.stop_reason));
        if (event.type === "content_block_stop" && mistake === "runs tools while they stream") {
          const block = blocks[event.index];
          if (block?.type === "tool_use" && parsed(block)) run(block);
        }
      }
      if (!whole) throw new Error("cut");
    } catch {
      if (mistake === "keeps cut turns" && blocks.some((b) => b?.type === "text" && b.text !== "")) {
        push({ role: "assistant", content: blocks.filter((b) => b?.type === "text") }, messages, emit);
        break;
      }
      if (mistake === "retries after effects") messages.length = turnStart;
      if (++failures > 3 && mistake !== "never gives up") break;
      continue;
    }
    const content = blocks.filter((b) => b !== undefined && !(b.type === "text" && b.text === ""));
    if (content.length === 0) content.push({ type: "text", text: EMPTY_REPLY });
    const calls = content.filter((b) => b.type === "tool_use");
    const good = new Set(calls.filter((block) => !(limited && block === content.at(-1)) && parsed(block)));
    for (const block of calls) {
      if (!good.has(block)) {
        block.input = mistake === "runs malformed input" ? loose(block) : {};
      }
    }
    for (const block of content) delete block.raw;
    push({ role: "assistant", content }, messages, emit);
    if (calls.length === 0) break;
    const results = calls.map((block) => {
      if ((good.has(block) || mistake === "runs malformed input") && mistake !== "runs tools while they stream") {
        run(block);
      }
      return { type: "tool_result", tool_use_id: block.id, content: "ok" };
    });
    messages.push({ role: "user", content: mistake === "leaves calls open" ? results.slice(0, 1) : results });
    if (mistake !== "retries after effects") turnStart = messages.length;
  }
  return { messages, stop: "done", text: "" } as unknown as Result;
}

function push(message: Message, messages: Message[], emit: Emit): void {
  messages.push(message);
  emit({ type: "message", message: structuredClone(message), index: messages.length - 1 });
}

function add(blocks: any[], event: ModelEvent, mistake: Mistake): void {
  if (event.type === "content_block_start") {
    if (blocks[event.index] !== undefined) throw new Error("twice");
    blocks[event.index] = { ...event.content_block };
  }
  if (event.type !== "content_block_delta") return;
  const block = mistake === "ignores the index" ? blocks.at(-1) : blocks[event.index];
  const { type, ...delta } = event.delta;
  if (type === "input_json_delta") block.raw = (block.raw ?? "") + delta.partial_json;
  else {for (const [key, value] of Object.entries(delta)) {
      block[key] = typeof value === "string" ? (block[key] ?? "") + value : value;
    }}
}

function parsed(block: any): boolean {
  try {
    if (block.raw) block.input = JSON.parse(block.raw);
    return true;
  } catch {
    return false;
  }
}

/** What a forgiving parser makes of half an object. */
function loose({ raw }: { raw: string }): unknown {
  for (const end of ["}", '"}', '"}}']) {
    try {
      return JSON.parse(raw + end);
    } catch { /* the next one */ }
  }
  return {};
}
