import { type Message, NO_USAGE, type Usage } from "../core/messages.ts";
import type { ModelEvent, RawBlock, Reply } from "../core/model.ts";
import { parsed, quietly } from "../core/json.ts";
import { makeOnce } from "../core/maps.ts";
import { replyFrom } from "../core/reply.ts";
import { blockEvents } from "../http/streamed-block.ts";
import { seamEvents } from "./frames.ts";
import { answerEvents } from "./answers.ts";
import type { Attempt, Call } from "./tape.ts";

/** The agent's reply of a call's last attempt; undefined if it had none. */
export function replyOf({ attempts, error }: Pick<Call, "attempts" | "error">): Reply | undefined {
  const last = attempts.at(-1);
  return !last || error || last.ended ? undefined : quietly(() => read(last));
}

/** Why a stream that ended by itself is not a reply: an error that the API sent in it, or what breaks it. */
export function brokenBy({ events, ended, ...rest }: Attempt): string | undefined {
  if (!events || ended) return undefined;
  try {
    return void read({ events, ...rest });
  } catch (error) {
    return (error as Error).message;
  }
}

function read(attempt: Attempt): Reply {
  return replyFrom(eventsOf(attempt).events, () => {});
}

/** The message a call's reply is in the next request. */
export function echoOf(call: Pick<Call, "attempts" | "error">): Message | undefined {
  return replyOf(call)?.message;
}

/** The tokens a call was billed for, and what its server said that it cost. */
export const billOf: (call: Pick<Call, "attempts" | "error">) => Pick<Reply, "usage" | "cost"> = makeOnce((call) =>
  replyOf(call) ?? { usage: NO_USAGE }
);

/** The events of an attempt as an agent is given them, whether they were streamed or came as one message. */
export function eventsOf(attempt: Attempt): { events: readonly ModelEvent[]; error?: unknown } {
  if (attempt.api) return answerEvents(attempt.api, attempt);
  if (attempt.events) return seamEvents(attempt.events);
  const message = attempt.body === undefined ? undefined : messageIn(attempt.body);
  return { events: message ? messageEvents(message) : [] };
}

/** A whole message of the API. */
interface ApiMessage {
  readonly type: "message";
  readonly content: readonly RawBlock[];
  readonly stop_reason?: string | null;
  readonly stop_sequence?: string | null;
  readonly usage?: Partial<Usage>;
  readonly [key: string]: unknown;
}

export function messageIn(body: string): ApiMessage | undefined {
  const value = parsed(body) as ApiMessage | null | undefined;
  return value?.type === "message" && Array.isArray(value.content) ? value : undefined;
}

/** A message as it would have been streamed, each block in one delta. */
export function messageEvents(message: ApiMessage): ModelEvent[] {
  const { content, stop_reason = null, stop_sequence = null, usage } = message;
  const start = { ...message, content: [], stop_reason: null, stop_sequence: null };
  return [
    { type: "message_start", message: start as { usage?: Partial<Usage> } },
    ...content.flatMap((block, index) => blockEvents(block, index)),
    { type: "message_delta", delta: { stop_reason, stop_sequence }, ...(usage && { usage }) },
    { type: "message_stop" },
  ];
}

/** A stream as the message the API would have sent in one piece. @throws {ModelError} if the stream is not a complete reply */
export async function messageOf(events: readonly ModelEvent[]): Promise<ApiMessage> {
  const reply = replyFrom(events, () => {});
  const start = events.find((e) => e.type === "message_start")?.message as ApiMessage | undefined;
  const last = events.findLast((e) => e.type === "message_delta");
  // The placeholder for an empty reply in a transcript was never sent.
  const isEmpty = !start?.content?.length && !events.some((e) => e.type === "content_block_start");
  return {
    ...start,
    type: "message",
    content: isEmpty ? [] : reply.message.content as readonly RawBlock[],
    stop_reason: reply.stop_reason,
    stop_sequence: last?.delta.stop_sequence ?? null,
    usage: { ...start?.usage, ...reply.usage },
  };
}

/** An answer in the form that is asked for: a recorded stream as one message, or the other way round. */
export async function inForm(attempt: Attempt, stream: boolean): Promise<Attempt> {
  const { events, body, ...rest } = attempt;
  const message = body === undefined ? undefined : messageIn(body);
  const isReply = (attempt.status ?? 200) < 300 && attempt.ended === undefined;
  if (!isReply || (stream ? !message : !events)) return typed(attempt);
  if (stream) return typed({ ...rest, events: messageEvents(message!).map((event) => ({ ms: 0, event })) });
  return typed({ ...rest, body: JSON.stringify(await messageOf(eventsOf(attempt).events)) });
}

/** With a content type that fits its form: the recorded one, if it does. */
function typed(attempt: Attempt): Attempt {
  const { "content-type": recorded = "" } = attempt.headers ?? {};
  if (recorded !== "" && /event-stream/.test(recorded) === (attempt.events !== undefined)) return attempt;
  const type = attempt.events ? "text/event-stream; charset=utf-8" : "application/json";
  return { ...attempt, headers: { ...attempt.headers, "content-type": type } };
}
