import { systemClock } from "../../core/clock.ts";
import { fire } from "../../core/dispatch.ts";
import { failurePolicy } from "../../core/fold.ts";
import { type AnyEvent, type EventName, EVENTS, type Fired } from "../../core/events.ts";
import type { HookEnv, HookRecord } from "../../core/hook.ts";
import { isObject, type JsonObject, objectOf, present } from "../../core/json.ts";
import { thrownWords } from "../../core/shown.ts";
import type { Opinion } from "../../core/verdict.ts";
import { hookEnv } from "../../hooks/hook-env.ts";
import { reaching } from "../../hooks/hosts/channel.ts";
import { claude } from "../../hooks/hosts/claude.ts";
import { codex } from "../../hooks/hosts/codex.ts";
import { ourEvents } from "../../hooks/hosts/read-event.ts";
import { underHostNames } from "../../hooks/hosts/fit-record.ts";
import type { LogProblem } from "../import/sessions/find-session.ts";
import type { HostSession } from "../import/sessions/read-session.ts";
import { type LoggedCall, type Moment, textIn } from "../import/sessions/session-kinds.ts";

/** What a hook would have done, and at what. */
export interface Finding {
  readonly event: EventName;
  readonly tool?: string;
  readonly would: "deny" | "ask" | "allow" | "modify" | "halt" | "abort" | "send back" | "fail";
  readonly reason?: string;
  readonly input?: unknown;
  readonly prompt?: string;
  readonly last_assistant_message?: string;
  readonly session: string;
  readonly lane: string;
  readonly file: string;
  readonly line: number;
  readonly at?: string;
}

export interface HookTally {
  readonly hook: string;
  asked: number;
  failed: number;
  /** Of these, how often for lack of a program or a file that the session had. */
  missing: number;
  readonly findings: Finding[];
}

const HOSTS = { claude, codex };
/** How programs, runtimes and this say that a program, a file or what it printed is not there. */
const MISSING =
  /\bENOENT\b|No such file or directory|\bnot found\b|Cannot find (?:module|package)|in a backtest as the log|\bFileNotFoundError\b|\bNotFound:/i;

export type Backtest = ReturnType<typeof backtestOf>;

/**
 * Fires hooks over what was recorded in sessions, each by itself, and notes what they would have done: nothing of it is done.
 * Only hooks with a say may be given: the others may write down or send on what happens, as if it happened now.
 */
export function backtestOf(
  records: readonly HookRecord[],
  { signal, since }: { readonly signal: AbortSignal; readonly since: number },
) {
  const tallies = records.map(({ name }): HookTally => {
    return { hook: name, asked: 0, failed: 0, missing: 0, findings: [] };
  });
  const fired = { prompt: 0, call: 0, stop: 0 };
  /** Gives what could not be played: one moment that cannot takes none of the others away. */
  const play = async (session: HostSession): Promise<LogProblem[]> => {
    const problems: LogProblem[] = [];
    const values = new Map<string, HookEnv["values"]>();
    for (const moment of session.moments) {
      if (moment.at < since) continue;
      if (signal.aborted) break;
      fired[moment.kind]++;
      if (!values.has(moment.lane)) values.set(moment.lane, new Map());
      try {
        for (const wire of wireEvents(moment, session)) await fireAt(wire, moment, session, values.get(moment.lane)!);
      } catch (error) {
        problems.push({ path: moment.path, line: moment.line, why: thrownWords(error) });
      }
    }
    return problems;
  };
  const fireAt = async (wire: JsonObject, moment: Moment, session: HostSession, values: HookEnv["values"]) => {
    const heard = ourEvents(wire, HOSTS[session.host]);
    const { fired: { event }, toolNames: _, from: __, isOwn: ___, ...ids } = heard[0]!;
    const at = Number.isNaN(moment.at) ? Date.now() : moment.at;
    const env = hookEnv({
      ...ids,
      clock: { ...systemClock, now: () => at },
      values,
      signal,
      exec: (command) => {
        throw new Error(`Cannot run '${command}' in a backtest as the log does not have what it would have printed`);
      },
    });
    for (const [i, record] of records.entries()) {
      if (!record.on.some((on) => on.event === event)) continue;
      const tally = tallies[i]!;
      for (const one of heard) {
        const { fired } = one;
        const { runs: [run], abort, decision } = await fire([underHostNames(record, one)], { ...fired }, env);
        if (!run || run.skipped !== undefined || signal.aborted) continue;
        const { failure, opinion = {} } = run;
        tally.asked++;
        if (failure !== undefined) tally.failed++;
        if (failure !== undefined && MISSING.test(failure)) tally.missing++;
        const found = failure === undefined ? verdictsOf(opinion, fired) : [failed(record, fired, failure)];
        if (abort && opinion.abort === undefined && failure === undefined) found.push(["abort", abort.reason]);
        tally.findings.push(...found.map(([would, reason]) => findingOf(would, reason, fired, moment, session)));
        if (abort || decision === "deny") break;
      }
    }
  };
  return { tallies, fired, play };
}

