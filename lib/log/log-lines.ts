import { present, quietly } from "../core/json.ts";
import { getOrMake } from "../core/maps.ts";
import { replyFrom } from "../core/reply.ts";
import { contentText, isToolResult, isToolUse, type Json, type Message } from "../core/messages.ts";
import type { ModelRequest, Reply } from "../core/model.ts";
import type { RunEvent } from "../core/run-events.ts";
import { isSame } from "./canonical.ts";
import { answerLines, headOf, Heads } from "./call-lines.ts";
import { type Attempt, fromModel, isSameHead, MAIN } from "./tape.ts";
import type { CallError, EntryOf, LogEntry, LoggedEvent, ToolFact } from "./entry.ts";

export interface EndedCall {
  readonly id: string;
  readonly lane: string;
  readonly request: ModelRequest;
  readonly attempt: Attempt;
  readonly error?: CallError;
  readonly at: number;
}

/** Events that a log does not have: the reply repeats what they stream. */
export const STREAMED: ReadonlySet<string> = new Set(["text", "thinking", "tool_progress", "hook_output"]);
/** Events that other lines say. */
const SAID: ReadonlySet<string> = new Set(["message", "fired", "end"]);

/** Stands for the input of a call, which is an object, if that is as the note says with which it began. */
export const AS_IT_BEGAN = "@";

/** Whether an event stands in a log by itself. */
export function isNoted(type: RunEvent["type"]): boolean {
  return !STREAMED.has(type) && !SAID.has(type);
}

/** Makes lines of what happens in a run: what stands in an earlier line is named there, and not written again. */
export class LogLines {
  /** The conversation of each agent, by lane: one that is resumed has its old one. */
  readonly #conversations = new Map<string, Message[]>();
  readonly #results = new Map<string, ToolFact["result"]>();
  /** The last reply of each lane, to be named by the message it becomes. */
  readonly #replies = new Map<string, { readonly id: string; readonly model: string; readonly reply: Reply }>();
  /** The input with which each call began that has not ended. */
  readonly #began = new Map<string, unknown>();
  readonly #heads = new Heads();
  #last: { readonly of: ModelRequest; readonly head: number } | undefined;

  /** The conversation of a lane, of which requests and messages name parts. */
  conversation(lane: string): Message[] {
    return getOrMake(this.#conversations, lane, () => []);
  }

  /** An agent goes on in a lane with these messages. */
  begins(lane: string, messages: readonly Message[]): void {
    this.#conversations.set(lane, [...messages]);
  }

  *call({ id, lane, request, attempt, error, at }: EndedCall): Generator<LogEntry> {
    if (!this.#last || !isSameHead(this.#last.of, request)) {
      const asked = headOf(fromModel(request));
      const { head, fresh } = this.#heads.of(asked, JSON.stringify(asked));
      yield* fresh;
      this.#last = { of: request, head };
    }
    yield { call: id, head: this.#last.head, add: this.#named(request.messages, this.conversation(lane)), at };
    yield* answerLines({ id, attempts: [attempt], ...(error && { error }) });
    this.#replies.delete(lane);
    const events = attempt.ended || error ? undefined : attempt.events?.map(({ event }) => event!);
    const reply = events && quietly(() => replyFrom(events, () => {})); // the loop says what is wrong with it
    if (reply) this.#replies.set(lane, { id, model: reply.model || request.model, reply });
  }

  /** The messages of a request: runs of those that the lane's conversation has, and the others as they are. */
  #named(messages: readonly Message[], own: readonly Message[]): Json[] {
    const named: Json[] = [];
    // What stands in for the history before a turn moves the rest of it.
    const moved = own.length - messages.length;
    const placeOf = (i: number) => own[i] === messages[i] ? i : own[i + moved] === messages[i] ? i + moved : -1;
    for (let i = 0; i < messages.length;) {
      const from = placeOf(i);
      if (from < 0) {
        named.push(messages[i++] as unknown as Json);
        continue;
      }
      const begin = i;
      while (i < messages.length && own[from + i - begin] === messages[i]) i++;
      named.push(`@${from}-${from + i - begin}`);
    }
    return named;
  }

  tool(fact: ToolFact): ToolFact {
    const name = `${fact.lane} ${fact.tool}`;
    this.#results.set(name, fact.result);
    const isKnown = this.#began.has(name) && isSame(this.#began.get(name), fact.input);
    this.#began.delete(name);
    return isKnown ? { ...fact, input: AS_IT_BEGAN } : fact;
  }

  message(lane: string, index: number, message: Message, at: number): EntryOf<"message"> {
    this.conversation(lane)[index] = message;
    const { role, content } = message;
    const reply = role === "assistant" ? this.#replies.get(lane) : undefined;
    if (reply) {
      this.#replies.delete(lane);
      if (isSame(reply.reply.message, message)) return { message: index, lane, of: reply.id, at };
    }
    return { message: index, lane, role, content: content.map((block) => this.#block(lane, block)), at };
  }

  #block(lane: string, block: Message["content"][number]): Json {
    const known = isToolResult(block) ? this.#results.get(`${lane} ${block.tool_use_id}`) : undefined;
    if (!known || !isToolResult(block) || !isSame(known.content, block.content)) return block as Json;
    const { type: _, tool_use_id, content: __, ...rest } = block;
    return { $of: tool_use_id, ...rest };
  }

  /** An event without what can be read elsewhere: the id of the session's own agent, too. */
  note(lane: string, { agent_id, ...event }: RunEvent): LoggedEvent {
    const by = lane === MAIN ? {} : { agent_id };
    return { ...by, ...this.#note(lane, event as Anonymous) } as LoggedEvent;
  }

  #note(lane: string, event: Anonymous): object {
    if (event.type === "usage") {
      const { usage, model, ...rest } = event;
      const last = this.#replies.get(lane);
      return last && !rest.hook && model === last.model && isSame(usage, last.reply.usage) ? rest : event;
    }
    if (event.type === "tool_start") {
      const { input, ...rest } = event;
      this.#began.set(`${lane} ${event.id}`, input);
      const use = this.conversation(lane).at(-1)?.content.find((block) => isToolUse(block) && block.id === event.id);
      return use && isSame((use as { input?: unknown }).input, input) ? rest : event;
    }
    if (event.type !== "tool_end") return event;
    const { content, response, ...rest } = event;
    const known = this.#results.get(`${lane} ${event.id}`);
    const isKnown = known && contentText(known.content as string) === content;
    const isTold = known && isSame(known.response ?? known.content, response);
    return { ...rest, ...present({ content: isKnown ? undefined : content, response: isTold ? undefined : response }) };
  }
}

type Anonymous = RunEvent extends infer E ? E extends RunEvent ? Omit<E, "agent_id"> : never : never;
