import { type Clock, systemClock } from "../../core/clock.ts";
import type { AnyEvent } from "../../core/events.ts";
import type { HookContext, HookList, HookRecord } from "../../core/hook.ts";
import type { AgentSpec } from "../../core/run.ts";
import { type Tool, ToolError } from "../../core/tool.ts";
import { NO_OPINION, OutOfTime, UnusableAnswer } from "../../core/verdict.ts";
import { memoryStore, type MinimalStore } from "../../transcript/memory.ts";
import { MAIN } from "../tape.ts";
import { type Fault, faultText } from "./fault.ts";

/** What faults can fall on besides replies, and how often a run has used it. */
export interface UsedSeam {
  readonly on: "tool" | "hook" | "mcp";
  readonly lane?: string;
  readonly name: string;
  count: number;
}

const WORDS = "A fault of the schedule";
const HUGE = `${WORDS}. `.repeat(80_000);
const WEEK = 7 * 24 * 3_600_000;

/** Faults of tools, hooks and MCP servers, and the kill of a run. They are counted as the agent uses them. */
export class SeamFaults {
  readonly used: UsedSeam[] = [];
  /** Calls that a guard would have denied, had it not failed. */
  readonly unguarded: { readonly hook: string; readonly id: string }[] = [];
  readonly kill: Kill | undefined;
  readonly #faults: readonly Fault[];
  readonly #hung = new AbortController();

  constructor(faults: readonly Fault[]) {
    this.#faults = faults;
    const kill = faults.find(({ on }) => on === "message");
    this.kill = kill && new Kill(kill.call);
  }

  /** Aborted when a tool hangs and no limit ends the run: a person interrupts it. */
  get hung(): AbortSignal {
    return this.#hung.signal;
  }

  /** Counts a use of a thing, and gives the fault that hits it. */
  #hit(on: UsedSeam["on"], name: string, lane = MAIN): string | undefined {
    let seam = this.used.find((one) => one.on === on && one.name === name && (one.lane ?? MAIN) === lane);
    if (!seam) this.used.push(seam = { on, name, ...(lane !== MAIN && { lane }), count: 0 });
    const count = ++seam.count;
    return this.#faults.find((fault) => {
      if (fault.on !== on || fault.name !== name || (fault.lane ?? MAIN) !== lane) return false;
      return on === "mcp" ? count > fault.call : count >= fault.call && count < fault.call + (fault.times ?? 1);
    })?.what;
  }

  /** @throws {TypeError} if the only fault is of something that the run did not use: it would count as survived */
  expectUsed(): void {
    const [fault, another] = this.#faults;
    if (!fault || another || fault.on === undefined || fault.on === "message") return;
    const names = this.used.filter(({ on }) => on === fault.on).map(({ name }) => name);
    if (names.includes(fault.name!)) return;
    const has = names.length > 0 ? `it used ${[...new Set(names)].join(", ")}` : "it used none";
    throw new TypeError(`Cannot place fault '${faultText(fault)}' as the run used no such ${fault.on}: ${has}`);
  }

  tool(tool: Tool, lane: string, clock: Clock): Tool {
    const [, server] = /^mcp__(.+?)__/.exec(tool.name) ?? [];
    const run: Tool["run"] = async (input, context) => {
      if (server !== undefined && this.#hit("mcp", server) !== undefined) {
        throw new ToolError(`Cannot call ${tool.name} as the MCP server is gone: ${WORDS}`);
      }
      switch (this.#hit("tool", tool.name, lane)) {
        case "throws":
          throw new Error(WORDS);
        case "ENOSPC":
          throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
        case "never ends":
          return await this.#hang(clock, context.signal);
        case "huge":
          await tool.run(input, context);
          return HUGE;
        default:
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
  async #fail(record: HookRecord, event: AnyEvent, ctx: HookContext, what: string): Promise<never> {
    if (event.event === "pre-tool-use" && record.mode === "gate") {
      const answer = async () => record.read(await record.run(event, ctx), event);
      const { decision } = await answer().catch(() => NO_OPINION);
      if (decision === "deny") this.unguarded.push({ hook: record.name, id: event.tool_use_id });
    }
    if (what === "timeout") throw new OutOfTime("it took longer than its limit");
    throw what === "nonsense" ? new UnusableAnswer(`it answered nonsense: ${WORDS}`) : new Error(WORDS);
  }
}

/** The end of a process after some messages of its session: what was written by then is all that is left of it. */
export class Kill {
  readonly #kept = memoryStore();
  readonly #died = Promise.withResolvers<string>();
  readonly #buried = new AbortController();
  /** Whether its process is dead, and no other has taken its place. */
  isDead = false;

  /** Keeps a session until it is killed: the write of the last message never returns. */
  readonly store: MinimalStore;

  constructor(after: number) {
    let left = after;
    let session: string | undefined;
    this.store = {
      ...this.#kept,
      append: async (id, entries) => {
        if (this.isDead) return;
        await this.#kept.append(id, entries);
        session ??= id;
        if (id !== session || left <= 0) return;
        left -= entries.filter(({ type }) => type === "message").length;
        if (left > 0) return;
        this.isDead = true;
        this.#died.resolve(id);
        await new Promise((_, reject) => this.signal.addEventListener("abort", () => reject(this.signal.reason)));
      },
    };
  }

  /** The id of the session that was killed. */
  get died(): Promise<string> {
    return this.#died.promise;
  }

  /** Ends what is left of the run that was killed. */
  get signal(): AbortSignal {
    return this.#buried.signal;
  }

  async bury(running: Promise<unknown>): Promise<void> {
    this.#buried.abort();
    await running.catch(() => {});
    this.isDead = false;
  }
}
