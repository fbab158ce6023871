import { isObject, type JsonObject, present } from "../../core/json.ts";
import { isToolResult, isToolUse, type Message, type ToolUseBlock } from "../../core/messages.ts";
import { comparable, isSame, unmarked } from "../../log/canonical.ts";
import type { Match, Program, Served } from "../match-call.ts";
import { comparedText, isPlain, type Normalise, normalised, normalisedHead } from "../normalise.ts";
import type { Call, TapeRequest } from "../../log/tape.ts";
import type { Divergence } from "./drift-report.ts";

/**
 * The cause of a difference: the author's words (`prompt`), a tool's description or result (`tool`), a hook that fails or
 * says something else (`hook`), a rule that lets more through (`rule`), the agent, which
 * altered the model's own turn (`echo`), the SDK or the API (`wire`), or none of them: the same calls in another order (`order`).
 */
export type Cause = "prompt" | "tool" | "hook" | "rule" | "echo" | "wire" | "order";

/** The first place where two requests differ. What is absent on one side is undefined there. */
export interface Difference {
  readonly cause: Cause;
  readonly path: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
}

export type ValueDifference = Omit<Difference, "cause">;

/** A request as it is compared. */
export function asCompared(request: TapeRequest, normalise?: Normalise): TapeRequest {
  const { model, params, system, tools } = normalisedHead(request, normalise);
  const messages = request.messages.map((message, i) => messageRead(message, i, normalise));
  return { model, params, system: system.map(unmarked), tools: tools.map(unmarked), messages };
}

function messageRead(message: Message, at: number, normalise: Normalise | undefined): Message {
  return comparable(normalise ? normalised(message, `messages.${at}`, normalise) : message);
}

/** Where a request first differs from a recorded one; undefined if they are the same to a tape. */
export function firstDifference(
  expected: TapeRequest,
  actual: TapeRequest,
  normalise?: Normalise,
): Difference | undefined {
  const [was, is] = [normalisedHead(expected, normalise), normalisedHead(actual, normalise)];
  return within("model", "prompt", was.model, is.model) ??
    paramsDiffer(was.params, is.params) ??
    systemDiffers(was.system, is.system) ??
    within("tools", "tool", was.tools.map(unmarked), is.tools.map(unmarked)) ??
    messagesDiffer(expected.messages, actual.messages, normalise);
}

function within(path: string, cause: Cause, expected: unknown, actual: unknown): Difference | undefined {
  const found = differs(expected, actual, path);
  return found && { cause, ...found };
}

function paramsDiffer(expected: TapeRequest["params"], actual: TapeRequest["params"]): Difference | undefined {
  return keysOf(expected, actual).sort().map((key) => within(key, "prompt", expected[key], actual[key]))
    .find((found) => found);
}

function systemDiffers(expected: TapeRequest["system"], actual: TapeRequest["system"]): Difference | undefined {
  const text = (system: TapeRequest["system"]) =>
    system.length === 0 ? undefined : (system[0] as { text: string }).text;
  const plain = [expected, actual].every((system) => system.length === 0 || isPlain(system));
  return plain
    ? within("system", "prompt", text(expected), text(actual))
    : within("system", "prompt", expected.map(unmarked), actual.map(unmarked));
}

function messagesDiffer(
  expected: readonly Message[],
  actual: readonly Message[],
  normalise: Normalise | undefined,
): Difference | undefined {
  const read = (message: Message | undefined, at: number) => message && messageRead(message, at, normalise);
  for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
    if (expected[i] === actual[i]) continue;
    const [was, is] = [read(expected[i], i), read(actual[i], i)];
    const found = differs(was, is, `messages.${i}`);
    if (found) return { cause: causeIn(was, is, found.path), ...found };
  }
  return undefined;
}

function causeIn(was: Message | undefined, is: Message | undefined, path: string): Cause {
  if (was?.role === "assistant" || (was === undefined && is?.role === "assistant")) return "echo";
  const at = Number(path.split(".")[3]);
  const block = (message: Message | undefined) => Number.isNaN(at) ? undefined : message?.content[at];
  const blocks = [block(was), block(is)].filter((b) => b !== undefined);
  return blocks.length > 0 && blocks.every(isToolResult) ? "tool" : "prompt";
}

/** Numbers that JSON has no words for are null in a request: `1e400` of a reply is Infinity here. */
function inJson(value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
}

/** The first difference of two values, depth first, in the order of the first one's keys. */
export function differs(expected: unknown, actual: unknown, path: string): ValueDifference | undefined {
  // A replay over the wire compares its whole conversation each time, which is mostly the same.
  return isSame(expected, actual) ? undefined : firstIn(expected, actual, path);
}

function firstIn(expected: unknown, actual: unknown, path: string): ValueDifference | undefined {
  if (inJson(expected) === inJson(actual)) return undefined;
  const areLists = Array.isArray(expected) && Array.isArray(actual);
  if (!areLists && !(isObject(expected) && isObject(actual))) return { path, ...present({ expected, actual }) };
  const [was, is] = [expected, actual] as [JsonObject, JsonObject];
  for (const key of keysOf(was, is)) {
    const found = firstIn(was[key], is[key], `${path}.${key}`);
    if (found) return found;
  }
  return undefined;
}

export function keysOf(a: object, b: object): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}

