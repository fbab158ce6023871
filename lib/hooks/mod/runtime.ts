/**
 * What runs inside Claude Code: hooks as the handlers of a mod's events. It is bundled with them, and the program takes
 * no code that names a builtin, so nothing here does; what `$` of the program can do comes as closures.
 */
import { systemClock } from "../../core/clock.ts";
import { fire } from "../../core/dispatch.ts";
import type { AnyEvent, EventOf } from "../../core/events.ts";
import { type Folded, NOTHING } from "../../core/fold.ts";
import type { HookEnv } from "../../core/hook.ts";
import { askEach } from "../hosts/ask-each.ts";
import { claude, claudeResult } from "../hosts/claude.ts";
import { fitted } from "../hosts/fit-record.ts";
import type { Host } from "../hosts/host.ts";
import { ourEvents } from "../hosts/read-event.ts";
import { diskOf, type ModEngine, ownTime, watched } from "./mod-engine.ts";
import { type Bound, boundHook, type ModHook } from "./records.ts";
import { type JsonObject, present } from "../../core/json.ts";
import { getOrMake } from "../../core/maps.ts";

type Event = JsonObject & { readonly tool?: string; readonly agentId?: string; readonly turnId?: string };
type Next = (e: unknown) => Promise<JsonObject>;

const { events } = claude;

/** Where a mod can do more or less than a command of the settings. */
const MOD: Host = {
  ...claude,
  events: {
    ...events,
    UserPromptSubmit: { ...events.UserPromptSubmit!, can: ["deny", "modify", "context", "halt"] },
    PermissionRequest: { ...events.PermissionRequest!, can: ["deny", "allow", "halt"] },
    Stop: { ...events.Stop!, can: ["deny", "context", "halt"] },
  },
};

let hooks: readonly Bound[] = [];

export function load(given: readonly ModHook[]): void {
  hooks = given.map(boundHook);
}

const sequence = { next: 0 };
const values = new Map<string, Map<string, unknown>>();

/** Asks the hooks of an event, which is in the form of a settings hook's stdin. */
async function ask(wire: JsonObject, given: ModEngine): Promise<{ folded: Folded; event: AnyEvent }> {
  const heard = ourEvents(wire, MOD);
  const [first] = heard;
  if (!first) return { folded: NOTHING, event: {} as AnyEvent };
  const { fired: event, toolNames: _, from: __, isOwn: ___, ...ids } = first;
  const engine = watched(given);
  const kept = getOrMake(values, ids.session_id, () => new Map());
  const env: HookEnv = {
    ...ids,
    ...{ sequence, values: kept, clock: systemClock, signal: engine.signal },
    exec: async (command, args, { cwd }) => {
      const { exitCode, stdout, stderr } = await engine.run([command, ...args], { cwd });
      return { code: exitCode, stdout, stderr };
    },
    files: async (cwd) => diskOf(engine, cwd),
    log: (hook, message) => engine.log(`${hook}: ${message}`),
  };
  const folded = await askEach(heard, MOD, (one) => {
    const { fired } = one;
    const called = "tool_name" in fired ? { ...wire, tool_name: fired.tool_name } : wire;
    return fire(hooks.map((bound) => fitted(ownTime(bound(engine, called), engine), one, MOD)), { ...fired }, env);
  });
  for (const line of [...folded.warnings, ...folded.systemMessages.map(({ text }) => text)]) engine.log(line);
  return { folded, event: event as AnyEvent };
}

function ends({ abort, halt }: Folded): boolean {
  return abort !== undefined || halt !== undefined;
}

/** Why what the event is about must not happen, with what hooks said beside it; undefined if it may. */
function against({ abort, halt, decision, deniedBy, runs, reason, contexts }: Folded): string | undefined {
  const end = abort ?? halt;
  if (end) return end.reason || "The run ends here";
  if (decision !== "deny") return undefined;
  const failure = runs.find(({ hook }) => hook === deniedBy)?.failure;
  const why = failure === undefined ? reason! : `Hook ${deniedBy} failed, so this is refused: ${failure}`;
  return [why, ...texts({ contexts })].join("\n");
}

