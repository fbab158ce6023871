import fc from "fast-check";
import type { EventName } from "../../lib/core/events.ts";
import { EVENTS } from "../../lib/core/events.ts";
import type { HookContext, HookRecord } from "../../lib/core/hook.ts";
import type { Limits } from "../../lib/core/limits.ts";
import { assistant, user } from "../../lib/core/messages.ts";
import type { Tool, ToolContext } from "../../lib/core/tool.ts";
import { scripted, type ScriptedReply, type ScriptEntry } from "../../lib/testing/index.ts";
import type { FakeClock } from "./_clock.ts";
import { act, record, type Setting, type Stage, stage } from "./_stage.ts";

/**
 * A world is a run's whole surroundings as plain data: what the model says, what the tools do, what the hooks answer,
 * what the limits are. The same data makes the same world as often as it is built.
 */
export interface World {
  readonly replies: readonly ScriptedReply[];
  /** What the model says once the replies have run out. */
  readonly then: ScriptedReply;
  readonly hooks: readonly WorldHook[];
  readonly limits: Partial<Limits>;
  readonly prompt: string;
}

export interface WorldHook {
  readonly events: readonly EventName[];
  readonly mode: HookRecord["mode"];
  readonly kind: "module" | "command";
  readonly onError: HookRecord["onError"] | "default";
  readonly priority: number;
  /** What it does at its first call, its second, and so on; then over again. */
  readonly deeds: readonly Deed[];
}

/** One thing a hook can do when it is asked. */
export type Deed =
  | { readonly do: "answer"; readonly what: Answering; readonly slow: number; readonly beside: readonly Beside[] }
  | { readonly do: "throw"; readonly what: "error" | "nothing" | "nameless"; readonly later: boolean }
  | { readonly do: "hang" };

type Answering =
  | "nothing"
  | "deny"
  | "allow"
  | "ask"
  | "modify"
  | "halt"
  | "context"
  | "junk"
  | "go on unless active"
  | "go on";

type Beside = "context" | "ephemeral" | "hookInput" | "abort";

const TOOL_NAMES = ["Read", "Read", "Slow", "Slow", "Write", "Write", "Fail", "Fail", "Boom", "Nope", "Hang"] as const;

const words = fc.constantFrom("a", "b", "", " ", "ok");

/** Mostly absent. */
function rarely<T>(arbitrary: fc.Arbitrary<T>, oneIn = 8): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

function toolCall(hanging: boolean): fc.Arbitrary<NonNullable<ScriptedReply["tools"]>[number]> {
  const names = TOOL_NAMES.filter((name) => hanging || name !== "Hang");
  return fc.record({
    name: fc.constantFrom(...names),
    input: fc.constantFrom<unknown>({}, { say: "a" }, { say: "b" }, { say: 5 }),
    raw: rarely(fc.constantFrom('{"say":', "[]", "5", "")),
  }).map(({ raw, ...call }) => raw === undefined ? call : { ...call, raw });
}

/** One reply: words, calls, faults. */
export function reply({ hanging = true, faults = true } = {}): fc.Arbitrary<ScriptedReply> {
  const content = fc.record({
    text: fc.option(words, { nil: undefined }),
    tools: fc.option(fc.array(toolCall(hanging), { minLength: 1, maxLength: 4 }), { nil: undefined, freq: 3 }),
  }).map(({ text, tools }) => ({ ...(text !== undefined && { text }), ...(tools && { tools }) }));
  const sound = fc.tuple(
    content,
    rarely(fc.constantFrom("max_tokens", "pause_turn", "refusal", "model_context_window_exceeded")),
  ).map(([said, stop_reason]) => stop_reason === undefined ? said : { ...said, stop_reason });
  if (!faults) return sound;
  const faulty = fc.tuple(
    content,
    fc.constantFrom<ScriptedReply>({ error: "overloaded_error" }, { error: "invalid_request_error" }, { cut: 2 }, {
      http: 400,
    }),
  ).map(([said, fault]) => ({ ...said, ...fault }));
  return fc.oneof({ weight: 6, arbitrary: sound }, { weight: 1, arbitrary: faulty });
}

const beside = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<Beside>("context", "ephemeral", "hookInput") },
    { weight: 1, arbitrary: fc.constant<Beside>("abort") },
  ),
  { maxLength: 2 },
);

