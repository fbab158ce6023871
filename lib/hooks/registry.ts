import { getOrMake } from "../core/maps.ts";
import { fire } from "../core/dispatch.ts";
import { type EventFields, type EventName, EVENTS, type Fired } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import { freeze, present, thaw } from "../core/json.ts";
import type { HookEnv, HookRecord, HookRun } from "../core/hook.ts";
import { actionOf } from "../core/verdict.ts";
import { hookEnv } from "./hook-env.ts";
import { expectEvent } from "../input/nearest.ts";
import { type CodeHooks, codeHooks } from "./code-hooks.ts";
import { checkOptions } from "../input/options.ts";

/** What one hook answered, for hosts that want each answer and not the sum. */
export interface HookResult {
  readonly hook: string;
  readonly action: "continue" | "allow" | "deny" | "modify" | "ask" | "halt" | "failed";
  readonly reason?: string;
  readonly value?: unknown;
}

interface HookStats {
  readonly runs: number;
  readonly denied: number;
  readonly modified: number;
  readonly failed: number;
  readonly total_ms: number;
  readonly enabled: boolean;
}

interface RegistryOptions {
  /** Gets warnings of `wrapToolCall` and `sessionHooks`: a hook failed, or answered what has no effect. @default console.warn */
  readonly warn?: (message: string) => void;
}

/** An event as a host fires it: defaults may be left out. */
export type Firing<N extends EventName = EventName> = { [K in N]: { readonly event: K } & Partial<EventFields[K]> }[N];

/**
 * Hooks for a host that has a loop of its own: registered in order, fired one event at a time.
 *
 * @example
 * ```ts
 * import { deny, HookRegistry } from "crochet";
 *
 * const hooks = new HookRegistry();
 * hooks.register({ preToolUse: (event) => event.tool_name === "Bash" ? deny("No shell") : undefined });
 * const { decision, reason } = await hooks.fire({ event: "pre-tool-use", tool_name: "Bash", input: {} });
 * ```
 */
export class HookRegistry {
  #records: readonly HookRecord[] = [];
  /** Records by what was registered, and how many there ever were: names of hooks never come back. */
  readonly #registered = new Map<CodeHooks, HookRecord[]>();
  #total = 0;
  readonly #loaders: (() => Promise<readonly HookRecord[]>)[] = [];
  readonly #stats = new Map<string, Counted>();
  /** What hooks share, by session: no session sees another's. */
  readonly #values = new Map<string, Map<string, unknown>>();
  readonly #sequence = { next: 0 };
  /** Reports what `wrapToolCall` and `sessionHooks` do not return: a hook that failed and let things be. */
  readonly warn: (message: string) => void;

  constructor(options: RegistryOptions = {}) {
    checkOptions(options, { warn: "a function" }, "make a registry");
    this.warn = options.warn ?? ((message) => console.warn(`crochet: ${message}`));
  }

  /** Appends hooks: they run after those that are there, from the next event on. */
  register(...hooks: readonly CodeHooks[]): this {
    const made = hooks.map((hook, i) => codeHooks([hook], `code:${this.#total + i}`));
    for (const [i, hook] of hooks.entries()) {
      this.#registered.set(hook, [...this.#registered.get(hook) ?? [], ...this.#add(made[i]!)]);
    }
    return this;
  }

  /** Takes out what was registered, by the very object, from the next event on. Whether it was there. */
  unregister(hook: CodeHooks): boolean {
    const gone = this.#registered.get(hook);
    if (!gone) return false;
    this.#registered.delete(hook);
    this.#records = this.#records.filter((record) => !gone.includes(record));
    return true;
  }

  /** Adds hooks that are found later, by `load`. */
  registerSource(load: () => Promise<readonly HookRecord[]>): this {
    this.#loaders.push(load);
    return this;
  }

