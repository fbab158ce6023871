import { systemClock } from "../core/clock.ts";
import { fire } from "../core/dispatch.ts";
import { failurePolicy } from "../core/fold.ts";
import { type AnyEvent, type EventName, EVENTS, type Fired } from "../core/events.ts";
import type { HookEnv, HookRecord } from "../core/hook.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { thrownWords } from "../core/shown.ts";
import type { Opinion } from "../core/verdict.ts";
import { hookEnv } from "../hooks/hook-env.ts";
import { claude } from "../hooks/hosts/claude.ts";
import { codex } from "../hooks/hosts/codex.ts";
import { readEvent } from "../hooks/hosts/read-event.ts";
import { underHostNames } from "../hooks/hosts/fit-record.ts";
import type { LogProblem } from "../transcript/sessions/find-session.ts";
import type { HostSession } from "../transcript/sessions/read-session.ts";
import { fieldsOf, type LoggedCall, type Moment, textIn } from "../transcript/sessions/session-kinds.ts";

/** What a hook would have done, and at what. */
export interface Finding {
  readonly event: EventName;
  /** The tool of a tool event. */
  readonly tool?: string;
  readonly would: "deny" | "ask" | "allow" | "modify" | "halt" | "abort" | "send back" | "say" | "fail";
  readonly reason?: string;
  readonly input?: unknown;
  readonly prompt?: string;
  readonly last_assistant_message?: string;
  readonly session: string;
  readonly lane: string;
  readonly file: string;
  readonly line: number;
  /** When it was logged. */
  readonly at?: string;
}

export interface HookTally {
  readonly hook: string;
  asked: number;
  /** How often it failed. */
  failed: number;
  /** Of these, how often for lack of a program or a file that the session had. */
  missing: number;
  readonly findings: Finding[];
}

const HOSTS = { claude, codex };
/** How programs, runtimes and this say that a program, a file or what it printed is not there. */
const MISSING =
  /\bENOENT\b|No such file or directory|\bnot found\b|Cannot find (?:module|package)|in a backtest as the log|\bFileNotFoundError\b|\bNotFound:/i;

/** Fires hooks over what was recorded in sessions, each by itself, and notes what they would have done: nothing of it is done. */
export class Backtest {
  readonly #hooks: readonly { readonly record: HookRecord; readonly tally: HookTally }[];
  readonly #signal: AbortSignal;
  readonly #since: number;
  readonly fired = { prompt: 0, call: 0, stop: 0 };

  /** Only hooks with a say are asked: the others may write down or send on what happens, as if it happened now. */
  constructor(records: readonly HookRecord[], { signal, since = -Infinity }: { signal: AbortSignal; since?: number }) {
    this.#hooks = records.filter((record) => leftOut(record) === undefined)
      .map((record) => ({ record, tally: { hook: record.name, asked: 0, failed: 0, missing: 0, findings: [] } }));
    this.#signal = signal;
    this.#since = since;
  }

  get tallies(): readonly HookTally[] {
    return this.#hooks.map(({ tally }) => tally);
  }

