import { present } from "../core/json.ts";

/** Runs one named piece of work: directly, from a journal, or on an engine. */
export type Step = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/**
 * What an agent runs on if its work must outlive a process. The loop keeps to these rules, so that an engine may
 * run it again from its beginning and give each step its old result:
 *
 * 1. Names of steps are unique and stable within a run: no chance and no clock outside a step.
 * 2. Branches that run together are one step each; hooks are asked before and after them, one after the other.
 * 3. No step is in a step. A tool that starts agents is asked what it wants first, and again once it has it.
 * 4. Results are JSON and carry only what is new.
 * 5. What goes wrong in a model or a tool is a result. A step that throws is the engine's failure, or an interrupt.
 * 6. The step that was on when the process died runs again: its name reaches the tool as `idempotencyKey`.
 * 7. What streams is emitted outside steps; a reply from the journal is emitted in one piece.
 *
 * @example
 * ```ts
 * import { agent, type Engine } from "crochet";
 * import { scripted } from "crochet/testing";
 *
 * const journal = new Map<string, unknown>();
 * const engine: Engine = {
 *   async step<T>(name: string, work: () => Promise<T>): Promise<T> {
 *     if (!journal.has(name)) journal.set(name, await work());
 *     return journal.get(name) as T;
 *   },
 * };
 * await agent({ model: scripted([{ text: "hi" }]), step: engine }).run("hello", { id: "greeter-1" });
 * console.log([...journal.keys()]); // begin:greeter-1:0, llm:greeter-1:0.1:1
 * ```
 */
export interface Engine {
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Runs an agent below this one with a journal of its own. @default it runs here, and its steps are this engine's */
  spawn?<R>(agentId: string, request: unknown): Promise<R>;
  /** A timer that outlives the process. */
  sleep?(ms: number): Promise<void>;
  /** Waits for an answer from outside: `announce` gets the token to answer by, `about` is the question. */
  wait?<T>(name: string, announce: (token: string) => Promise<void>, about?: unknown): Promise<T>;
  /** The result of a step that has ended, if it can be looked up; else undefined. */
  result?(name: string): unknown;
}

/** An engine as a session uses it: once it has failed it stays so, or a run would go on from what was never written. */
export interface SessionEngine extends Engine {
  readonly failure: { readonly error: unknown } | undefined;
}

/** The engine that an option names. @throws {TypeError} if it is not an engine */
export function engineOf(given: Step | Engine | undefined): SessionEngine | undefined {
  if (given === undefined) return undefined;
  const engine: Engine = typeof given === "function" ? { step: given } : given;
  if (typeof engine?.step !== "function") {
    throw new TypeError("Cannot use a value as an engine as it has no 'step' function: give a function or { step }");
  }
  let failure: { error: unknown } | undefined;
  return {
    get failure() {
      return failure;
    },
    async step<T>(name: string, work: () => Promise<T>): Promise<T> {
      if (failure) throw failure.error;
      let own: { error: unknown } | undefined;
      try {
        return await engine.step(name, async () => {
          try {
            return await work();
          } catch (error) {
            own = { error };
            throw error;
          }
        });
      } catch (error) {
        if (!own) failure ??= { error };
        throw error;
      }
    },
    ...present({ spawn: engine.spawn?.bind(engine), sleep: engine.sleep?.bind(engine) }),
    ...present({ result: engine.result?.bind(engine), wait: engine.wait?.bind(engine) }),
  };
}
