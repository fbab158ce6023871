import { existsSync, readFileSync } from "node:fs";
import type { AnyEvent, EventName, Fired } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import { isObject, parsed, textsIn } from "../../core/json.ts";
import type { Opinion } from "../../core/verdict.ts";
import type { ToolUse } from "../../hooks/hosts/channel.ts";
import { type HostName, HOSTS } from "../../hooks/hosts/index.ts";
import { fitting } from "../../hooks/hosts/write-answer.ts";
import { offered, RESULT } from "./lab-model.ts";
import { type HeardHook, movedTo, type Traces } from "./room.ts";
import { MARK, TASK } from "./script.ts";

/** What a hook did to a session. `allowed`: a call ran that its twin was refused. */
export type SeenEffect = "denied" | "changed" | "sent back" | "ended" | "allowed" | "none";

/** What a hook does by itself, as far as a host can carry it out. */
export interface Expectation {
  readonly effect: SeenEffect;
  /** The words of the hook that the model should read. */
  readonly words: readonly string[];
  readonly input?: ToolUse["input"];
  /** Why the host cannot do it: then nothing is expected. */
  readonly cannot?: string;
}

/** States in which a hook does not do what it says. */
export const FAULTS: readonly State[] = ["not fired", "no effect"];

/** How it went in one host; beside `ok`, `cannot` and the faults, all say that the lab could not see it. */
type State =
  | ("ok" | "cannot" | "not fired" | "no effect" | "never asked" | "refused" | "crashed" | "out of time")
  | ("not installed" | "other version" | "control differs" | "not measured");

export interface LabRun {
  readonly host: HostName;
  readonly version: string;
  /** By what its model made the call; absent at an event without one. */
  readonly channel?: string;
  /** The tool of ours that it calls there. */
  readonly tool?: string;
  readonly network: "none" | "by proxy";
  /** What the hook answers here. */
  readonly expected: string;
  /** Null in a mod, which leaves no trace of it. */
  readonly fired: number | null;
  readonly said: string;
  readonly effect: SeenEffect;
  readonly read: string;
  /** New files of the project that its twin has not, and processes that were still alive. */
  readonly left: readonly string[];
  readonly requests: number;
  readonly exit: number | string | null;
  readonly ms: number;
  readonly state: State;
  readonly why?: string;
}

/** What the answer of a hook comes to in a host. */
export function expectedIn(host: HostName, fired: Fired<EventName>, folded: Folded): Expectation {
  const { decision, reason, contexts, inputs, modified, value, halt = folded.abort } = folded;
  const said = [...contexts, ...inputs];
  const opinion: Opinion = {
    ...(decision !== "continue" && { decision }),
    ...(reason !== undefined && { reason }),
    ...(modified && { value: { to: value } }),
    ...(said.length > 0 && { contexts: said }),
    ...(halt && { halt: halt.reason }),
  };
  let fit: Opinion;
  try {
    fit = fitting(opinion, fired as AnyEvent, HOSTS[host]);
  } catch (error) {
    return { effect: "none", words: [], cannot: (error as Error).message };
  }
  // What becomes of a call with a new input is read in its result.
  const isInput = fired.event === "pre-tool-use";
  const words = [fit.reason, fit.halt, fit.contexts?.map(({ text }) => text), isInput ? [] : fit.value?.to];
  // Of a command the model reads what it wrote, and not what we put around it.
  const around = /^(?:\[[^\]\n]*\]: |<system-reminder>\n\S+ hook [a-z ]+: )|\n<\/system-reminder>$/g;
  const own = textsIn(words).map((text) => text.replace(around, ""));
  return {
    effect: effectOf(fired.event, fit),
    words: own.filter((text) => text.trim() !== ""),
    ...(isInput && isObject(fit.value?.to) && { input: fit.value.to }),
  };
}

function effectOf(event: EventName, { decision, value, halt, contexts }: Opinion): SeenEffect {
  if (halt !== undefined) return "ended";
  // Without a person a question is refused.
  if (decision === "deny" || decision === "ask") {
    if (event === "stop") return "sent back";
    return event === "post-tool-batch" ? "ended" : event === "post-tool-use" ? "changed" : "denied";
  }
  if (value || contexts) return "changed";
  return decision === "allow" && event === "permission-request" ? "allowed" : "none";
}

export interface Pair {
  readonly host: HostName;
  readonly version: string;
  readonly event: string;
  readonly hooked: Traces;
  readonly control: Traces;
  readonly expected: Expectation;
  /** Whether the same call is made in another way, too: a host may lack this one. */
  readonly isOther?: boolean;
  /** Whether the hook is in a mod: that it ran is then seen only by what it does. */
  readonly isMod: boolean;
  /** The call, and the project that its paths are of. */
  readonly call: ToolUse | undefined;
  readonly template: string;
}

