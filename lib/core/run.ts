import { type Clock, systemClock } from "./clock.ts";
import { account, costOf, forbidsHookCall, type HookCall, limitWords, type Used } from "./account.ts";
import { fire, type FireOptions, isHeard } from "./dispatch.ts";
import type { EventFields, EventName, Fired, Input, ToolResult } from "./events.ts";
import { type Folded, NOTHING } from "./fold.ts";
import { freeze } from "./frozen.ts";
import type { HookChange, HookEnv, HookList, HookRecord, Late, Sequence } from "./hook.ts";
import { hookEvent } from "./_hook-event.ts";
import { type Count, Ended, type Limits, newSpent, type Spent } from "./limits.ts";
import type { Block, Message, Usage } from "./messages.ts";
import type { Model, Reply, ToolCall, ToolSpec } from "./model.ts";
import type { PartlyUsed } from "./reply.ts";
import type { Result, RunEvent } from "./run-events.ts";
import { contextBlocks, type From, hookInput, type Refusal, unread } from "./said.ts";
import { NEVER, settle } from "./_settle.ts";
import { thrownWords } from "./thrown.ts";
import type { Spawned, SpawnRequest, Tool, ToolContext, ToolError, ToolOutput } from "./tool.ts";
import type { Said } from "./verdict.ts";

/** An agent as the loop sees it: nothing here changes while it runs. */
export interface AgentSpec {
  readonly type: string;
  readonly model: Model;
  readonly system: string;
  readonly tools: readonly Tool[];
  readonly limits: Limits;
  readonly maxTokens: number;
  readonly params?: { readonly [key: string]: unknown };
  /** Asked when a run begins, which keeps them. `again`: load changed hook files, as a person has prompted the agent. */
  readonly hooks: (again?: boolean) => HookList | Promise<HookList>;
  /** Decides about a call that its hooks let pass. @default it may run, unless a hook asks for confirmation */
  readonly permit?: (run: Run, call: GatedCall, pre: Folded) => Permitted | Promise<Permitted>;
  /** What a call cost, in US dollars; `asked` is the model of a hook. Undefined if the price is unknown. */
  readonly price?: (model: string, usage: Usage, asked?: Model) => number | undefined;
  readonly exec?: NonNullable<HookEnv["exec"]>;
  /** What intercepts its calls: an engine, a recorder, a tracer. */
  readonly around?: Around;
  /** Makes room before a model call if the context is nearly full. */
  readonly compact?: (run: Run) => Promise<void>;
  /** Looks at what a call that writes has left behind. */
  readonly afterWrite?: (run: Run) => Promise<void>;
  /** The model to continue with if the first one is overloaded or refuses. */
  readonly fallback?: string;
}

/**
 * Intercepts what an agent does: an engine that gives calls their old results, a recorder, a tracer. Each function gets
 * `next`, which makes the call; an absent one leaves the call as it is.
 */
export interface Around {
  /** One attempt to get a reply. A failed attempt leaves in `partial` what had arrived. */
  model?(run: Run, partial: PartlyUsed, next: () => Reply | Promise<Reply>): Reply | Promise<Reply>;
  /** One run of a tool, which never throws. `next` can be given another way to start agents than the session's. */
  tool?(run: Run, call: ToolRun, next: (spawn?: Spawn) => Promise<ToolEnd>): Promise<ToolEnd>;
  /** The hooks of one event. */
  hooks?(run: Run, event: Fired, next: () => Promise<Folded>): Promise<Folded>;
  /** A model call of a hook. */
  hookModel?(model: Model): Model;
  /** Other work whose outcome decides how the run goes on. */
  step?<T>(run: Run, kind: string, name: string, next: () => Promise<T>): Promise<T>;
  /** What the model reads of a call that has ended. */
  result?(tool: string, toolUseId: string, now: Omit<ToolResult, "response">): Omit<ToolResult, "response">;
  /** Notes and recalls the calls that rules or a person refused. */
  readonly refusals?: {
    note(toolUseId: string, refusal: Refusal): void;
    /** Why a call was refused when it was recorded. */
    recall(toolUseId: string): Refusal | undefined;
  };
  /** What the run has spent, if that is known from a recording: agents that run together spend in any order. */
  spent?(now: Spent): Pick<Spent, "tokens" | "dollars">;
  /** A timer that outlives the process. */
  sleep?(ms: number): Promise<void>;
  /** Whether the run may be run again from its beginning: nothing in it may depend on the time of day. */
  readonly isRerun?: boolean;
  /** Whether hooks are asked about calls that ran together in the order of the calls, not as each call ends. */
  readonly isOrdered?: boolean;
}

