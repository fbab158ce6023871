import { account, forbiddenToHook, type HookCall, limitWords, type Used } from "./account.ts";
import { freeze } from "./frozen.ts";
import { NEVER, settle } from "./_settle.ts";
import { thrownWords } from "./thrown.ts";
import type { Clock } from "./clock.ts";
import { fire, type FireOptions, isHeard } from "./dispatch.ts";
import type { EventName, Fired } from "./events.ts";
import { type Folded, NOTHING } from "./fold.ts";
import type { HookChange, HookEnv, HookList, HookRecord, Late, Sequence } from "./hook.ts";
import { type AgentSpec, Ended, type Life } from "./life.ts";
import type { Count } from "./limits.ts";
import type { Block, Message, Usage } from "./messages.ts";
import type { Model, ToolSpec } from "./model.ts";
import type { Result, RunEvent } from "./run-events.ts";
import { contextBlocks, type From, hookInput, unread } from "./said.ts";
import { hookStep } from "./_hook-step.ts";
import { hookEvent } from "./_hook-event.ts";
import type { Tool } from "./tool.ts";

/** One run of one agent: the loop's locals, shared by its parts. */
export class Run implements HookEnv {
  readonly agent: AgentSpec;
  readonly life: Life;
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
  /** What a person reads where a hook refused the prompt, the agent or the turn. */
  refusal: string | undefined;
  /** Where this run's messages begin. */
  firstIndex: number;
  /** The hooks that kept the run going, for the warning at a limit. */
  readonly keepers = new Set<string>();
  /** Who wants the agent to end quietly: what was begun is finished, no model is called again. */
  halt: Folded["halt"];
  /** Which run of the agent's this is. */
  readonly index: number;
  /** What a listener threw. */
  deaf: { readonly error: unknown } | undefined;
  /** Whether a hook may have something to say later, from the background. */
  listensLate = false;
  /** The model calls that hooks made. */
  readonly hookCalls: HookCall[] = [];
  /** The limit that a hook's model call ran into. */
  #limit: Ended | undefined;
  #inOrder: Promise<unknown> = Promise.resolve();
  readonly #names = new Map<string, number>();

  constructor(agent: AgentSpec, life: Life, count: Count, signal: AbortSignal, usage: Usage) {
    this.agent = agent;
    this.life = life;
    this.count = count;
    this.signal = signal;
    this.usage = usage;
    this.firstIndex = life.messages.length;
    this.index = life.runs;
  }

  /** Tells the listener. One that throws ends the run at the next event, with a Result like any other end. */
  emit(event: DistributedOmit<RunEvent, "agent_id">): void {
    if (this.life.hears?.(event.type) === false) return;
    try {
      this.life.emit({ agent_id: this.life.agentId, ...event } as RunEvent);
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

  /** Fires an event, tells what came of it, and ends the run where a hook wants that. Unheard, it costs no promise. */
  fire<N extends EventName>(fired: Fired<N>, options?: FireOptions & { final?: boolean }): Folded | Promise<Folded> {
    if (isHeard(this.hooks, fired.event)) return this.#fire(fired, options);
    if (!options?.final) this.check();
    return NOTHING;
  }

  async #fire<N extends EventName>(fired: Fired<N>, options?: FireOptions & { final?: boolean }): Promise<Folded> {
    // What cleans up must run to its end even when the run was interrupted.
    const env: HookEnv = options?.final ? Object.create(this, { signal: { value: this.closing } }) : this;
    const asking = () => fire(this.hooks, fired, env, options);
    const folded = this.agent.engine ? await this.#stepped(fired, asking, options?.final) : await asking();
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

  /** Hooks never throw: where an engine does, what cleans up is passed over and the run ends as it was to end. */
  #stepped<N extends EventName>(fired: Fired<N>, asking: () => Promise<Folded>, final = false): Promise<Folded> {
    const told = hookStep(this, fired, asking);
    return final ? told.catch(() => NOTHING) : told;
  }

  /** Shows hooks' inputs in this turn; what persists waits for its next user message and stays there. */
  #join(event: EventName, inputs: Folded["inputs"]): void {
    for (const { text, persist } of inputs) {
      const block = hookInput(event, text);
      if (persist) this.life.waiting.push({ text: block.text, verbatim: true });
      else this.ephemeral.push(block);
    }
  }

