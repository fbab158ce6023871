import { type Clock, NEVER, settle, systemClock } from "./clock.ts";
import { fire, type FireOptions, listeners } from "./dispatch.ts";
import { type EventName, EVENTS, type Fired, type Stop, type ToolResult } from "./events.ts";
import { type Folded, NOTHING } from "./fold.ts";
import { freeze, present } from "./json.ts";
import { countUp } from "./maps.ts";
import type { HookEnv, HookList, HookRun, Sequence } from "./hook.ts";
import { type AtLimit, type Count, Ended, forbidsCall, type Limits, newSpent, spend, type Spent } from "./limits.ts";
import { type Block, isToolResult, type Message, type TextBlock, type Usage } from "./messages.ts";
import {
  type ApiTool,
  type CallEnd,
  type Model,
  ModelError,
  type ModelParams,
  type Reply,
  type SystemBlock,
  type Used,
} from "./model.ts";
import type { PartlyUsed } from "./reply.ts";
import type { Result, RunEvent } from "./run-events.ts";
import { contextBlocks, hookInput, type Refusal, unread } from "./hook-words.ts";
import { thrownWords } from "./shown.ts";
import type { GatedCall, Permitted, Thrown, Tool, ToolEnd, ToolRun } from "./tool.ts";
import { actionOf, type HookText } from "./verdict.ts";

/** An agent as the loop sees it: nothing here changes while it runs. */
export interface AgentSpec extends ModelParams {
  readonly type: string;
  readonly model: Model;
  readonly system: string;
  /** The same in blocks: a request whose system prompt no hook has changed has them. */
  readonly systemBlocks?: readonly SystemBlock[] | undefined;
  readonly tools: readonly Tool[];
  readonly limits: Limits;
  /** What a person reads if a limit ends a run. @default the name of the stop */
  readonly limitWarning?: (stop: Stop, at: AtLimit) => string | undefined;
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
  /** Notes how things are before a call that writes, and gives what looks at what it left behind; undefined: it is not watched. */
  readonly watchWrite?: (run: Run, call: WatchedCall) => Promise<() => Promise<void>> | undefined;
}

export type WatchedCall = Pick<ToolRun, "tool" | "call"> & { readonly input: unknown };

/**
 * Intercepts what an agent does: an engine that gives calls their old results, a recorder, a tracer. Each function gets
 * `next`, which makes the call; an absent one leaves the call as it is.
 */
export interface Interceptor {
  /** One attempt to get a reply. A failed attempt leaves in `partial` what had arrived. `next` says when a reply begins. */
  model?(
    run: Run,
    partial: PartlyUsed,
    next: (onFirst?: () => void) => Reply | Promise<Reply>,
  ): Reply | Promise<Reply>;
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
    held: [],
    background: new Set(),
    ...given,
  };
}

export interface HookCall {
  readonly hook: string;
  readonly used: Used;
  readonly cost?: number | undefined;
}

interface RunBy {
  readonly signal?: AbortSignal | undefined;
  /** Aborted once the session is over: until then what cleans up may run. @default never */
  readonly closing?: AbortSignal;
  /** What is asked of the model in this run. @default as the agent says */
  readonly modelParams?: ModelParams | undefined;
}

