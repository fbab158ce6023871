import { type Clock, LONGEST_TIMER } from "./clock.ts";
import type { AnyEvent, EventName, EventOf } from "./events.ts";
import type { Model, Reply } from "./model.ts";
import { type ResolvedName, resolveEvent } from "./names.ts";
import { type Answer, type HookText, type Opinion, readNative } from "./verdict.ts";

/** A hook as a function of its event. */
export type Hook<N extends EventName = EventName> = (
  event: EventOf<N>,
  ctx: HookContext,
) => Answer<N> | Promise<Answer<N>>;

/** Which spelling of a verdict a hook speaks. It belongs to the hook's kind, so no object ever means two things. */
type Dialect = "native" | "claude" | "prompt" | "definition";

export type HookKind = "module" | "command" | "rules" | "prompt" | "http";

/** What happens when a hook fails: it threw, ran out of time, or its answer was unusable. */
export type OnError = "continue" | "deny" | "abort";

/** The one form every hook compiles to, wherever it came from. */
export interface HookRecord {
  /** A stable id: the file's name, or `source#n`. */
  readonly name: string;
  readonly on: readonly ResolvedName[];
  /** The matcher as it was written, for listings. */
  readonly matcher?: string;
  /** The tools and fields it names, so that a name that nothing has can be reported. */
  readonly namedTools?: readonly string[];
  readonly namedFields?: readonly string[];
  /** Why the hook does not apply to an event it listens to; undefined when it applies. */
  readonly misses?: (event: AnyEvent) => string | undefined;
  readonly kind: HookKind;
  readonly dialect: Dialect;
  /** Lower runs earlier. */
  readonly priority: number;
  readonly mode: "gate" | "observe" | "async";
  /** In seconds. */
  readonly timeout?: number;
  readonly onError?: OnError;
  /** Written by people who expect a failure never to block: definitions and hook.toml. */
  readonly lenient?: boolean;
  enabled: boolean;
  readonly source: string;
  /** Gives the raw answer, or a promise of it. */
  readonly run: (event: AnyEvent, ctx: HookContext) => unknown;
  /** Reads the raw answer in the hook's dialect. */
  readonly read: (raw: unknown, event: AnyEvent) => Opinion;
  /** Is called with what became of each call of the hook. */
  readonly ended?: (run: HookRun) => void;
  /** The dialect's words for the model if a failure counts as a denial. */
  readonly refusal?: (error: unknown, event: AnyEvent) => string;
}

/**
 * A function as a hook of one event, which is asked after those with a lower `priority`.
 *
 * @example
 * ```ts
 * import { deny, fire, hookOn, systemClock } from "crochet/core";
 *
 * const noRoot = hookOn("pre-tool-use", ({ input }) => input.user === "root" ? deny("Not as root") : undefined);
 * const signal = new AbortController().signal;
 * const at = { session_id: "s1", agent_id: "s1", turn_id: "", sequence: { next: 0 }, clock: systemClock, cwd: "/", values: new Map(), signal };
 * const call = { tool_name: "Deploy", tool_use_id: "t1", input: { user: "root" }, original_input: { user: "root" } };
 * const { decision, reason } = await fire([noRoot], { event: "pre-tool-use", ...call }, at);
 * console.log(decision, reason); // deny Not as root
 * ```
 */
export function hookOn<N extends EventName>(
  on: N | readonly ResolvedName[],
  run: Hook<N>,
  given: Partial<HookRecord> = {},
): HookRecord {
  const found = typeof on === "string" ? resolveEvent(on) : undefined;
  if (typeof on === "string" && !found) throw new TypeError(`Cannot hook event '${on}' as there is no such event`);
  return {
    name: run.name || "hook",
    on: found ? [found] : on as readonly ResolvedName[],
    kind: "module",
    dialect: "native",
    priority: 100,
    mode: "gate",
    enabled: true,
    source: "code",
    run: run as unknown as HookRecord["run"],
    read: (raw, event) => readNative(raw, event.event),
    ...given,
  };
}

/** A list of hooks that may change: it is read anew at each event, and a change makes a new array. */
export interface HookList {
  readonly records: readonly HookRecord[];
  /** Why hooks are missing from it, for the warning at the start of a run. */
  readonly problem?: string | undefined;
}