function texts({ contexts }: Pick<Folded, "contexts">): string[] {
  return contexts.map(({ text }) => text);
}

/** A list of texts with more at its end, as a field that is absent if there are none. */
function joined(field: string, old: unknown, more: readonly string[]): JsonObject {
  return more.length > 0 ? { [field]: [...(old ?? []) as string[], ...more] } : {};
}

/** Fields of a `tool.call` that are not the tool's; those of the tool with such names are in `$shadowed`. */
const OWN = ["tool", "tool_use_id", "agentId", "requestMeta", "consent", "$shadowed"];

/** The flat input of `tool.call` as the tool's own input. */
export function inputOf(e: JsonObject): JsonObject {
  const rest = Object.entries(e).filter(([key]) => !OWN.includes(key));
  return { ...Object.fromEntries(rest), ...e.$shadowed as JsonObject | undefined };
}

/** A tool's input as the event that `next` takes: the inverse of `inputOf`. */
export function flat(e: JsonObject, input: JsonObject): JsonObject {
  const kept = Object.entries(e).filter(([key]) => OWN.includes(key) && key !== "$shadowed");
  const shadowed = Object.entries(input).filter(([key]) => OWN.includes(key));
  const rest = Object.entries(input).filter(([key]) => !OWN.includes(key));
  return {
    ...Object.fromEntries([...rest, ...kept]),
    ...(shadowed.length > 0 && { $shadowed: Object.fromEntries(shadowed) }),
  };
}

/** The current turn of each agent, which a halt ends. */
const turns = new Map<string, string>();
/** What hooks said of a call before its permission was checked. */
const verdicts = new Map<unknown, Folded>();

export function turnStart(e: Event, next: Next): Promise<JsonObject> {
  turns.set(e.agentId ?? "", e.turnId!);
  return next(e);
}

async function endTurn(e: Event, engine: ModEngine, folded: Folded): Promise<void> {
  if (ends(folded)) await engine.abort({ turnId: turns.get(e.agentId ?? "") });
}

async function baseOf(e: Event, engine: ModEngine): Promise<JsonObject> {
  const { id, cwd } = await engine.session();
  return present({ session_id: id, cwd, agent_id: e.agentId });
}

export async function toolCall(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  const base = await baseOf(e, engine);
  const call = { tool_name: e.tool, tool_use_id: e.tool_use_id };
  const wire = { ...base, hook_event_name: "PreToolUse", ...call, tool_input: inputOf(e) };
  const { folded: pre } = await ask(wire, engine);
  await endTurn(e, engine, pre);
  const deny = against(pre);
  if (deny !== undefined) return { deny };
  const given = pre.modified ? flat(e, pre.value as JsonObject) : e;
  if (pre.decision !== "continue") verdicts.set(e.tool_use_id, pre);
  const start = Date.now();
  const ran = await next(given).finally(() => verdicts.delete(e.tool_use_id));
  if (ran.deny !== undefined) return ran;
  const name = ran.isError ? "PostToolUseFailure" : "PostToolUse";
  const after = ran.isError ? { error: ran.text } : { tool_response: ran.result };
  const done = { ...base, hook_event_name: name, ...call, tool_input: inputOf(given), ...after };
  const { folded: post, event } = await ask({ ...done, duration_ms: Date.now() - start }, engine);
  await endTurn(e, engine, post);
  const isNew = post.modified && post.value !== null;
  const out = isNew ? { result: claudeResult(post.value, event as EventOf<"post-tool-use">) } : ran;
  // A denial after the call would hide the result: the reason goes beside it.
  const said = post.decision === "deny" ? [against(post)!] : texts(post);
  return { ...out, ...joined("context", ran.context, [...texts(pre), ...said]) };
}

