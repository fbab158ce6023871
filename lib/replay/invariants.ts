import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { thrownWords } from "../core/shown.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import type { Tape } from "../log/tape.ts";
import { fileUrl, importProblem } from "../runtime/importing.ts";
import type { Fixture } from "./fixture.ts";
import type { FreeRun } from "./free-run.ts";
import type { RunSeen } from "./seen.ts";

/** What faults can fall on besides replies, and how often a run has used it. */
export interface UsedSeam {
  readonly on: "tool" | "hook" | "mcp";
  readonly lane?: string;
  readonly name: string;
  count: number;
}

export interface Observed extends RunSeen {
  readonly tape: Tape;
  /** What was asked and answered: on the way to the agent if faults fall on it, otherwise as the tape has it. */
  readonly run: Pick<FreeRun, "said" | "asked" | "writes"> & {
    readonly stuck: { readonly aborted: boolean };
    /** Present if faults fall on it. */
    readonly seams?: {
      readonly used: readonly UsedSeam[];
      /** Calls that a guard would have denied, had it not failed. */
      readonly unguarded: readonly { readonly hook: string; readonly id: string }[];
    };
  };
  readonly events: readonly RunEvent[];
  /** One for each prompt; fewer if the run did not get that far. */
  readonly results: readonly Result[];
  /** What the agent threw, which it never should; also set if the run had to be stopped. */
  readonly thrown?: unknown;
  /** The workspace as the run left it: text by path. */
  readonly files: ReadonlyMap<string, string>;
}

/** What must hold in every run, whatever goes wrong: a sentence, and a check that says what broke it. */
interface Always<Seen> {
  readonly name: string;
  /** Whether a run puts it to the test; at least one must. @default every run does */
  readonly when?: (observed: Seen) => boolean;
  readonly broken: (observed: Seen) => string | undefined;
  readonly sometimes?: undefined;
}

/** What must be true in at least one run. */
interface Sometimes<Seen> {
  readonly name: string;
  readonly sometimes: (observed: Seen) => boolean;
  readonly when?: undefined;
}

/** What must hold in every run, or in one at least. */
export type Invariant<Seen = Observed> = Always<Seen> | Sometimes<Seen>;

const KINDS = ["ts", "js", "mjs"];

/** The invariants of a fixture: its own, and those its folder of fixtures shares. */
export interface FixtureInvariants {
  readonly own: readonly Invariant[];
  readonly shared: readonly Invariant[];
}

/**
 * What `invariants.ts`, `.js` or `.mjs` export, in the fixture's folder and in the one above it.
 *
 * @throws {TypeError} if such a file cannot be loaded or exports something else
 */
export async function invariantsOf({ folder }: Fixture): Promise<FixtureInvariants> {
  return { own: await invariantsIn(folder), shared: await invariantsIn(dirname(folder)) };
}

export function invariantsFile(folder: string, name = "invariants"): string | undefined {
  return KINDS.map((kind) => join(folder, `${name}.${kind}`)).find((file) => existsSync(file));
}

/** What such a file exports; none if there is none. */
export async function invariantsIn(folder: string, name?: string): Promise<readonly Invariant[]> {
  const path = invariantsFile(folder, name);
  if (path === undefined) return [];
  const { default: list } = await imported(path);
  if (Array.isArray(list) && list.every(isInvariant)) return list;
  throw new TypeError(
    `Cannot use ${path} as it exports no list of invariants: ` +
      `export default [{ name, when?, broken: (observed) => ... }, { name, sometimes: (observed) => ... }]`,
  );
}

async function imported(path: string): Promise<{ default?: unknown }> {
  try {
    return await import(fileUrl(path));
  } catch (error) {
    const { words, place } = importProblem(error);
    throw new TypeError(`Cannot load '${path}' as ${words}${place === undefined ? "" : `: ${place}`}`);
  }
}

function isInvariant(one: any): one is Invariant {
  if (typeof one?.name !== "string") return false;
  if ("sometimes" in one) return typeof one.sometimes === "function" && !("broken" in one) && !("when" in one);
  return typeof one.broken === "function" && (one.when === undefined || typeof one.when === "function");
}

export interface Judgement {
  readonly invariant: string;
  /** Whether the run put it to the test: its `when` or `sometimes` was true. */
  readonly reached: boolean;
  readonly seen?: string;
}

/** Judges a run by invariants. @throws {TypeError} if an invariant throws or answers something else: whose mistake it is must be seen */
export function judge(invariants: readonly Invariant[], observed: Observed): Judgement[] {
  return invariants.map((one) => {
    const { name } = one;
    if (one.sometimes) return { invariant: name, reached: isTrue(name, "sometimes", () => one.sometimes(observed)) };
    const reached = !one.when || isTrue(name, "when", () => one.when!(observed));
    const seen = reached ? answerOf(name, () => one.broken(observed)) : undefined;
    if (seen === undefined || typeof seen === "string") {
      return { invariant: name, reached, ...(seen !== undefined && { seen }) };
    }
    throw wrongAnswer(name, "broken", seen, "return a string if it is broken, otherwise undefined");
  });
}

function isTrue(name: string, what: string, ask: () => unknown): boolean {
  const answer = answerOf(name, ask);
  if (typeof answer === "boolean") return answer;
  throw wrongAnswer(name, what, answer, "return true or false");
}

function answerOf(name: string, ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    throw new TypeError(`Cannot judge a run by invariant '${name}' as it threw: ${thrownWords(error)}`);
  }
}

function wrongAnswer(name: string, what: string, answer: unknown, fix: string): TypeError {
  const given = answer instanceof Promise ? "a promise" : JSON.stringify(answer);
  return new TypeError(`Cannot judge a run by invariant '${name}' as '${what}' returned ${given}: ${fix}`);
}

/** Whether it must be true in some run that an invariant is put to the test. */
function mustBeReached({ when, sometimes }: Invariant): boolean {
  return when !== undefined || sometimes !== undefined;
}

/** The invariants of a fixture, and whether any run has put them to the test. */
export class InvariantTally implements FixtureInvariants {
  readonly own: readonly Invariant[];
  readonly shared: readonly Invariant[];
  readonly #reached = new Set<string>();

  constructor({ own, shared }: FixtureInvariants) {
    this.own = own;
    this.shared = shared;
  }

  get all(): readonly Invariant[] {
    return [...this.own, ...this.shared];
  }

  /** Learns how a run was judged by them, in whatever process: they are known by their names. */
  note(judged: readonly Judgement[]): void {
    for (const { invariant, reached } of judged) if (reached) this.#reached.add(invariant);
  }

  /** Why the fixture's own invariants do not count as kept although none is broken: no run has put one to the test. */
  get unreached(): string | undefined {
    const one = this.own.find((one) => mustBeReached(one) && !this.#reached.has(one.name));
    return one && neverReached(one.name);
  }

  /** Whether each shared invariant that must be reached was; whether that fails is decided over all fixtures. */
  get sharedReached(): { readonly [name: string]: boolean } {
    return Object.fromEntries(this.shared.filter(mustBeReached).map((one) => [one.name, this.#reached.has(one.name)]));
  }
}

/** Why an invariant fails that no run has put to the test. */
export function neverReached(name: string): string {
  return `${name}: it was never put to the test, as its 'when' or 'sometimes' was true in no run`;
}
