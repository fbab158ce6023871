import type { Clock } from "./clock.ts";
import type { Fired, Stop, ToolResult } from "./events.ts";
import type { Folded } from "./fold.ts";
import type { HookEnv, HookList, Sequence } from "./hook.ts";
import type { AtLimit, Limits, Spent } from "./limits.ts";
import type { Block, Message, Usage } from "./messages.ts";
import type { ApiTool, CallEnd, Model, ModelParams, Reply } from "./model.ts";
import type { PartlyUsed } from "./reply.ts";
import type { Run } from "./run.ts";
import type { RunEvent } from "./run-events.ts";
import type { Refusal } from "./said.ts";
import type { GatedCall, Permitted, Tool, ToolEnd, ToolRun } from "./tool.ts";
import type { HookText } from "./verdict.ts";

/** An agent as the loop sees it: nothing here changes while it runs. */
export interface AgentSpec extends ModelParams {
  readonly type: string;
  readonly model: Model;
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly limits: Limits;
  /** What a person reads if a limit ends a run. @default the name of the stop */
  readonly limitWarning?: (stop: Stop, at: AtLimit) => string;
  readonly apiTools?: readonly ApiTool[];
  /** Asked when a run begins, which keeps them. `again`: load changed hook files, as a person has prompted the agent. */
  readonly hooks: (again?: boolean) => HookList | Promise<HookList>;
  /** Decides about a call that its hooks let pass. @default it may run, unless a hook asks for confirmation */
  readonly permit?: (run: Run, call: GatedCall, pre: Folded) => Permitted | Promise<Permitted>;
  /** What a call cost, in US dollars; `asked` is the model of a hook. Undefined if the price is unknown. */
  readonly price?: (model: string, usage: Usage, asked?: Model) => number | undefined;
  readonly exec?: NonNullable<HookEnv["exec"]>;
  readonly files?: NonNullable<HookEnv["files"]>;
  /** What intercepts its calls: an engine, a recorder, a tracer. */
  readonly around?: Interceptor;
  /** Makes room before a model call if the context is nearly full. */
  readonly compact?: (run: Run) => Promise<unknown>;
  /**
   * Begun at each model call, and asked how the call ended: whether it is made again, as the model or the conversation
   * was changed for that. `mayMakeRoom`: the conversation may be changed. @default a call is not made again
   */
  readonly recovery?: (run: Run, mayMakeRoom: boolean) => (end: CallEnd) => Promise<boolean>;
  /** The parameters of a call. `isFirst`: it is the first of its turn. @default as asked */
  readonly paramsOf?: (run: Run, isFirst: boolean) => ModelParams["params"];
  /**
   * Asked when the model is done, before the stop hooks: what the run gives back, or the words that send the model back
   * to work. `given` is the response of a tool that ended the turn.
   */
  readonly finish?: (run: Run, reply: Reply, given: unknown) => Promise<{ output: unknown } | { lacks: string }>;
  /** Looks at what a call that writes has left behind. */
  readonly afterWrite?: (run: Run) => Promise<void>;
}

/**
 * Intercepts what an agent does: an engine that gives calls their old results, a recorder, a tracer. Each function gets
 * `next`, which makes the call; an absent one leaves the call as it is.
 */
export interface Interceptor {
  /** One attempt to get a reply. A failed attempt leaves in `partial` what had arrived. */
  model?(run: Run, partial: PartlyUsed, next: () => Reply | Promise<Reply>): Reply | Promise<Reply>;
  /** One run of a tool, which never throws. `next` takes fields that replace those of its context. */
  tool?(run: Run, call: ToolRun, next: (instead?: object) => Promise<ToolEnd>): Promise<ToolEnd>;
  hooks?(run: Run, event: Fired, next: () => Promise<Folded>): Promise<Folded>;
  hookModel?(model: Model): Model;
  /** Other work whose outcome decides how the run goes on. */
  step?<T>(run: Run, kind: string, name: string, next: () => Promise<T>): Promise<T>;
  /** What the model reads of a call that has ended. */
  result?(tool: string, toolUseId: string, now: Omit<ToolResult, "response">): Omit<ToolResult, "response">;
  /** Notes and recalls the calls that rules or a person refused. */
  readonly refusals?: {
    note(toolUseId: string, refusal: Refusal): void;
    recall(toolUseId: string): Refusal | undefined;
  };
  /** What the run has spent, if that is known from a recording: agents that run together spend in any order. */
  spent?(now: Spent): Pick<Spent, "tokens" | "dollars">;
  /** A timer that outlives the process. */
  sleep?(ms: number): Promise<void>;
  /** Whether hooks are asked about calls that ran together in the order of the calls, not as each call ends. */
  readonly isOrdered?: boolean;
}

/** What agents in the background report, until the agent that started them takes it. */
export interface Reports {
  /** The reports that have arrived; with `wait`, at least one if any is still to come. */
  take(wait: boolean, run: Run): readonly string[] | Promise<readonly string[]>;
  /** Called before agents that still work are ended. */
  ending(): Promise<void>;
}

/** What hooks in the background say, until the agent takes it: at moments that are the same if the run is run again. */
export interface LateWords {
  add(hook: string, said: Promise<readonly HookText[] | undefined>): void;
  take(run: Run): void | readonly HookText[] | Promise<readonly HookText[]>;
}

/** What one agent keeps for its whole session. */
export interface SessionState {
  readonly id: string;
  readonly agentId: string;
  readonly parentAgentId?: string;
  readonly depth: number;
  model: string;
  readonly clock: Clock;
  /** Where tools work; a shell may move it. */
  readonly cwd: () => string;
  /** Only ever grows at its end; to begin anew, a compaction puts another list here. */
  messages: Message[];
  readonly values: Map<string, unknown>;
  readonly toolState: Map<string, unknown>;
  readonly sequence: Sequence;
  /** How many runs there were before; with the agent's id it names the run, whatever process goes on with it. */
  runs: number;
  /** When the current run began, if another process may have begun it. */
  begun?: number;
  readonly spent: Spent;
  readonly emit: (event: RunEvent) => void;
  /** Whether a listener wants events of a kind. @default yes */
  readonly hears?: (type: RunEvent["type"]) => boolean;
  /** Contexts that wait for the next user message. */
  readonly waiting: HookText[];
  /** Writes a message to a store; the run continues when that is done. */
  readonly save?: (message: Message, index: number, run: Run) => Promise<void>;
  /** What a tool's context has for a call beside what the loop puts into it. */
  readonly contextOf?: (run: Run, call: ToolRun) => object;
  /** Reports of agents in the background. @default there are none */
  readonly reports?: Reports;
  /** What hooks in the background say. @default it goes into the next user message */
  readonly late?: LateWords;
  /** Content that waits until the API has answered its own tools. */
  readonly held: Block[];
  /** The container of the last reply that had one. */
  container?: string;
  readonly background: Set<Promise<void>>;
}
