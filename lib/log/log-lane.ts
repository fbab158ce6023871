import { NOTHING } from "../core/fold.ts";
import type { Model, ModelRequest } from "../core/model.ts";
import type { Interceptor, Run } from "../core/run.ts";
import { ToolError } from "../core/tool.ts";
import { LaneClock } from "./tape-clock.ts";
import { type Call, MAIN } from "./tape.ts";
import { CWD } from "../tools/tool-state.ts";
import type { LogEntry } from "./entry.ts";
import { askedHooks, hookStep, marked, output, recalledHooks, type ToolSteps, withoutEmpty } from "./step.ts";
import { Lane } from "./lane.ts";
import type { RunLog } from "./run-log.ts";
import { KeptStream } from "./stream.ts";

export interface LoggedSession {
  readonly log: RunLog;
  /** The step that was on when a process died runs again, marked; else the model reads that it may have happened. */
  readonly again: boolean;
  /** Whether rules or a person that are not the agent's own may refuse its calls. */
  isRuled: boolean;
}

/** One agent in a log: what its log has is served, hooks too, all else is done and written. A live run is one with an empty log. */
export class LogLane extends Lane {
  readonly #session: LoggedSession;

  constructor(session: LoggedSession, name: string, above?: Lane) {
    const { log } = session;
    const { epoch, header: { seed }, past } = log;
    const known = past?.clocks(name) ?? { facts: [], from: 0 };
    // A lane that no run has yet to pass through again is live from its beginning.
    const live = !past?.open || (above !== undefined && above.clock.isLive);
    const clock = new LaneClock({
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
    super(name, clock, name === MAIN ? past?.left?.taken : []);
    this.#session = session;
    if (past?.isCopied && !live) {
      for (const fact of known.facts.filter(({ step }) => step === known.from)) log.line(fact);
    }
  }

  protected line(entry: LogEntry): void {
    this.#session.log.line(entry);
  }

  protected wanted(inbox: string, look: number): readonly string[] | undefined {
    return this.#session.log.past?.takes(inbox, look) ?? (this.clock.isLive ? undefined : []);
  }

  protected lower(name: string): LogLane {
    return new LogLane(this.#session, name, this);
  }

  override names(id: string): void {
    this.#session.log.agent(id, this.name);
  }

  protected around(): Interceptor {
    return {
      hooks: this.#hooks,
      step: (run, kind, name, next) => this.#step(run, kind, name, next),
      refusals: {
        note: (refused, { words, by }) => {
          if (this.#session.isRuled) this.line({ refused, lane: this.name, words, by });
        },
        recall: () => undefined,
      },
    };
  }

  protected toolSteps(): ToolSteps {
    const { log, again } = this.#session;
    const lane = this.name;
    /** Calls that were logged and are made again, as they start agents. */
    const known = new Set<string>();
    return {
      lane,
      serve: (_tool, _input, { toolUseId: id, state }) => {
        const fact = log.past?.tool(lane, id);
        if (fact?.spawned) known.add(id);
        if (!fact || fact.spawned) return undefined;
        const { result, cwd } = fact;
        log.tool(fact);
        if (cwd !== undefined) state.set(CWD, () => cwd);
        return output(result);
      },
      begins: ({ effect }, _input, { toolUseId: id }) => {
        const isKnown = known.delete(id);
        const wasCut = effect === "write" && !isKnown && log.past?.begun.has(`${lane} ${id}`);
        if (!isKnown) this.clock.goLive();
        if (effect === "write") {
          log.line({ begun: id, lane });
          log.flush();
        }
        return { note: (fact) => log.tool(fact), ...(wasCut && { made: again ? marked : cutOff }) };
      },
      ended: () => this.clock.nextStep(),
    };
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
    this.clock.goLive();
    const { folded, left } = await askedHooks(run, next);
    const { hook, ...about } = step;
    log.hooks(run.agent_id, { hook, lane: this.name, ...about, folded: withoutEmpty(folded), left });
    return folded;
  };

  async #step<T>(run: Run, kind: string, name: string, next: () => Promise<T>): Promise<T> {
    const { log } = this.#session;
    const did = run.nameOf(kind, name).replace(`:${run.agent_id}:`, `:${this.name}:`);
    const known = log.past?.did.get(did);
    if (known) {
      log.line(known);
      return known.value as T;
    }
    const value = await next();
    log.line({ did, ...(value != null && { value: value as never }) });
    return value;
  }

  protected reply(real: Model, request: ModelRequest, signal: AbortSignal): ReturnType<Model> {
    const { log } = this.#session;
    const id = log.nextCall(this.name);
    const known = log.past?.calls.get(id);
    return known ? this.#served(known, request, signal) : this.#ask(id, real, request, signal);
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
    this.clock.goLive();
    log.flush();
    const at = this.clock.elapsed();
    return new KeptStream(real(request, signal), signal, ({ attempt, error }) => {
      log.called({ id, lane: this.name, request, attempt, ...(error && { error }), at });
      if (!signal.aborted) this.clock.nextStep();
    });
  }
}

/** A call that a process began which then ended: the model has to look what has become of it. */
function cutOff(): never {
  throw new ToolError("The run was ended before this call's result was written: it may have happened or not");
}
