import { ANY, type CharSet, overlap, type RegexTree, regexTree, TooNested } from "./regex-tree.ts";

/** How often a piece is written out before it counts as one that repeats without end. */
const WRITTEN_OUT = 4;
const EXACTLY_WRITTEN_OUT = 64;
/** How often a piece that can read a text in two ways may follow itself: each time may double the time of a search. */
const MOST_FORKS = 8;
/** Beyond these an expression is too tangled to be judged. */
const MOST_STEPS = 2_000_000;
const MOST_POSITIONS = 100_000;
const MOST_WAYS = 100_000;

/**
 * Why a search with this expression could take exponential time, or undefined when it cannot. That happens when, going
 * round a loop, the same text can be read in two ways: `(a+)+`, `(\w+\s?)*`, `(a|ab|b)*`, `(aa?){30}`. A loop in a
 * loop is harmless if the text itself says which is which: `(\w+\s)+`.
 */
export function runaway(regex: RegExp): string | undefined {
  try {
    const tree = regexTree(regex.source, regex.flags);
    return judge(tree) ?? (forksTooOften(tree) ? MANY_READINGS : ways(tree) > MOST_WAYS ? MANY_COUNTS : undefined);
  } catch (error) {
    if (error instanceof TooNested) return error.reason;
    throw error;
  }
}

const MANY_READINGS = "its repetitions can read the same text in several ways, which takes exponential time: " +
  "make the parts of the repeated group exclude each other";

const MANY_COUNTS = "its counted repetitions can divide a text in too many ways: use smaller counts, or * and +";

/** In about how many ways a text can be divided among repetitions that count far: `a{1,1000}a{1,1000}b` has a million. */
function ways(tree: RegexTree): number {
  switch (tree.kind) {
    case "sequence":
      return tree.parts.reduce((product, part) => product * ways(part), 1);
    case "choice":
      return Math.max(...tree.parts.map(ways));
    case "loop":
      if (tree.max === Infinity) return ways(tree.body);
      return Math.max(1, tree.max - tree.min - MOST_FORKS) * ways(tree.body) ** tree.max;
    case "look":
      return ways(tree.body);
    default:
      return 1;
  }
}

