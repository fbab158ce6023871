import { existsSync, readFileSync } from "node:fs";
import type { AnyEvent, EventName, Fired } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import { isObject, parsed } from "../core/json.ts";
import type { Opinion } from "../core/verdict.ts";
import { hostEvent, type HostName, HOSTS } from "../hooks/hosts/index.ts";
import { fitting } from "../hooks/hosts/write-answer.ts";
import { offered } from "./model.ts";
import type { HookCall, Traces } from "./room.ts";
import type { ToolCall } from "./script.ts";

/** What a hook did to a session. `allowed`: a call ran that its twin was refused. */
export type Effect = "denied" | "changed" | "sent back" | "ended" | "allowed" | "none";

/** What a hook does by itself, as far as a host can carry it out. */
export interface Expectation {
  /** In one word. */
  readonly says: string;
  readonly effect: Effect;
  /** The words of the hook that the model is to read. */
  readonly words: readonly string[];
  /** A call's new input. */
  readonly input?: ToolCall["input"];
  /** Why the host cannot do it: then nothing is expected. */
  readonly cannot?: string;
  /** Whether that is so as it has no such event. */
  readonly missing?: boolean;
}

/** How it went in one host. */
export type State =
  | ("ok" | "cannot" | "not fired" | "no effect" | "never asked" | "refused" | "crashed" | "out of time")
  | ("not installed" | "control differs" | "not measured");

/** States in which a hook does not do what it says; all but these, `ok` and `cannot` say that the lab could not see it. */
export const FAULTS: readonly State[] = ["not fired", "no effect"];

/** What is printed of one host. */
export interface LabRun {
  readonly host: HostName;
  readonly version: string;
  readonly network: "none" | "by proxy";
  readonly fired: number;
  readonly said: string;
  readonly effect: Effect;
  readonly read: string;
  /** New files of the project that its twin has not, and processes that were still alive. */
  readonly left: readonly string[];
  readonly requests: number;
  readonly exit: number | string | null;
  readonly ms: number;
  readonly state: State;
  /** A sentence, unless all is well. */
  readonly why?: string;
}

/** What the answer of a hook comes to in a host. */
export function expectedIn(host: HostName, event: string, fired: Fired<EventName>, folded: Folded): Expectation {
  const none = { says: "–", effect: "none", words: [] } as const;
  if (hostEvent(host, event) === undefined) {
    return { ...none, cannot: `${host} has no event like ${event}`, missing: true };
  }
  const { decision, reason, contexts, inputs, modified, value, halt, abort } = folded;
  const opinion: Opinion = {
    ...(decision !== "continue" && { decision }),
    ...(reason !== undefined && { reason }),
    ...(modified && { value: { to: value } }),
    ...([...contexts, ...inputs].length > 0 && { contexts: [...contexts, ...inputs] }),
    ...((halt ?? abort) && { halt: (halt ?? abort)!.reason }),
  };
  let fit: Opinion;
  try {
    fit = fitting(opinion, fired as AnyEvent, HOSTS[host]);
  } catch (error) {
    return { ...none, cannot: (error as Error).message };
  }
  // What becomes of a call with a new input is read in its result.
  const changed = fired.event === "pre-tool-use" ? [] : texts(fit.value?.to);
  const words = [fit.reason, fit.halt, ...(fit.contexts ?? []).map(({ text }) => text), ...changed];
  return {
    says: sayOpinion(opinion),
    effect: effectOf(fired.event, fit),
    words: words.filter((text) => text !== undefined && text.trim() !== "") as string[],
    ...(fired.event === "pre-tool-use" && isObject(fit.value?.to) && { input: fit.value.to }),
  };
}

function sayOpinion({ decision, value, halt, contexts }: Opinion): string {
  const parts = [decision, value && "modify", halt !== undefined && "halt", contexts && "context"];
  return parts.filter(Boolean).join(", ") || "continue";
}

function effectOf(event: EventName, { decision, value, halt, contexts }: Opinion): Effect {
  if (halt !== undefined) return "ended";
  if (decision === "deny" || decision === "ask") {
    if (event === "stop") return "sent back";
    if (event === "post-tool-batch") return "ended";
    // Without a person a question is refused.
    if (event !== "post-tool-use") return "denied";
  }
  if (decision === "deny" || value || contexts) return "changed";
  return decision === "allow" && event === "permission-request" ? "allowed" : "none";
}

