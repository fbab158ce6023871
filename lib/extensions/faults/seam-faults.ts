import { type Clock, systemClock } from "../../core/clock.ts";
import type { AnyEvent } from "../../core/events.ts";
import type { HookContext, HookList, HookRecord } from "../../core/hook.ts";
import type { AgentSpec } from "../../core/run.ts";
import { type Tool, ToolError } from "../../core/tool.ts";
import { NO_OPINION, OutOfTime, UnusableAnswer } from "../../core/verdict.ts";
import { memoryStore, type MinimalStore } from "../../log/stores/memory-store.ts";
import type { Entry } from "../../log/stores/store.ts";
import { MAIN } from "../../log/tape.ts";
import type { UsedSeam } from "../../replay/invariants.ts";
import { type Fault, faultText, type KindAt, kindOf } from "./fault.ts";

/** What faults can fall on besides replies, with the messages after which the process can be killed. */
export type UsedPlace = UsedSeam | { readonly on: "message"; readonly count: number };

const WORDS = "A fault of the schedule";
const HUGE = `${WORDS}. `.repeat(80_000);
/** What a call of a server reads. */
const SERVER: { readonly [K in KindAt<"mcp">]: string } = { gone: "the MCP server is gone" };
/** What ends the process. */
const KILLS: { readonly [K in KindAt<"message">]: true } = { kill: true };
const WEEK = 7 * 24 * 3_600_000;

/** What is known of seams when a process is killed, and what its session has written. */
export interface KeptSeams extends Pick<SeamFaults, "used" | "unguarded"> {
  readonly written: Kill["written"];
}

/** Faults of tools, hooks and MCP servers, and the kill of a run. They are counted as the agent uses them. */
export class SeamFaults {
  readonly used: UsedSeam[] = [];
  readonly unguarded: { readonly hook: string; readonly id: string }[] = [];
  readonly kill: Kill | undefined;
  readonly #faults: readonly Fault[];
  readonly #hung = new AbortController();
  /** Aborted when a tool hangs and no limit ends the run: a person interrupts it. */
  readonly hung: AbortSignal = this.#hung.signal;

  constructor(faults: readonly Fault[], before?: KeptSeams) {
    this.#faults = faults;
    const kills = faults.filter(({ what }) => Object.hasOwn(KILLS, what));
    if (kills.length > 0) this.kill = new Kill(kills, before?.written);
    this.used.push(...before?.used ?? []);
    this.unguarded.push(...before?.unguarded ?? []);
  }

  /** What a run that goes on in another process must know; undefined if nothing kills it. */
  get kept(): KeptSeams | undefined {
    const { used, unguarded, kill } = this;
    return kill && { used, unguarded, written: kill.written };
  }

  /** Counts a use of a thing, and gives the fault that hits it. */
  #hit<S extends UsedSeam["on"]>(on: S, name: string, lane = MAIN): KindAt<S> | undefined {
    let seam = this.used.find((one) => one.on === on && one.name === name && (one.lane ?? MAIN) === lane);
    if (!seam) this.used.push(seam = { on, name, ...(lane !== MAIN && { lane }), count: 0 });
    const count = ++seam.count;
    const hit = this.#faults.find((fault) => {
      if (fault.on !== on || fault.name !== name || (fault.lane ?? MAIN) !== lane) return false;
      return on === "mcp" ? count > fault.call : count >= fault.call && count < fault.call + (fault.times ?? 1);
    });
    return hit && kindOf<KindAt<S>>(hit).kind;
  }

  tool(tool: Tool, lane: string, clock: Clock): Tool {
    const [, server] = /^mcp__(.+?)__/.exec(tool.name) ?? [];
    const run: Tool["run"] = async (input, context) => {
      const failed = server === undefined ? undefined : this.#hit("mcp", server);
      if (failed) throw new ToolError(`Cannot call ${tool.name} as ${SERVER[failed]}: ${WORDS}`);
      switch (this.#hit("tool", tool.name, lane)) {
        case "throws":
          throw new Error(WORDS);
        case "fails after it worked":
          await tool.run(input, context);
          throw new Error(WORDS);
        case "kill":
          await (async () => await tool.run(input, context))().catch(() => {}); // the result is lost, whatever it is
          return await this.kill!.now();
        case "ENOSPC":
          throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
        case "never ends":
          return await this.#hang(clock, context.signal);
        case "huge":
          await tool.run(input, context);
          return HUGE;
        case undefined:
          return await tool.run(input, context);
      }
    };
    return { ...tool, run };
  }

  /** Lets the time of the run pass, so that nothing really waits: first until its limit, then for whatever waits for the call. */
  async #hang(clock: Clock, signal: AbortSignal): Promise<never> {
    const pass = async () => {
      await systemClock.sleep(1);
      await clock.pass?.(WEEK);
      await systemClock.sleep(1);
    };
    await pass();
    if (!signal.aborted) this.#hung.abort();
    await pass();
    return await new Promise<never>(() => {});
  }

  hooks(hooks: AgentSpec["hooks"]): AgentSpec["hooks"] {
    let last: { readonly of: readonly HookRecord[]; readonly records: readonly HookRecord[] } | undefined;
    const faulty = (list: HookList): HookList => ({
      get records() {
        // The same list while nothing has changed: hooks are put in order once per list.
        if (last?.of !== list.records) last = { of: list.records, records: list.records.map(hook) };
        return last.records;
      },
      get problem() {
        return list.problem;
      },
    });
    const hook = (record: HookRecord) => this.#hook(record);
    return (again) => {
      const list = hooks(again);
      return list instanceof Promise ? list.then(faulty) : faulty(list);
    };
  }

  #hook(record: HookRecord): HookRecord {
    const silent = Symbol();
    const run: HookRecord["run"] = (event, ctx) => {
      if (this.kill?.isDead) return silent;
      const what = this.#hit("hook", record.name);
      return what === undefined ? record.run(event, ctx) : this.#fail(record, event, ctx, what);
    };
    return { ...record, run, read: (raw, event) => raw === silent ? NO_OPINION : record.read(raw, event) };
  }

  /** A guard is asked all the same: what it would have denied must not run now. */
  async #fail(record: HookRecord, event: AnyEvent, ctx: HookContext, what: KindAt<"hook">): Promise<never> {
    if (event.event === "pre-tool-use" && record.mode === "gate") {
      const answer = async () => record.read(await record.run(event, ctx), event);
      const { decision } = await answer().catch(() => NO_OPINION);
      if (decision === "deny") this.unguarded.push({ hook: record.name, id: event.tool_use_id });
    }
    throw {
      timeout: new OutOfTime("it took longer than its limit"),
      nonsense: new UnusableAnswer(`it answered nonsense: ${WORDS}`),
      crash: new Error(WORDS),
    }[what];
  }
}

