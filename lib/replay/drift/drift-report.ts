import { price } from "../../models/anthropic/prices.ts";
import { makeOnce } from "../../core/maps.ts";
import { addUsage, NO_USAGE, totalTokens, type Usage } from "../../core/messages.ts";
import { shellWord } from "../../core/shown.ts";
import type { Header, Normaliser } from "../../log/entry.ts";
import type { Difference, ValueDifference } from "./difference.ts";
import { nameIn } from "../fixture.ts";
import { billOf } from "../../log/recorded-reply.ts";
import type { Call, Tape } from "../../log/tape.ts";

/** How a report is coloured; plain without a terminal. */
export interface Ink {
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
}

export const PLAIN: Ink = { red: String, green: String, dim: String, bold: String };

/** A report for people: what differs, where, why, and what it costs to record again with the command `renew`. */
export function reportLines(report: DriftReport, ink: Ink = PLAIN, renew?: string): string[] {
  const { divergences, tools, files, unused, normalise, notes, calls } = report;
  const all = unused.length === calls.recorded && unused.length > 1;
  const wire = divergences.some(({ cause }) => cause === "wire") ? " --wire" : "";
  const again = renew ?? report.renew ??
    `crochet replay ${shellWord(nameIn(process.cwd(), report.tape))}${wire} --update`;
  return [
    ...(report.mcp?.differs ?? []).flatMap(({ words, expected, actual }) => [
      `${ink.red("mcp")}: ${words}`,
      ...changeLines(expected, actual, ink),
    ]),
    ...(report.mcp?.unused ?? []).map((call) => `not called: ${call}`),
    ...divergences.flatMap((d) => divergenceLines(d, ink)),
    ...tools.flatMap(({ tool, id, path, expected, actual }) => [
      `${ink.red("tool")}: ${ink.bold(path)} of ${tool} is not what was recorded ${ink.dim(`(at ${id})`)}`,
      ...changeLines(expected, actual, ink),
    ]),
    ...files.map(({ path, how }) => `${ink.bold(path)} is ${HOW[how]}`),
    ...(report.printed ? [`${ink.red("stdout")} is not what was recorded`] : []),
    ...changeLines(report.printed?.expected, report.printed?.actual, ink),
    ...(unused.length > 0 && report.mode !== "update"
      ? [`not requested: ${all ? `all ${unused.length} calls` : unused.join(" ")}`]
      : []),
    ...(report.ok || report.stale === undefined ? [] : [`${staleText(report.stale)}: ${again}`]),
    ...normalise.map(({ name, path, pattern }) => ink.dim(`ignored: ${name} (/${pattern}/ at ${path})`)),
    ...notes.map((note) => ink.dim(note)),
    ...(report.ok || (unused.length === 0 && divergences.length === 0 && !report.printed)
      ? []
      : [`to record again: ${renewalText(report)} (${again})`]),
  ];
}

export function staleText(stale: number): string {
  return `stale: ${stale} ${stale === 1 ? "reply answers" : "replies answer"} an earlier request`;
}

/** A report of a run that was recorded again, by so many calls: nothing of it differs any more. */
export function renewed(was: DriftReport, live: number): DriftReport {
  const { stale: _, printed: __, mcp: ___, ...kept } = was;
  const calls = { ...was.calls, served: 0, live };
  return { ...kept, ok: true, mode: "update", divergences: [], tools: [], files: [], unused: [], calls };
}

/** What it takes to record again: what was recorded and is not served is known, what a lane asks for beyond it is not. */
export function renewalText(
  { divergences, unused, price }: Pick<DriftReport, "divergences" | "unused"> & {
    readonly price: Pick<DriftReport["price"], "update">;
  },
): string {
  // What rules and failing hooks say takes no call.
  const asked = divergences.filter(({ cause, call }) => cause !== "rule" && (cause !== "hook" || call !== undefined));
  const beyond = asked.some(({ lane }) => !unused.some((call) => call.startsWith(`${lane}#`)));
  if (!beyond) return priceText(price.update);
  const known = price.update.calls === 0 ? "" : `${priceText(price.update)}, and `;
  return `${known}calls that were never recorded, price unknown`;
}

/**
 * Reports with each difference shown once: an agent that changed has changed for all its fixtures. Others say in which
 * fixture it is shown.
 */
export function shownOnce(
  all: readonly { readonly name: string; readonly report: DriftReport | undefined }[],
): (DriftReport | undefined)[] {
  const first = new Map<string, string>();
  return all.map((one) => {
    const divergences = one.report?.divergences.map(({ expected, actual, ...rest }): Divergence => {
      if (expected === undefined && actual === undefined) return rest;
      const key = JSON.stringify([rest.cause, rest.path, expected, actual]);
      const before = first.get(key);
      if (before === undefined) {
        first.set(key, one.name);
        return { ...rest, expected, actual };
      }
      return { ...rest, words: `${rest.words}, as ${before === one.name ? "above" : `in ${before}`}` };
    });
    return one.report && { ...one.report, divergences: divergences! };
  });
}

function divergenceLines({ lane, call, cause, path, words, expected, actual }: Divergence, ink: Ink): string[] {
  // Most sentences name their place.
  const named = words.includes(path) ? words : `${path}: ${words}`;
  const sentence = path === "" ? words : named.replace(path, ink.bold);
  return [
    `${ink.red(cause)}: ${sentence} ${ink.dim(`(at ${call ?? lane})`)}`,
    ...changeLines(expected, actual, ink),
  ];
}

