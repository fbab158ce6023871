import fc from "fast-check";
import { type EventName, EVENTS } from "../../lib/core/events.ts";
import type { HookRecord } from "../../lib/core/hook.ts";
import type { Limits } from "../../lib/core/limits.ts";
import type { ScriptedReply } from "../../lib/testing/index.ts";
import { type Wire, wire } from "./_hostile-wire.ts";

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
  /** The server of another API that the model's replies come from. @default they come as they are */
  readonly wire?: Wire | undefined;
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
type Deed =
  | { readonly do: "answer"; readonly what: Answering; readonly slow: number; readonly beside: readonly Beside[] }
  | { readonly do: "throw"; readonly what: "error" | "nothing" | "nameless"; readonly later: boolean }
  | { readonly do: "hang" };

export type Answering =
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

export type Beside = "context" | "ephemeral" | "hookInput" | "abort";

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

/** Every event, those that a run fires most several times. */
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
  given: { hanging?: boolean; faults?: boolean; hooks?: fc.Arbitrary<WorldHook>; wires?: boolean } = {},
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
    wire: given.wires ? fc.option(wire, { nil: undefined, freq: 2 }) : fc.constant(undefined),
  });
}
