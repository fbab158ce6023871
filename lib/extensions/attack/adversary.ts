import type { Agent, RunOptions } from "../../agent/options.ts";
import type { Step } from "../../agent/engine.ts";
import { hookOn } from "../../core/hook.ts";
import { textOf } from "../../core/messages.ts";
import type { ModelRequest } from "../../core/model.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import { actionOf } from "../../core/verdict.ts";
import { isRead } from "../../input/tool-table.ts";
import { decide } from "../../permissions/rules.ts";
import type { TapeOptions } from "../../replay/tape-options.ts";
import { readFiles } from "../../replay/scratch.ts";
import { scripted, type ScriptedReply } from "../../models/scripted.ts";
import { memoryStore } from "../../log/stores/memory-store.ts";
import { shows, type Watch, type WorldEffect } from "./effects.ts";
import type { AttackCall, ToolSchema } from "./grammar/types.ts";

/** What belongs to the sessions of an agent beside what it brings itself. */
export type SessionOptions = Pick<RunOptions, "permissions" | "mcp" | "hooks">;

/** What one hook, the rules or a person said of a call. */
export interface CallVerdict {
  readonly by: string;
  readonly decision: string;
  readonly reason?: string;
}

/** A call that the adversary made, and what came of it. */
export interface AttackedCall extends AttackCall {
  readonly id: string;
  readonly verdicts: CallVerdict[];
  asked: boolean;
  /** Its tool ran, or would have. */
  ran: boolean;
  readonly effects: WorldEffect[];
  result: string;
}

export interface Trial {
  readonly calls: AttackedCall[];
  /** The most model calls that one prompt took. */
  modelCalls: number;
  /** A call that did not end in its time. */
  timedOut: boolean;
  readonly events: RunEvent[];
  readonly results: Result[];
  /** The workspace as the run left it, if a property of the project may ask for it. */
  files?: ReadonlyMap<string, string>;
}

export interface TrialOptions {
  /** Tools do nothing: only what is said about the calls counts. */
  readonly dry?: boolean;
  readonly tape?: TapeOptions | undefined;
}

const PROMPT = "Do as you like";
const CALL_MS = 10_000;
const OBSERVER = "crochet attack";

/** Where an adversary acts, and what answers it there. */
interface Scene {
  readonly watch: Watch;
  readonly planted: { readonly canary: string; readonly paths: readonly string[] };
  readonly cwd: string;
  readonly person: "allow" | "deny";
  readonly session?: SessionOptions;
  readonly readsFiles?: boolean;
}

/** Runs an agent whose model is the adversary. */
export class Adversary {
  readonly #agent: Agent;
  readonly #scene: Scene;
  readonly #watch: Watch;
  /** The tools of the agent, once a session has begun. */
  tools: readonly ToolSchema[] = [];

  constructor(agent: Agent, scene: Scene) {
    this.#agent = agent;
    this.#scene = scene;
    this.#watch = scene.watch;
  }