const deed: fc.Arbitrary<Deed> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      what: fc.constantFrom<Answering>(
        ...["nothing", "nothing", "deny", "allow", "ask", "modify", "halt", "context", "junk"] as const,
        ...["go on unless active", "go on"] as const,
      ),
      slow: fc.constantFrom(0, 0, 1, 70_000),
      beside: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: beside }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("throw" as const),
      what: fc.constantFrom("error" as const, "nothing" as const, "nameless" as const),
      later: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Deed>({ do: "hang" }) },
);

/** Hooks that fire in a run, some of them more often. */
const EVENT_POOL: readonly EventName[] = [
  ...(Object.keys(EVENTS) as EventName[]),
  ...["stop", "stop", "stop", "turn-end", "turn-end", "pre-tool-use", "pre-tool-use", "post-tool-use"] as const,
];

export const hook: fc.Arbitrary<WorldHook> = fc.record({
  events: fc.uniqueArray(fc.constantFrom(...EVENT_POOL), { minLength: 1, maxLength: 4 }),
  mode: fc.constantFrom("gate" as const, "gate" as const, "gate" as const, "observe" as const, "async" as const),
  kind: fc.constantFrom("module" as const, "command" as const),
  onError: fc.constantFrom(
    "default" as const,
    "default" as const,
    "continue" as const,
    "deny" as const,
    "abort" as const,
  ),
  priority: fc.constantFrom(1, 100, 100),
  deeds: fc.array(deed, { minLength: 1, maxLength: 3 }),
});

const always = (event: EventName, what: Answering, beside: readonly Beside[]): WorldHook => ({
  events: [event],
  mode: "gate",
  kind: "module",
  onError: "default",
  priority: 100,
  deeds: [{ do: "answer", what, slow: 0, beside }],
});

/** Hooks that never let go: one denies every stop, one has input at the end of every turn. */
export const ADVERSARIES = [always("stop", "go on", []), always("turn-end", "nothing", ["hookInput"])] as const;

/** One that never sends an agent back twice in a turn. */
export const HONOURING = always("stop", "go on unless active", []);

export function world(
  given: { hanging?: boolean; faults?: boolean; hooks?: fc.Arbitrary<WorldHook> } = {},
): fc.Arbitrary<World> {
  const one = reply(given);
  return fc.record({
    replies: fc.array(one, { maxLength: 6 }),
    then: one,
    hooks: fc.array(
      given.hooks ??
        fc.oneof({ weight: 3, arbitrary: hook }, { weight: 1, arbitrary: fc.constantFrom(...ADVERSARIES, HONOURING) }),
      {
        maxLength: 5,
      },
    ),
    limits: fc.record({
      iterations: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.constant(0)),
      stalls: fc.integer({ min: 0, max: 3 }),
      continuations: rarely(fc.integer({ min: 0, max: 5 }), 3),
      tokens: rarely(fc.constant(70), 4),
      seconds: fc.constant(600),
    }).map(({ continuations, tokens, ...rest }) => ({
      ...rest,
      ...(continuations !== undefined && { continuations }),
      ...(tokens !== undefined && { tokens }),
    })),
    prompt: fc.constantFrom("go", "", "more"),
  });
}

/** Everything in a world that was begun and has not ended, with the signal it was given. */
export interface Begun {
  readonly what: string;
  readonly signal: AbortSignal;
}

export interface Built extends Stage {
  readonly model: ReturnType<typeof scripted>;
  readonly begun: Set<Begun>;
  /** Each hook and tool as it is called, in order. */
  readonly called: string[];
  /** What is not the agent's own: it stays when the agent dies. */
  readonly surroundings: Surroundings;
}

interface Surroundings {
  readonly model: ReturnType<typeof scripted>;
  readonly hooks: readonly HookRecord[];
  readonly tools: readonly Tool[];
  readonly time: { clock: FakeClock | undefined };
}

/** Builds a world; `among` are the surroundings of an agent that died, in which this one goes on. */
export function build(
  w: World,
  more: Partial<Setting> & { onCall?: (what: string) => void; among?: Surroundings } = {},
): Built {
  const { onCall, among, ...setting } = more;
  const begun = new Set<Begun>();
  const called: string[] = [];
  const call = (what: string) => {
    called.push(what);
    onCall?.(what);
  };
  const time: Surroundings["time"] = among?.time ?? { clock: undefined };
  const clock = () => time.clock!;
  const surroundings: Surroundings = among ?? {
    model: scripted(w.replies as ScriptEntry[], { then: w.then }),
    hooks: w.hooks.map((h, i) => hookOf(h, `h${i}`, begun, call, clock)),
    tools: tools(begun, call, clock),
    time,
  };
  const { model, hooks } = surroundings;
  const staged = stage({
    model,
    tools: surroundings.tools,
    limits: w.limits,
    ...setting,
    hooks: [...hooks, ...(setting.hooks === undefined ? [] : [setting.hooks].flat())] as HookRecord[],
  });
  time.clock = staged.clock;
  return { ...staged, model, begun, called, surroundings };
}