export function judge(pair: Pair): Omit<LabRun, "host" | "version" | "channel" | "tool" | "network" | "expected"> {
  const { hooked, control, expected } = pair;
  const { line, isOwn } = readBy(pair);
  const effects = effectsIn(pair, isOwn);
  const effect = effects.includes(expected.effect) ? expected.effect : effects[0] ?? "none";
  const said = [...new Set(hooked.fired.map(saidBy))].join("; ") || "–";
  const [state, why] = stateOf(pair, effect, said, isOwn);
  return {
    ...{ fired: pair.isMod ? null : hooked.fired.length, said, effect, read: effect === "none" ? "–" : line },
    left: [...hooked.files.filter((file) => !control.files.includes(file)), ...hooked.alive],
    ...{ requests: hooked.asked.length, exit: hooked.ran.code ?? hooked.ran.signal, ms: hooked.ms, state },
    ...(why !== undefined && { why: state === "cannot" ? why : `${pair.host} ${pair.version} ${why}` }),
  };
}

type JudgedState = readonly [state: State, why?: string];

function stateOf(pair: Pair, effect: SeenEffect, said: string, isOwn: boolean): JudgedState {
  const { hooked, control, expected, event, call } = pair;
  // A prompt that a hook refused is never sent; a host may end with an error then, as after any end it did not choose.
  const isMeant = (hooked.fired.length > 0 || pair.isMod) && effect === expected.effect &&
    ["denied", "ended"].includes(effect);
  const failed = isMeant ? undefined : failureOf(hooked);
  if (failed) return failed;
  const twin = failureOf(control);
  if (twin) return ["control differs", `${twin[1]} (without the hook)`];
  if (control.lacks) {
    return [pair.isOther ? "cannot" : "not measured", "does not offer the tool that the call needs"];
  }
  const ranThere = event === "pre-tool-use" ? did(pair, control) : hasResult(control);
  if (call && !ranThere) return ["control differs", "does not run the call without the hook either: nothing is shown"];
  if (expected.cannot !== undefined) return ["cannot", expected.cannot];
  if (pair.isMod && effect === "none" && expected.effect === "none") {
    return ["not measured", "shows that it runs a hook of a mod only by what the hook does"];
  }
  // What a host refuses in words of its own is not the hook's doing, nor is what the belt of a mod that did not load says.
  const isForeign = call !== undefined && isCall(event) && expected.effect !== "ended" && !isOwn &&
    did(pair, control) && !did(pair, hooked) && !(expected.input && did(pair, hooked, expected.input));
  if (pair.isMod ? effect === "none" : hooked.fired.length === 0) {
    return ["not fired", `asked the model ${times(hooked)} and ran no hook at ${event}`];
  }
  if (isForeign) return ["no effect", `refused the call in other words than the hook's, which said ${said}`];
  if (effect === expected.effect) return ["ok"];
  return [
    "no effect",
    `${pair.isMod ? "has the mod" : `ran the hook, which said ${said}`}: expected ${expected.effect}, found ${effect}`,
  ];
}

function failureOf({ asked, ran, ms }: Traces): JudgedState | undefined {
  const refused = asked.find((request) => request.refused !== undefined)?.refused;
  if (refused !== undefined) return ["refused", `asked for something the scripted model refuses: ${refused}`];
  const had = `it had asked the model ${times({ asked })}`;
  if (ran.ended === "timeout") return ["out of time", `was ended after ${Math.round(ms / 1000)} s; ${had}`];
  const last = ran.stderr.trim().split("\n").at(-1) || "no words on stderr";
  if (asked.length === 0) {
    return ["never asked", `ended with ${ran.code ?? ran.signal} and never asked the model: ${last}`];
  }
  const after = `after ${asked.length} request${asked.length === 1 ? "" : "s"}`;
  if (ran.code === null) return ["crashed", `died by ${ran.signal} ${after}`];
  return ran.code === 0 ? undefined : ["crashed", `ended with ${ran.code} ${after}: ${last}`];
}

function times({ asked: { length } }: Pick<Traces, "asked">): string {
  return length === 1 ? "once" : `${length} times`;
}

function hasResult({ asked }: Traces): boolean {
  return asked.some(({ body }) => JSON.stringify(body).search(RESULT) >= 0);
}

const isTalk = ({ body }: Traces["asked"][number]) => offered(body).length > 0;