function findingOf(
  would: Finding["would"],
  reason: string | undefined,
  fired: Fired,
  { path, line, lane, at }: Moment,
  { id }: HostSession,
): Finding {
  const { event, tool_name, input, prompt, last_assistant_message } = fired as Fired & { [field: string]: any };
  return {
    ...present({ would, event, reason, ...(tool_name !== undefined && { tool: tool_name, input }) }),
    ...present({ prompt, last_assistant_message }),
    ...{ session: id, lane, file: path, line, ...(!Number.isNaN(at) && { at: new Date(at).toISOString() }) },
  };
}

type BacktestVerdict = readonly [would: Finding["would"], reason: string | undefined];

/** The verdicts of an answer; one without effect, as what a hook only says, is not reported. */
function verdictsOf(
  { decision, reason, value, halt, abort }: Opinion,
  { event }: Pick<AnyEvent, "event">,
): BacktestVerdict[] {
  const found: BacktestVerdict[] = [];
  if (decision === "deny") found.push(...denial(event, reason));
  else if (decision !== undefined) found.push([decision, reason]);
  if (value) found.push(["modify", JSON.stringify(value.to)]);
  if (halt !== undefined) found.push(["halt", halt]);
  if (abort !== undefined) found.push(["abort", abort]);
  return found;
}

function denial(event: EventName, reason: string | undefined): BacktestVerdict[] {
  if (EVENTS[event].deny === "ignored") return [];
  return [[event === "stop" ? "send back" : "deny", reason]];
}

/** A failure is not a verdict, but it may refuse or end the run (U7). */
function failed(record: HookRecord, { event }: Pick<AnyEvent, "event">, words: string): BacktestVerdict {
  const policy = failurePolicy(record, event);
  const [refused] = policy === "deny" ? denial(event, `it failed: ${words}`) : [];
  return refused ?? [policy === "abort" ? "abort" : "fail", policy === "abort" ? `it failed: ${words}` : words];
}

export function leftOut({ mode, kind, enabled }: HookRecord): string | undefined {
  if (!enabled) return "it is switched off";
  if (mode !== "gate") return "it has no say";
  return kind === "prompt" ? "it asks a model" : kind === "http" ? "it asks a server" : undefined;
}

/** A moment as its host would have described it to hooks. */
function* wireEvents(moment: Moment, { host, id, path, logs }: HostSession): Generator<JsonObject> {
  const { lane, cwd, turn, mode = "default" } = moment;
  const { agent, agentType } = logs.find((log) => log.lane === lane)!;
  const base = {
    ...{ session_id: id, transcript_path: path, cwd, prompt_id: turn, permission_mode: mode },
    ...(lane !== "main" && { agent_id: agent ?? lane, agent_type: agentType ?? "" }),
  };
  if (moment.kind === "prompt") yield { ...base, hook_event_name: "UserPromptSubmit", prompt: moment.text };
  else if (moment.kind === "stop") {
    const hook_event_name = lane === "main" ? "Stop" : "SubagentStop";
    yield { ...base, hook_event_name, stop_hook_active: moment.active, last_assistant_message: moment.text };
  } else {
    const { name, input, response = moment.result } = moment;
    const own: ToolWire = { tool_name: name, tool_input: objectOf(input), tool_response: response };
    for (const { tool_response, ...tool } of host === "claude" ? [own] : codexTools(moment)) {
      const called = { ...base, ...tool, tool_use_id: moment.id };
      yield { ...called, hook_event_name: "PreToolUse" };
      const { outcome, result } = moment;
      if (outcome === "ok" || (outcome === "error" && host === "codex")) {
        yield { ...called, hook_event_name: "PostToolUse", tool_response };
      } else if (outcome === "error") yield { ...called, hook_event_name: "PostToolUseFailure", error: result };
    }
  }
}

interface ToolWire {
  readonly tool_name: string;
  readonly tool_input: JsonObject;
  readonly tool_response: unknown;
}

const [PATCHES] = reaching(codex.channels, (ours) => ours === "Edit");
const SHELLS = new Set(["exec_command", "shell", "shell_command", "local_shell_call"]);

/** A call as hooks of Codex see it: shells are `Bash`, a script's commands and patches are calls of their own. */
export function codexTools({ name, namespace, input, response, result, nested = [] }: LoggedCall): ToolWire[] {
  const { cmd, command = cmd } = objectOf(input);
  const line = Array.isArray(command) ? textIn(command.at(-1)) : textIn(command);
  const tool_name = SHELLS.has(name) ? "Bash" : namespace?.startsWith("mcp__") ? `${namespace}__${name}` : name;
  const tool_input = SHELLS.has(name) ? { command: line } : isObject(input) ? input : { command: textIn(input) };
  return [
    { tool_name, tool_input, tool_response: response ?? result },
    ...nested.map((one) =>
      "command" in one
        ? { tool_name: "Bash", tool_input: { command: one.command }, tool_response: one.output }
        : { tool_name: PATCHES!, tool_input: { command: one.text }, tool_response: "" }
    ),
  ];
}
