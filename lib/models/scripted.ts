import { setTimeout as sleep } from "node:timers/promises";
import { untilAborted } from "../core/clock.ts";
import { isObject } from "../core/json.ts";
import { NO_USAGE, type Usage } from "../core/messages.ts";
import { type Model, ModelError, type ModelEvent, type ModelRequest, type RawBlock } from "../core/model.ts";
import { shown } from "../core/shown.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";
import { abortedError, errorType } from "../http/errors.ts";
import { blockEvents } from "../http/streamed-block.ts";

/** A model that says what its script says. */
export interface ScriptedModel extends Model, Pick<Script, "done"> {
  /** What it was asked, as it was at that moment. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Makes a model of replies, for tests: it streams them one request after another, as the API would.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { Bash } from "crochet/tools";
 * import { scripted } from "crochet/testing";
 *
 * const model = scripted([{ tools: [{ name: "Bash", input: { command: "ls" } }] }, { text: "two files" }]);
 * const result = await agent({ model, tools: [Bash] }).run("what is here?");
 * console.log(result.text, model.requests.length); // "two files" 2
 * model.done(); // every reply was used
 * ```
 */
export function scripted(replies: readonly ScriptEntry[], options: ScriptOptions = {}): ScriptedModel {
  checkOptions(options, SCRIPT_OPTIONS, "script a model");
  const script = readScript(replies, options);
  const requests: ModelRequest[] = [];
  const model: Model = async function* scripted(request, signal) {
    const asked = { ...request, messages: [...request.messages], tools: [...request.tools] };
    requests.push(asked);
    const answer = await script.next(asked);
    const { delay, http, retryAfter, stall } = answer.reply;
    if (delay !== undefined) await sleep(delay, undefined, { signal }).catch(() => {});
    if (http !== undefined) throw httpError(http, retryAfter);
    for (const event of sentEvents(answer)) {
      if (signal.aborted) throw abortedError(signal);
      yield event;
    }
    if (stall) await untilAborted(signal);
    if (signal.aborted) throw abortedError(signal);
  };
  return Object.assign(model, { requests, done: script.done, isFree: true });
}

function httpError(status: number, retryAfter: number | undefined): ModelError {
  return new ModelError(`Cannot call the model as the script answers with HTTP ${status}`, {
    code: errorType(status),
    ...(retryAfter !== undefined && { retryAfter: retryAfter * 1000 }),
  });
}

/** A reply, or a function that makes it of what was asked. */
export type ScriptEntry = ScriptedReply | ((request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>);

/** Replies for some requests only, such as those of a sub-agent. The first route that matches has its own order. */
export interface ScriptRoute {
  readonly when: (request: ModelRequest) => boolean;
  readonly replies: readonly ScriptEntry[];
}

export interface ScriptOptions {
  /** What to say when the replies have run out. @default an error */
  then?: ScriptEntry;
  routes?: readonly ScriptRoute[];
}

export const SCRIPT_OPTIONS: { readonly [option in keyof ScriptOptions]-?: OptionKind } = {
  then: "any",
  routes: "a list",
};

export interface Answer {
  readonly reply: ScriptedReply;
  readonly events: readonly ModelEvent[];
}

interface Script {
  next(request: ModelRequest): Promise<Answer>;
  /** @throws {Error} if replies were not used, naming them */
  done(): void;
}

interface Lane extends ScriptRoute {
  readonly label: string;
  used: number;
}

/** @throws {TypeError} if a reply is not one: most tests run without a check of their types */
export function readScript(replies: readonly ScriptEntry[], { then, routes = [] }: ScriptOptions): Script {
  if (!Array.isArray(replies)) {
    throw new TypeError(`Cannot script a model as its replies must be a list: current value is ${shown(replies)}`);
  }
  const scripted = [...replies, ...routes.flatMap((route) => route.replies), ...(then === undefined ? [] : [then])];
  for (const entry of scripted) if (typeof entry !== "function") checkReply(entry);
  const lanes: Lane[] = [
    ...routes.map((route, i) => ({ ...route, label: `route ${i + 1} `, used: 0 })),
    { label: "", when: () => true, replies, used: 0 },
  ];
  let messages = 0;
  let tools = 0;

  return {
    async next(request) {
      const lane = lanes.find(({ when }) => when(request))!;
      const entry = lane.used < lane.replies.length ? lane.replies[lane.used++] : then;
      if (entry === undefined) throw ranOut(lane);
      const reply = typeof entry === "function" ? await entry(request) : entry;
      if (typeof entry === "function") checkReply(reply);
      const names = {
        message: `msg_scripted_${String(++messages).padStart(4, "0")}`,
        model: request.model,
        tool: () => `toolu_scripted_${String(++tools).padStart(4, "0")}`,
      };
      return { reply, events: replyEvents(reply, names) };
    },
    done() {
      const unused = lanes.flatMap(({ label, replies, used }) =>
        replies.slice(used).map((entry, i) => `${label}#${used + i + 1} ${summary(entry)}`)
      );
      if (unused.length > 0) throw new Error(`Cannot end the script as replies were not used: ${unused.join(", ")}`);
    },
  };
}

const REPLY: { readonly [field in keyof ScriptedReply]-?: OptionKind } = {
  thinking: "a text",
  text: "a text",
  blocks: "a list",
  tools: "a list",
  stop_reason: "a text",
  usage: "an object",
  events: "a list",
  delay: "0 or more",
  cut: "0 or more",
  stall: "any",
  error: "any",
  http: "0 or more",
  retryAfter: "0 or more",
};

const TOOL: { readonly [field in keyof ScriptedTool]-?: OptionKind } = {
  name: "a text",
  input: "any",
  id: "a text",
  raw: "a text",
};

function checkReply(given: unknown): void {
  if (!isObject(given)) {
    throw new TypeError(
      `Cannot script a reply as ${shown(given)} is not a reply: give an object such as { text: "hi" }`,
    );
  }
  const doing = `script reply ${summary(given)}`;
  checkOptions(given, REPLY, doing);
  for (const tool of (given as ScriptedReply).tools ?? []) {
    if (!isObject(tool) || typeof tool.name !== "string") {
      throw new TypeError(`Cannot ${doing} as ${shown(tool)} calls no tool: give { name: "Bash", input: { … } }`);
    }
    checkOptions(tool, TOOL, doing);
  }
}

/** The events a reply sends before its fault, or all if it has no fault. */
export function sentEvents({ reply, events }: Answer): readonly ModelEvent[] {
  if (reply.stall === "start") return [];
  if (reply.stall) return events.slice(0, Math.ceil(events.length / 2));
  return reply.cut === undefined ? events : events.slice(0, reply.cut);
}

function ranOut({ label, replies }: Lane): ModelError {
  return new ModelError(
    `Cannot answer as the script${label && ` of ${label.trim()}`} has run out after ${replies.length} ${
      replies.length === 1 ? "reply" : "replies"
    }: add one, or give { then: reply }`,
    { code: "script_ended" },
  );
}

function summary(entry: ScriptEntry): string {
  if (typeof entry === "function") return "(function)";
  const text = JSON.stringify(entry);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

interface ScriptedTool {
  readonly name: string;
  readonly input?: unknown;
  /** @default toolu_scripted_0001 and so on, counted over the script */
  readonly id?: string;
  /** The text of the input as it is streamed, in place of `input`: for JSON that does not parse. */
  readonly raw?: string;
}

/** What a scripted model answers to one request: content, and faults as data. */
export interface ScriptedReply {
  readonly thinking?: string;
  readonly text?: string;
  /** Whole content blocks, between the text and the tool calls. */
  readonly blocks?: readonly RawBlock[];
  readonly tools?: readonly ScriptedTool[];
  /** @default "tool_use" if the content has a tool call, else "end_turn" */
  readonly stop_reason?: string;
  /** @default 10 input and 5 output tokens */
  readonly usage?: Partial<Usage>;
  /** The events themselves, in place of all of the above. */
  readonly events?: readonly ModelEvent[];
  /** Milliseconds before the answer begins. */
  readonly delay?: number;
  /** Breaks off after this many events. */
  readonly cut?: number;
  /** Falls silent and never ends: after half of its events, or before it says anything. */
  readonly stall?: boolean | "start";
  /** An `error` event in place of the end, for example "overloaded_error". */
  readonly error?: string | { readonly type: string; readonly message: string };
  /** Answers with this HTTP status and no reply at all, for example 429 or 529. */
  readonly http?: number;
  /** Seconds the `retry-after` header of an HTTP error asks for. */
  readonly retryAfter?: number;
}

/** The ids and the model that a reply is given, counted over the script. */
interface Names {
  readonly message: string;
  readonly model: string;
  readonly tool: () => string;
}

const SCRIPTED_USAGE: Usage = { ...NO_USAGE, input_tokens: 10, output_tokens: 5 };

/** The whole stream of a reply as the API would send it, before `cut` and `stall`. */
export function replyEvents(reply: ScriptedReply, names: Names): ModelEvent[] {
  if (reply.events) return [...reply.events];
  const blocks = contentOf(reply, names);
  const events: ModelEvent[] = [messageStart(reply, names)];
  for (const [index, { block, raw }] of blocks.entries()) {
    // The API begins the input of a tool with an empty piece.
    const cut = "input" in block ? (text: string) => ["", ...pieces(text)] : pieces;
    events.push(...blockEvents(block, index, cut, raw));
    if (index === 0) events.splice(2, 0, { type: "ping" });
  }
  if (reply.error !== undefined) {
    const error = typeof reply.error === "string" ? { type: reply.error, message: "Scripted error" } : reply.error;
    return [...events, { type: "error", error }];
  }
  const { output_tokens } = { ...SCRIPTED_USAGE, ...reply.usage };
  const calls = blocks.some(({ block }) => block.type === "tool_use");
  const delta = { stop_reason: reply.stop_reason ?? (calls ? "tool_use" : "end_turn"), stop_sequence: null };
  return [...events, { type: "message_delta", delta, usage: { output_tokens } }, { type: "message_stop" }];
}

/** A content block, with the text its input is streamed as if that differs from the input's JSON. */
interface ScriptedBlock {
  readonly block: RawBlock;
  readonly raw?: string;
}

function contentOf({ thinking, text, blocks = [], tools = [] }: ScriptedReply, names: Names): ScriptedBlock[] {
  return [
    ...(thinking === undefined ? [] : [{ block: { type: "thinking", thinking, signature: "scripted" } }]),
    ...(text === undefined ? [] : [{ block: { type: "text", text } }]),
    ...blocks.map((block) => ({ block })),
    ...tools.map(({ name, input = {}, id = names.tool(), raw }) => ({
      block: { type: "tool_use", id, name, input },
      ...(raw !== undefined && { raw }),
    })),
  ];
}

function messageStart(reply: ScriptedReply, { message: id, model }: Names): ModelEvent {
  const usage = { ...SCRIPTED_USAGE, ...reply.usage, output_tokens: 1 };
  const nothing = { content: [], stop_reason: null, stop_sequence: null };
  const message = { id, type: "message", role: "assistant", model, ...nothing, usage };
  return { type: "message_start", message };
}

const PIECE = 12;

/** Cuts between characters, never inside one: the API does not split a surrogate pair. */
function pieces(text: string): string[] {
  const found: string[] = [];
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + PIECE, text.length);
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to++;
    found.push(text.slice(from, to));
    from = to;
  }
  return found;
}