/** A tool call that its hooks let pass. */
export interface GatedCall {
  readonly tool: Tool;
  readonly input: Input;
  /** What all events of the call say of it. */
  readonly fields: Pick<EventFields["pre-tool-use"], "tool_name" | "original_input" | "tool_use_id">;
  /** Checks another input as that of the model was checked. */
  readonly check: (input: unknown) => Checked | Promise<Checked>;
}

export type Permitted = { readonly input: Input } | Refusal;

export type Checked = { readonly input: Input } | { readonly why: string };

/** A tool call that may run, and its name: unique, and the same if the run is run again. */
export interface ToolRun {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly key: string;
}

/** How a tool's run ended. */
export interface ToolEnd {
  readonly output?: ToolOutput;
  readonly thrown?: Thrown;
}

export type Thrown = Pick<Error, "name" | "message" | "stack"> & Pick<ToolError, "refusedBy">;

export type Spawn = NonNullable<ToolContext["spawn"]>;

/** What agents in the background report, until the agent that started them takes it. */
export interface Reports {
  /** The reports that have arrived; with `wait`, at least one if any is still to come. */
  take(wait: boolean, run: Run): readonly string[] | Promise<readonly string[]>;
  /** Called before agents that still work are ended. */
  ending(): Promise<void>;
}

/** What hooks in the background say, until the agent takes it: at moments that are the same if the run is run again. */
export interface LateWords {
  add(hook: string, said: Promise<readonly Late[] | undefined>): void;
  take(run: Run): void | readonly Late[] | Promise<readonly Late[]>;
}

/** What one agent keeps for its whole session. */
export interface SessionState {
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
  /** When the current run began, if another process may have begun it. */
  begun?: number;
  readonly spent: Spent;
  readonly emit: (event: RunEvent) => void;
  /** Whether a listener wants events of a kind. @default yes */
  readonly hears?: (type: RunEvent["type"]) => boolean;
  /** Contexts that wait for the next user message. */
  readonly waiting: Said[];
  /** Writes a message to a store; the run continues when that is done. */
  readonly save?: (message: Message, index: number, run: Run) => Promise<void>;
  /** Starts an agent below this one, for a tool call; `key` names it among all that were ever started. */
  readonly spawn?: (request: SpawnRequest, run: Run, call: { toolUseId: string; key: string }) => Promise<Spawned>;
  /** The type of an agent that was started before; undefined if no agent has that id. */
  readonly typeOf?: (agentId: string) => Promise<string | undefined>;
  /** Reports of agents in the background. @default there are none */
  readonly reports?: Reports;
  /** What hooks in the background say. @default it goes into the next user message */
  readonly late?: LateWords;
  /** Work that hooks left running. */
  readonly background: Set<Promise<void>>;
}

/** The state of a new session; what is not given is empty. */
export function newSessionState(
  given: Pick<SessionState, "id" | "model" | "cwd"> & Partial<SessionState>,
): SessionState {
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
    background: new Set(),
    ...given,
  };
}

/** One run of one agent: the loop's locals, shared by its parts. */
export class Run implements HookEnv {
  readonly agent: AgentSpec;
  readonly state: SessionState;
  readonly count: Count;
  readonly signal: AbortSignal;
  /** Aborted once the session is over: until then what cleans up may run. */
  closing: AbortSignal = NEVER;
  list: HookList = { records: [] };
  turnId = "";
  turns = 0;
  usage: Usage;
  cost: number | undefined = 0;
  readonly denials: Result["denials"][number][] = [];
  /** What the next user message will hold. */
  pending: readonly Block[] = [];
  /** Content shown in this turn only, by index of the message it joins. */
  readonly overlay = new Map<number, readonly Block[]>();
  /** Waits to be shown with the next user message of the turn. */
  ephemeral: Block[] = [];
  /** What a person reads if a hook refused the prompt, the agent or the turn. */
  refusal: string | undefined;
  /** Where this run's messages begin. */
  firstIndex: number;
  /** The hooks that kept the run going, for the warning at a limit. */
  readonly keepers = new Set<string>();
  /** The hook that halted the agent: what was begun is finished, no model is called again. */
  halt: Folded["halt"];
  /** Which run of the agent's this is. */
  readonly index: number;
  /** What a listener threw. */
  deaf: { readonly error: unknown } | undefined;
  /** The model calls that hooks made. */
  readonly hookCalls: HookCall[] = [];
  /** The limit that a hook's model call ran into. */
  #limit: Ended | undefined;
  #inOrder: Promise<unknown> = Promise.resolve();
  readonly #names = new Map<string, number>();