  /** One named piece of work: done here, or as the engine has it. */
  step<T>(kind: string, name: string, work: () => Promise<T>): Promise<T> {
    return this.named(this.nameOf(kind, name), work);
  }

  /** As `step`, with a whole name. */
  named<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.agent.engine?.step(name, work) ?? work();
  }

  /** What is measured of a step, where somebody measures: the model call or the tool call itself. */
  measured<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.agent.step?.(name, work) ?? work();
  }

  /** A name no other step of the run has: whatever a model or a hook repeats, it is counted. */
  nameOf(kind: string, name: string): string {
    const whole = `${kind}:${this.turnId || `${this.life.agentId}:${this.index}`}:${name}`;
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

  /** Ends the run where a hook wants that quietly. */
  endIfHalted(): void {
    if (this.halt) throw new Ended("halted", this.halt.reason);
  }

  /** Ends the run where a hook denied something that cannot go on without it. */
  endIfDenied(folded: Folded): void {
    const denial = folded.denials[0];
    if (denial) throw new Ended("error", `Hook ${denial.hook}: ${denial.reason}`);
  }

  /** Waits for work unless the run is ended first. */
  async interruptible<T>(work: Promise<T>): Promise<T> {
    const end = await settle(work, { clock: this.life.clock, signal: this.signal });
    if ("value" in end) return end.value;
    this.check();
    throw (end as { error: unknown }).error;
  }

  /** Ends the run where it was interrupted, or a listener threw. */
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
    const { messages } = this.life;
    const last = messages.at(-1);
    const joined = last?.role === message.role;
    const next = freeze(joined ? { role: message.role, content: [...last.content, ...message.content] } : message);
    const index = joined ? messages.length - 1 : messages.length;
    messages[index] = next;
    this.emit({ type: "message", message: next, index });
    return this.life.save?.(next, index, this);
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
    return this.life.model;
  }
  set modelName(name: string) {
    this.life.model = name;
  }
  get session_id(): string {
    return this.life.id;
  }
  get agent_id(): string {
    return this.life.agentId;
  }
  get agent_type(): string {
    return this.agent.type;
  }
  get parent_agent_id(): string | undefined {
    return this.life.parentAgentId;
  }
  get turn_id(): string {
    return this.turnId;
  }
  get sequence(): Sequence {
    return this.life.sequence;
  }
  get clock(): Clock {
    return this.life.clock;
  }
  get taped(): ((model: Model) => Model) | undefined {
    return this.agent.hookModel;
  }
  countHookCall(): void {
    const limit = forbiddenToHook(this);
    if (limit) {
      this.#limit ??= new Ended(limit, limitWords(this, limit));
      throw new Error(this.#limit.message);
    }
    this.life.spent.calls++;
  }
  spendHookCall(hook: string, used: Used, asked: Model): void {
    const made = { hook, used, cost: this.agent.price?.(used.model, used.usage, asked) };
    this.hookCalls.push(made);
    account(this, used, made);
  }
  get cwd(): string {
    return this.life.cwd();
  }
  get values(): Map<string, unknown> {
    return this.life.values;
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
    if (!takesLate(this.agent)) this.life.waiting.push(said);
  }
  background(work: Promise<void>, said: readonly Late[], hook: string): void {
    const { background, late } = this.life;
    background.add(work);
    work.finally(() => background.delete(work));
    if (takesLate(this.agent)) late.awaitNext(hook, work.then(() => said.length > 0 ? said : undefined));
  }
}

/** Whether what hooks say in the background is taken at moments that are the same when the run is run again. */
function takesLate({ engine, lane }: AgentSpec): boolean {
  return engine !== undefined || lane !== undefined;
}

/** Where a hook's input begins a turn of its own; elsewhere it joins the turn that is on. */
const STARTS_TURNS: ReadonlySet<EventName> = new Set(["session-start", "turn-end"]);

type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

const specsOf = new WeakMap<readonly Tool[], readonly ToolSpec[]>();

/** What the model is told of the tools; the same object every time, so that its bytes are made once. */
function specs(tools: readonly Tool[]): readonly ToolSpec[] {
  let found = specsOf.get(tools);
  if (!found) {
    found = tools.map(({ name, description, input_schema }) => ({ name, description, input_schema }));
    specsOf.set(tools, found);
  }
  return found;
}