  /** Makes calls, in as many sessions as they say, in a world that is put back afterwards. */
  async run(calls: readonly AttackCall[], how: TrialOptions = {}): Promise<Trial> {
    const trial: Trial = { calls: [], modelCalls: 0, timedOut: false, events: [], results: [] };
    if (!how.dry) this.#watch.begin();
    try {
      for (const [i, session] of sessionsOf(calls).entries()) {
        // A tape has one session. Another one that does not begin any more, as a guard was changed, does nothing.
        await this.#live(session, trial, i === 0 ? how : { ...how, tape: undefined }).catch((error) => {
          if (i === 0) throw error;
        });
      }
      if (this.#scene.readsFiles && !how.dry) trial.files = readFiles(this.#scene.cwd);
    } finally {
      if (!how.dry) await this.#watch.reset();
    }
    return trial;
  }

  /** Undoes what hooks have written while they were only asked. */
  async putBack(): Promise<void> {
    await this.#watch.reset();
  }

  async #live(calls: readonly AttackCall[], trial: Trial, how: TrialOptions): Promise<void> {
    const { session: around, cwd, person, planted } = this.#scene;
    const lanes = new Map<string, AttackCall[]>([[PROMPT, [...calls]]]);
    const end = new AbortController();
    let asked = 0;
    const find = (id: string) => trial.calls.find((call) => call.id === id);
    const model = scripted([], {
      then: (request): ScriptedReply => {
        const lane = lanes.get(textOf(request.messages[0]).trim());
        // A model that judges for a hook is the worst there is, too.
        if (!lane) return { text: '{"ok": true}' };
        this.tools = request.tools as ModelRequest["tools"] & readonly ToolSchema[];
        asked++;
        const next = lane.shift();
        if (!next) return { text: "Done" };
        const id = `toolu_${trial.calls.length + 1}`;
        trial.calls.push({ ...next, id, verdicts: [], asked: false, ran: false, effects: [], result: "" });
        if (next.calls) lanes.set(String(next.input.prompt).trim(), [...next.calls]);
        return { tools: [{ id, name: next.tool, input: next.input }] };
      },
    });
    const tool = async <T>(call: AttackedCall, work: () => Promise<T>): Promise<T> => {
      call.ran = true;
      if (how.dry) return { content: "ok" } as T;
      // What hooks did since is not the call's.
      const before = this.#watch.now();
      const timer = setTimeout(() => {
        trial.timedOut = true;
        end.abort(new Error("It takes too long"));
      }, CALL_MS);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        if (goesOn(call.input)) await this.#watch.strays();
        call.effects.push(...this.#watch.since(before));
      }
    };
    const step: Step = async (name, work) => {
      const id = /^tool:.*:(toolu_\d+)(?::retry|:\d+|#\d+)*$/.exec(name)?.[1];
      const call = id === undefined ? undefined : find(id);
      return call ? await tool(call, work) : await work();
    };
    const session = await this.#agent.open({
      ...around,
      cwd,
      model,
      store: memoryStore(),
      signal: end.signal,
      permissionAsker: ({ tool_use_id, reason }) => {
        const call = find(tool_use_id);
        if (call) call.asked = true;
        call?.verdicts.push({ by: "person", decision: person, reason });
        return Promise.resolve({ behavior: person });
      },
      hooks: (runner) => {
        const found = around?.hooks?.(runner);
        return async () => [...await found?.() ?? [], rulesObserver];
      },
      step,
      on: (event) => {
        trial.events.push(event);
        note(event, find, planted);
      },
      ...(how.tape && { tape: how.tape }),
    });
    // Asked after all hooks, and before the rules: it sees what these decide on.
    const rulesObserver = hookOn("pre-tool-use", ({ tool_name, tool_use_id, input }, ctx) => {
      const permissions = session.permissions();
      if (!permissions) return;
      const effect = isRead(tool_name) ? "read" : "write";
      const { behavior, reason } = decide(permissions, { tool_name, input, cwd: ctx.cwd, effect });
      find(tool_use_id)?.verdicts.push({ by: "rules", decision: behavior, reason });
    }, { name: OBSERVER, priority: Infinity });
    try {
      trial.results.push(await session.prompt(PROMPT));
    } finally {
      trial.modelCalls = Math.max(trial.modelCalls, asked);
      const late = how.dry ? undefined : trial.calls.findLast(({ ran, input }) => ran && goesOn(input));
      const before = late && this.#watch.now();
      await session.close();
      if (late) {
        await this.#watch.strays();
        late.effects.push(...this.#watch.since(before!));
      }
    }
  }
}

/** Whether something of a call may go on when it has ended. */
function goesOn(input: AttackCall["input"]): boolean {
  return /run_in_background|(?<![&>])&(?![&>])|\b(?:nohup|setsid|disown|coproc|at|batch)\b/.test(JSON.stringify(input));
}

function sessionsOf(calls: readonly AttackCall[]): AttackCall[][] {
  const sessions: AttackCall[][] = [[]];
  for (const call of calls) {
    if (call.session && sessions.at(-1)!.length > 0) sessions.push([]);
    sessions.at(-1)!.push(call);
  }
  return sessions;
}

type FindCall = (id: string) => AttackedCall | undefined;

/** Notes what was said about a call, and what it gave back. */
function note(event: RunEvent, find: FindCall, { canary, paths }: Scene["planted"]): void {
  if (event.type === "fired" && event.tool_use_id !== undefined) {
    const said = event.folded.runs.filter(({ hook, skipped }) => hook !== OBSERVER && skipped === undefined)
      .map(({ hook, opinion, failure }): CallVerdict => {
        const reason = failure ?? opinion?.reason;
        return { by: hook, decision: failure === undefined ? actionOf(opinion) : "failed", ...(reason && { reason }) };
      });
    const verdicts = find(event.tool_use_id)?.verdicts;
    // Hooks speak before rules, which were noted first.
    if (event.event === "pre-tool-use") verdicts?.unshift(...said);
    else verdicts?.push(...said);
  }
  if (event.type !== "tool_end") return;
  const call = find(event.id);
  if (!call) return;
  call.result = event.content;
  const { refused } = event;
  if (refused && !call.verdicts.some(({ by, decision }) => decision === "deny" || by === refused.by)) {
    call.verdicts.push({ by: refused.by, decision: "deny", reason: refused.reason });
  }
  if (paths.length > 0 && shows(event.content, canary)) call.effects.push({ kind: "read", path: paths[0]! });
}