export async function toolCheck(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  const below = await next(e);
  const { decision = "continue", reason } = below.decision === "deny" ? {} : verdicts.get(e.tool_use_id) ?? {};
  const verdict = decision === "continue" ? below : { decision, ...(reason !== undefined && { reason }) };
  if (verdict.decision !== "ask") return verdict;
  const call = { tool_name: e.tool, tool_input: e.input, tool_use_id: e.tool_use_id };
  const { folded } = await ask({ ...await baseOf(e, engine), hook_event_name: "PermissionRequest", ...call }, engine);
  await endTurn(e, engine, folded);
  const no = against(folded);
  return no !== undefined
    ? { decision: "deny", reason: no }
    : folded.decision === "allow"
    ? { decision: "allow" }
    : verdict;
}

/** Whether the program itself says that sessions start: it does not on a machine with managed settings. */
let startHeard = false;
let started = "";

export async function promptSubmit(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  const base = await baseOf(e, engine);
  await engine.mark(base.session_id as string);
  const said: string[] = [];
  if (!startHeard && started !== base.session_id) {
    const source = started === "" ? "startup" : "clear";
    said.push(...texts((await ask({ ...base, hook_event_name: "SessionStart", source }, engine)).folded));
  }
  started = base.session_id as string;
  const { folded } = await ask({ ...base, hook_event_name: "UserPromptSubmit", prompt: e.text }, engine);
  const drop = against(folded);
  if (drop !== undefined) return { drop };
  // A command that a person typed stays as it was typed.
  const text = folded.modified && e.command === undefined ? { text: folded.value } : {};
  return await next({ ...e, ...text, ...joined("context", e.context, [...said, ...texts(folded)]) });
}

/** Marks the session as one in which the mod is loaded: `/clear` begins another without an event. */
export async function sessionStart(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  await engine.mark((await engine.session()).id);
  return await next(e);
}

let stopHeard = false;
let sentBack = 0;

/** Why the agent goes on though it wants to stop: words at a stop are a reason too. */
function sendsBack(folded: Folded): string | undefined {
  return ends(folded) ? undefined : against(folded) ?? (texts(folded).join("\n") || undefined);
}

/** An event in the form of a settings hook's, which is skipped on a machine with managed settings. */
export async function classic(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  const name = e.hook_event_name;
  if (name === "SessionStart") startHeard = true;
  if (name === "Stop") stopHeard = true;
  const { folded } = await ask(e, engine);
  if (ends(folded)) return { preventContinuation: true, stopReason: against(folded) };
  const block = name === "Stop" ? sendsBack(folded) : against(folded);
  if (block !== undefined) return { block };
  if (folded.decision === "ask") return { permissionDecision: "ask", permissionDecisionReason: folded.reason ?? "" };
  const below = await next(e);
  return { ...below, ...joined("additionalContext", below.additionalContext, texts(folded)) };
}

/** As often as the program lets a Stop hook send the agent back. */
const MOST_SENT_BACK = 8;

/** Stands in for `classic.Stop` where that does not come. */
export async function turnComplete(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  const done = await next(e);
  if (e.agentId !== undefined) return done;
  const isHeard = stopHeard;
  stopHeard = false;
  if (isHeard || e.reason !== "answer") return done;
  const stop = { stop_hook_active: sentBack > 0, last_assistant_message: e.answer };
  const { folded } = await ask({ ...await baseOf(e, engine), hook_event_name: "Stop", ...stop }, engine);
  const text = sentBack < MOST_SENT_BACK ? sendsBack(folded) : undefined;
  sentBack = text === undefined ? 0 : sentBack + 1;
  if (text !== undefined) await engine.submit({ text });
  return done;
}

export async function sessionCompact(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  // What is only prepared may never be used.
  if (e.trigger === "precompute") return await next(e);
  const about = { trigger: e.trigger, custom_instructions: e.instructions ?? "" };
  const { folded } = await ask({ ...await baseOf(e, engine), hook_event_name: "PreCompact", ...about }, engine);
  const skip = against(folded);
  return skip === undefined ? await next(e) : { skip };
}

export async function sessionEnd(e: Event, next: Next, engine: ModEngine): Promise<JsonObject> {
  const base = await baseOf(e, engine);
  const session_id = (e.sessionId ?? base.session_id) as string;
  await ask({ ...base, session_id, hook_event_name: "SessionEnd", reason: e.reason }, engine);
  values.delete(session_id);
  return await next(e);
}