  /** Gives what could not be played: one moment that cannot takes none of the others away. */
  async play(session: HostSession): Promise<LogProblem[]> {
    const problems: LogProblem[] = [];
    const values = new Map<string, HookEnv["values"]>();
    for (const moment of session.moments) {
      if (moment.at < this.#since) continue;
      if (this.#signal.aborted) break;
      this.fired[moment.kind]++;
      if (!values.has(moment.lane)) values.set(moment.lane, new Map());
      try {
        for (const wire of wireEvents(moment, session)) {
          await this.#fire(wire, moment, session, values.get(moment.lane)!);
        }
      } catch (error) {
        problems.push({ path: moment.path, line: moment.line, why: thrownWords(error) });
      }
    }
    return problems;
  }

  async #fire(wire: JsonObject, moment: Moment, session: HostSession, values: HookEnv["values"]): Promise<void> {
    const heard = readEvent(wire, HOSTS[session.host])!;
    const { fired, toolNames: _, ...ids } = heard;
    const at = Number.isNaN(moment.at) ? Date.now() : moment.at;
    const env = hookEnv({
      ...ids,
      clock: { ...systemClock, now: () => at },
      values,
      signal: this.#signal,
      exec: (command) => {
        throw new Error(`Cannot run '${command}' in a backtest as the log does not have what it would have printed`);
      },
    });
    for (const { record, tally } of this.#hooks) {
      if (!record.on.some(({ event }) => event === fired.event)) continue;
      const { runs: [run], abort } = await fire([underHostNames(record, heard)], { ...fired }, env);
      if (!run || run.skipped !== undefined || this.#signal.aborted) continue;
      const { failure, opinion = {} } = run;
      tally.asked++;
      if (failure !== undefined) tally.failed++;
      if (failure !== undefined && MISSING.test(failure)) tally.missing++;
      const found = failure === undefined ? verdictsOf(opinion, fired, record) : [failed(record, fired, failure)];
      if (abort && opinion.abort === undefined && failure === undefined) found.push(["abort", abort.reason]);
      for (const [would, reason] of found) {
        // What a hook only says changes nothing of what happened.
        if (would !== "say") tally.findings.push(findingOf(would, reason, fired, moment, session));
      }
    }
  }
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
    ...{ would, event, ...(reason !== undefined && { reason }) },
    ...(tool_name !== undefined && { tool: tool_name, input }),
    ...(prompt !== undefined && { prompt }),
    ...(last_assistant_message !== undefined && { last_assistant_message }),
    ...{ session: id, lane, file: path, line, ...(!Number.isNaN(at) && { at: new Date(at).toISOString() }) },
  };
}

type Would = readonly [would: Finding["would"], reason: string | undefined];

/** The verdicts of an answer; one without effect is not reported. */
function verdictsOf(opinion: Opinion, { event }: Pick<AnyEvent, "event">, { mode }: HookRecord): Would[] {
  const { decision, reason, value, halt, abort, contexts = [] } = opinion;
  const found: Would[] = [];
  if (mode === "gate") {
    if (decision === "deny") found.push(...denial(event, reason));
    else if (decision !== undefined) found.push([decision, reason]);
    if (value) found.push(["modify", JSON.stringify(value.to)]);
    if (halt !== undefined) found.push(["halt", halt]);
  }
  if (abort !== undefined) found.push(["abort", abort]);
  for (const { text } of contexts) found.push(["say", text]);
  return found;
}

function denial(event: EventName, reason: string | undefined): Would[] {
  if (EVENTS[event].deny === "ignored") return [];
  return [[event === "stop" ? "send back" : "deny", reason]];
}

/** A failure is not a verdict, but it may refuse or end the run (U7). */
function failed(record: HookRecord, { event }: Pick<AnyEvent, "event">, words: string): Would {
  const policy = record.mode === "gate" ? failurePolicy(record, event) : "continue";
  const [refused] = policy === "deny" ? denial(event, `it failed: ${words}`) : [];
  return refused ?? [policy === "abort" ? "abort" : "fail", policy === "abort" ? `it failed: ${words}` : words];
}

/** Why a hook is not asked; undefined if it is. */
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
    for (
      const { tool_name, tool_input, tool_response } of host === "claude" ? [claudeTool(moment)] : codexTools(moment)
    ) {
      const called = { ...base, tool_name, tool_input, tool_use_id: moment.id };
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

function claudeTool({ name, input, response, result }: LoggedCall): ToolWire {
  return { tool_name: name, tool_input: fieldsOf(input), tool_response: response ?? result };
}

const SHELLS = new Set(["exec_command", "shell", "shell_command", "local_shell_call"]);

/** A call as hooks of Codex see it: shells are `Bash`, a script's commands and patches are calls of their own. */
function codexTools({ name, namespace, input, response, result, nested = [] }: LoggedCall): ToolWire[] {
  const { cmd, command = cmd } = fieldsOf(input);
  const line = Array.isArray(command) ? textIn(command.at(-1)) : textIn(command);
  const tool_name = SHELLS.has(name) ? "Bash" : namespace?.startsWith("mcp__") ? `${namespace}__${name}` : name;
  const tool_input = SHELLS.has(name) ? { command: line } : isObject(input) ? input : { command: textIn(input) };
  return [
    { tool_name, tool_input, tool_response: response ?? result },
    ...nested.map((one) =>
      "command" in one
        ? { tool_name: "Bash", tool_input: { command: one.command }, tool_response: one.output }
        : { tool_name: "apply_patch", tool_input: { command: one.text }, tool_response: "" }
    ),
  ];
}
