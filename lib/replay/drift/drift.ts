import { addUsage, NO_USAGE, totalTokens, type Usage } from "../../core/messages.ts";
import { price } from "../../anthropic/prices.ts";
import type { Difference, ValueDifference } from "./difference.ts";
import type { Header, Normaliser } from "../../log/entry.ts";
import { billOf } from "../recorded-reply.ts";
import type { Call, Tape } from "../tape.ts";

/** Where a lane first left its tape; values are as the tape would have them. */
export interface Divergence extends Difference {
  readonly lane: string;
  /** The recorded call it is compared with; absent if the lane has no call left. */
  readonly call?: string;
  /** What happened, in a sentence. */
  readonly words: string;
}

/** How an error begins when a tape has no answer; the report of a sub-agent with that error contains it. */
export const OFF_TAPE = "Cannot answer from tape ";

/** Divergences without those that only follow from another, known or not: a lead differs as an agent it started did. */
export function causesOf(all: readonly Divergence[], isKnown = false): readonly Divergence[] {
  const found = all.filter(({ actual }) => !JSON.stringify(actual ?? "").includes(OFF_TAPE));
  return isKnown || found.length > 0 ? found : all;
}

/** Scripts load the hooks beside them, which older releases did not: that alone can make a run differ. */
export function hooksAdded({ hooks: recorded = [] }: Pick<Header, "hooks"> = {}, now: readonly string[]): string[] {
  const added = now.filter((name) => !recorded.includes(name)).join(", ");
  if (added === "") return [];
  return [`./hooks beside the script is loaded now, but was not when this was recorded: ${added}`];
}

/** A tool whose result is not the recorded one. */
export interface ToolDrift extends ValueDifference {
  readonly lane: string;
  readonly tool: string;
  readonly id: string;
}

/** A file that is not what the recorded run left. */
export interface FileDrift {
  readonly path: string;
  readonly how: "missing" | "new" | "changed";
}

/** What a replay found. `ok` is true if the run did all that was recorded and nothing else. */
export interface DriftReport {
  readonly tape: string;
  readonly ok: boolean;
  readonly mode: string;
  readonly source: string;
  /** The first one of each lane, without those that only follow from another. */
  readonly divergences: readonly Divergence[];
  readonly tools: readonly ToolDrift[];
  readonly files: readonly FileDrift[];
  /** Calls that were recorded and never asked for. */
  readonly unused: readonly string[];
  /** Calls of MCP servers, if any are on the tape. */
  readonly mcp?: McpReport;
  readonly calls: { readonly recorded: number; readonly served: number; readonly live: number };
  /** How many calls have replies to an earlier question: a review accepted what is asked now. Absent if there are none. */
  readonly stale?: number;
  /** Differences that were declared not to count. */
  readonly normalise: readonly Normaliser[];
  /** What it costs, at list price, to record again what was not served, and all of it. */
  readonly price: { readonly update: Price; readonly whole: Price };
  readonly notes: readonly string[];
  /** The command that records again what has drifted. @default `crochet replay <tape> --update` */
  readonly renew?: string;
}

export interface Price {
  readonly calls: number;
  readonly tokens: number;
  /** Undefined if the price of a model is not known. */
  readonly dollars: number | undefined;
}

const wholes = new WeakMap<Tape, Price>();

/** What it would cost to record a tape again; worked out once. */
export function wholePrice(tape: Tape): Price {
  const price = wholes.get(tape) ?? priceOf(tape.calls);
  wholes.set(tape, price);
  return price;
}

/** What calls cost when they were recorded, at today's list price: that of the current model, if it changed. */
export function priceOf(calls: Iterable<Call>, divergences: readonly Divergence[] = []): Price {
  const asked = new Map(divergences.filter(({ path }) => path === "model").map((d) => [d.expected, String(d.actual)]));
  let usage: Usage = NO_USAGE;
  let dollars: number | undefined = 0;
  let count = 0;
  for (const call of calls) {
    count++;
    const bill = billOf(call);
    const listed = () => price(asked.get(call.request.model) ?? call.request.model, bill.usage);
    const cost = bill.cost === null ? undefined : bill.cost ?? listed();
    usage = addUsage(usage, bill.usage);
    dollars = dollars === undefined || cost === undefined ? undefined : dollars + cost;
  }
  return { calls: count, tokens: totalTokens(usage), dollars };
}

/** What a replay found of MCP servers. */
export interface McpReport {
  /** How many calls were served, by server. */
  readonly served: { readonly [server: string]: number };
  /** Calls that are not on the tape. */
  readonly differs: readonly { readonly words: string; readonly expected?: unknown; readonly actual?: unknown }[];
  /** Calls that were recorded and never made. */
  readonly unused: readonly string[];
}
