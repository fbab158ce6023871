import { countUp, makeOnce } from "../../core/maps.ts";
import { isObject } from "../../core/json.ts";
import { type Block, invalidConversation, isToolUse } from "../../core/messages.ts";
import { EMPTY_REPLY, isCut } from "../../core/reply.ts";
import type { RunEvent } from "../../core/run-events.ts";
import { thrownWords } from "../../core/shown.ts";
import { canonical } from "../../log/canonical.ts";
import { replyEvents, type ServedReply } from "../../replay/free-run.ts";
import type { Invariant, Observed } from "../../replay/invariants.ts";
import { accumulated } from "../../replay/accumulate.ts";
import type { Tape } from "../../log/tape.ts";

/** A run that had to be ended from outside. */
export class NotOver extends Error {
  override name = "NotOver";
}

/** The invariants that every agent made with this toolkit is held to while faults fall on it. */
export const INVARIANTS: readonly Invariant[] = [
  { name: "no tool runs on input that does not strictly parse", broken: ranUnparsed },
  { name: "a cut turn never enters history", broken: keptCut },
  { name: "a retry never repeats a write", broken: ranTwice },
  { name: "every tool_use has one result", broken: unanswered },
  { name: "the run ends", broken: endless },
  { name: "a failing guard lets no denied call through", broken: ranUnguarded },
];

/** A reply that came to its end: as history has it, and why a call of it must not run, if so. */
interface Whole {
  readonly content: readonly Block[];
  readonly calls: ReadonlyMap<string, string | undefined>;
}

function wholeReplies(said: readonly ServedReply[]): Whole[] {
  return said.flatMap(({ events }) => {
    const answer = accumulated(events);
    if (answer?.kind !== "message") return [];
    const { message, unparsed } = answer;
    const content = message.content as Block[];
    const cutAt = isCut(String(message.stop_reason)) ? content.length - 1 : -1;
    const why = content.map((block, i) => {
      if (!("input" in block)) return undefined;
      if (unparsed.has(i)) return `'${unparsed.get(i)}'`;
      return i === cutAt
        ? "what the output limit cut"
        : isObject(block.input)
        ? undefined
        : JSON.stringify(block.input);
    });
    const calls = content.flatMap((block, i): [string, string | undefined][] =>
      isToolUse(block) ? [[block.id, why[i]]] : []
    );
    const closed = content.map((block, i) => why[i] === undefined ? block : { ...block, input: {} });
    const whole = { content: kept(closed), calls: new Map(calls) };
    if (message.stop_reason !== "refusal") return [whole];
    // A call that a filter cut short need not be kept.
    return [whole, { content: kept(closed.filter((block) => !isToolUse(block))), calls: new Map() }];
  });
}

/** Blank texts, which the API would not take back, are not kept. */
function kept(content: readonly Block[]): Block[] {
  const isText = (block: Block, of: RegExp) =>
    block.type === "text" && of.test(String((block as { text: unknown }).text));
  const full = content.filter((block) => !isText(block, /^$/));
  const left = full.some((block) => isText(block, /\S/)) ? full : full.filter((block) => !isText(block, /^\s*$/));
  return left.length > 0 ? left : [{ type: "text", text: EMPTY_REPLY }];
}

function starts(events: readonly RunEvent[]): { id: string; name: string }[] {
  return events.flatMap((event) => event.type === "tool_start" ? [{ id: event.id, name: event.name }] : []);
}

function ranUnparsed({ run, events }: Observed): string | undefined {
  const replies = wholeReplies(run.said);
  for (const { id, name } of starts(events)) {
    const asked = replies.filter(({ calls }) => calls.has(id));
    if (asked.length === 0) return `${name} (${id}) ran though no whole reply asks for it`;
    if (asked.every(({ calls }) => calls.get(id) !== undefined)) {
      return `${name} (${id}) ran on ${asked[0]!.calls.get(id)}`;
    }
  }
  return undefined;
}

function keptCut({ run, events }: Observed): string | undefined {
  const replies = wholeReplies(run.said).map(({ content }) => content.map(canonical));
  for (const event of events) {
    if (event.type !== "message" || event.message.role !== "assistant") continue;
    const { content } = event.message;
    if (!madeOf(content.map(canonical), replies)) {
      return `a message (${content.map(({ type }) => type).join(", ")}) is not what any whole reply says`;
    }
  }
  return undefined;
}

/** Whether blocks are one reply after the other: replies in a row are one message. */
function madeOf(blocks: readonly string[], replies: readonly (readonly string[])[]): boolean {
  if (blocks.length === 0) return true;
  return replies.some((reply) =>
    reply.length <= blocks.length && reply.every((block, i) => block === blocks[i]) &&
    madeOf(blocks.slice(reply.length), replies)
  );
}

/** A call that runs more often than it is on the tape was repeated; tools that only read may be. */
function ranTwice({ tape, run, events }: Observed): string | undefined {
  const recorded = recordedIds(tape);
  const counts = new Map<string, number>();
  for (const { id, name } of starts(events)) {
    const count = countUp(counts, id);
    if (run.writes.get(name) !== false && count > Math.max(1, recorded.get(id) ?? 0)) {
      return `${name} (${id}) ran ${count} times`;
    }
  }
  return undefined;
}

/** How often each tool_use is on a tape. */
const recordedIds = makeOnce((tape: Tape): ReadonlyMap<string, number> => {
  const ids = new Map<string, number>();
  for (const event of tape.calls.flatMap((call) => replyEvents(call))) {
    const id = event.type === "content_block_start" ? event.content_block.id : undefined;
    if (typeof id === "string") countUp(ids, id);
  }
  return ids;
});

function unanswered({ run, results }: Observed): string | undefined {
  const asked = run.asked.map(({ messages, lane }, i) => ({ messages, what: `request ${i + 1} (${lane})` }));
  for (
    const { messages, what } of [...asked, ...results.map(({ messages }) => ({ messages, what: "the transcript" }))]
  ) {
    const why = invalidConversation(messages);
    if (why !== undefined) return `${what}: ${why}`;
  }
  return undefined;
}

function endless({ run, results, thrown, tape }: Observed): string | undefined {
  if (run.stuck.aborted) return `the model was asked ${run.asked.length} times`;
  if (thrown instanceof NotOver) return thrown.message;
  if (thrown !== undefined) return `it threw ${thrownWords(thrown)}`;
  const prompts = Math.max(1, tape.prompts.length);
  return results.length === prompts ? undefined : `${results.length} of ${prompts} prompts were answered`;
}

function ranUnguarded({ run, events }: Observed): string | undefined {
  for (const { hook, id } of run.seams?.unguarded ?? []) {
    const ran = starts(events).find((start) => start.id === id);
    if (ran) return `${ran.name} (${id}) ran as ${hook}, which denies it, failed`;
  }
  return undefined;
}
