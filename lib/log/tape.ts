import { type JsonObject, present } from "../core/json.ts";
import type { Block, Message } from "../core/messages.ts";
import type { ModelEvent, ModelRequest } from "../core/model.ts";
import type { Api, AttemptFields, CallError, EntryOf, Header, Resumed, TapeKind } from "./entry.ts";
import { shown } from "../core/shown.ts";

/** A recording in memory, with every request whole. Texts are as on the tape: places and secrets are placeholders. */
export interface Tape {
  readonly header: Header;
  readonly prompts: readonly (string | readonly Block[])[];
  /** The models a person changed to, by the number of the prompt that followed. */
  readonly models?: { readonly [prompt: number]: string };
  /** Which prompts came to a session that was resumed. */
  readonly resumed?: readonly (Resumed | null)[];
  /** Lane by lane, in the order they were made in each. */
  readonly calls: readonly Call[];
  readonly tools: readonly EntryOf<"tool">[];
  readonly clocks: readonly EntryOf<"clock">[];
  readonly inboxes?: readonly EntryOf<"inbox">[];
  readonly refusals?: readonly EntryOf<"refused">[];
  /** The text of memory files, if these files are not kept with the tape or only this run asked for them. */
  readonly memory?: EntryOf<"memory">;
  /** What the prompt of the built-in agent said about its git repository: "" if there was none. */
  readonly git?: string;
  /** What the agent itself read of its workspace then, by path: memory, and what describes agents it can start. */
  readonly files?: { readonly [path: string]: string };
  readonly answers?: readonly EntryOf<"asked">[];
  /** What hooks said; absent if none said anything. */
  readonly said?: readonly EntryOf<"said">[];
  /** What a program asked its MCP servers, server by server. */
  readonly mcp?: readonly EntryOf<"mcp">[];
  readonly end?: EntryOf<"end">;
}

/** The lines of a run that belong to none of its calls, by their kind. */
export type TapeLines = {
  readonly [Kind in Exclude<TapeKind, "spec" | "head" | "call" | "events" | "error">]?: readonly EntryOf<Kind>[];
};

/** The tape of a run, whatever wrote down its lines. */
export function tapeOf(header: Header, calls: readonly Call[], lines: TapeLines): Tape {
  const { prompt = [], tool = [], clock = [], inbox = [], refused, asked, said, mcp, memory, git, file, end } = lines;
  const models = some(prompt.flatMap(({ model }, i) => model === undefined ? [] : [[i, model]]));
  return present({
    header,
    prompts: prompt.map((fact) => fact.prompt as string),
    models: models && Object.fromEntries(models),
    resumed: prompt.some(({ resumed }) => resumed) ? prompt.map(({ resumed = null }) => resumed) : undefined,
    calls,
    tools: tool,
    // What was spent in a step becomes known after it began.
    clocks: [...new Map(clock.map((fact) => [`${fact.clock} ${fact.step}`, fact])).values()],
    inboxes: inbox,
    ...{ refusals: some(refused), answers: some(asked), said: some(said), mcp: some(mcp) },
    ...{ memory: memory?.at(-1), git: git?.at(-1)?.git, end: end?.[0] },
    files: some(file) && Object.fromEntries(file!.map(({ file, text }) => [file, text])),
  });
}

/** A list that is not empty. */
function some<T>(list: readonly T[] | undefined): readonly T[] | undefined {
  return list && list.length > 0 ? list : undefined;
}

/** One model call with all attempts to answer it. */
export interface Call {
  /** The lane and the number in it: `main#3`. */
  readonly id: string;
  readonly lane: string;
  readonly request: TapeRequest;
  /** The request of another program as it was sent; `request` is then what can be read out of it. */
  readonly sent?: Sent;
  readonly attempts: readonly Attempt[];
  /** What the agent was thrown in the end; absent if it got a reply. */
  readonly error?: CallError;
  /** Milliseconds since the header's time. */
  readonly at: number;
  /** What has changed since it was answered, and was accepted by a review: `system`, `tools`, `prompt` … */
  readonly stale?: readonly string[];
}

/** A request in one form, whether the core asked it or the SDK sent it: content in blocks, nothing about caching. */
export interface TapeRequest {
  readonly model: string;
  readonly params: { readonly [key: string]: unknown };
  readonly system: readonly Block[];
  readonly tools: readonly { readonly [key: string]: unknown }[];
  readonly messages: readonly Message[];
  readonly wire?: { readonly [header: string]: string };
  /** Fields that middleware changed on their way, as they were sent; null: it took the field away. */
  readonly sent?: { readonly [field: string]: unknown };
}