function tools(begun: Set<Begun>, call: (what: string) => void, clock: () => FakeClock): Tool[] {
  const doing =
    (name: string, run: (say: string, ctx: ToolContext) => string | Promise<string>) =>
    async (input: { say?: string }, ctx: ToolContext) => {
      const work: Begun = { what: name, signal: ctx.signal };
      call(`tool ${name} ${ctx.toolUseId}`);
      begun.add(work);
      try {
        return await run(input.say ?? "", ctx);
      } finally {
        begun.delete(work);
      }
    };
  return [
    act("Read", "read", doing("Read", (say) => say)),
    act(
      "Slow",
      "none",
      doing("Slow", async (say, { signal }) => {
        await clock().sleep(30, signal);
        return say;
      }),
    ),
    act("Write", "write", doing("Write", (say) => say)),
    act("Fail", "read", ({ say = "failed" }, ctx) => {
      call(`tool Fail ${ctx.toolUseId}`);
      return { content: say, isError: true };
    }),
    act(
      "Boom",
      "write",
      doing("Boom", () => {
        throw new RangeError("boom");
      }),
    ),
    act("Hang", "read", doing("Hang", () => new Promise(() => {}))),
  ];
}

function hookOf(
  { events, mode, kind, onError, priority, deeds }: WorldHook,
  name: string,
  begun: Set<Begun>,
  call: (what: string) => void,
  clock: () => FakeClock,
): HookRecord {
  let n = 0;
  return record({
    name,
    on: events.map((event) => ({ event, scope: "all" })),
    mode,
    kind,
    priority,
    ...(onError !== "default" && onError !== undefined && { onError }),
    timeout: 60,
    run: (event, ctx) => {
      call(`hook ${name} ${event.event}`);
      const deed = deeds[n++ % deeds.length]!;
      if (deed.do === "throw") {
        const what = thrown(deed.what);
        if (deed.later) return Promise.reject(what);
        throw what;
      }
      const work: Begun = { what: `${name} on ${event.event}`, signal: ctx.signal };
      if (deed.do === "hang") {
        begun.add(work);
        return new Promise(() => {});
      }
      for (const b of deed.beside) sayBeside(b, ctx);
      const active = event.event === "stop" && event.stop_hook_active;
      const answer = answerOf(deed.what, event.event, active);
      if (deed.slow === 0) return answer;
      begun.add(work);
      return clock().sleep(deed.slow, ctx.signal).then(() => {
        begun.delete(work);
        return answer;
      });
    },
  });
}

function thrown(what: "error" | "nothing" | "nameless"): unknown {
  return what === "error" ? new Error("broken") : what === "nothing" ? undefined : Object.create(null);
}

function sayBeside(what: Beside, ctx: HookContext): void {
  if (what === "context") ctx.addContext("said");
  else if (what === "ephemeral") ctx.addContext("for now", { ephemeral: true });
  else if (what === "hookInput") ctx.hookInput("input");
  else ctx.abort("aborted by a hook");
}

function answerOf(what: Answering, event: EventName, active: boolean): unknown {
  switch (what) {
    case "nothing":
      return undefined;
    case "junk":
      return { action: 5 };
    case "modify":
      return { action: "modify", value: SUBJECTS[event] ?? "junk" };
    case "context":
      return { action: "continue", context: "context" };
    case "go on":
      return event === "stop" ? { continue: true, reason: "go on" } : undefined;
    case "go on unless active":
      return event === "stop" && !active ? { continue: true, reason: "go on" } : undefined;
    default:
      return { action: what, reason: `${what}!` };
  }
}

const SUBJECTS: { readonly [N in EventName]?: unknown } = {
  "user-prompt-submit": "changed prompt",
  "agent-start": "changed task",
  "turn-start": { system: "changed", messages: [user("before"), assistant("yes")] },
  "iteration": { system: "changed", append: "by the way" },
  "pre-tool-use": { say: "changed" },
  "permission-request": { say: "changed" },
  "post-tool-use": "changed result",
  "error": true,
};