/** Two sessions, with the hook and without. */
export interface Pair {
  readonly host: HostName;
  readonly version: string;
  readonly event: string;
  readonly hooked: Traces;
  readonly control: Traces;
  /** The call, in a project at a path. */
  readonly call: ((project: string) => ToolCall) | undefined;
  /** The same with the input that the hook gives it. */
  readonly rewritten: ((project: string) => ToolCall) | undefined;
  readonly expected: Expectation;
}

type Judged = Omit<LabRun, "host" | "version" | "network">;

export function judge(pair: Pair): Judged {
  const { hooked, control, expected } = pair;
  const read = readBy(pair);
  const effects = effectsIn(pair, read.heard);
  const effect = effects.includes(expected.effect) ? expected.effect : effects[0] ?? "none";
  const { state, why } = stateOf(pair, effect);
  return {
    fired: hooked.fired.length,
    said: [...new Set(hooked.fired.map(saidBy))].join("; ") || "–",
    effect,
    read: effect === "none" ? "–" : read.line,
    left: [...hooked.files.filter((file) => !control.files.includes(file)), ...hooked.alive],
    requests: hooked.asked.length,
    exit: hooked.ran.code ?? hooked.ran.signal,
    ms: hooked.ms,
    state,
    ...(why !== undefined && { why }),
  };
}

function stateOf(pair: Pair, effect: Effect): { readonly state: State; readonly why?: string } {
  const { host, version, hooked, control, expected, event } = pair;
  const failed = stateOfHost(pair, hooked, effect);
  if (failed) return failed;
  const twin = stateOfHost(pair, control, "none");
  if (twin) return { state: "control differs", why: `${twin.why} (without the hook)` };
  const is = (state: State, why: string) => ({ state, why: `${host} ${version} ${why}` });
  if (control.lacks) return is("not measured", "does not offer the tool that the call needs");
  if (!controlRan(pair)) {
    return is("control differs", "does not run the call without the hook either: nothing is shown");
  }
  if (hooked.fired.length === 0) {
    if (expected.cannot !== undefined) return { state: "cannot", why: expected.cannot };
    return is("not fired", `asked the model ${times(hooked.asked.length)} and ran no hook at ${event}`);
  }
  if (expected.cannot !== undefined) return { state: "cannot", why: expected.cannot };
  if (effect === expected.effect) return { state: "ok" };
  const said = [...new Set(hooked.fired.map(saidBy))].join("; ");
  return is("no effect", `ran the hook, which said ${said}: expected ${expected.effect}, found ${effect}`);
}

/** What ended a session before it showed anything. */
function stateOfHost({ host, version, expected }: Pair, session: Traces, effect: Effect) {
  const { asked, ran, fired } = session;
  const is = (state: State, why: string) => ({ state, why: `${host} ${version} ${why}` });
  const refused = asked.find((request) => request.refused !== undefined)?.refused;
  if (refused !== undefined) return is("refused", `asked for something the scripted model refuses: ${refused}`);
  const after = asked.length === 0 ? "it had never asked the model" : `it had asked the model ${times(asked.length)}`;
  if (ran.ended === "timeout") return is("out of time", `was ended after ${Math.round(session.ms / 1000)} s; ${after}`);
  const [last = "no words on stderr"] = ran.stderr.trim().split("\n").slice(-1).filter(Boolean);
  // A prompt that a hook refused is never sent, and a host may end with an error then, as after any end it did not choose.
  if (fired.length > 0 && (effect === "denied" || effect === "ended") && effect === expected.effect) return undefined;
  if (asked.length === 0) {
    return is("never asked", `ended with ${ran.code ?? ran.signal} and never asked the model: ${last}`);
  }
  if (ran.code === null) return is("crashed", `died by ${ran.signal} after ${several(asked.length, "request")}`);
  return ran.code === 0
    ? undefined
    : is("crashed", `ended with ${ran.code} after ${several(asked.length, "request")}: ${last}`);
}

const several = (n: number, one: string) => `${n} ${one}${n === 1 ? "" : "s"}`;
const times = (n: number) => n === 1 ? "once" : `${n} times`;

const BEFORE_CALL = ["pre-tool-use", "permission-request"];

function controlRan({ event, call, control }: Pair): boolean {
  if (!call) return true;
  return event === "pre-tool-use" ? ran(control, call(control.project)) : hasResult(control);
}

function hasResult({ asked }: Traces): boolean {
  return asked.some(({ body }) =>
    /"type":"(?:tool_result|\w+_output)"|"functionResponse":|"role":"tool"/.test(JSON.stringify(body))
  );
}