function judge(tree: RegexTree, judged: Set<RegexTree> = new Set()): string | undefined {
  const machine = new Machine();
  machine.add(tree);
  if (machine.isAmbiguous()) return MANY_READINGS;
  for (const [part, asLoop] of machine.apart) {
    if (judged.has(part)) continue;
    judged.add(part);
    const why = judge(asLoop ?? part, judged);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** A part of the expression: where it can begin and end, and whether it can be passed over. */
interface Part {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly nullable: boolean;
}

/** The positions of an expression, each with its characters and the positions that may come next, one edge for each way. */
class Machine {
  /** Parts to be judged by themselves: what only looks, and what is as bad as a loop of it, which is then its value. */
  readonly apart = new Map<RegexTree, RegexTree | undefined>();
  readonly #sets: CharSet[] = [];
  readonly #next: number[][] = [];
  /** The positions of each outermost loop, from and to: all of them can reach each other, and no others can. */
  readonly #loops: [from: number, to: number][] = [];
  /** What the judgement has cost so far. */
  steps = 0;

  add(tree: RegexTree): Part {
    switch (tree.kind) {
      case "edge":
        return NOTHING;
      case "back": // what it matches is not known here: anything
        return this.add({ kind: "set", set: ANY });
      case "set":
        this.#sets.push(tree.set);
        this.#next.push([]);
        if (this.#sets.length > MOST_POSITIONS) this.steps = Infinity;
        return { first: [this.#sets.length - 1], last: [this.#sets.length - 1], nullable: false };
      case "look":
        this.apart.set(tree.body, undefined);
        return NOTHING;
      case "choice": {
        const parts = tree.parts.map((part) => this.add(part));
        return {
          first: parts.flatMap((p) => p.first),
          last: parts.flatMap((p) => p.last),
          nullable: parts.some((p) => p.nullable),
        };
      }
      case "sequence":
        return this.#sequence(tree.parts);
      case "loop":
        return this.#loop(tree);
    }
  }

  #sequence(parts: readonly RegexTree[]): Part {
    let all = NOTHING;
    let run: RegexTree[] = [];
    for (const tree of parts) {
      const part = this.add(tree);
      all = this.#join(all, part);
      if (!part.nullable) run = [];
      else if (part.first.length > 0) run.push(tree);
      // Many in a row that may each be left out are as bad as a loop that chooses among all of the run: `a?a?a?…`.
      if (run.length === MOST_FORKS + 1) this.#judgeAsLoop(run[0]!, { kind: "choice", parts: run });
    }
    return all;
  }

  #judgeAsLoop(part: RegexTree, body: RegexTree): void {
    this.apart.set(part, { kind: "loop", body, min: 0, max: Infinity });
  }

  #loop({ body, min, max }: RegexTree & { kind: "loop" }): Part {
    if (max === 0) return NOTHING;
    // Twice, as one that may be empty is harmless in a loop, and not if it is counted: `(a?){30}`.
    if ((max === Infinity ? min : max) > MOST_FORKS) this.#judgeAsLoop(body, { kind: "sequence", parts: [body, body] });
    const writtenOut = max <= WRITTEN_OUT || (min === max && max <= EXACTLY_WRITTEN_OUT && !repeats(body));
    if (!writtenOut) {
      const from = this.#sets.length;
      const part = this.add(body);
      while ((this.#loops.at(-1)?.[0] ?? -1) >= from) this.#loops.pop();
      this.#loops.push([from, this.#sets.length]);
      this.#connect(part, part);
      return min === 0 ? { ...part, nullable: true } : part;
    }
    // A copy begins only where the one before it has ended: of three that may be there, none can be left out in the middle.
    let copies = NOTHING;
    const last = new Set<number>();
    for (let i = 1; i <= max && this.steps <= MOST_STEPS; i++) {
      copies = this.#join(copies, this.add(body));
      if (i >= min) { for (const position of copies.last) last.add(position); }
    }
    return { first: copies.first, last: [...last], nullable: min === 0 || copies.nullable };
  }

  #join(a: Part, b: Part): Part {
    this.#connect(a, b);
    return {
      first: a.nullable ? [...a.first, ...b.first] : a.first,
      last: b.nullable ? [...a.last, ...b.last] : b.last,
      nullable: a.nullable && b.nullable,
    };
  }

  #connect(a: Part, b: Part): void {
    this.steps += a.last.length * b.first.length;
    if (this.steps > MOST_STEPS) return;
    for (const last of a.last) this.#next[last]!.push(...b.first);
  }

  /** Whether one text leads round a loop in two ways: by two edges, or by two paths that part and meet again. */
  isAmbiguous(): boolean {
    if (this.steps > MOST_STEPS) return true;
    for (const [from, to] of this.#loops) {
      const loop = Array.from({ length: to - from }, (_, i) => from + i);
      const members = new Set(loop);
      const next = new Map(loop.map((p) => [p, this.#next[p]!.filter((n) => members.has(n))]));
      if ([...next.values()].some((targets) => new Set(targets).size < targets.length)) return true;
      if (this.#partAndMeet(loop, next)) return true;
    }
    return false;
  }

  /** Follows two readers of one text from every common place, and sees whether they part and meet again. */
  #partAndMeet(loop: readonly number[], next: ReadonlyMap<number, readonly number[]>): boolean {
    const open = loop.map((p) => [p, p] as const);
    const key = (a: number, b: number) => a * this.#sets.length + b;
    const seen = new Set(loop.map((p) => key(p, p)));
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      for (const a of next.get(pair[0])!) {
        for (const b of next.get(pair[1])!) {
          if (++this.steps > MOST_STEPS) return true;
          if (a === b && pair[0] !== pair[1]) return true;
          if (seen.has(key(a, b)) || !overlap(this.#sets[a]!, this.#sets[b]!)) continue;
          seen.add(key(a, b));
          open.push([a, b]);
        }
      }
    }
    return false;
  }
}

const NOTHING: Part = { first: [], last: [], nullable: true };

/** A character that no text has: behind it, one reading of a piece has ended. */
const END: RegexTree = { kind: "set", set: [[Infinity, Infinity]] };

/** Whether too many choices in a row can read a text in two ways, though nothing repeats: `(a|a)(a|a)(a|a)…`. */
function forksTooOften(tree: RegexTree): boolean {
  if (doublings(tree, () => true) <= MOST_FORKS) return false;
  let steps = 0;
  return doublings(tree, (choice) => {
    if (steps > MOST_STEPS) return true;
    const machine = new Machine();
    machine.add({ kind: "loop", body: { kind: "sequence", parts: [choice, END] }, min: 0, max: Infinity });
    const forks = machine.isAmbiguous();
    steps += machine.steps;
    return forks;
  }) > MOST_FORKS;
}

/** How often the ways to read a text may double at choices of a kind; one alone, however long, does no harm. */
function doublings(tree: RegexTree, isOne: (choice: RegexTree) => boolean): number {
  switch (tree.kind) {
    case "sequence":
      return tree.parts.reduce((sum, part) => sum + doublings(part, isOne), 0);
    case "choice":
      return Math.max(...tree.parts.map((part) => doublings(part, isOne))) +
        (isOne(tree) ? Math.min(Math.log2(tree.parts.length), MOST_FORKS / 2) : 0);
    case "loop":
      return doublings(tree.body, isOne) * (tree.max === Infinity ? tree.min : tree.max);
    case "look":
      return doublings(tree.body, isOne);
    default:
      return 0;
  }
}

/** Whether a piece repeats more often than it would be written out. */
function repeats(tree: RegexTree): boolean {
  if (tree.kind === "loop") return tree.max > WRITTEN_OUT || repeats(tree.body);
  return "parts" in tree && tree.parts.some(repeats);
}