/** Says why a request was not found: how it differs from the recorded call that is most like it. Never to serve that. */
export function explain(
  program: Program,
  lane: string,
  request: TapeRequest,
  served: Served,
  match: Match,
): Divergence {
  const mine = program.tape.calls.filter((call) => call.lane === lane);
  const isSpent = match && "spent" in match;
  const nearest = isSpent ? undefined : mostAlike(program, mine.filter((call) => !served.calls.has(call)), request);
  if (!nearest) {
    const [call, words] = isSpent ? spent(match.spent, lane) : beyond(mine.at(-1));
    return { lane, ...present({ call }), cause: "order", path: `messages.${request.messages.length - 1}`, words };
  }
  const found = firstDifference(nearest.request, request, program.normalise);
  if (!found) {
    return { lane, call: nearest.id, cause: "order", path: "", words: `${nearest.id} was recorded for another lane` };
  }
  const whose = found.path === "system" && agentOf(program, lane) || whoseIs(found, nearest.request, request);
  return { lane, call: nearest.id, words: `${found.path}${whose} ${howDiffers(found)}`, ...found };
}

/** The kind of agent that a lane belongs to, in words, if another agent started it. */
function agentOf({ tape }: Program, lane: string): string | undefined {
  const started = callIn(tape.calls.flatMap(({ request }) => request.messages), lane.split("/").at(-1));
  const { subagent_type } = (started?.input ?? {}) as { readonly subagent_type?: unknown };
  return subagent_type === undefined ? undefined : `, agent ${subagent_type},`;
}

/** The memory file to which the first difference of two system prompts belongs, in words; "" if it is the agent's own text. */
export function memoryIn({ expected, actual }: ValueDifference): string {
  const [was, is] = [partsOf(expected), partsOf(actual)];
  const file = [...was.keys(), ...is.keys()].find((name) => was.get(name) !== is.get(name));
  return file ? `, memory ${file},` : "";
}

/** The parts of a system prompt by the memory file they are from, the agent's own text by "". */
function partsOf(system: unknown): Map<string, string> {
  const parts = typeof system === "string" ? system.split(/(?:^|\n\n)(?=# From )/) : [];
  return new Map(parts.map((part) => [/^# From (.+)\n/.exec(part)?.[1] ?? "", part]));
}

/** What a difference is, in words that follow its place. */
export function howDiffers(found: ValueDifference): string {
  if (!("expected" in found)) return "is new";
  return "actual" in found ? "is not what was recorded" : "is missing";
}

export function onlyRecorded(times: number): string {
  return `the same request was recorded only ${times === 1 ? "once" : `${times} times`}`;
}

function spent(calls: readonly Call[], lane: string): [call: string, words: string] {
  const here = calls.filter((call) => call.lane === lane);
  if (here.length > 0) return [here.at(-1)!.id, onlyRecorded(here.length)];
  return [calls[0]!.id, `the same request was recorded of agent ${calls[0]!.lane}, not of this one`];
}

function beyond(last: Call | undefined): [call: string | undefined, words: string] {
  if (!last) return [undefined, "nothing was recorded of this agent"];
  return [last.id, `the run continues after its last recorded call, ${last.id}`];
}

/** The call with the longest common beginning; of several the one that was recorded first. */
function mostAlike(program: Program, calls: readonly Call[], request: TapeRequest): Call | undefined {
  let best: { call: Call; common: number } | undefined;
  for (const call of calls) {
    const common = commonMessages(program, call.request, request);
    if (!best || common > best.common) best = { call, common };
  }
  return best?.call;
}

function commonMessages({ normalise }: Program, a: TapeRequest, b: TapeRequest): number {
  const text = ({ messages }: TapeRequest, i: number) => comparedText(messages[i]!, i, normalise);
  const most = Math.min(a.messages.length, b.messages.length);
  let i = 0;
  while (i < most && (a.messages[i] === b.messages[i] || text(a, i) === text(b, i))) i++;
  return i;
}

/** What a difference belongs to, in words: a memory file, a tool, a tool's result or the text of a hook; else "". */
function whoseIs(found: Difference, was: TapeRequest, is: TapeRequest): string {
  const request = "expected" in found ? was : is;
  const [list, at, field, block] = found.path.split(".");
  if (list === "system") return memoryIn(found);
  if (list === "tools") {
    const { name } = request.tools[Number(at)] ?? {};
    return typeof name === "string" ? `, ${field === undefined ? "the" : "of"} tool ${name},` : "";
  }
  if (list !== "messages") return "";
  const { tool_use_id, text } = (request.messages[Number(at)]?.content[Number(block)] ?? {}) as {
    tool_use_id?: unknown;
    text?: unknown;
  };
  if (tool_use_id === undefined) {
    const [, hook] = /^<system-reminder>\nContext from hook (.+?): /.exec(String(text)) ?? [];
    return hook === undefined ? "" : `, from hook ${hook},`;
  }
  const asked = callIn(request.messages, tool_use_id);
  return asked ? `, a result of ${asked.name},` : "";
}

/** The call of a tool that has an id. */
export function callIn(messages: readonly Message[], id: unknown): ToolUseBlock | undefined {
  return messages.flatMap(({ content }) => content).filter(isToolUse).find((block) => block.id === id);
}
