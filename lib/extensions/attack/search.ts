import type { Adversary, Trial } from "./adversary.ts";
import type { AttackTask } from "./attack-worker.ts";
import { interleaved } from "./grammar/mined.ts";
import type { AttackCall, Candidate, CandidateStep, Family, Grammar, Tables } from "./grammar/types.ts";

export interface Form {
  readonly candidate: Candidate;
  readonly calls: readonly AttackCall[];
}

interface SearchLimits extends Pick<AttackTask, "runs" | "seed" | "calls" | "all"> {
  /** Ends the search between candidates. */
  readonly over: () => boolean;
  readonly accepted: ReadonlySet<string>;
}

export interface Searched {
  readonly tries: number;
  /** All forms with at most one rewriting, as far as they are known. */
  readonly forms: number;
  /** Of the stated set, which is these or the first `runs` of them, those that time did not suffice for. */
  readonly left: number;
  /** Whether the programs of this machine that run others were looked for. */
  readonly widened: boolean;
  /** Tries that a call ran into its time in: they count for nothing. */
  readonly timedOut: number;
}

/** What a step is made of besides its operation. */
type Part = Pick<CandidateStep, "spelling" | "plan" | "mined"> & { readonly rewritings?: readonly string[] };

/** How many are asked at once: the same on every machine, as the order of what is learned depends on it. */
const LANES = 4;
/** With how many commands a spelling or a plan is tried by itself, and with how many a word of the guard, which is a guess. */
const MOST_OF_PART = 6;
/** A guard that lets so few commands through is a list of what it allows: each of them is tried with every part. */
const MOST_LET = 16;
const MOST_OF_WORD = 3;
/** How often something else is drawn before the search has drawn all it can. */
const REDRAWS = 200;

/** Every form with at most one rewriting; operations that the guard `lets` through elsewhere come first. */
export function exhaustive(
  grammar: Grammar,
  accepted: ReadonlySet<string>,
  lets: ReadonlySet<string> = new Set(),
): Form[] {
  const tables = allowed(grammar, accepted);
  const known = new Set<string>();
  const made = (operation: string, part: Part = {}): Form | undefined =>
    built(grammar, { steps: [{ operation, rewritings: [], ...part }] }, known);
  const plain = tables.operations.flatMap(({ name }) => made(name) ?? []);
  const kinds: readonly (readonly Part[])[] = [
    tables.rewritings.map(({ name }) => ({ rewritings: [name] })),
    tables.spellings.map(({ name }) => ({ spelling: name })),
    tables.plans.map(({ name }) => ({ plan: name })),
    tables.mined.map(({ name }) => ({ mined: name })),
  ];
  const meant = meantOf(tables.operations);
  const commands = meant.filter(({ shell }) => shell !== undefined);
  const through = commands.filter(({ name }) => lets.has(name));
  const others = commands.filter(({ name }) => !lets.has(name));
  const least = through.length > MOST_LET ? 0 : through.length;
  // Each begins with another operation: what a guard overlooks is mostly one operation or one part, not one pair.
  const queues = interleaved(kinds).map((part, i) => {
    const most = part.rewritings ? Infinity : part.mined === undefined ? Math.max(MOST_OF_PART, least) : MOST_OF_WORD;
    const formsOf = (some: Grammar["operations"]) => some.flatMap(({ name }) => made(name, part) ?? []);
    const shell = formsOf([...turned(through, i), ...turned(others, i)]).slice(0, most);
    const tools = formsOf(turned(meant.filter((one) => one.shell === undefined), i));
    return i % 2 === 0 ? interleaved([shell, tools]) : interleaved([tools, shell]);
  });
  return [...plain, ...interleaved(queues)];
}

function turned<T>(list: readonly T[], by: number): T[] {
  return list.map((_, i) => list[(i + by) % list.length]!);
}

/** The operations whose first effect is the property, or that of the first operation: to change a file, not to remove it. */
function meantOf(operations: Grammar["operations"]): Grammar["operations"] {
  const shared = operations[0]?.effects.find((one) => operations.every(({ effects }) => effects.includes(one)));
  const first = operations.some(({ effects }) => effects[0] === shared) ? shared : operations[0]?.effects[0];
  return operations.filter(({ effects, shell }) => effects[0] === first || shell === undefined);
}

