import type { Spent } from "../core/limits.ts";
import { countUp, makeOnce } from "../core/maps.ts";
import type { Model, ModelRequest } from "../core/model.ts";
import type { AgentSpec, Interceptor } from "../core/run.ts";
import type { Tool } from "../core/tool.ts";
import type { HookText } from "../core/verdict.ts";
import type { LaneClock } from "./tape-clock.ts";
import { hookLane, laneBelow, lateInbox } from "./tape.ts";
import { Inbox, type Postman } from "../tools/inbox.ts";
import type { EntryOf, LogEntry } from "./entry.ts";
import { steppedTool, type ToolSteps } from "./step.ts";

/** Whose reports were taken at each look, as lines say it. */
export function takesOf(
  facts: readonly EntryOf<"inbox">[] = [],
): (inbox: string, look: number) => readonly string[] | undefined {
  const known = new Map(facts.map(({ inbox, take, from }) => [`${inbox} ${take}`, from]));
  return (inbox, look) => known.get(`${inbox} ${look}`);
}

/** What a thing in a lane stands for: an agent below begins with its parent's. */
const originals = {
  models: new WeakMap<Model, Model>(),
  tools: new WeakMap<Tool, Tool>(),
  around: new WeakMap<Interceptor, Interceptor>(),
};

/**
 * One agent, and all that comes to it from outside: each piece is a step that is served from a record, or done and written
 * down. Which of the two is the policy of the kind of lane: of a log, which goes on, or of a tape, which is replayed.
 */
export abstract class Lane {
  readonly name: string;
  readonly clock: LaneClock;
  readonly inbox: Inbox;
  readonly late: Inbox<readonly HookText[]>;
  readonly #started = new Map<string, number>();

  /** `taken`: how often a session that goes on has looked for reports, of agents and of hooks. */
  constructor(name: string, clock: LaneClock, [taken, late]: readonly number[] = []) {
    this.name = name;
    this.clock = clock;
    this.inbox = new Inbox(this.#postman(name), taken);
    this.late = new Inbox(this.#postman(lateInbox(name)), late);
  }

  /** Writes down what has come. */
  protected abstract line(entry: LogEntry): void;
  /** Whose reports are taken at a look; undefined: whatever is there. */
  protected abstract wanted(inbox: string, look: number): readonly string[] | undefined;
  /** Called before agents are ended that are no longer waited for. */
  protected ending(): void | Promise<void> {}
  /** The answer to a request: what is known, else what the model says, if it may be asked. */
  protected abstract reply(real: Model, request: ModelRequest, signal: AbortSignal): ReturnType<Model>;
  protected abstract toolSteps(): ToolSteps;
  /** What else stands between an agent and the outside; `inner` is what stood there. */
  protected abstract around(inner: Interceptor): Interceptor;
  /** The lane of another agent, or of the models that hooks ask; `by` is the call that starts the agent. */
  protected abstract lower(name: string, by?: { readonly call: string; readonly background: boolean }): Lane;
  ended(): void {}
  /** An agent works in it from now on. */
  names(_id: string): void {}

  #postman(inbox: string): Postman {
    return {
      wanted: (look) => this.wanted(inbox, look),
      took: (take, from) => this.line({ inbox, take, from }),
      ending: () => this.ending(),
    };
  }

  /** An agent as it runs in this lane. */
  spec(agent: AgentSpec): AgentSpec {
    const steps = this.toolSteps();
    const inner = (agent.around && originals.around.get(agent.around)) ?? agent.around ?? {};
    const { tokens, dollars } = agent.limits;
    const around: Interceptor = {
      ...inner,
      hookModel: this.hookModel,
      ...((tokens ?? dollars) !== undefined && { spent: (now: Spent) => this.spent(now) }),
      ...this.around(inner),
    };
    originals.around.set(around, inner);
    return {
      ...agent,
      model: this.model(agent.model),
      tools: agent.tools.map((tool) => {
        const original = originals.tools.get(tool) ?? tool;
        const stepped = this.tool(steppedTool(original, steps));
        originals.tools.set(stepped, original);
        return stepped;
      }),
      around,
    };
  }

  protected tool(stepped: Tool): Tool {
    return stepped;
  }

  protected spent(now: Spent): Pick<Spent, "tokens" | "dollars"> {
    return this.clock.spent(now);
  }

  /** The lane of the next agent that a call starts; nothing waits for one in the background. */
  below(toolUseId: string, background: boolean): Lane {
    const name = laneBelow(this.name, toolUseId, countUp(this.#started, toolUseId));
    return this.lower(name, { call: toolUseId, background });
  }

  /** The model a hook asks, in the lane of this one's hooks; the same one each time. */
  readonly hookModel: (model: Model) => Model = makeOnce((model) => this.lower(hookLane(this.name)).model(model));

  model(given: Model): Model {
    const real = originals.models.get(given) ?? given;
    const stepped: Model = (request, signal) => this.reply(real, request, signal);
    Object.defineProperty(stepped, "name", { value: real.name });
    originals.models.set(stepped, real);
    return stepped;
  }
}