/** One run of one agent: the loop's locals, shared by its parts. */
export class Run implements HookEnv {
  readonly agent: AgentSpec;
  readonly state: SessionState;
  readonly modelParams: ModelParams;
  readonly #ending = new AbortController();
  readonly signal: AbortSignal;
  readonly closing: AbortSignal;
  /** Which run of the agent's this is. */
  readonly index: number;
  readonly count: Count = { iterations: 0, continuations: 0, stalled: 0 };
  list: HookList = { records: [] };
  turns = 0;
  /** What this agent alone has spent. */
  readonly own: Spent = newSpent();
  readonly denials: Result["denials"][number][] = [];
  /** What the next user message will hold, and whether that may be results of tools alone. */
  pending: readonly Block[] = [];
  resultsOnly = false;
  /** What the run gives back, if its agent has an output. */
  output: { readonly value: unknown } | undefined;
  /** Content shown in this turn only, by index of the message it joins; `ephemeral` waits for the next user message. */
  readonly overlay: Map<number, readonly Block[]> = new Map();
  ephemeral: Block[] = [];
  /** What a person reads if a hook refused the prompt, the agent or the turn. */
  refusal: string | undefined;
  /** Where this run's messages begin. */
  firstIndex: number;
  /** The hooks that kept the run going, for the warning at a limit. */
  readonly keepers: Set<string> = new Set();
  /** The hook that halted the agent: what was begun is finished, no model is called again. */
  halt: Folded["halt"];
  listenerThrew: { readonly error: unknown } | undefined;
  /** The model calls that hooks made, and the limit that one of them ran into. */
  readonly hookCalls: HookCall[] = [];
  hookLimit: Ended | undefined;
  #inOrder: Promise<unknown> = Promise.resolve();
  readonly #names = new Map<string, number>();
  // What hooks run in.
  readonly session_id: string;
  readonly agent_id: string;
  readonly parent_agent_id: string | undefined;
  readonly agent_type: string;
  turn_id = "";
  readonly sequence: Sequence;
  readonly clock: Clock;
  readonly values: Map<string, unknown>;
  readonly exec: HookEnv["exec"];
  readonly files: HookEnv["files"];
  readonly taped: HookEnv["taped"];