interface Executed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Files for a hook, the same in every host. A path that is not absolute is below `cwd`. */
export interface HookFiles {
  /** The text of a file; undefined if there is none. */
  read(path: string): Promise<string | undefined>;
  /** Writes a file anew, and makes the folders above it. */
  write(path: string, text: string): Promise<void>;
  /** The names in a folder, sorted; none if there is no folder. */
  list(path: string): Promise<readonly string[]>;
  /** The absolute path with every link followed; what is not there yet keeps its name. */
  realPath(path: string): Promise<string>;
}

/** What a hook gets beside its event. Each call has its own; only `values` is shared. */
export interface HookContext {
  /** Aborted when the run is interrupted or the hook's time is up. */
  readonly signal: AbortSignal;
  readonly cwd: string;
  readonly log: (message: string) => void;
  readonly now: () => Date;
  readonly uuid: () => string;
  readonly random: () => number;
  /** Waits; over at once when `signal` is aborted. A replay spends no real time on it. */
  readonly sleep: (ms: number) => Promise<void>;
  /** Runs a command without a shell; the same on every runtime. */
  readonly $: (command: string, args?: readonly string[]) => Promise<Executed>;
  readonly files: HookFiles;
  /**
   * The API's error with which the conversation ends: a Stop hook that sends the agent back then only repeats it. Our own
   * loop asks no Stop hook after one; other hosts do.
   */
  readonly lastError: () => Promise<string | undefined>;
  /** Text for the model; an ephemeral one is shown for this turn and not kept. */
  readonly addContext: (text: string, options?: { ephemeral?: boolean }) => void;
  /** Input for the agent: on turn-end it starts a new turn, elsewhere it joins this one. Later turns do not see it unless it persists. */
  readonly hookInput: (text: string, options?: { persist?: boolean }) => void;
  /** Ends the run with an error. */
  readonly abort: (reason: string) => void;
  /** Shared by all hooks of an agent for its session. */
  readonly values: Map<string, unknown>;
  /** What the gates decided; only observers have it. */
  readonly decision?: "continue" | "allow" | "deny" | "ask";
}

/** What a hook runs in: given by the loop, or by a host with a loop of its own. */
export interface HookEnv {
  readonly session_id: string;
  readonly agent_id: string;
  readonly parent_agent_id?: string | undefined;
  readonly agent_type?: string | undefined;
  readonly turn_id: string;
  readonly sequence: Sequence;
  readonly clock: Clock;
  readonly cwd: string;
  readonly values: Map<string, unknown>;
  readonly signal: AbortSignal;
  readonly exec?:
    | ((command: string, args: readonly string[], options: { cwd: string; signal: AbortSignal }) => Promise<Executed>)
    | undefined;
  /** The files of hooks whose agent is in a folder. */
  readonly files?: ((cwd: string) => Promise<HookFiles>) | undefined;
  /** The API's error with which the host's transcript ends. @default there is none */
  readonly lastError?: (() => Promise<string | undefined>) | undefined;
  /** Wraps the model that a hook calls, for a recorder. */
  readonly taped?: ((model: Model) => Model) | undefined;
  /** Counts a model call of a hook, and what it took; throws if a limit forbids it. */
  hookCall?(hook: string, asked: Model, call: () => Promise<Reply>): Promise<Reply>;
  log?(hook: string, message: string): void;
  /** Called when a hook begins, and when it has ended, with what became of it. */
  onHook?(hook: string, event: EventName, run?: HookRun): void;
  /** Called with work of a hook that continues after the event, and with what it says in the end. It never rejects. */
  background?(work: Promise<readonly HookText[]>, hook: string): void;
}

/** Numbers the events of one agent: the order of events of several agents is not known. */
export interface Sequence {
  next: number;
  /** What the numbers begin with. @default the agent's id */
  readonly of?: string;
}

/** One line of the ledger (U18): what became of one hook at one event. */
export interface HookRun {
  readonly hook: string;
  /** Why it was passed over. */
  readonly skipped?: string;
  readonly opinion?: Opinion;
  readonly failure?: string;
  readonly ms?: number;
}