/** All that a hook did; the first is what it did most of all. */
function effectsIn({ event, call, rewritten, hooked, control }: Pair, heard: boolean): Effect[] {
  const effects: Effect[] = [];
  if (call && BEFORE_CALL.includes(event)) {
    const did = ran(hooked, call(hooked.project));
    const twin = ran(control, call(control.project));
    const wrote = (session: Traces) => rewritten !== undefined && ran(session, rewritten(session.project));
    if (wrote(hooked) && !wrote(control)) effects.push("changed");
    else if (!did && (twin || heard)) effects.push("denied");
    else if (did && !twin) effects.push("allowed");
  }
  const talk = ({ asked }: Traces) => event === "pre-compact" ? asked.length : asked.filter(isTalk).length;
  const [requests, usual] = [talk(hooked), talk(control)];
  if (requests > usual) effects.push("sent back");
  if (requests < usual && (requests === 0 || event === "pre-compact")) effects.push("denied");
  if (requests < usual) effects.push("ended");
  if (heard) effects.push("changed");
  return effects;
}

/** Beside the conversation there are requests for titles and the like, which offer no tools. */
const isTalk = ({ body }: Traces["asked"][number]) => offered(body).length > 0;

/** What files hold that a call reads: it is seen by that. */
export const MARK = "a file that the lab has written";

/** Whether a call ran, by what it left: in the words of shells, in the file it is about, or in what the model read. */
function ran({ shells, asked }: Traces, { tool, input }: ToolCall): boolean {
  if (tool === "Bash") return shells.some((words) => squeezed(words).includes(squeezed(String(input.command))));
  if (tool === "Read") return asked.some(({ body }) => JSON.stringify(body).includes(MARK));
  const path = String(input.file_path);
  return existsSync(path) && readFileSync(path, "utf8").includes(String(input.content ?? input.new_string).trim());
}

/** Hosts quote a command in their own ways. */
const squeezed = (text: string) => text.replace(/['"\\\s]+/g, "");

/** What the model read that its twin did not, after the first request of an agent that called a tool; and whether these are words of the hook. */
function readBy({ hooked, control, expected, call }: Pair): { readonly line: string; readonly heard: boolean } {
  const lines = (asked: Traces["asked"]) =>
    asked.flatMap(({ body: { tools: _, ...body } }) => texts(body)).flatMap((text) => text.split("\n"))
      .map((line) => line.replaceAll(/\S*-(?:hooked|control)\b/g, "…").trim());
  const begin = call ? hooked.asked.findIndex(isTalk) + 1 : 0;
  const usual = new Set(lines([...control.asked, ...hooked.asked.slice(0, begin)]));
  const fresh = lines(hooked.asked.slice(begin)).filter((line) => line !== "" && !usual.has(line));
  const words = expected.words.map((text) => text.trim().split("\n")[0]!);
  const own = fresh.find((line) => words.some((word) => line.includes(word)));
  // Times and ids differ between any two sessions, and the new input of a call is none of its results.
  const shape = (line: string) => line.replace(/[0-9a-f]*\d[0-9a-f.-]*/gi, "#");
  const known = new Set([...usual].map(shape));
  const isOther = (line: string) => !known.has(shape(line)) && !line.startsWith("{");
  const line = own ?? fresh.find(isOther) ?? "–";
  return { line: line.length > 200 ? `${line.slice(0, 199)}…` : line, heard: own !== undefined };
}

function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}

const NEW_VALUES = [
  "updatedInput",
  "tool_input",
  "modifiedArgs",
  "modifiedResult",
  "modifiedPrompt",
  "updatedToolOutput",
  "value",
];

/** The answer of a hook in a few words, whatever host it was for. */
function saidBy({ stdout, code }: HookCall): string {
  if (code === undefined) return "unfinished";
  const json = parsed(stdout);
  if (!isObject(json)) {
    return code === 2 ? "deny" : code !== 0 ? `failed (${code})` : stdout.trim() === "" ? "continue" : "context";
  }
  const inside = isObject(json.hookSpecificOutput) ? json.hookSpecificOutput : {};
  const all = { ...json, ...inside };
  const nested = isObject(inside.decision) ? inside.decision.behavior : undefined;
  const decision = nested ?? inside.permissionDecision ?? all.permissionDecision ?? json.behavior ?? json.decision;
  const parts = [
    json.deny !== undefined || decision === "block" ? "deny" : decision === "approve" ? "allow" : decision,
    NEW_VALUES.some((key) => key in all) && "modify",
    ["additionalContext", "context"].some((key) => key in all) && "context",
    json.continue === false && "halt",
  ];
  return parts.filter(Boolean).join(", ") || "continue";
}