  /** Loads the registered sources; hooks given in code stay, and stay first. */
  async load(): Promise<void> {
    for (const load of [...this.#loaders]) {
      const records = await load();
      // One that fails stays to be loaded; of two that load at once, the first counts.
      const at = this.#loaders.indexOf(load);
      if (at < 0) continue;
      this.#loaders.splice(at, 1);
      this.#add(records);
    }
  }

  /** Says that sources were registered and never loaded: an agent warns of it, `fire` throws it. */
  get problem(): string | undefined {
    const { length } = this.#loaders;
    if (length === 0) return undefined;
    return `Hooks are missing as sources of a HookRegistry were never loaded (${length}): call await registry.load()`;
  }

  #add(records: readonly HookRecord[]): HookRecord[] {
    const counted = records.map((record): HookRecord => ({
      ...record,
      ended: (run) => {
        record.ended?.(run);
        this.#count(run);
      },
    }));
    this.#records = [...this.#records, ...counted];
    this.#total += counted.length;
    return counted;
  }

  #count({ hook, ms = 0, failure, opinion }: HookRun): void {
    const stats = getOrMake(this.#stats, hook, notRun);
    stats.runs++;
    stats.total_ms += ms;
    if (failure !== undefined) stats.failed++;
    if (opinion?.decision === "deny") stats.denied++;
    if (opinion?.value) stats.modified++;
  }

  get records(): readonly HookRecord[] {
    return this.#records;
  }

  /** Asks the hooks of one event and gives the one answer of all. */
  async fire<N extends EventName>(
    firing: Firing<N>,
    where: Partial<HookEnv> = {},
    as?: (record: HookRecord) => HookRecord,
  ): Promise<Folded> {
    if (this.problem !== undefined) throw new Error(this.problem);
    const { event } = expectEvent(firing.event);
    const input = "input" in firing ? { original_input: firing.input, tool_use_id: "" } : {};
    const fired = thaw({ ...DEFAULTS[event], ...input, ...firing, event }) as unknown as Fired;
    for (const field of Object.values(fired)) freeze(field);
    const folded = await fire(as ? this.#records.map(as) : this.#records, fired, this.#env(where));
    if (event === "session-end") this.#values.delete(where.session_id ?? "");
    return folded;
  }

  /** Fires an event by name for a session and gives each hook's own answer. */
  async emit(session: SessionLike, event: string, data: { readonly [field: string]: unknown }): Promise<HookResult[]> {
    const name = expectEvent(event).event;
    const { tool, args, ...rest } = data;
    // A call's fields have names that hosts also have for them.
    const fields = EVENTS[name].match === "tool_name"
      ? { ...present({ tool_name: tool, input: args }), ...rest }
      : data;
    return resultsOf(await this.fire({ ...fields, event: name } as Firing, { session_id: idOf(session) }));
  }

  getStats(): { [hook: string]: HookStats } {
    return Object.fromEntries(this.#records.map((r) => {
      return [r.name, { ...this.#stats.get(r.name) ?? notRun(), enabled: r.enabled }];
    }));
  }

  enable(name: string): void {
    this.#switch(name, true);
  }

  disable(name: string): void {
    this.#switch(name, false);
  }

  #switch(name: string, enabled: boolean): void {
    const found = this.#records.filter((r) => r.name === name);
    if (found.length === 0) {
      throw new TypeError(`Unknown hook '${name}': the hooks are ${this.#records.map((r) => r.name).join(", ")}`);
    }
    for (const record of found) record.enabled = enabled;
  }