/** A hook's context, made cheaply: what a hook does not touch costs nothing. */
export class Context implements HookContext {
  readonly #env: HookEnv;
  readonly #name: string;
  readonly #event: AnyEvent | undefined;
  readonly decision?: "continue" | "allow" | "deny" | "ask";
  said: HookText[] | undefined;
  inputs: { text: string; persist?: true }[] | undefined;
  aborted: string | undefined;
  #stop: AbortController | undefined;

  constructor(env: HookEnv, name: string, decision?: "continue" | "allow" | "deny" | "ask", event?: AnyEvent) {
    this.#env = env;
    this.#name = name;
    this.#event = event;
    if (decision !== undefined) this.decision = decision;
  }
  get signal(): AbortSignal {
    this.#stop ??= new AbortController();
    return AbortSignal.any([this.#env.signal, this.#stop.signal]);
  }
  /** Ends whatever the hook bound to its signal, and says why. */
  expire(why: Error): void {
    (this.#stop ??= new AbortController()).abort(why);
  }
  /** The model that a hook calls, wrapped so that the call is on the tape too. */
  taped(model: Model): Model {
    return this.#env.taped?.(model) ?? model;
  }
  /** Makes a model call of the hook, which counts. */
  calling(asked: Model, call: () => Promise<Reply>): Promise<Reply> {
    return this.#env.hookCall?.(this.#name, asked, call) ?? call();
  }
  get cwd(): string {
    return this.#env.cwd;
  }
  get values(): Map<string, unknown> {
    return this.#env.values;
  }
  get log(): (message: string) => void {
    return (message) => this.#env.log?.(this.#name, message);
  }
  get now(): () => Date {
    return () => new Date(this.#env.clock.now());
  }
  get uuid(): () => string {
    return () => this.#env.clock.uuid(this.#who());
  }
  get random(): () => number {
    return () => this.#env.clock.random(this.#who());
  }
  get sleep(): HookContext["sleep"] {
    return async (ms) => {
      if (!(ms >= 0)) throw new TypeError(`Cannot sleep for '${ms}' as that is not a time: give milliseconds`);
      // The hook's limit begins to count a few microtasks after the hook (`settle`): a wait that passes at once must not be over by then.
      for (let i = 0; i < 4; i++) await null;
      const { clock } = this.#env;
      const wait = Math.min(ms, LONGEST_TIMER);
      await (clock.pass ? clock.pass(wait, this.signal) : clock.sleep(wait, this.signal));
    };
  }
  /** The hook and the call it is asked about: calls that run together are asked about in any order. */
  #who(): string {
    const { event = "", tool_use_id = "" } = (this.#event ?? {}) as { event?: string; tool_use_id?: string };
    return `${this.#name} ${event} ${tool_use_id}`.trimEnd();
  }
  get $(): HookContext["$"] {
    return (command, args = []) => {
      if (!this.#env.exec) throw new Error(`Cannot run '${command}' as this host gives hooks no processes`);
      return this.#env.exec(command, args, { cwd: this.cwd, signal: this.signal });
    };
  }
  get files(): HookFiles {
    const here = async () => {
      if (!this.#env.files) throw new Error("Cannot use files as this host gives hooks none");
      return await this.#env.files(this.cwd);
    };
    return {
      read: async (path) => (await here()).read(path),
      write: async (path, text) => (await here()).write(path, text),
      list: async (path) => (await here()).list(path),
      realPath: async (path) => (await here()).realPath(path),
    };
  }
  get lastError(): HookContext["lastError"] {
    return async () => await this.#env.lastError?.();
  }
  get addContext(): HookContext["addContext"] {
    return (text, options) => {
      (this.said ??= []).push(options?.ephemeral ? { text, ephemeral: true } : { text });
    };
  }
  get hookInput(): HookContext["hookInput"] {
    return (text, options) => {
      const words = text.trim();
      if (words !== "") (this.inputs ??= []).push(options?.persist ? { text: words, persist: true } : { text: words });
    };
  }
  get abort(): (reason: string) => void {
    return (reason) => {
      this.aborted ??= reason;
    };
  }
}