/** The only headers of an answer that are ever written down: what a client acts on. */
export const KEPT_HEADERS: readonly string[] = [
  "content-type",
  "request-id",
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
];

/** One attempt to answer a call: one HTTP exchange, or one run of a Model function. */
export interface Attempt extends AttemptFields {
  /** The API whose words its answer is in. @default the Messages API */
  readonly api?: Exclude<Api, "anthropic">;
  readonly events?: readonly TapeEvent[];
}

/** One event of a stream, or a frame of the wire that is not in the usual form. */
export interface TapeEvent {
  /** Milliseconds since the one before. */
  readonly ms: number;
  readonly event?: ModelEvent;
  /** The frame's exact text, if it is not `event: <type>\ndata: <JSON>\n\n`. */
  readonly raw?: string;
  /** Spaces before the JSON's last brace. */
  readonly pad?: number;
}

/** The lane of an agent that no other agent started. */
export const MAIN = "main";

/** The lane of the simulated user, who is never asked in a replay. */
export const USER = "user";

/** The lane of the n-th agent that a tool call of a lane started. */
export function laneBelow(lane: string, toolUseId: string, n = 1): string {
  return n === 1 ? `${lane}/${toolUseId}` : `${lane}/${toolUseId}.${n}`;
}

/** The inbox for answers of asynchronous hooks of a lane. */
export function lateInbox(lane: string): string {
  return `${lane}:late`;
}

export function hookLane(lane: string): string {
  return `${lane}:hook`;
}

/** Stands for what was asked, where only the answer was imported. */
export const UNRECORDED = "(the request was not recorded)";

/** Whether it was imported from another tool's recording: then it has no end. */
export function isImported({ source }: Header): boolean {
  return source.startsWith("imported from ");
}

/** When a tape was recorded; undefined if an imported tape does not say. */
export function recordedAt({ at }: Header): string | undefined {
  return Date.parse(at) > 0 ? at : undefined;
}

/** @throws {TypeError} if something else is given: most tests run without a check of their types */
export function expectTape(given: unknown, doing: string): void {
  if (Array.isArray((given as Tape | undefined)?.calls)) return;
  const what = given instanceof Promise ? "a promise" : shown(given);
  throw new TypeError(`Cannot ${doing} as ${what} is not a tape: await readTape("fixtures/<name>")`);
}

export type RequestFields = { readonly [key: string]: unknown };

/** The first three change nothing about the question; the others have a place of their own. */
const NO_PARAMS = new Set(["stream", "metadata", "cache_control", "model", "system", "messages", "tools"]);

/** What the core asks, as a tape has it. The messages stay the same objects. */
export function fromModel(request: ModelRequest): TapeRequest {
  const { model, system, systemBlocks, messages, tools, max_tokens, effort, params } = request;
  return {
    model,
    params: paramsOf({ ...params, effort, max_tokens }),
    system: (systemBlocks as readonly Block[] | undefined) ?? (system === "" ? [] : [{ type: "text", text: system }]),
    tools: tools as unknown as readonly RequestFields[],
    messages,
  };
}

export function paramsOf(given: RequestFields): RequestFields {
  return Object.fromEntries(
    Object.entries(given).filter(([key, value]) => !NO_PARAMS.has(key) && value !== undefined),
  );
}

/** Whether two requests differ in their messages alone. By identity: within a run the rest stays the same objects. */
export function isSameHead(a: ModelRequest, b: ModelRequest): boolean {
  return a.model === b.model && a.system === b.system &&
    a.systemBlocks === b.systemBlocks && a.tools === b.tools && a.max_tokens === b.max_tokens &&
    a.effort === b.effort && a.params === b.params;
}

/** A request of another program, as it was sent: without its credentials and the prefix of our server. */
export interface Sent {
  readonly api: Api;
  readonly method: string;
  readonly path: string;
  /** Absent on a tape that does not say: of an earlier version, or imported. */
  readonly query?: string;
  /** The headers that say which program, which version of the API and which agent it is. */
  readonly headers: { readonly [name: string]: string };
  /** Absent if there was none, as in a GET. */
  readonly body?: JsonObject;
}