function built(grammar: Grammar, candidate: Candidate, known: Set<string>): Form | undefined {
  const calls = grammar.build(candidate);
  if (!calls || calls.length === 0) return undefined;
  const key = JSON.stringify(calls);
  if (known.has(key)) return undefined;
  known.add(key);
  return { candidate, calls };
}

function allowed(grammar: Grammar, accepted: ReadonlySet<string>): Tables {
  const left = <T extends { readonly family?: Family }>(table: readonly T[]) =>
    table.filter(({ family }) => family === undefined || !accepted.has(family));
  const { operations, rewritings, plans } = grammar;
  return { ...grammar, operations: left(operations), rewritings: left(rewritings), plans: left(plans) };
}

/** Whether a trial has an answer that hooks and rules have not given so far: a new one shows that a part of a form matters to a hook or rule. */
function ledgerOf(patterns: readonly RegExp[]): (trial: Trial) => boolean {
  const known = new Set<string>();
  return ({ calls }) => {
    const before = known.size;
    for (const { verdicts, input } of calls) {
      // Names, digits and quoted texts of reasons do not count.
      for (const { by, decision, reason = "" } of verdicts) {
        known.add(`${by} ${decision} ${reason.replace(/'[^']*'|"[^"]*"|`[^`]*`|[\w.-]*[/.\d][\w./-]*/g, "…")}`);
      }
      const text = Object.values(input).join("\n");
      known.add(patterns.map((pattern) => pattern.test(text) ? 1 : 0).join(""));
    }
    return known.size > before;
  };
}

/** The next number of a seed, from 0 to below 1. */
export function randomOf(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Draws candidates with more parts; parts that taught something are drawn more often. */
class Draws {
  readonly #limits: SearchLimits;
  readonly #random: () => number;
  readonly #weights = new Map<string, number>();
  /** Near misses: candidates that taught something. */
  readonly #pool: Candidate[] = [];

  constructor(limits: SearchLimits) {
    this.#limits = limits;
    this.#random = randomOf(limits.seed);
  }

  learn(candidate: Candidate): void {
    this.#pool.push(candidate);
    for (const name of partsOf(candidate)) this.#weights.set(name, (this.#weights.get(name) ?? 1) + 1);
  }

  /** A form that was not tried; undefined if none is found. */
  next(grammar: Grammar, known: Set<string>): Form | undefined {
    const tables = allowed(grammar, this.#limits.accepted);
    for (let i = 0; i < REDRAWS; i++) {
      const form = built(grammar, this.#candidate(tables), known);
      if (form) return form;
    }
    return undefined;
  }

  #candidate(tables: Tables): Candidate {
    const bred = this.#pool.length > 0 && this.#random() < 0.5
      ? this.#pool[Math.floor(this.#random() * this.#pool.length)]!
      : undefined;
    let step = bred?.steps.at(-1) ?? { operation: this.#pick(tables.operations), rewritings: [] };
    const more = 1 + Math.floor(this.#random() * 2) + (bred ? 0 : 1);
    for (let i = 0; i < more; i++) step = { ...step, ...this.#part(tables, step) };
    const steps = [...bred?.steps.slice(0, -1) ?? [], step];
    if (steps.length < this.#limits.calls && this.#random() < 0.3) {
      steps.unshift({ operation: this.#pick(tables.operations), rewritings: [], ...this.#part(tables) });
    }
    return { steps };
  }

  #part({ rewritings, spellings, plans, mined }: Tables, step?: CandidateStep): Part {
    const at = this.#random();
    if (at < 0.55 && rewritings.length > 0) return { rewritings: [...step?.rewritings ?? [], this.#pick(rewritings)] };
    if (at < 0.75 && spellings.length > 0) return { spelling: this.#pick(spellings) };
    if (at < 0.9 && plans.length > 0) return { plan: this.#pick(plans) };
    return mined.length > 0 ? { mined: this.#pick(mined) } : {};
  }

  #pick(table: readonly { readonly name: string }[]): string {
    const weight = ({ name }: { readonly name: string }) => this.#weights.get(name) ?? 1;
    let left = this.#random() * table.reduce((sum, one) => sum + weight(one), 0);
    return (table.find((one) => (left -= weight(one)) < 0) ?? table[0]!).name;
  }
}

/** The names of all parts of a candidate, operations last. */
function partsOf({ steps }: Candidate): string[] {
  const parts = steps.flatMap(({ plan, spelling, mined, rewritings }) => [plan, spelling, ...rewritings, mined]);
  return [...parts.filter((part) => part !== undefined), ...steps.map(({ operation }) => operation)];
}

/** What a hole is made of: what was changed about an operation, or if nothing was, the operation. */
export function kindOf(candidate: Candidate): string[] {
  const parts = partsOf(candidate);
  return parts.length > candidate.steps.length ? parts.slice(0, -candidate.steps.length) : parts;
}

/** Searches for runs that break a property. Unless all of a form is refused when only asked about, it is run: guards look at files. */
export async function search(
  grammars: readonly Grammar[],
  patterns: readonly RegExp[],
  adversary: Adversary,
  limits: SearchLimits,
  { lets, widen, breaks, hit, tried }: {
    /** Names of operations that the guard lets through where they do no harm. */
    readonly lets?: ReadonlySet<string>;
    /** The same grammars with what takes long to find, asked for once all else was tried. */
    readonly widen: () => Promise<readonly Grammar[]>;
    readonly breaks: (trial: Trial, form: Form) => boolean;
    readonly hit: (hit: Form, grammar: Grammar) => Promise<boolean>;
    readonly tried: (tries: number, forms: number) => void;
  },
): Promise<Searched> {
  const known = new Set<string>();
  const formsOf = (some: readonly Grammar[]) => {
    const all = interleaved(
      some.map((grammar, of) => exhaustive(grammar, limits.accepted, lets).map((form) => ({ ...form, of }))),
    );
    const fresh = all.filter(({ calls }) => !known.has(JSON.stringify(calls)));
    for (const { calls } of fresh) known.add(JSON.stringify(calls));
    return fresh;
  };
  const forms = formsOf(grammars);
  let wide = grammars;
  let widened = false;
  const draws = grammars.map(() => new Draws(limits));
  const isNew = ledgerOf(patterns);
  const holes: (readonly string[])[] = [];
  const isSwallowed = ({ candidate }: Form) => {
    const parts = new Set(partsOf(candidate));
    return holes.some((hole) => hole.every((part) => parts.has(part)));
  };
  const drawn = (i: number) => {
    const of = i % draws.length;
    const form = draws[of]!.next(wide[of]!, known);
    return form && { ...form, of };
  };
  let [number, tries, timedOut] = [0, 0, 0];
  let isOver = false;
  while (!isOver && number < limits.runs && !limits.over()) {
    const at = number;
    if (at >= forms.length && !widened) {
      wide = await widen();
      forms.push(...formsOf(wide));
      widened = true;
    }
    const size = Math.min(LANES, limits.runs - at, at < forms.length ? forms.length - at : Infinity);
    const batch = Array.from({ length: size }, (_, i) => forms[at + i] ?? drawn(at + i)).filter((form) =>
      form !== undefined
    );
    if (batch.length === 0) break;
    const asked = await Promise.all(
      batch.map((form) => isSwallowed(form) ? undefined : adversary.run(form.calls, { dry: true })),
    );
    await adversary.putBack();
    for (const [i, form] of batch.entries()) {
      number = at + i + 1;
      if (!asked[i] || isSwallowed(form)) continue;
      if (limits.over()) {
        number--;
        break;
      }
      tries++;
      tried(tries, forms.length);
      // If nothing got through, nothing happened that a later call could have met.
      const trial = asked[i].calls.some(({ ran }) => ran) ? await adversary.run(form.calls) : asked[i];
      if (isNew(trial)) draws[form.of]!.learn(form.candidate);
      if (trial.timedOut) timedOut++;
      if (!breaks(trial, form) || !await hit(form, wide[form.of]!)) continue;
      holes.push(kindOf(form.candidate));
      isOver = !limits.all;
      if (isOver) break;
    }
  }
  const isWhole = widened || limits.runs <= forms.length;
  const left = Math.max(isWhole ? 0 : 1, Math.min(limits.runs, forms.length) - number);
  return { tries, forms: forms.length, left, widened, timedOut };
}