/** @throws {TypeError} if the only fault is of something that the run did not use: it would count as survived */
export function expectUsed([fault, another]: readonly Fault[], used: readonly UsedPlace[]): void {
  if (!fault || another || fault.on === undefined || fault.on === "message") return;
  const names = used.flatMap((one) => one.on === fault.on && "name" in one ? [one.name] : []);
  if (names.includes(fault.name!)) return;
  const has = names.length > 0 ? `it used ${[...new Set(names)].join(", ")}` : "it used none";
  throw new TypeError(`Cannot place fault '${faultText(fault)}' as the run used no such ${fault.on}: ${has}`);
}

/** The end of a process after some messages of its session, or in a tool: what was written by then is all that is left. */
export class Kill {
  /** What sessions have written, in order; the first is the one that is killed. */
  readonly written: (readonly [id: string, entries: readonly Entry[]])[] = [];
  /** Keeps a session until it is killed: the write of the last message never returns. */
  readonly store: MinimalStore;
  readonly #kept = memoryStore();
  readonly #after: readonly number[];
  #life = newLife();
  #messages = 0;

  constructor(kills: readonly Fault[], earlier: Kill["written"] = []) {
    this.#after = kills.flatMap(({ on, call }) => on === "message" ? [call] : []);
    const written = Promise.all(earlier.map(([id, entries]) => this.#write(id, entries)));
    this.store = {
      ...this.#kept,
      append: async (id, entries) => {
        await written;
        if (this.isDead) return;
        const before = this.#messages;
        await this.#write(id, entries);
        if (this.#after.some((count) => before < count && count <= this.#messages)) await this.now();
      },
    };
  }

  #write(id: string, entries: readonly Entry[]): Promise<void> {
    this.written.push([id, entries]);
    if (id === this.written[0]![0]) this.#messages += entries.filter(({ type }) => type === "message").length;
    return this.#kept.append(id, entries);
  }

  /** Whether its process is dead, and no other has taken its place. */
  get isDead(): boolean {
    return this.#life.isOver;
  }

  /** Resolves when the process is killed, with the id of its session. */
  get died(): Promise<string> {
    return this.#life.end.promise;
  }

  get signal(): AbortSignal {
    return this.#life.buried.signal;
  }

  /** Kills the process: it never returns. */
  now(): Promise<never> {
    const { signal } = this;
    this.#life.isOver = true;
    this.#life.end.resolve(this.written[0]![0]);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  }

  async bury(running: Promise<unknown>): Promise<void> {
    this.#life.buried.abort();
    await running.catch(() => {});
    this.#life = newLife();
  }
}

function newLife() {
  return { isOver: false, end: Promise.withResolvers<string>(), buried: new AbortController() };
}
