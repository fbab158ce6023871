import { AsyncLocalStorage } from "node:async_hooks";
import type { Engine } from "../../../lib/agent/engine.ts";

/** A journal in memory: names of steps with their results as JSON. */
export type Journal = Map<string, string>;

/** When an engine dies: at its n-th step that is not known yet, and where in it. */
export interface Death {
  readonly at: number;
  readonly where: "before" | "in flight" | "after";
}

export interface MemoryEngine extends Engine {
  /** Resolves when the engine dies: nothing that was begun on it ever goes on. */
  readonly dead: Promise<void>;
  /** The names of the steps that were run, not remembered, in the order in which they began. */
  readonly ran: string[];
  /** The names of those that are in the journal because of it. */
  readonly finished: string[];
  /** How a rule of steps was broken. */
  readonly broken: string[];
}

const inStep = new AsyncLocalStorage<string>();

/** An engine that keeps its rules and dies when it is told to, as a process does: without a word. */
export function memoryEngine(
  journal: Journal = new Map(),
  death?: Death,
): MemoryEngine {
  const ran: string[] = [];
  const finished: string[] = [];
  const broken: string[] = [];
  const asked = new Set<string>();
  let die!: () => void;
  let over = false;
  const dead = new Promise<void>((resolve) => die = resolve);
  const end = (): Promise<never> => {
    over = true;
    die();
    return new Promise(() => {});
  };
  return {
    dead,
    ran,
    finished,
    broken,
    async step<T>(name: string, work: () => Promise<T>): Promise<T> {
      if (over) return await end();
      const outer = inStep.getStore();
      if (outer !== undefined) {
        broken.push(`step '${name}' is in step '${outer}'`);
      }
      if (asked.has(name)) broken.push(`step '${name}' was asked for twice`);
      asked.add(name);
      const known = journal.get(name);
      if (known !== undefined) return JSON.parse(known) as T;
      const dies = death !== undefined && ran.length === death.at;
      ran.push(name);
      if (dies && death.where === "before") return await end();
      const result = JSON.stringify(await inStep.run(name, work) ?? null);
      if (over || (dies && death.where === "in flight")) return await end();
      journal.set(name, result);
      finished.push(name);
      if (dies) return await end();
      return JSON.parse(result) as T;
    },
  };
}

/** Runs again and again on engines that die, until one does not; what was run, engine by engine. */
export async function untilDone<T>(
  deaths: readonly Death[],
  run: (engine: MemoryEngine) => Promise<T>,
  journal: Journal = new Map(),
): Promise<{ result: T; engines: MemoryEngine[] }> {
  const engines: MemoryEngine[] = [];
  for (let n = 0;; n++) {
    const engine = memoryEngine(journal, deaths[n]);
    engines.push(engine);
    const end = await Promise.race([
      run(engine).then((result) => ({ result })),
      engine.dead,
    ]);
    if (end) return { result: end.result, engines };
  }
}

/** A result as it would be written down, without what its calls say of having run before: alone in that may it differ. */
export function withoutMarks(result: unknown): unknown {
  return JSON.parse(JSON.stringify(result).replace(MARK, ""));
}

const MARK = /\\n\\n\[This call ran again: [^\]]*\]|,\{"type":"text","text":"\[This call ran again: [^\]]*\]"\}/g;
