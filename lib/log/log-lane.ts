import { NOTHING } from "../core/fold.ts";
import type { Model, ModelRequest } from "../core/model.ts";
import type { AgentSpec, Interceptor, Run } from "../core/run.ts";
import type { Refusal } from "../core/said.ts";
import type { Tool } from "../core/tool.ts";
import type { HookText } from "../core/verdict.ts";
import { LaneClock } from "../replay/tape-clock.ts";
import { type Call, hookLane, laneBelow, lateInbox, MAIN } from "../replay/tape.ts";
import { Inbox, type Postman } from "../tools/inbox.ts";
import { askedHooks, hookStep, recalledHooks, withoutEmpty } from "./hook-step.ts";
import type { RunLog } from "./run-log.ts";
import { KeptStream } from "./stream.ts";
import { loggedTool } from "./logged-tools.ts";

/** What a logged thing stands for: an agent below begins with its parent's. */
const originals = { models: new WeakMap<Model, Model>(), tools: new WeakMap<Tool, Tool>() };

/** What the lanes of one session share. */
export interface LoggedSession {
  readonly log: RunLog;
  /** The step that was on when a process died runs again, marked; else the model reads that it may have happened. */
  readonly again: boolean;
  /** Whether rules or a person that are not the agent's own may refuse its calls. */
  isRuled: boolean;
}

/** One agent in a log: what its log has is served, all else is done and written. A live run is one with an empty log. */
export class LogLane {
  readonly name: string;
  readonly clock: LaneClock;
  readonly inbox: Inbox;
  readonly late: Inbox<readonly HookText[]>;
  readonly #session: LoggedSession;
  readonly #started = new Map<string, number>();
  readonly #hookModels = new WeakMap<Model, Model>();

  constructor(session: LoggedSession, name: string, above?: LogLane) {
    this.#session = session;
    this.name = name;
    const { log } = session;
    const { epoch, header: { seed }, past } = log;
    const known = past?.clocks(name) ?? { facts: [], from: 0 };
    // A lane that no run has yet to pass through again is live from its beginning.
    const live = !past?.open || (above !== undefined && above.clock.isLive);
    this.clock = new LaneClock({
      lane: name,
      epoch,
      seed,
      live,
      lags: false,
      from: known.from,
      recorded: known.facts,
      ...(above && { above: above.clock }),
      noted: (fact) => log.line(fact),
    });
    if (past?.isCopied && !live) {
      for (const fact of known.facts.filter(({ step }) => step >= known.from)) log.line(fact);
    }
    const [taken = 0, late = 0] = name === MAIN ? past?.left?.taken ?? [] : [];
    this.inbox = new Inbox(this.#postman(name), taken);
    this.late = new Inbox(this.#postman(lateInbox(name)), late);
  }

  #postman(inbox: string): Postman {
    const { log } = this.#session;
    const known = log.past?.inbox(inbox) ?? new Map<number, readonly string[]>();
    return {
      wanted: (n) => known.get(n) ?? (this.clock.isLive ? undefined : []),
      took: (take, from) => log.line({ inbox, take, from }),
    };
  }

  /** From here on nothing is served: what the run does now was never logged. */
  #leave(): void {
    this.clock.goLive();
  }

  /** An agent as it runs in this lane. */
  spec(agent: AgentSpec): AgentSpec {
    const isBudgeted = (agent.limits.tokens ?? agent.limits.dollars) !== undefined;
    const inner = agent.around ?? {};
    return {
      ...agent,
      model: this.model(agent.model),
      tools: agent.tools.map((tool) => this.#tool(originals.tools.get(tool) ?? tool)),
      around: {
        ...inner,
        hooks: this.#hooks,
        step: (run, kind, name, next) => this.#step(run, kind, name, next),
        hookModel: (model) => this.hookModel(model),
        refusals: this.#refusals,
        ...(isBudgeted && { spent: (now) => this.clock.spent(now) }),
      },
    };
  }

  #tool(original: Tool): Tool {
    const { log, again } = this.#session;
    const logged = loggedTool(original, {
      ...{ log, lane: this.name, again },
      leave: () => this.#leave(),
      ended: () => this.clock.nextStep(),
    });
    originals.tools.set(logged, original);
    return logged;
  }

  readonly #hooks: NonNullable<Interceptor["hooks"]> = async (run, event, next) => {
    const { log } = this.#session;
    const step = hookStep(run, event);
    const known = log.past?.hook(this.name, step);
    if (known) {
      recalledHooks(run, known.left);
      const { noted: _, ...line } = known;
      log.line(line);
      return { ...NOTHING, ...known.folded };
    }
    this.#leave();
    const { folded, left } = await askedHooks(run, next);
    const { hook, ...about } = step;
    log.hooks(run.agent_id, { hook, lane: this.name, ...about, folded: withoutEmpty(folded), left });
    return folded;
  };

  async #step<T>(run: Run, kind: string, name: string, next: () => Promise<T>): Promise<T> {
    const { log } = this.#session;
    const did = run.nameOf(kind, name).replace(`:${run.agent_id}:`, `:${this.name}:`);
    const known = log.past?.did(did);
    if (known) {
      log.line(known);
      return known.value as T;
    }
    const value = await next();
    log.line({ did, ...(value != null && { value: value as never }) });
    return value;
  }

  readonly #refusals = {
    note: (refused: string, { words, by }: Refusal) => {
      if (this.#session.isRuled) this.#session.log.line({ refused, lane: this.name, words, by });
    },
    recall: (_toolUseId: string) => undefined,
  };

  /** The lane of the next agent that a call starts. */
  below(toolUseId: string): LogLane {
    const n = (this.#started.get(toolUseId) ?? 0) + 1;
    this.#started.set(toolUseId, n);
    return new LogLane(this.#session, laneBelow(this.name, toolUseId, n), this);
  }

  ended(): void {}

  /** An agent works in this lane. */
  names(id: string): void {
    this.#session.log.agent(id, this.name);
  }

  hookModel(model: Model): Model {
    let logged = this.#hookModels.get(model);
    if (!logged) {
      logged = new LogLane(this.#session, hookLane(this.name), this).model(model);
      this.#hookModels.set(model, logged);
    }
    return logged;
  }

  model(given: Model): Model {
    const real = originals.models.get(given) ?? given;
    const { log } = this.#session;
    const logged: Model = (request, signal) => {
      const id = log.nextCall(this.name);
      const known = log.past?.call(id);
      return known ? this.#served(known, request, signal) : this.#ask(id, real, request, signal);
    };
    Object.defineProperty(logged, "name", { value: real.name });
    originals.models.set(logged, real);
    return logged;
  }

  #served(call: Call, request: ModelRequest, signal: AbortSignal): ReturnType<Model> {
    const { log } = this.#session;
    const { id, lane, attempts, error, at } = call;
    // As it is asked now: the replay of a fork asks so from its beginning.
    if (log.past!.isCopied) log.called({ id, lane, request, attempt: attempts.at(-1)!, ...(error && { error }), at });
    return log.past!.answer(call, signal, this.clock);
  }

  #ask(id: string, real: Model, request: ModelRequest, signal: AbortSignal): ReturnType<Model> {
    const { log } = this.#session;
    this.#leave();
    log.flush();
    const at = this.clock.elapsed();
    return new KeptStream(real(request, signal), signal, ({ attempt, error }) => {
      log.called({ id, lane: this.name, request, attempt, ...(error && { error }), at });
      if (!signal.aborted) this.clock.nextStep();
    });
  }
}
