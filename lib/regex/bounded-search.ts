import { ANY, type CharSet, type RegexTree, regexTree, WORDS } from "./regex-tree.ts";

/** Steps that are not noticed, and steps that are taken if there is no other way to be sure. */
const CHEAP = 1e6;
const MOST_STEPS = 1e9;

/**
 * A search in texts of strangers, whose time does not grow with a power of their length: `curl.*\|.*sh` would take
 * hours for 20,000 characters that nearly match. Undefined where a text is too long to be sure.
 *
 * @param regex without the flags `u` and `v`, and not one that runs away
 */
export function boundedSearch(regex: RegExp): (text: string) => boolean | undefined {
  const tree = regexTree(regex.source, regex.flags);
  const repeated = loops(tree);
  let linear: ReturnType<typeof linearSearch> | undefined;
  return (text) => {
    const cost = steps(text.length, repeated);
    if (cost <= CHEAP) return regex.test(text);
    linear ??= linearSearch(tree, regex);
    const found = linear(text);
    return found !== undefined ? found : cost <= MOST_STEPS ? regex.test(text) : undefined;
  };
}

/** In how many ways a text can be divided among so many repetitions, wherever the match begins. */
function steps(length: number, repeated: number): number {
  let ways = length;
  for (let i = 1; i <= repeated && ways <= MOST_STEPS; i++) ways *= length / (i + 1);
  return ways;
}

function loops(tree: RegexTree): number {
  switch (tree.kind) {
    case "loop":
      return loops(tree.body) + (tree.max > 1 ? 1 : 0);
    case "look":
      return loops(tree.body);
    case "sequence":
      return tree.parts.reduce((sum, part) => sum + loops(part), 0);
    case "choice":
      return Math.max(...tree.parts.map(loops));
    default:
      return 0;
  }
}

/** A place in the expression: it reads a character, splits, looks at where it is, or is the end. */
type NfaState =
  | { readonly kind: "set"; readonly has: (code: number) => boolean; next: number }
  | { readonly kind: "split"; to: readonly number[] }
  | (Edge & { next: number })
  | { readonly kind: "end" };

type Edge = RegexTree & { kind: "edge" };

/** More places than this, and repetitions that are counted are read as repetitions without end. */
const MOST_PLACES = 2000;

/**
 * Whether an expression is found, by following all its readings at once: time bounded by expression × text. What looks
 * ahead or behind, refers back or counts far is taken to hold, so "not found" is always sure; undefined is "found, if
 * that holds".
 */
