import type * as Sdk from "@anthropic-ai/sdk/resources/beta/messages";
import { API_ERRORS } from "../http/errors.ts";
import { parsed } from "../core/json.ts";
import { shown } from "../core/shown.ts";
import { PRICED_MODELS } from "../anthropic/prices.ts";
import { type Attempt, type Call, expectTape, type Tape } from "./tape.ts";
import { messageIn } from "./reply.ts";
import { seamEvents } from "./frames.ts";

/** What the API can say, as the SDK's types have it: what a corpus is held against. */
export const KNOWN = {
  blocks: [
    "text",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "advisor_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
    "compaction",
    "fallback",
    "mcp_tool_listing",
  ] satisfies Sdk.BetaContentBlock["type"][],
  deltas: [
    "text_delta",
    "input_json_delta",
    "citations_delta",
    "thinking_delta",
    "signature_delta",
    "compaction_delta",
  ] satisfies Sdk.BetaRawContentBlockDelta["type"][],
  stops: [
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "compaction",
    "refusal",
    "model_context_window_exceeded",
  ] satisfies Sdk.BetaStopReason[],
  errors: [
    ...API_ERRORS,
    "in-stream api_error",
    "in-stream overloaded_error",
    "in-stream rate_limit_error",
    "cut",
    "reset",
    "stall",
    "timeout",
  ],
  api: ["2026-10-21", "2023-06-01"],
} as const;

/** What is counted: each with how often it occurs. */
type Subject = keyof typeof KNOWN | "betas" | "models" | "versions";

/** How often each thing of a kind occurs, the most frequent first, and what of the known things does not. */
export interface Coverage {
  readonly covers: { readonly [name: string]: number };
  readonly lacks: readonly string[];
}

export interface Census {
  readonly tapes: number;
  readonly calls: number;
  readonly attempts: number;
  /** Attempts that were streamed. */
  readonly streams: number;
  readonly of: { readonly [S in Subject]: Coverage };
}

/**
 * Counts what a corpus of tapes covers of the API, and says what it lacks.
 *
 * @throws {TypeError} if it is given something else than a list of tapes
 *
 * @example
 * ```ts
 * import { census } from "crochet/testing";
 *
 * console.log(census([]).of.stops.lacks);
 * ```
 */
export function census(tapes: readonly Tape[]): Census {
  if (!Array.isArray(tapes)) {
    throw new TypeError(`Cannot count as 'tapes' must be a list: give [tape], and not ${shown(tapes)}`);
  }
  for (const tape of tapes) expectTape(tape, "count");
  const counts = new Map<Subject, Map<string, number>>();
  const count = (subject: Subject, name: unknown) => {
    if (typeof name !== "string" || name === "") return;
    const of = counts.get(subject) ?? new Map<string, number>();
    counts.set(subject, of.set(name, (of.get(name) ?? 0) + 1));
  };
  const calls = tapes.flatMap((tape) => tape.calls);
  const attempts = calls.flatMap((call) => call.attempts);
  for (const { header, calls } of tapes) {
    for (const [what, version] of Object.entries(header.versions)) {
      if (what !== "api" && what !== "betas") count("versions", `${what} ${version}`);
    }
    for (const call of calls) countRequest(call, header.versions, count);
  }
  for (const attempt of attempts) countAttempt(attempt, count);
  const known: { readonly [S in Subject]?: readonly string[] } = { ...KNOWN, models: PRICED_MODELS };
  const subjects = [...Object.keys(KNOWN), "betas", "models", "versions"] as Subject[];
  return {
    tapes: tapes.length,
    calls: calls.length,
    attempts: attempts.length,
    streams: attempts.filter((attempt) => attempt.events).length,
    of: Object.fromEntries(
      subjects.map((subject) => [subject, coverage(counts.get(subject) ?? new Map(), known[subject] ?? [])]),
    ) as Census["of"],
  };
}

type Count = (subject: Subject, name: unknown) => void;

/** Which API was asked: as the wire said, or as the tape's header says of all its calls. */
function countRequest({ request: { wire } }: Call, versions: Tape["header"]["versions"], count: Count): void {
  const { "anthropic-version": api, "anthropic-beta": betas } = wire ??
    { "anthropic-version": versions.api, "anthropic-beta": versions.betas };
  count("api", api);
  for (const beta of betas?.split(",") ?? []) count("betas", beta.trim());
}

function countAttempt({ events, body, status, ended }: Attempt, count: Count): void {
  if (ended && ended !== "aborted") count("errors", ended);
  if (status !== undefined && status >= 400) count("errors", `${status} ${errorIn(body) ?? "without a type"}`);
  const message = body === undefined ? undefined : messageIn(body);
  if (message) {
    count("models", message.model);
    count("stops", message.stop_reason);
    for (const { type } of message.content) count("blocks", type);
  }
  for (const event of events ? seamEvents(events).events : []) {
    if (event.type === "message_start") count("models", event.message?.model);
    else if (event.type === "content_block_start") count("blocks", event.content_block?.type);
    else if (event.type === "content_block_delta") count("deltas", event.delta?.type);
    else if (event.type === "message_delta") count("stops", event.delta?.stop_reason);
    else if (event.type === "error") count("errors", `in-stream ${event.error?.type}`);
  }
}

function errorIn(body = ""): string | undefined {
  return (parsed(body) as { error?: { type?: string } } | null | undefined)?.error?.type;
}

function coverage(counts: ReadonlyMap<string, number>, known: readonly string[]): Coverage {
  const ordered = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  // A model is covered in whichever dated version it answered.
  const found = new Set([...counts.keys()].flatMap((name) => [name, name.replace(/-\d{8}$/, "")]));
  return { covers: Object.fromEntries(ordered), lacks: known.filter((name) => !found.has(name)) };
}