/** All that a hook did. `isOwn`: the model read words of the hook. */
function effectsIn(pair: Pair, isOwn: boolean): SeenEffect[] {
  const { event, call, hooked, control, expected: { input } } = pair;
  const effects: SeenEffect[] = [];
  if (call && isCall(event)) {
    const [ran, twin] = [did(pair, hooked), did(pair, control)];
    if (input && did(pair, hooked, input) && !did(pair, control, input)) effects.push("changed");
    else if (!ran && isOwn) effects.push("denied");
    else if (ran && !twin) effects.push("allowed");
  }
  // At a stop only the words of the hook say that the agent was sent back by it.
  if (isOwn && /stop$/.test(event)) effects.push("sent back");
  const more = talk(hooked, event) - talk(control, event);
  if (more < 0 && (event === "pre-compact" || talk(hooked, event) === 0)) effects.push("denied");
  if (more < 0) effects.push("ended");
  return isOwn ? [...effects, "changed"] : effects;
}

/** Whether a hook at an event decides on the call itself. */
function isCall(event: string): boolean {
  return event === "pre-tool-use" || event === "permission-request";
}

/** How often an agent or its sub-agent asked: beside them hosts ask for titles, memories and the like, with other tools or none. */
function talk({ asked }: Traces, event: string): number {
  if (event === "pre-compact") return asked.length;
  const own = offered(asked.find(isTalk)?.body ?? {});
  // An agent gets more tools when it searches for them.
  return asked.filter(({ body }) => {
    const tools = offered(body);
    return tools.length > 0 && (own.every((tool) => tools.includes(tool)) || JSON.stringify(body).includes(TASK));
  }).length;
}

/** Whether the call ran, by what it left: in the words of shells, in the file it is about, or in what the model read. */
function did({ call, template }: Pair, { shells, asked, project }: Traces, given = call!.input): boolean {
  const input = movedTo(project, template, given);
  // Hosts quote a command in their own ways.
  const squeezed = (text: unknown) => String(text).replace(/['"\\\s]+/g, "");
  if (call!.tool === "Bash") return shells.some((words) => squeezed(words).includes(squeezed(input.command)));
  if (call!.tool === "Read") return asked.some(({ body }) => JSON.stringify(body).includes(MARK));
  const path = String(input.file_path);
  return existsSync(path) && readFileSync(path, "utf8").includes(String(input.content ?? input.new_string).trim());
}

/** What the model read that its twin did not, since the first call if there is one; and whether it is of the hook. */
function readBy({ hooked, control, expected, call }: Pair): { readonly line: string; readonly isOwn: boolean } {
  const lines = (asked: Traces["asked"]) =>
    asked.flatMap(({ body: { tools: _, ...body } }) => textsIn(body)).flatMap((text) => text.split("\n"))
      .map((line) => line.replaceAll(/\S*-(?:hooked|control)\b/g, "…").trim());
  const begin = call ? hooked.asked.findIndex(isTalk) + 1 : 0;
  const usual = new Set(lines([...control.asked, ...hooked.asked.slice(0, begin)]));
  const fresh = lines(hooked.asked.slice(begin)).filter((line) => line !== "" && !usual.has(line));
  const own = fresh.find((line) => expected.words.some((text) => line.includes(text.trim().split("\n")[0]!)));
  // Times and ids differ between any two sessions, and the new input of a call is none of its results.
  const shape = (line: string) => line.replace(/[0-9a-f]*\d[0-9a-f.-]*/gi, "#");
  const known = new Set([...usual].map(shape));
  const line = own ?? fresh.find((one) => !known.has(shape(one)) && !one.startsWith("{")) ?? "–";
  return { line: line.length > 200 ? `${line.slice(0, 199)}…` : line, isOwn: own !== undefined };
}

/** Where the answers of hosts hold something new. */
const NEW_VALUES = /"(?:updatedInput|tool_input|modifiedArgs|modifiedResult|modifiedPrompt|updatedToolOutput|value)":/;

/** The answer of a hook in a few words, whatever host it was for. */
export function saidBy({ stdout, code }: HeardHook): string {
  if (code === undefined) return "unfinished";
  const json = parsed(stdout);
  if (code !== 0) return code === 2 ? "deny" : `failed (${code})`;
  if (!isObject(json)) return stdout.trim() === "" ? "continue" : "context";
  const inside = isObject(json.hookSpecificOutput) ? json.hookSpecificOutput : {};
  const all = { ...json, ...inside };
  const { behavior, interrupt } = isObject(inside.decision) ? inside.decision : json;
  const decision = behavior ?? all.permissionDecision ?? json.decision;
  const parts = [
    json.deny !== undefined || decision === "block" ? "deny" : decision === "approve" ? "allow" : decision,
    NEW_VALUES.test(stdout) && "modify",
    ("additionalContext" in all || "context" in all) && "context",
    (json.continue === false || interrupt === true) && "halt",
  ];
  return parts.filter(Boolean).join(", ") || "continue";
}