export function linearSearch(tree: RegexTree, { source, ignoreCase }: RegExp): (text: string) => boolean | undefined {
  const folds = ignoreCase || /\(\?[a-z]*i/.test(source);
  const machine = new Machine(folds);
  const start = machine.add(tree, machine.put({ kind: "end" }));
  return (text) => {
    if (!machine.finds(text, start)) return false;
    // deno-lint-ignore no-control-regex
    return machine.isSure && !(folds && /[^\x00-\x7f]/.test(text)) ? true : undefined;
  };
}

class Machine {
  /** Whether nothing was taken to hold that may not. */
  isSure = true;
  readonly #places: NfaState[] = [];
  readonly #folds: boolean;

  constructor(folds: boolean) {
    this.#folds = folds;
  }

  put(place: NfaState): number {
    return this.#places.push(place) - 1;
  }

  /** Adds a part before a place, and gives the place where it begins. */
  add(tree: RegexTree, next: number): number {
    switch (tree.kind) {
      case "set":
        return this.put({ kind: "set", has: member(tree.set, this.#folds), next });
      case "edge":
        return this.put({ ...tree, next });
      case "look":
        this.isSure = false;
        return next;
      case "back":
        this.isSure = false;
        return this.#endless({ kind: "set", set: ANY }, next);
      case "sequence":
        return tree.parts.reduceRight((after, part) => this.add(part, after), next);
      case "choice":
        return this.put({ kind: "split", to: tree.parts.map((part) => this.add(part, next)) });
      case "loop":
        return this.#loop(tree, next);
    }
  }

  #loop({ body, min, max }: RegexTree & { kind: "loop" }, next: number): number {
    const before = this.#places.length;
    let at = max === Infinity ? this.#endless(body, next) : next;
    const size = Math.max(1, this.#places.length - before, sizeOf(body));
    if (before + size * (max === Infinity ? min : max) > MOST_PLACES) {
      this.isSure = false;
      return max === Infinity ? at : this.#endless(body, next);
    }
    if (max !== Infinity) {
      for (let i = min; i < max; i++) at = this.put({ kind: "split", to: [this.add(body, at), next] });
    }
    for (let i = 0; i < min; i++) at = this.add(body, at);
    return at;
  }

  /** Any number of times, also none. */
  #endless(body: RegexTree, next: number): number {
    const split: NfaState = { kind: "split", to: [] };
    const at = this.put(split);
    split.to = [this.add(body, at), next];
    return at;
  }

  finds(text: string, start: number): boolean {
    const seen = new Int32Array(this.#places.length).fill(-1);
    let [now, then]: [number[], number[]] = [[], []];
    const open: number[] = [];
    /** Follows what reads nothing, from a place at an index; true at the end of the expression. */
    const reach = (from: number, index: number, into: number[]): boolean => {
      open.push(from);
      for (let at = open.pop(); at !== undefined; at = open.pop()) {
        if (seen[at] === index) continue;
        seen[at] = index;
        const place = this.#places[at]!;
        if (place.kind === "end") return true;
        if (place.kind === "set") into.push(at);
        else if (place.kind === "split") { for (const to of place.to) open.push(to); }
        else if (holds(place, text, index)) open.push(place.next);
      }
      return false;
    };
    for (let index = 0;; index++) {
      if (reach(start, index, now)) return true;
      if (index >= text.length) return false;
      const code = text.charCodeAt(index);
      then.length = 0;
      for (const at of now) {
        const place = this.#places[at] as NfaState & { kind: "set" };
        if (place.has(code) && reach(place.next, index + 1, then)) return true;
      }
      [now, then] = [then, now];
    }
  }
}

function holds({ edge, lines }: Edge, text: string, index: number): boolean {
  if (edge === "^") return index === 0 || (lines && isBreak(text.charCodeAt(index - 1)));
  if (edge === "$") return index === text.length || (lines && isBreak(text.charCodeAt(index)));
  const within = isWord(text.charCodeAt(index - 1)) === isWord(text.charCodeAt(index));
  return within === (edge === "B");
}

function sizeOf(tree: RegexTree): number {
  switch (tree.kind) {
    case "loop":
      return 1 + sizeOf(tree.body) * (tree.max === Infinity ? tree.min + 1 : tree.max);
    case "sequence":
    case "choice":
      return tree.parts.reduce((sum, part) => sum + sizeOf(part), 1);
    default:
      return 1;
  }
}

function isWord(code: number): boolean {
  return WORDS.some(([from, to]) => from <= code && code <= to);
}

function isBreak(code: number): boolean {
  return code === 10 || code === 13 || code === 0x2028 || code === 0x2029;
}

/** Whether a character is in the set; ASCII, as nearly all are, by one look. */
function member(set: CharSet, folds: boolean): (code: number) => boolean {
  const inside = (code: number) => set.some(([from, to]) => from <= code && code <= to);
  const plain = Uint8Array.from({ length: 128 }, (_, code) => inside(code) ? 1 : 0);
  const cased = (code: number) => {
    const c = String.fromCharCode(code);
    return [...c.toLowerCase() + c.toUpperCase()].some((other) => inside(other.charCodeAt(0)));
  };
  return (code) => code < 128 ? plain[code] === 1 : inside(code) || (folds && cased(code));
}