  constructor(agent: AgentSpec, state: SessionState, count: Count, signal: AbortSignal, usage: Usage) {
    this.agent = agent;
    this.state = state;
    this.count = count;
    this.signal = signal;
    this.usage = usage;
    this.firstIndex = state.messages.length;
    this.index = state.runs;
  }

  /** Reports to the listener. A listener that throws ends the run at the next event, with a Result like any other end. */
  emit(event: DistributedOmit<RunEvent, "agent_id">): void {
    if (this.state.hears?.(event.type) === false) return;
    try {
      this.state.emit({ agent_id: this.state.agentId, ...event } as RunEvent);
    } catch (error) {
      this.deaf ??= { error };
    }
  }

  warn(message: string): void {
    this.emit({ type: "warning", message });
  }

  /** The hooks of this moment. */
  get hooks(): readonly HookRecord[] {
    return this.list.records;
  }

  hears(event: EventName): boolean {
    return isHeard(this.hooks, event);
  }

  /** Fires an event, reports what came of it, and ends the run if a hook wants that. Without hooks it costs no promise. */
  fire(fired: Fired, options?: FireOptions & { final?: boolean }): Folded | Promise<Folded> {
    if (isHeard(this.hooks, fired.event)) return this.#fire(fired, options);
    if (!options?.final) this.check();
    return NOTHING;
  }

  async #fire(fired: Fired, options?: FireOptions & { final?: boolean }): Promise<Folded> {
    // What cleans up must run to its end even when the run was interrupted.
    const env: HookEnv = options?.final ? Object.create(this, { signal: { value: this.closing } }) : this;
    const asking = () => fire(this.hooks, fired, env, options);
    const folded = await this.#around(fired, asking, options?.final);
    if (folded.runs.length > 0) {
      this.emit({
        type: "fired",
        event: fired.event,
        folded,
        ...("tool_use_id" in fired && { tool_use_id: fired.tool_use_id as string }),
      });
    }
    for (const warning of [...folded.warnings, ...unread(fired.event, folded.contexts)]) this.warn(warning);
    for (const { hook, text } of folded.systemMessages) this.emit({ type: "system_message", hook, text });
    for (const { hook, text } of folded.inputs) this.emit({ type: "hook_input", hook, event: fired.event, text });
    if (options?.final) return folded;
    if (!STARTS_TURNS.has(fired.event)) this.#join(fired.event, folded.inputs);
    this.halt ??= folded.halt;
    // A gate that could not ask its model must not open: the limit ends the run.
    if (this.#limit) throw this.#limit;
    if (folded.abort) throw new Ended("error", `${folded.abort.hook}: ${folded.abort.reason}`);
    this.check();
    return folded;
  }

