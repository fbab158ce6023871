/**
 * What runs inside Claude Code: hooks as the handlers of a mod's events. It is bundled with them, and the program takes
 * no code that names a builtin, so nothing here does; what `$` of the program can do comes as closures.
 */
import { systemClock } from "../../core/clock.ts";
import { fire } from "../../core/dispatch.ts";
import type { AnyEvent, EventOf } from "../../core/events.ts";
import { type Folded, NOTHING } from "../../core/fold.ts";
import type { HookEnv, HookRecord } from "../../core/hook.ts";
import { claude, claudeResult } from "../hosts/claude.ts";
import { fitted } from "../hosts/fit-record.ts";
import type { Host } from "../hosts/host.ts";
import { readEvent } from "../hosts/read-event.ts";
import { diskOf, type Engine, ownTime, watched } from "./engine.ts";
import { boundTo, type ModHook, recordOf } from "./records.ts";

type Fields = { readonly [field: string]: unknown };
type Event = Fields & { readonly tool?: string; readonly agentId?: string; readonly turnId?: string };
type Next = (e: unknown) => Promise<Fields>;

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

let records: readonly HookRecord[] = [];

export function load(hooks: readonly ModHook[]): void {
  records = hooks.map(recordOf);
}

const sequence = { next: 0 };
const values = new Map<string, Map<string, unknown>>();

/** Asks the hooks of an event, which is in the form of a settings hook's stdin. */
async function ask(wire: Fields, given: Engine): Promise<{ folded: Folded; event: AnyEvent }> {
  const heard = readEvent(wire, MOD);
  if (!heard) return { folded: NOTHING, event: {} as AnyEvent };
  const { fired, toolNames: _, ...ids } = heard;
  const engine = watched(given);
  const kept = values.get(ids.session_id) ?? new Map<string, unknown>();
  values.set(ids.session_id, kept);
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
  const asked = records.map((record) => {
    const bound = ownTime(boundTo(record, engine, wire), engine);
    return { ...fitted(bound, heard, MOD), mode: record.mode };
  });
  const folded = await fire(asked, { ...fired }, env);
  for (const line of [...folded.warnings, ...folded.systemMessages.map(({ text }) => text)]) engine.log(line);
  return { folded, event: fired as AnyEvent };
}

/** The end of the run, if a hook wants it. */
function endOf({ abort, halt }: Folded): string | undefined {
  return (abort ?? halt)?.reason;
}

/** Why something is refused: a denial takes along what hooks said beside it. */
function refusal(folded: Folded): string {
  const { deniedBy, runs, reason } = folded;
  const failure = runs.find(({ hook }) => hook === deniedBy)?.failure;
  const why = failure === undefined ? reason : `Hook ${deniedBy} failed, so this is refused: ${failure}`;
  return [why ?? "Refused by a hook", ...texts(folded)].join("\n");
}

function texts({ contexts }: Folded): string[] {
  return contexts.map(({ text }) => text);
}

/** Fields of a `tool.call` that are not the tool's; those of the tool with such names are in `$shadowed`. */
const OWN = ["tool", "tool_use_id", "agentId", "requestMeta", "consent", "$shadowed"];

/** The flat input of `tool.call` as the tool's own input. */
export function inputOf(e: Fields): Fields {
  const rest = Object.entries(e).filter(([key]) => !OWN.includes(key));
  return { ...Object.fromEntries(rest), ...e.$shadowed as Fields | undefined };
}

