// Loaded before a fake clock is started: while it loads nothing happens, and the clock would take that for a long wait.
import "@cfworker/json-schema";
import type { Engine } from "../../lib/agent/engine.ts";
import { boxesOf } from "../../lib/agent/spawn.ts";
import * as steps from "../../lib/agent/steps.ts";
import { type CodeHooks, codeHooks, joinedHooks, liveHooks } from "../../lib/hooks/code-hooks.ts";
import type { AnyEvent } from "../../lib/core/events.ts";
import type { HookContext, HookRecord } from "../../lib/core/hook.ts";
import { type AgentSpec, newSessionState, type SessionState } from "../../lib/core/run.ts";
import type { Limits } from "../../lib/core/limits.ts";
import { limitsOf, limitWarning } from "../../lib/agent/given-limits.ts";
import type { Block, Message } from "../../lib/core/messages.ts";
import type { Model, ModelRequest } from "../../lib/core/model.ts";
import { expectEvent } from "../../lib/input/nearest.ts";
import type { Result, RunEvent } from "../../lib/core/run-events.ts";
import { openSession } from "../../lib/agent/session.ts";
import type { Effect, Tool, ToolContext, ToolReturn } from "../../lib/core/tool.ts";
import { type PermissionGate, permitter } from "../../lib/permissions/gate.ts";
import { tool } from "../../lib/tools/make-tool.ts";
import type { ScriptEntry } from "../../lib/models/scripted.ts";
import { scripted, type ScriptedReply } from "../../lib/testing/index.ts";
import { type FakeClock, fakeClock } from "./_clock.ts";

export interface Setting
  extends
    Partial<Omit<AgentSpec, "model" | "limits" | "hooks" | "tools" | "permit">>,
    Partial<Pick<PermissionGate, "permit" | "askPerson">> {
  readonly model: Model;
  readonly tools?: readonly Tool[];
  readonly hooks?: CodeHooks | readonly CodeHooks[];
  /** In place of `hooks`: asked each time. */
  readonly records?: (again?: boolean) => readonly HookRecord[];
  readonly limits?: Partial<Limits>;
  readonly state?: Partial<SessionState>;
  /** Runs the calls as its steps. */
  readonly engine?: Engine;
  /** Called with each event as it is emitted. */
  readonly on?: (event: RunEvent) => void;
}

export interface Stage {
  readonly session: ReturnType<typeof openSession>;
  readonly state: SessionState;
  readonly clock: FakeClock;
  readonly events: RunEvent[];
  /** Prompts once and closes. */
  run(prompt?: string, signal?: AbortSignal): Promise<Result>;
  /** The texts of the warnings. */
  warnings(): string[];
}

/** An agent as the loop sees it, with a clock that jumps and everything written down. */
export function stage(setting: Setting): Stage {
  const { model, tools = [], hooks = [], records, limits, state: given, on, engine, permit, askPerson, ...rest } =
    setting;
  const clock = fakeClock();
  const events: RunEvent[] = [];
  const compiled = joinedHooks(liveHooks((Array.isArray(hooks) ? hooks : [hooks]) as CodeHooks[]));
  const state = newSessionState({
    id: "session-1",
    model: "claude-test",
    cwd: () => "/srv",
    clock,
    emit: (event) => {
      events.push(event);
      on?.(event);
    },
    ...(engine && boxesOf(steps, undefined).boxes),
    ...given,
  });
  // A run without end would never let a timer fire: nothing here waits for the machine.
  let asked = 0;
  const bounded: Model = (request, signal) => {
    if (++asked > MOST_CALLS) throw new Error(`The model was called more than ${MOST_CALLS} times`);
    return model(request, signal);
  };
  const gate = { ...(permit && { permit }), ...(askPerson && { askPerson }) };
  const spec: AgentSpec = {
    type: "tester",
    ...((permit ?? askPerson) && { permit: permitter(gate) }),
    model: bounded,
    system: "You test.",
    tools,
    limits: limitsOf(limits),
    limitWarning,
    maxTokens: 1000,
    hooks: (again) => records ? { records: records(again) } : compiled,
    ...(engine && { around: steps.stepsOn(engine) }),
    ...rest,
  };
  const session = openSession(spec, state, { source: "startup" });
  return {
    session,
    state,
    clock,
    events,
    async run(prompt = "go", signal) {
      try {
        return await session.prompt(prompt, signal ? { signal } : {});
      } finally {
        await session.close();
      }
    },
    warnings: () => events.flatMap((e) => e.type === "warning" ? [e.message] : []),
  };
}