  constructor(agent: AgentSpec, state: SessionState, { signal, closing = NEVER, modelParams = agent }: RunBy = {}) {
    this.agent = agent;
    this.state = state;
    this.modelParams = modelParams;
    this.signal = signal ? AbortSignal.any([signal, this.#ending.signal]) : this.#ending.signal;
    this.closing = closing;
    this.firstIndex = state.messages.length;
    ({ id: this.session_id, agentId: this.agent_id, parentAgentId: this.parent_agent_id, runs: this.index } = state);
    ({ sequence: this.sequence, clock: this.clock, values: this.values } = state);
    ({ type: this.agent_type, exec: this.exec, files: this.files } = agent);
    this.taped = agent.around?.hookModel;
  }

  /** Reports to the listener. A listener that throws ends the run at the next event, with a Result like any other end. */
  emit(event: DistributedOmit<RunEvent, "agent_id">): void {
    if (this.state.hears?.(event.type) === false) return;
    try {
      this.state.emit({ agent_id: this.agent_id, ...event } as RunEvent);
    } catch (error) {
      this.listenerThrew ??= { error };
    }
  }

  warn(message: string): void {
    this.emit({ type: "warning", message });
  }

  /** Whether a hook listens to an event: if not, it need not be built. */
  hears(event: EventName): boolean {
    return listeners(this.list.records, event).length > 0;
  }

  /** Fires an event, reports what came of it, and ends the run if a hook wants that; a `final` one ends nothing. Without hooks it costs no promise. */
  fire(fired: Fired, options?: FireOptions & { final?: boolean }): Folded | Promise<Folded> {
    if (this.hears(fired.event)) return this.#fire(fired, options);
    if (!options?.final) this.check();
    return NOTHING;
  }

  async #fire(fired: Fired, { final, ...options }: FireOptions & { final?: boolean } = {}): Promise<Folded> {
    // What cleans up must run to its end even when the run was interrupted.
    const env: HookEnv = final ? Object.create(this, { signal: { value: this.closing } }) : this;
    const { around } = this.agent;
    const asking = () => fire(this.list.records, fired, env, options);
    const folding = around?.hooks ? around.hooks(this, fired, asking) : asking();
    // Hooks never throw. If an engine does while the run cleans up, it ends as it would have ended without hooks.
    const folded = await (final ? folding.catch(() => NOTHING) : folding);
    if (folded.runs.length > 0) {
      const about = "tool_use_id" in fired && { tool_use_id: fired.tool_use_id };
      this.emit({ type: "fired", event: fired.event, folded, ...about });
    }
    for (const warning of [...folded.warnings, ...unread(fired.event, folded.contexts)]) this.warn(warning);
    for (const { hook, text } of folded.systemMessages) this.emit({ type: "system_message", hook, text });
    for (const { hook, text } of folded.inputs) this.emit({ type: "hook_input", hook, event: fired.event, text });
    if (final) return folded;
    if (!STARTS_TURNS.has(fired.event)) this.#join(fired.event, folded.inputs);
    this.halt ??= folded.halt;
    // A gate that could not ask its model must not open: the limit ends the run.
    if (this.hookLimit) throw this.hookLimit;
    if (folded.abort) throw new Ended("error", `${folded.abort.hook}: ${folded.abort.reason}`);
    this.check();
    return folded;
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
    const whole = `${kind}:${this.turn_id || `${this.agent_id}:${this.index}`}:${name}`;
    const used = countUp(this.#names, whole);
    return used === 1 ? whole : `${whole}#${used}`;
  }

  /** Fires the events of calls that run together one at a time, in the order they come. */
  inOrder<T>(work: () => T | Promise<T>): Promise<T> {
    const next = this.#inOrder.then(work);
    this.#inOrder = next.catch(() => {});
    return next;
  }

  endIfHalted(): void {
    if (this.halt) throw new Ended("halted", this.halt.reason);
  }

  /** Ends the run if a hook denied something that it cannot continue without. */
  endIfDenied(folded: Folded): void {
    const denial = folded.denials[0];
    if (denial) throw new Ended("error", `Hook ${denial.hook}: ${denial.reason}`);
  }

  /** Asks error hooks about a failure of the model, or of a tool; `may` says whether they can have it tried again. */
  async wantsRetry({ name, message, stack }: Thrown, tool: string | null, may: boolean): Promise<boolean> {
    const fields = { error_type: name, error_message: message, tool, stack_trace: stack ?? null, retry: may };
    const severity = tool === null ? "critical" : "error";
    const said = await this.inOrder(() => this.fire({ event: "error", ...fields, severity }));
    this.state.waiting.push(...said.contexts);
    this.endIfDenied(said);
    return may && said.modified && said.value === true;
  }

  /** Waits for work unless the run is ended first. */
  async interruptible<T>(work: Promise<T>): Promise<T> {
    const end = await settle(work, { clock: this.clock, signal: this.signal });
    if ("value" in end) return end.value;
    this.check();
    throw (end as { error: unknown }).error;
  }

  /** Ends the run at its next step, and what it waits for at once. */
  end(why: Ended): void {
    this.#ending.abort(why);
  }

  /** Ends the run if it was interrupted, or a listener threw. */
  check(): void {
    if (this.listenerThrew) throw this.listenerThrew.error;
    if (!this.signal.aborted) return;
    const reason: unknown = this.signal.reason;
    if (reason instanceof Ended) throw reason;
    throw new Ended("aborted", thrownWords(reason));
  }

  /** What the next user message will hold; with `resultsOnly`, all but results waits for a later one. */
  say(content: readonly Block[], resultsOnly = false): void {
    const { held } = this.state;
    const results = content.filter(isToolResult);
    const others = [...held.splice(0), ...content.filter((block) => !isToolResult(block))];
    this.resultsOnly = resultsOnly;
    if (resultsOnly) held.push(...others);
    this.pending = resultsOnly ? results : [...results, ...others];
  }

  /** Puts what is pending into the transcript as a user message. */
  commit(): void | Promise<void> {
    const content = this.pending;
    this.pending = [];
    if (content.length > 0) return this.push({ role: "user", content });
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
  heard(contexts: readonly HookText[]): TextBlock[] {
    if (contexts.length === 0) return [];
    this.ephemeral.push(...contextBlocks(contexts.filter((c) => c.ephemeral)));
    return contextBlocks(contexts.filter((c) => !c.ephemeral));
  }

  get cwd(): string {
    return this.state.cwd();
  }

  /** What the run has spent; a replay has tokens and dollars as they were recorded, and counts the calls itself. */
  get spent(): Spent {
    const { agent: { around }, state: { spent } } = this;
    return around?.spent ? { ...spent, ...around.spent(spent), calls: spent.calls } : spent;
  }

  /** The limit that forbids one more model call. */
  forbidden(): Stop | undefined {
    return forbidsCall(this.agent.limits, this.spent, this.count);
  }

  limitWarning(stop: Stop, byInput = false): string {
    const { agent: { limits, limitWarning }, keepers } = this;
    return limitWarning?.(stop, { limits, keepers, spent: this.spent, byInput }) ?? `The run ended: ${stop}`;
  }

  /** Counts a model call before it is made; of agents that run side by side, one may have taken the last call. */
  countCall(): void {
    const limit = this.forbidden();
    if (limit) throw new Ended(limit, this.limitWarning(limit));
    this.count.iterations++;
    this.state.spent.calls++;
  }

  /**
   * Counts what a reply took, for the run and for the budget it shares.
   *
   * @throws {ModelError} if the server counts nothing, and a limit needs that
   */
  account(used: Used, by?: HookCall): void {
    const { agent: { limits: { tokens, dollars } }, state: { spent } } = this;
    const { usage } = used;
    const model = used.model || this.state.model;
    const cost = by ? by.cost : costOf(this.agent, { ...used, model });
    if (cost === undefined) spent.unpriced ??= model;
    for (const counted of [this.own, spent]) spend(counted, usage, cost);
    this.emit({ type: "usage", usage, model, cost, ...(by && { hook: by.hook }) });
    if (used.cost === null && (tokens ?? dollars) !== undefined) {
      const limit = tokens === undefined ? "limits.dollars" : "limits.tokens";
      const why = `the server of model '${model}' sends no usage: use limits.iterations or limits.seconds`;
      throw new ModelError(`Cannot keep ${limit} as ${why}`, { code: "no_usage" });
    }
  }

  async hookCall(hook: string, asked: Model, call: () => Promise<Reply>): Promise<Reply> {
    const limit = forbidsCall(this.agent.limits, this.spent);
    if (limit) throw new Error((this.hookLimit ??= new Ended(limit, this.limitWarning(limit))).message);
    this.state.spent.calls++;
    const used = await call();
    const made = { hook, used, cost: costOf(this.agent, used, asked) };
    this.hookCalls.push(made);
    this.account(used, made);
    return used;
  }

  log(hook: string, message: string): void {
    this.emit({ type: "log", hook, message });
  }

  onHook(hook: string, event: EventName, run?: HookRun): void {
    this.emit(run ? hookEnd(event, run) : { type: "hook_start", hook, event });
  }

  background(work: Promise<readonly HookText[]>, hook: string): void {
    const { background, late, waiting } = this.state;
    const done = work.then((said) => {
      if (!late) waiting.push(...said);
      background.delete(done);
    });
    background.add(done);
    late?.add(hook, work.then((said) => said.length > 0 ? said : undefined));
  }

  /** Takes what waits for the next user message, with what hooks in the background have said by now. */
  async takeWaiting(): Promise<readonly HookText[]> {
    const { late, waiting } = this.state;
    waiting.push(...await late?.take(this) ?? []);
    return waiting.splice(0);
  }
}

/** What a reply cost: what its server says, or by the price of its model; undefined if neither is known. */
function costOf({ price }: AgentSpec, { model, usage, cost }: Used, asked?: Model): number | undefined {
  return cost === null ? undefined : cost ?? price?.(model, usage, asked);
}

/** Where a hook's input begins a turn of its own; elsewhere it joins the turn that is on. */
const STARTS_TURNS: ReadonlySet<EventName> = new Set(["session-start", "turn-end"]);

type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

export function hookEnd(event: EventName, { hook, opinion, failure, ms = 0 }: HookRun) {
  const said = failure !== undefined ? "failed" : actionOf(opinion);
  const decision = EVENTS[event].deny === "ignored" && said === "deny" ? "ignored" : said;
  return { type: "hook_end", hook, event, decision, ...present({ reason: opinion?.reason, failure }), ms } as const;
}