  /** Hooks never throw. If an engine does while the run cleans up, it ends as it would have ended without hooks. */
  #around(fired: Fired, asking: () => Promise<Folded>, final = false): Promise<Folded> {
    const { around } = this.agent;
    if (!around?.hooks) return asking();
    const folded = around.hooks(this, fired, asking);
    return final ? folded.catch(() => NOTHING) : folded;
  }

  /** Shows hooks' inputs in this turn; what persists waits for its next user message and stays there. */
  #join(event: EventName, inputs: Folded["inputs"]): void {
    for (const { text, persist } of inputs) {
      const block = hookInput(event, text);
      if (persist) this.state.waiting.push({ text: block.text, verbatim: true });
      else this.ephemeral.push(block);
    }
  }

  /** Work whose outcome decides how the run goes on. */
  step<T>(kind: string, name: string, work: () => Promise<T>): Promise<T> {
    const { around } = this.agent;
    return around?.step ? around.step(this, kind, name, work) : work();
  }

  /** A name no other step of the run has: whatever a model or a hook repeats, it is counted. */
  nameOf(kind: string, name: string): string {
    const whole = `${kind}:${this.turnId || `${this.state.agentId}:${this.index}`}:${name}`;
    const used = this.#names.get(whole) ?? 0;
    this.#names.set(whole, used + 1);
    return used === 0 ? whole : `${whole}#${used + 1}`;
  }

  /** Fires the events of calls that run together one at a time, in the order they come. */
  inOrder<T>(work: () => T | Promise<T>): Promise<T> {
    const next = this.#inOrder.then(work);
    this.#inOrder = next.catch(() => {});
    return next;
  }

  /** Ends the run if a hook has halted it. */
  endIfHalted(): void {
    if (this.halt) throw new Ended("halted", this.halt.reason);
  }

  /** Ends the run if a hook denied something that it cannot continue without. */
  endIfDenied(folded: Folded): void {
    const denial = folded.denials[0];
    if (denial) throw new Ended("error", `Hook ${denial.hook}: ${denial.reason}`);
  }

  /** Waits for work unless the run is ended first. */
  async interruptible<T>(work: Promise<T>): Promise<T> {
    const end = await settle(work, { clock: this.state.clock, signal: this.signal });
    if ("value" in end) return end.value;
    this.check();
    throw (end as { error: unknown }).error;
  }

  /** Ends the run if it was interrupted, or a listener threw. */
  check(): void {
    if (this.deaf) throw this.deaf.error;
    if (!this.signal.aborted) return;
    const reason: unknown = this.signal.reason;
    if (reason instanceof Ended) throw reason;
    throw new Ended("aborted", thrownWords(reason));
  }

  /** Puts what is pending into the transcript as a user message, joined to the one before if that is the user's too. */
  commit(): void | Promise<void> {
    if (this.pending.length === 0) return;
    const content = this.pending;
    this.pending = [];
    return this.push({ role: "user", content });
  }

  /** Adds a message; one of the same role as the last joins it, so that roles always alternate. */
  push(message: Message): void | Promise<void> {
    const { messages } = this.state;
    const last = messages.at(-1);
    const joined = last?.role === message.role;
    const next = freeze(joined ? { role: message.role, content: [...last.content, ...message.content] } : message);
    const index = joined ? messages.length - 1 : messages.length;
    messages[index] = next;
    this.emit({ type: "message", message: next, index });
    return this.state.save?.(next, index, this);
  }

  /** What hooks said, as blocks for the next user message; what is only for this turn waits apart. */
  heard(contexts: readonly From[]): Block[] {
    if (contexts.length === 0) return [];
    this.ephemeral.push(...contextBlocks(contexts.filter((c) => c.ephemeral)));
    return contextBlocks(contexts.filter((c) => !c.ephemeral));
  }

  /** Asked at each model call: the servers of some tools may change them. */
  get toolSpecs(): readonly ToolSpec[] {
    return specs(this.agent.tools);
  }
  get modelName(): string {
    return this.state.model;
  }
  set modelName(name: string) {
    this.state.model = name;
  }
  get session_id(): string {
    return this.state.id;
  }
  get agent_id(): string {
    return this.state.agentId;
  }
  get agent_type(): string {
    return this.agent.type;
  }
  get parent_agent_id(): string | undefined {
    return this.state.parentAgentId;
  }
  get turn_id(): string {
    return this.turnId;
  }
  get sequence(): Sequence {
    return this.state.sequence;
  }
  get clock(): Clock {
    return this.state.clock;
  }
  get taped(): ((model: Model) => Model) | undefined {
    return this.agent.around?.hookModel;
  }
  countHookCall(): void {
    const limit = forbidsHookCall(this);
    if (limit) {
      this.#limit ??= new Ended(limit, limitWords(this, limit));
      throw new Error(this.#limit.message);
    }
    this.state.spent.calls++;
  }
  spendHookCall(hook: string, used: Used, asked: Model): void {
    const made = { hook, used, cost: costOf(this, used, asked) };
    this.hookCalls.push(made);
    account(this, used, made);
  }
  get cwd(): string {
    return this.state.cwd();
  }
  get values(): Map<string, unknown> {
    return this.state.values;
  }
  get exec(): HookEnv["exec"] {
    return this.agent.exec;
  }
  log(hook: string, message: string): void {
    this.emit({ type: "log", hook, message });
  }
  onHook(change: HookChange): void {
    this.emit(hookEvent(change));
  }
  deliver(said: Late): void {
    if (!this.state.late) this.state.waiting.push(said);
  }
  background(work: Promise<void>, said: readonly Late[], hook: string): void {
    const { background, late } = this.state;
    background.add(work);
    work.finally(() => background.delete(work));
    late?.add(hook, work.then(() => said.length > 0 ? said : undefined));
  }
  /** Takes what hooks in the background have said by now. */
  takeLate(): void | Promise<void> {
    const said = this.state.late?.take(this);
    if (said instanceof Promise) return said.then((words) => void this.state.waiting.push(...words));
    if (said) this.state.waiting.push(...said);
  }
}

/** Where a hook's input begins a turn of its own; elsewhere it joins the turn that is on. */
const STARTS_TURNS: ReadonlySet<EventName> = new Set(["session-start", "turn-end"]);

type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const specsOf = new WeakMap<readonly Tool[], readonly ToolSpec[]>();

/** What the model reads about the tools; the same object every time, so that its bytes are made once. */
function specs(tools: readonly Tool[]): readonly ToolSpec[] {
  let found = specsOf.get(tools);
  if (!found) {
    found = tools.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
    specsOf.set(tools, found);
  }
  return found;
}

/** The name of the `n`-th agent that a call starts. */
export function numbered(key: string, n: number): string {
  return n === 0 ? key : `${key}:${n}`;
}
