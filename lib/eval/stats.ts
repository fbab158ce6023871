/** How many of some runs passed. */
export interface Rate {
  readonly passed: number;
  readonly runs: number;
}

/** Between which rates the true one lies. */
export type Interval = readonly [low: number, high: number];

/** How often an interval may miss the true rate. */
const MISS = 0.05;

/** The false alarms a comparison may raise: over all fixtures together, and over single ones. */
export const SUITE_LEVEL = 0.03;
export const FIXTURE_LEVEL = 0.02;
/** The false alarms of `--at-least`: that a whole interval lies below, which is one side of it. */
export const LEAST_LEVEL = MISS / 2;

const logs = [0];

function logFactorial(n: number): number {
  for (let i = logs.length; i <= n; i++) logs.push(logs[i - 1]! + Math.log(i));
  return logs[n]!;
}

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

/** The probability that exactly `passed` of `runs` pass if each does with probability `p`. */
export function probability({ passed, runs }: Rate, p: number): number {
  if (p <= 0 || p >= 1) return passed === (p <= 0 ? 0 : runs) ? 1 : 0;
  return Math.exp(logChoose(runs, passed) + passed * Math.log(p) + (runs - passed) * Math.log(1 - p));
}

/** The probability that at most so many pass. */
export function atMost({ passed, runs }: Rate, p: number): number {
  let sum = 0;
  for (let k = 0; k <= passed; k++) sum += probability({ passed: k, runs }, p);
  return Math.min(1, sum);
}

/** Where a function that rises from `low` to `high` comes to 0. */
function root(rising: (p: number) => number, low = 0, high = 1): number {
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (rising(middle) < 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Clopper and Pearson's exact interval: it misses the true rate in at most 5 % of evals whose number of runs was fixed. */
export function interval({ passed, runs }: Rate): Interval {
  const failed = runs - passed;
  const low = passed === 0 ? 0 : root((p) => atMost({ passed: failed, runs }, 1 - p) - MISS / 2);
  const high = failed === 0 ? 1 : root((p) => MISS / 2 - atMost({ passed, runs }, p));
  return [low, high];
}

/** An interval that misses the true rate in at most 5 % of evals, whenever someone looks: by a mixture of all rates. */
export function anyTimeInterval({ passed, runs }: Rate): Interval {
  const failed = runs - passed;
  const evidence = logFactorial(passed) + logFactorial(failed) - logFactorial(runs + 1) + Math.log(MISS);
  const against = (p: number) =>
    evidence - (passed > 0 ? passed * Math.log(p) : 0) - (failed > 0 ? failed * Math.log(1 - p) : 0);
  const likely = runs === 0 ? 0.5 : passed / runs;
  return [
    passed === 0 ? 0 : root((p) => -against(p), 0, likely),
    failed === 0 ? 1 : root(against, likely, 1),
  ];
}

/** An unbiased estimate of the probability that `k` runs in a row pass. */
export function passAll({ passed, runs }: Rate, k: number): number {
  return k > passed ? 0 : Math.exp(logChoose(passed, k) - logChoose(runs, k));
}

/** The rates of one fixture: of the agent in question, and of the one it is compared with. */
export type Pair = readonly [now: Rate, then: Rate];

/**
 * The probability that the first agent passes so rarely in all if both are the same on each fixture: how the passes of
 * a fixture fall on the two, given their number, is hypergeometric, and the fixtures are independent. For one fixture
 * that is Fisher's test.
 */
export function pWorse(pairs: readonly Pair[]): number {
  let sums = [1];
  let least = 0;
  for (const [now, then] of pairs) {
    const all = now.passed + then.passed;
    const [from, to] = [Math.max(0, all - then.runs), Math.min(all, now.runs)];
    least += from;
    const total = logChoose(now.runs + then.runs, all);
    const chances = Array.from(
      { length: to - from + 1 },
      (_, i) => Math.exp(logChoose(now.runs, from + i) + logChoose(then.runs, all - from - i) - total),
    );
    const next = new Array<number>(sums.length + chances.length - 1).fill(0);
    for (const [i, sum] of sums.entries()) {
      for (const [j, chance] of chances.entries()) next[i + j]! += sum * chance;
    }
    sums = next;
  }
  const passed = pairs.reduce((sum, [now]) => sum + now.passed, 0) - least;
  return Math.min(1, sums.slice(0, passed + 1).reduce((sum, chance) => sum + chance, 0));
}

/** How finely differences of rates are told apart by a sign flip. */
const STEPS = 1000;
/** With fewer fixtures, no outcome of a sign flip is rare enough. */
const LEAST_FIXTURES = 6;

/** The probability of so large a drop if on each fixture of its kind either agent were as likely the better one; undefined if they are too few. */
export function pWorseBeyond(pairs: readonly Pair[]): number | undefined {
  if (pairs.length < LEAST_FIXTURES) return undefined;
  const drops = pairs.map(([now, then]) => Math.trunc(STEPS * (now.passed / now.runs - then.passed / then.runs)));
  let sums = new Map([[0, 1]]);
  for (const drop of drops) {
    const next = new Map<number, number>();
    for (const [sum, chance] of sums) {
      for (const sign of [-1, 1]) next.set(sum + sign * drop, (next.get(sum + sign * drop) ?? 0) + chance / 2);
    }
    sums = next;
  }
  const seen = drops.reduce((sum, drop) => sum + drop, 0);
  return [...sums].reduce((p, [sum, chance]) => sum <= seen ? p + chance : p, 0);
}

/** Which of some claims hold at a level that they share, by Holm's rule. */
export function holm(ps: readonly number[], level: number): boolean[] {
  const order = ps.map((p, i) => ({ p, i })).sort((a, b) => a.p - b.p);
  const first = order.findIndex(({ p }, rank) => p > level / (ps.length - rank));
  const kept = new Set(order.slice(0, first < 0 ? ps.length : first).map(({ i }) => i));
  return ps.map((_, i) => kept.has(i));
}

/** After how many rounds it is asked whether an agent has failed already, and the part of each level that is spent there. */
export interface Look {
  readonly rounds: number;
  readonly part: number;
}

/** Little is spent early, as O'Brien and Fleming have it. The parts add up to 1, so a level holds whatever the looks see. */
const LOOKS = [[1 / 3, 0.01], [2 / 3, 0.24], [1, 0.75]] as const;

/** The looks of an eval; one at which no outcome could tell anything is left out, and the next one has its part. */
export function looks(rounds: number, couldTell: (rounds: number, part: number) => boolean): Look[] {
  const found: Look[] = [];
  let saved = 0;
  for (const [share, part] of LOOKS) {
    const look = { rounds: Math.ceil(rounds * share), part: part + saved };
    const isLast = share === 1;
    if (isLast || (look.rounds < rounds && couldTell(look.rounds, look.part))) found.push(look);
    saved = found.at(-1) === look ? 0 : look.part;
  }
  return found;
}
