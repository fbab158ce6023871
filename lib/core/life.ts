import { type Clock, systemClock } from "./clock.ts";
import type { Engine, Step } from "./engine.ts";
import type { Stop } from "./events.ts";
import type { HookEnv, HookList, Late, Sequence } from "./hook.ts";
import { Inbox } from "./inbox.ts";
import { type Limits, newSpent, type Spent } from "./limits.ts";
import type { Block, Json, Message, Usage } from "./messages.ts";
import type { Model } from "./model.ts";
import type { RunEvent } from "./run-events.ts";
import type { Run } from "./run.ts";
import type { Effect, Spawned, SpawnRequest, Tool } from "./tool.ts";
import type { Said } from "./verdict.ts";

export interface PermissionCall {
  readonly tool_name: string;
  readonly input: { readonly [key: string]: unknown };
  readonly tool_use_id: string;
  readonly cwd: string;
  readonly effect: Effect;
  readonly agent_id?: string;
  /** The question's name, unique and stable: an engine keeps its answer under it. */
  readonly key?: string;
}

/** What the permission rules say of a call, after hooks have spoken. */
export interface Permission {
  readonly behavior: "allow" | "ask" | "deny";
  readonly reason: string;
  readonly rule?: string;
  /** Of an ask: what would settle it for the session, as permission hooks are told. */
  readonly suggestions?: readonly Json[];
  /** Of a refusal: one line for a person, with what would allow the call. */
  readonly note?: string;
}

export type Permit = (call: PermissionCall, verdict: "continue" | "allow" | "ask") => Permission | Promise<Permission>;

/** Asks a person; absent where nobody is there to be asked. */
export type AskPerson = (
  call: PermissionCall,
  reason: string,
  signal: AbortSignal,
) => Promise<{ behavior: "allow" | "deny"; reason?: string }>;

/** Why a call was not let through. */
export interface Refusal {
  /** What the model is told. */
  readonly words: string;
  readonly reason: string;
  readonly by: string;
  /** One line for a person, with what would allow the call. */
  readonly note?: string;
}

/** The refusals of rules and people, where a run is recorded or replayed. */
export interface Refusals {
  note(toolUseId: string, refusal: Refusal): void;
  /** Why a call was refused when it was recorded. */
  recall(toolUseId: string): Refusal | undefined;
}

/** Gives what the model is told of a call that has run, where that is not what came of it now. */
export type Retell = (tool: string, toolUseId: string, now: Told) => Told;

interface Told {
  readonly content: string | readonly Block[];
  readonly is_error: boolean;
}

/** An agent as the loop sees it: nothing here changes while it runs. */
export interface AgentSpec {
  readonly type: string;
  readonly model: Model;
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly limits: Limits;
  readonly maxTokens: number;
  readonly params?: { readonly [key: string]: unknown };
  /** Asked when a run begins, which keeps them. `again`: changed hook files count, as a person has prompted the agent. */
  readonly hooks: (again?: boolean) => HookList | Promise<HookList>;
  readonly permit?: Permit;
  readonly askPerson?: AskPerson;
  readonly refusals?: Refusals;
  readonly retell?: Retell;
  /** What the run has spent by now, as it was when it was recorded: agents beside each other spend in any order. */
  readonly spent?: (now: Spent) => Pick<Spent, "tokens" | "dollars">;
  /** What a call cost, in US dollars; `asked` is the model of a hook. Undefined if the price is unknown. */
  readonly price?: (model: string, usage: Usage, asked?: Model) => number | undefined;
  readonly exec?: NonNullable<HookEnv["exec"]>;
  /** Wraps each model call and tool call that is really made, wherever it runs: for those who measure. */
  readonly step?: Step;
  /** What its steps run on; directly where absent. */
  readonly engine?: Engine;
  /** Makes room before a model call where the context is nearly full. */
  readonly compact?: (run: Run) => Promise<void>;
  /** Looks at what a call that writes has left behind. */
  readonly afterWrite?: (run: Run) => Promise<void>;
  /** The model to go on with where the first one is overloaded or refuses. */
  readonly fallback?: string;
  /** What the models that hooks ask are reached through: a recorder. */
  readonly hookModel?: (model: Model) => Model;
  /** Makes an agent that a tool call starts known to a recorder, apart from all others; in the background nobody waits for it. */
  readonly lane?: (spec: AgentSpec, toolUseId: string, background: boolean) => Lane;
}

/** What an agent that is recorded has of its own. */
export interface Lane {
  readonly spec: AgentSpec;
  readonly clock: Clock;
  readonly inbox: Inbox;
  readonly late: Inbox<readonly Late[]>;
  /** Is told that the agent has come to its end. */
  readonly ended: () => void;
}

/** What an agent has for its whole session. */
export interface Life {
  readonly id: string;
  readonly agentId: string;
  readonly parentAgentId?: string;
  readonly depth: number;
  /** The model it talks to now. */
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
  /** When the run that is on began, where another process may have begun it. */
  begun?: number;
  readonly spent: Spent;
  readonly emit: (event: RunEvent) => void;
  /** Whether anybody wants to know of events of a kind. @default everybody, of all */
  readonly hears?: (type: RunEvent["type"]) => boolean;
  /** Contexts that wait for the next user message. */
  readonly waiting: Said[];
  /** Writes a message where it outlives the process; the run goes on when that is done. */
  readonly save?: (message: Message, index: number, run: Run) => Promise<void>;
  /** Starts an agent below this one, for a tool call; `key` names it among all that were ever started. */
  readonly spawn?: (request: SpawnRequest, run: Run, call: { toolUseId: string; key: string }) => Promise<Spawned>;
  /** The type of an agent that was started before; undefined where no agent has that id. */
  readonly typeOf?: (agentId: string) => Promise<string | undefined>;
  /** Agents that work on in the background, and what those that ended have to say. */
  readonly inbox: Inbox;
  /** What hooks in the background have said, until it is taken; only where there is an engine or a recorder. */
  readonly late: Inbox<readonly Late[]>;
  /** Work that hooks left running. */
  readonly background: Set<Promise<void>>;
}

/** A life at its beginning; what is not given is empty. */
export function newLife(given: Pick<Life, "id" | "model" | "cwd"> & Partial<Life>): Life {
  return {
    agentId: given.id,
    depth: 0,
    clock: systemClock,
    messages: [],
    values: new Map(),
    toolState: new Map(),
    sequence: { next: 0 },
    runs: 0,
    spent: newSpent(),
    emit: () => {},
    waiting: [],
    inbox: new Inbox(),
    late: new Inbox(),
    background: new Set(),
    ...given,
  };
}

/** Thrown where a run must end now; never leaves the loop. */
export class Ended extends Error {
  readonly stop: Stop;
  constructor(stop: Stop, message: string) {
    super(message);
    this.stop = stop;
  }
}