/** A stage of a model that says this, prompted once: with that model and the Result. */
export async function played(replies: readonly ScriptEntry[], setting: Omit<Setting, "model">) {
  const model = scripted(replies);
  const made = stage({ tools: [echo], ...setting, model });
  return { ...made, model, result: await made.run() };
}

const MOST_CALLS = 300;

const ANY_INPUT = { type: "object", properties: { say: { type: "string" } } };

/** A tool that takes `{ say? }` and does what `say` says. */
export function act(
  name: string,
  effect: Effect,
  run: (input: { say?: string }, context: ToolContext) => ToolReturn | Promise<ToolReturn>,
): Tool {
  return tool<{ say?: string }>({ name, description: `${name}.`, input: ANY_INPUT, effect, run });
}

/** Says what it is given. */
export const echo = act("Echo", "read", ({ say = "" }) => say);
/** As Echo, but it counts as a change of the world. */
export const write = act("Write", "write", ({ say = "" }) => `wrote ${say}`);
/** Gives an error result. */
export const fail = act("Fail", "read", ({ say = "failed" }) => ({ content: say, isError: true }));
/** Throws. */
export const boom = act("Boom", "read", ({ say = "boom" }) => {
  throw new RangeError(say);
});

/** A reply that calls tools: `calls(["Echo", "a"], ["Write", "b"])`. */
export function calls(...wanted: readonly (readonly [name: string, say?: string])[]): ScriptedReply {
  return {
    tools: wanted.map(([name, say]) => ({ name, input: say === undefined ? {} : { say } })),
  };
}

/** A hook object that writes down every event it gets, tool events with their tool. */
export function watch(seen: string[], only?: (event: AnyEvent) => boolean): CodeHooks {
  return {
    name: "watch",
    onEvent(event) {
      if (only && !only(event)) return;
      seen.push("tool_name" in event ? `${event.event} ${event.tool_name}` : event.event);
    },
  };
}

/** A hook record with everything given or sensible. */
export function record(given: Partial<HookRecord> & Pick<HookRecord, "name" | "on" | "run">): HookRecord {
  const [base] = codeHooks([() => undefined]);
  return { ...base!, ...given };
}

/** A hook of one event under a name of its own. */
export function named(
  name: string,
  event: string,
  run: (event: any, ctx: HookContext) => unknown,
  given: Partial<HookRecord> = {},
): HookRecord {
  return record({ name, on: [expectEvent(event)], run, ...given });
}

/** What is fired before the first model call of a session. */
export const OPENING = ["session-start", "user-prompt-submit", "agent-start", "turn-start"];

/** The block in which the model reads what a hook said. */
export const said = (hook: string, text: string) =>
  `<system-reminder>\nContext from hook ${hook}: ${text}\n</system-reminder>`;

/** What the last message of a request says. */
export const last = (request: ModelRequest | undefined) => shown(request!.messages.at(-1));

/** What a message says, block by block: texts, and tool_results as `id: content`. */
export function shown(message: Message | undefined): string[] {
  return (message?.content ?? []).map((block: Block) => {
    const b = block as { type: string; text?: string; tool_use_id?: string; content?: unknown };
    if (b.type === "text") return b.text!;
    if (b.type === "tool_result") return `${b.tool_use_id}: ${JSON.stringify(b.content)}`;
    return b.type;
  });
}

/** The content of each tool_result, in order. */
export function results(messages: readonly Message[]): { content: unknown; is_error: boolean }[] {
  return messages.flatMap((m) =>
    m.content.flatMap((b) => {
      if (b.type !== "tool_result") return [];
      const { content, is_error = false } = b as { content: unknown; is_error?: boolean };
      return [{ content, is_error }];
    })
  );
}

/** Fails a test that would otherwise wait forever. */
export async function within<T>(work: Promise<T>, seconds = 180): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It does not end within ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