/** A tool's input as the event that `next` takes: the inverse of `inputOf`. */
export function flat(e: Fields, input: Fields): Fields {
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

export function turnStart(e: Event, next: Next): Promise<Fields> {
  turns.set(e.agentId ?? "", e.turnId!);
  return next(e);
}

async function endTurn(e: Event, engine: Engine): Promise<void> {
  await engine.abort({ turnId: turns.get(e.agentId ?? "") });
}

async function baseOf(e: Event, engine: Engine): Promise<Fields> {
  const { id, cwd } = await engine.session();
  return { session_id: id, cwd, ...(e.agentId !== undefined && { agent_id: e.agentId }) };
}

export async function toolCall(e: Event, next: Next, engine: Engine): Promise<Fields> {
  const base = await baseOf(e, engine);
  const call = { tool_name: e.tool, tool_use_id: e.tool_use_id };
  const wire = { ...base, hook_event_name: "PreToolUse", ...call, tool_input: inputOf(e) };
  const { folded: pre } = await ask(wire, engine);
  const end = endOf(pre);
  if (end !== undefined) await endTurn(e, engine);
  if (end !== undefined) return { deny: end || "The run ends here" };
  if (pre.decision === "deny") return { deny: refusal(pre) };
  const given = pre.modified ? flat(e, pre.value as Fields) : e;
  if (pre.decision !== "continue") verdicts.set(e.tool_use_id, pre);
  const start = Date.now();
  const ran = await next(given).finally(() => verdicts.delete(e.tool_use_id));
  if (ran.deny !== undefined) return ran;
  const failed = ran.isError === true;
  const after = failed ? { error: ran.text } : { tool_response: ran.result };
  const name = failed ? "PostToolUseFailure" : "PostToolUse";
  const done = { ...base, hook_event_name: name, ...call, tool_input: inputOf(given), ...after };
  const { folded: post, event } = await ask({ ...done, duration_ms: Date.now() - start }, engine);
  if (endOf(post) !== undefined) await endTurn(e, engine);
  const isNew = post.modified && post.value !== null;
  const out = isNew ? { result: claudeResult(post.value, event as EventOf<"post-tool-use">) } : ran;
  // A denial after the call would hide the result: the reason goes beside it.
  const said = [...texts(pre), ...post.decision === "deny" ? [refusal(post)] : texts(post)];
  return said.length > 0 ? { ...out, context: [...(ran.context ?? []) as string[], ...said] } : out;
}

export async function toolCheck(e: Event, next: Next, engine: Engine): Promise<Fields> {
  const below = await next(e);
  const said = verdicts.get(e.tool_use_id);
  const { decision = "continue", reason } = below.decision === "deny" ? {} : said ?? {};
  const verdict = decision === "continue" ? below : { decision, ...(reason !== undefined && { reason }) };
  if (verdict.decision !== "ask") return verdict;
  const call = { tool_name: e.tool, tool_input: e.input, tool_use_id: e.tool_use_id };
  const wire = { ...await baseOf(e, engine), hook_event_name: "PermissionRequest", ...call };
  const { folded } = await ask(wire, engine);
  const end = endOf(folded);
  if (end !== undefined) await endTurn(e, engine);
  if (end !== undefined || folded.decision === "deny") return { decision: "deny", reason: end || refusal(folded) };
  return folded.decision === "allow" ? { decision: "allow" } : verdict;
}

/** Whether the program itself says that sessions start: it does not on a machine with managed settings. */
let startHeard = false;
let started = "";

export async function promptSubmit(e: Event, next: Next, engine: Engine): Promise<Fields> {
  const base = await baseOf(e, engine);
  await sessionStart(e, async () => ({}), engine);
  const said: string[] = [];
  if (!startHeard && started !== base.session_id) {
    const source = started === "" ? "startup" : "clear";
    said.push(...texts((await ask({ ...base, hook_event_name: "SessionStart", source }, engine)).folded));
  }
  started = base.session_id as string;
  const { folded } = await ask({ ...base, hook_event_name: "UserPromptSubmit", prompt: e.text }, engine);
  const end = endOf(folded);
  if (end !== undefined || folded.decision === "deny") return { drop: end || refusal(folded) };
  said.push(...texts(folded));
  // A command that a person typed stays as it was typed.
  const text = folded.modified && e.command === undefined ? { text: folded.value } : {};
  return await next({
    ...e,
    ...text,
    ...(said.length > 0 && { context: [...(e.context ?? []) as string[], ...said] }),
  });
}

/** Marks the session as one in which the mod is loaded: `/clear` begins another without an event. */
export async function sessionStart(e: Event, next: Next, engine: Engine): Promise<Fields> {
  await engine.mark((await engine.session()).id);
  return await next(e);
}

let stopHeard = false;
let sentBack = 0;

/** An event in the form of a settings hook's, which is skipped on a machine with managed settings. */
export async function classic(e: Event, next: Next, engine: Engine): Promise<Fields> {
  const name = e.hook_event_name;
  if (name === "SessionStart") startHeard = true;
  if (name === "Stop") stopHeard = true;
  const { folded } = await ask(e, engine);
  const end = endOf(folded);
  if (end !== undefined) return { preventContinuation: true, ...(end !== "" && { stopReason: end }) };
  const said = texts(folded);
  // Words at a stop are a reason to go on.
  if (folded.decision === "deny" || name === "Stop" && said.length > 0) {
    return { block: folded.decision === "deny" ? refusal(folded) : said.join("\n") };
  }
  if (folded.decision === "ask") return { permissionDecision: "ask", permissionDecisionReason: folded.reason ?? "" };
  const below = await next(e);
  if (said.length === 0) return below;
  return { ...below, additionalContext: [...(below.additionalContext ?? []) as string[], ...said] };
}

/** As often as the program lets a Stop hook send the agent back. */
const MOST_SENT_BACK = 8;

/** Stands in for `classic.Stop` where that does not come. */
export async function turnComplete(e: Event, next: Next, engine: Engine): Promise<Fields> {
  const done = await next(e);
  if (stopHeard || e.agentId !== undefined || e.reason !== "answer") {
    stopHeard = false;
    return done;
  }
  const stop = { stop_hook_active: sentBack > 0, last_assistant_message: e.answer };
  const { folded } = await ask({ ...await baseOf(e, engine), hook_event_name: "Stop", ...stop }, engine);
  const goesOn = endOf(folded) === undefined && (folded.decision === "deny" || folded.contexts.length > 0);
  sentBack = goesOn && sentBack < MOST_SENT_BACK ? sentBack + 1 : 0;
  if (sentBack > 0) {
    await engine.submit({ text: folded.decision === "deny" ? refusal(folded) : texts(folded).join("\n") });
  }
  return done;
}

export async function compact(e: Event, next: Next, engine: Engine): Promise<Fields> {
  // A summary that is only prepared is none that a person or the limit asked for.
  if (e.trigger === "precompute") return await next(e);
  const about = { trigger: e.trigger, custom_instructions: e.instructions ?? "" };
  const { folded } = await ask({ ...await baseOf(e, engine), hook_event_name: "PreCompact", ...about }, engine);
  const end = endOf(folded);
  return end !== undefined || folded.decision === "deny" ? { skip: end || refusal(folded) } : await next(e);
}

export async function sessionEnd(e: Event, next: Next, engine: Engine): Promise<Fields> {
  const base = await baseOf(e, engine);
  const session_id = e.sessionId ?? base.session_id;
  await ask({ ...base, session_id, hook_event_name: "SessionEnd", reason: e.reason }, engine);
  values.delete(session_id as string);
  return await next(e);
}