const SHOWN_LINES = 6;
const SHOWN_WIDTH = 160;
/** What is shown of a long line before the place where it changed. */
const SHOWN_BEFORE = 40;

/** Old and new, of a text only the lines that changed, with their number. */
function changeLines(expected: unknown, actual: unknown, ink: Ink): string[] {
  if (expected === undefined && actual === undefined) return [];
  const [was, is] = [linesOf(expected), linesOf(actual)];
  let start = 0;
  while (start < was.length && start < is.length && was[start] === is[start]) start++;
  let end = 0;
  while (end < Math.min(was.length, is.length) - start && was.at(-1 - end) === is.at(-1 - end)) end++;
  const cut = (lines: readonly string[], other: readonly string[], mark: string, colour: (text: string) => string) => {
    const changed = lines.slice(start, lines.length - end).map((line, i) => fromChange(line, other[start + i]));
    const more = changed.length > SHOWN_LINES
      ? [ink.dim(`  ${mark} … ${changed.length - SHOWN_LINES} more lines`)]
      : [];
    return [...changed.slice(0, SHOWN_LINES).map((line) => colour(`  ${mark} ${clip(line, SHOWN_WIDTH)}`)), ...more];
  };
  const many = was.length > 1 || is.length > 1;
  return [
    ...(many ? [ink.dim(`  line ${start + 1}`)] : []),
    ...cut(was, is, "-", ink.red),
    ...cut(is, was, "+", ink.green),
  ];
}

/** A line, without its beginning if the change would not be visible. */
function fromChange(line: string, other = ""): string {
  let same = 0;
  while (same < line.length && line[same] === other[same]) same++;
  return same > SHOWN_WIDTH - SHOWN_BEFORE ? `…${line.slice(same - SHOWN_BEFORE).replace(HALF, "")}` : line;
}

function linesOf(value: unknown): string[] {
  if (value === undefined) return [];
  return (typeof value === "string" ? value : JSON.stringify(value)).split("\n");
}

/** A value in one short line. */
export function shortText(value: unknown): string {
  return clip(JSON.stringify(value) ?? "nothing", 80);
}

function clip(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).replace(HALF, "")}…` : text;
}

/** What a cut leaves of a character that takes two code units. */
const HALF = /^[\udc00-\udfff]|[\ud800-\udbff]$/;

export function priceText({ calls, tokens, dollars }: Price): string {
  return `${calls} ${calls === 1 ? "call" : "calls"}, ${tokens} tokens, ${dollarsText(dollars)}`;
}

export function dollarsText(dollars: Price["dollars"]): string {
  if (dollars === undefined) return "price unknown";
  return dollars > 0 && dollars < 0.01 ? "< $0.01" : `$${dollars.toFixed(2)}`;
}

/** Where a lane first left its tape; values are as the tape would have them. */
export interface Divergence extends Difference {
  readonly lane: string;
  /** The recorded call it is compared with; absent if the lane has no call left. */
  readonly call?: string;
  readonly words: string;
}

/** How an error begins when a tape has no answer; the report of a sub-agent with that error contains it. */
export const OFF_TAPE = "Cannot answer from tape ";

/** Divergences without those that only follow from another, known or not: a lead differs as an agent it started did. */
export function causesOf(all: readonly Divergence[], isKnown = false): readonly Divergence[] {
  const found = all.filter(({ actual }) => !JSON.stringify(actual ?? "").includes(OFF_TAPE));
  return isKnown || found.length > 0 ? found : all;
}

/** Scripts load the hooks beside them: those that were put there since can make a run differ. */
export function hooksAdded({ hooks: recorded = [] }: Pick<Header, "hooks"> = {}, now: readonly string[]): string[] {
  const added = now.filter((name) => !recorded.includes(name)).join(", ");
  if (added === "") return [];
  return [`./hooks beside the script is loaded now, but was not when this was recorded: ${added}`];
}

export interface ToolDrift extends ValueDifference {
  readonly lane: string;
  readonly tool: string;
  readonly id: string;
}

export interface FileDrift {
  readonly path: string;
  /** `untouched`: the recorded run changed it, and this one did not. */
  readonly how: keyof typeof HOW;
}

const HOW = { missing: "missing", new: "a new file", changed: "changed", untouched: "as it was before the run" };

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
  /** What another program printed, if that differs. */
  readonly printed?: { readonly expected: string; readonly actual: string };
  /** Calls that were recorded and never asked for. */
  readonly unused: readonly string[];
  /** Calls of MCP servers, if any are on the tape. */
  readonly mcp?: McpReport;
  readonly calls: { readonly recorded: number; readonly served: number; readonly live: number };
  /** How many calls have replies to an earlier question: a review accepted what is asked now. Absent if there are none. */
  readonly stale?: number;
  /** Of a run that continues another: how many replies were kept in each lane, and why others were asked for whatever was there. */
  readonly continued?: { readonly kept: { readonly [lane: string]: number }; readonly anew: readonly string[] };
  /** Differences that were declared not to count. */
  readonly normalise: readonly Normaliser[];
  /** What it costs, at list price, to record again: what was not served, of another program its whole run; and all of it. */
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

/** What it would cost to record a tape again; worked out once. */
export const wholePrice: (tape: Tape) => Price = makeOnce(({ calls }) => priceOf(calls));

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

export interface McpReport {
  /** How many calls were served, by server. */
  readonly served: { readonly [server: string]: number };
  /** Calls that are not on the tape. */
  readonly differs: readonly { readonly words: string; readonly expected?: unknown; readonly actual?: unknown }[];
  readonly unused: readonly string[];
}
