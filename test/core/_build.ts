import type { EventName } from "../../lib/core/events.ts";
import type { HookContext, HookRecord } from "../../lib/core/hook.ts";
import { assistant, user } from "../../lib/core/messages.ts";
import type { Tool, ToolContext } from "../../lib/core/tool.ts";
import { scripted, type ScriptEntry } from "../../lib/testing/index.ts";
import type { FakeClock } from "./_clock.ts";
import { over } from "./_hostile-wire.ts";
import { act, record, type Setting, type Stage, stage } from "./_stage.ts";
import type { Answering, Beside, World, WorldHook } from "./_worlds.ts";

/** Everything in a world that was begun and has not ended, with the signal it was given. */
interface Begun {
  readonly what: string;
  readonly signal: AbortSignal;
}

export interface Built extends Stage {
  readonly model: ReturnType<typeof scripted>;
  readonly begun: Set<Begun>;
  /** Each hook and tool as it is called, in order. */
  readonly called: string[];
  /** What the server of another API would not have taken. */
  readonly refused: readonly string[];
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
  const refused: string[] = [];
  const staged = stage({
    model: w.wire ? over(w.wire, model, refused) : model,
    tools: surroundings.tools,
    limits: w.limits,
    ...setting,
    hooks: [...hooks, ...(setting.hooks === undefined ? [] : [setting.hooks].flat())] as HookRecord[],
  });
  time.clock = staged.clock;
  return { ...staged, model, begun, called, surroundings, refused };
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