  #env(where: Partial<HookEnv>): HookEnv {
    const { session_id = "" } = where;
    const values = getOrMake(this.#values, session_id, () => new Map());
    return hookEnv({ sequence: this.#sequence, values, ...where });
  }
}

type Counted = { -readonly [K in Exclude<keyof HookStats, "enabled">]: HookStats[K] };

function notRun(): Counted {
  return { runs: 0, denied: 0, modified: 0, failed: 0, total_ms: 0 };
}

/** A host's session, as far as hooks need it. */
export type SessionLike = string | { readonly id: string } | { readonly session_id: string };

function idOf(session: SessionLike): string {
  return typeof session === "string" ? session : "id" in session ? session.id : session.session_id;
}

function resultsOf(folded: Folded): HookResult[] {
  return folded.runs.filter((run) => run.skipped === undefined).map(({ hook, opinion, failure }) => {
    if (failure !== undefined) return { hook, action: "failed", reason: failure };
    const { reason, value } = opinion ?? {};
    return { hook, action: actionOf(opinion), ...present({ reason }), ...(value && { value: value.to }) };
  });
}

/** The fields an event may be fired without, and what they are then (S3.3–S3.9). */
export const DEFAULTS: { readonly [N in EventName]?: Partial<EventFields[N]> } = {
  "session-start": { source: "startup", model: "", profile: null, config: null },
  "error": { tool: null, stack_trace: null, severity: "error", retry: false },
  "checkpoint": { checkpoint_type: "auto", message_count: 0, duration_since_last_ms: null, storage_path: null },
  "model-switch": { reason: null, profile: null, triggered_by: "user" },
  "memory-update": { update_type: "modified", content_size: null, previous_hash: null, new_hash: null },
  "notification": { title: null },
};

export type Fire = (firing: Firing) => Promise<Folded>;

/** Fires for one session; what a host is not given back is at least a warning. */
export function warningFire(hooks: HookRegistry, session: SessionLike): Fire {
  const where = { session_id: idOf(session) };
  return async (firing) => {
    const folded = await hooks.fire(firing, where);
    for (const warning of folded.warnings) hooks.warn(warning);
    return folded;
  };
}

type PartialEvent<N extends keyof EventFields> = Partial<EventFields[N]>;

/**
 * The moments of a session that a host passes to its hooks. Without hooks each is a no-op.
 *
 * @example
 * ```ts
 * import { HookRegistry, sessionHooks } from "crochet";
 *
 * const life = sessionHooks(new HookRegistry(), "session-1");
 * await life.onSessionStart({ profile: "ci" });
 * await life.onSessionEnd(1200, "done");
 * ```
 */
export function sessionHooks(hooks: HookRegistry | null, session: SessionLike): SessionHooks {
  const fire = hooks && warningFire(hooks, session);
  const tell = async (firing: Firing) => {
    await fire?.(firing);
  };
  return {
    onSessionStart: ({ profile = null, config = null } = {}) =>
      tell({ event: "session-start", source: "startup", profile, config }),
    onSessionEnd: (duration_ms, reason) => tell({ event: "session-end", duration_ms, reason }),
    onError: async (error, tool = null, given = {}) => {
      if (!fire) return { denied: false, retry: false };
      const said = await fire({
        event: "error",
        error_type: error.name,
        error_message: error.message,
        stack_trace: error.stack ?? null,
        tool,
        retry: true,
        ...given,
      });
      const denied = said.abort !== undefined || said.decision === "deny";
      const reason = denied ? said.abort?.reason ?? said.reason : undefined;
      return { denied, ...present({ reason }), retry: !denied && said.modified && said.value === true };
    },
    onCheckpoint: (checkpoint_id, given = {}) => tell({ event: "checkpoint", checkpoint_id, ...given }),
    onModelSwitch: async (old_model, new_model, given = {}) => {
      if (!fire) return new_model;
      const said = await fire({ event: "model-switch", old_model, new_model, ...given });
      if (said.decision === "deny" || said.decision === "ask") return old_model;
      return said.modified ? said.value as string : new_model;
    },
    onMemoryUpdate: (file_path, update_type = "modified", given = {}) =>
      tell({ event: "memory-update", file_path, update_type, ...given }),
  };
}

interface OnErrorReply {
  readonly denied: boolean;
  readonly reason?: string;
  readonly retry: boolean;
}

/** The events of a session, for a loop of your own. */
export interface SessionHooks {
  onSessionStart(given?: { profile?: string | null; config?: EventFields["session-start"]["config"] }): Promise<void>;
  onSessionEnd(duration_ms: number, reason: string): Promise<void>;
  /** Whether a hook refuses to go on, and whether one asks for another try. */
  onError(error: Error, tool?: string | null, given?: PartialEvent<"error">): Promise<OnErrorReply>;
  onCheckpoint(checkpoint_id: string, given?: PartialEvent<"checkpoint">): Promise<void>;
  /** The model to use: the new one, what a hook made of it, or the old one if a hook refused. */
  onModelSwitch(
    old_model: string | null,
    new_model: string,
    given?: PartialEvent<"model-switch">,
  ): Promise<string | null>;
  onMemoryUpdate(
    file_path: string,
    update_type?: EventFields["memory-update"]["update_type"],
    given?: PartialEvent<"memory-update">,
  ): Promise<void>;
}
