import { getOrMake } from "../../core/maps.ts";

/** How many of some runs passed. */
export interface Rate {
  readonly passed: number;
  readonly runs: number;
}

/** Between which rates the true one lies. */
export type Interval = readonly [low: number, high: number];

/** How often an interval may miss the true rate. */
export const MISS = 0.05;

/** The false alarms a comparison may raise. With one fixture all are spent on it, else they are split in two: */
export const LEVEL = 0.05;
/** Those over all fixtures together, and those over single ones. */
export const SUITE_LEVEL = 0.03;
export const FIXTURE_LEVEL = 0.02;
/** The false alarms of `--at-least`: that a whole interval lies below, which is one side of it. */
export const LEAST_LEVEL = MISS / 2;
/** At what level a hook is said to help, and to hurt. */
export const HOOK_LEVEL = LEVEL / 2;

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
  return atLeast(runs - passed, runs, 1 - p);
}

/** Halves a range so often, to where `isLow` ends to hold. */
function halved(isLow: (value: number) => boolean, [low, high]: Interval, times: number): Interval {
  if (times === 0) return [low, high];
  const middle = (low + high) / 2;
  return halved(isLow, isLow(middle) ? [middle, high] : [low, middle], times - 1);
}

/** Where a function that rises from `low` to `high` comes to 0. */
function root(rising: (p: number) => number, low = 0, high = 1): number {
  const [from, to] = halved((p) => rising(p) < 0, [low, high], 60);
  return (from + to) / 2;
}

/** Clopper and Pearson's exact interval: it misses the true rate in at most so many evals whose number of runs was fixed. */
export function interval({ passed, runs }: Rate, miss = MISS): Interval {
  const failed = runs - passed;
  const low = passed === 0 ? 0 : root((p) => atMost({ passed: failed, runs }, 1 - p) - miss / 2);
  const high = failed === 0 ? 1 : root((p) => miss / 2 - atMost({ passed, runs }, p));
  return [low, high];
}

/** An interval that misses the true rate in at most 5 % of evals, whenever someone looks: by a mixture of all rates. */
export function anyTimeInterval({ passed, runs }: Rate): Interval {
  const failed = runs - passed;
  const evidence = logFactorial(passed) + logFactorial(failed) - logFactorial(runs + 1) + Math.log(MISS);
  const against = (p: number) =>
    evidence - (passed > 0 ? passed * Math.log(p) : 0) - (failed > 0 ? failed * Math.log(1 - p) : 0);
  const likely = runs === 0 ? 0.5 : passed / runs;
  return [passed === 0 ? 0 : root((p) => -against(p), 0, likely), failed === 0 ? 1 : root(against, likely, 1)];
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

/**
 * The tables of two numbers of runs that are as extreme as one by Fisher's p: for each number of passes of the second
 * agent, the most of the first; -1 for none. It never falls, as more passes of the second are no less extreme.
 */
function stairs(now: number, then: number, p: number): number[] {
  let most = -1;
  return Array.from({ length: then + 1 }, (_, passed) => {
    const fits = () => pWorse([[{ passed: most + 1, runs: now }, { passed, runs: then }]]) <= p * (1 + 1e-9);
    while (most < now && fits()) most++;
    return most;
  });
}

/** The probability of such tables if the two pass with these probabilities. It falls with the first and rises with the second. */
function chanceOf(steps: readonly number[], now: number, rate: number, other: number): number {
  const below = probabilities(now, rate);
  for (let passed = 1; passed <= now; passed++) below[passed]! += below[passed - 1]!;
  const then = probabilities(steps.length - 1, other);
  return steps.reduce((sum, most, passed) => most < 0 ? sum : sum + below[most]! * then[passed]!, 0);
}

/** The probability of each number of passes, from the likeliest on. */
function probabilities(runs: number, p: number): number[] {
  const all = new Array<number>(runs + 1).fill(0);
  const likeliest = Math.min(runs, Math.floor((runs + 1) * p));
  all[likeliest] = probability({ passed: likeliest, runs }, p);
  const odds = p / (1 - p);
  for (let k = likeliest; k < runs; k++) all[k + 1] = all[k]! * odds * (runs - k) / (k + 1);
  for (let k = likeliest; k > 0; k--) all[k - 1] = all[k]! / odds * k / (runs - k + 1);
  return all;
}

/** How far above the true one a p may lie, as a share of it, and into how many parts the rates are cut at first. */
const SLACK = 0.005;
const PARTS = 128;

/**
 * The largest probability of such tables, whatever the rates are, if the first is that of the second plus `shift`; once it
 * is above `enough`, how much it is is not looked for.
 */
function mostChance(steps: readonly number[], now: number, shift: number, enough = 1): number {
  const inside = (rate: number) => Math.min(1, Math.max(0, rate));
  const [from, to] = [inside(-shift), inside(1 - shift)];
  const at = (low: number, high: number) => chanceOf(steps, now, inside(low + shift), high);
  let size = (to - from) / PARTS;
  let open = Array.from({ length: PARTS }, (_, i) => from + size * i);
  let best = Math.max(at(to, to), ...open.map((low) => at(low, low)));
  const above = () => best + Math.max(1e-6, best * SLACK);
  // Within a part it is nowhere larger than with the lowest rate of the first and the highest of the second.
  for (; open.length > 0 && best <= enough; size /= 2) {
    const isOpen = (low: number) => at(low, Math.min(to, low + size)) > above();
    open = open.filter(isOpen).flatMap((low) => [low, low + size / 2]);
    for (const low of open) best = Math.max(best, at(low, low));
  }
  return Math.min(1, above());
}

const known = new Map<string, number>();

/**
 * Boschloo's test of one fixture: the largest probability, whatever the rate is, of a table as extreme by Fisher's p, if
 * both have the same. It is exact, and finds more than Fisher's test does.
 */
export function pDrop([now, then]: Pair): number {
  const key = [now.passed, now.runs, then.passed, then.runs].join(" ");
  return getOrMake(known, key, () => mostChance(stairs(now.runs, then.runs, pWorse([[now, then]])), now.runs, 0));
}

/** Fisher's p of the last table that Boschloo's test calls a drop: at least the level, and rarely more than thrice. */
function lastDrop(now: number, then: number, level: number, halvings: number): number {
  const isDrop = (p: number) => mostChance(stairs(now, then, p), now, 0, level) <= level;
  return halved(isDrop, [level, level * 3], halvings)[0];
}

/**
 * Between which differences of rates the true one lies, each end missed in at most `level`. All of it is below 0 if and
 * only if `pDrop` is at most `level`: tables that are called a drop come first, in the order of that test, and then the
 * others, by their difference, which the order of Fisher's p knows little of.
 */
export function differenceInterval(pair: Pair, level: number): Interval {
  const highest = ([now, then]: Pair) => {
    const isDrop = pDrop([now, then]) <= level;
    const gain = now.passed * then.runs - then.passed * now.runs;
    const last = isDrop ? pWorse([[now, then]]) : lastDrop(now.runs, then.runs, level, 20);
    const drops = stairs(now.runs, then.runs, last);
    const steps = isDrop
      ? drops
      : drops.map((most, passed) =>
        Math.max(most, Math.min(now.runs, Math.floor((gain + passed * now.runs) / then.runs)))
      );
    const fails = (shift: number) => mostChance(steps, now.runs, shift, level) > level;
    return halved(fails, isDrop ? [-1, 0] : [0, 1], isDrop || !fails(1) ? 12 : 0)[1];
  };
  return [-highest([pair[1], pair[0]]), highest(pair)];
}

/** How often a drop between two rates is found at a level, with so many runs of each agent. */
export function power([now, then]: readonly [number, number], level: number, from: number, to: number): number {
  return chanceOf(stairs(now, then, lastDrop(now, then, level, 8)), now, to, from);
}

/** How often a rate is found to be below another at a level. */
export function powerBelow(runs: number, level: number, least: number, rate: number): number {
  const outcomes = Array.from({ length: runs + 1 }, (_, passed) => ({ passed, runs }));
  return outcomes.filter((one) => atMost(one, least) <= level).reduce((sum, one) => sum + probability(one, rate), 0);
}

/** The probability that at least so many pass. */
function atLeast(passed: number, runs: number, p: number): number {
  if (passed <= 0) return 1;
  if (passed <= runs * p) return 1 - atLeast(runs - passed + 1, runs, 1 - p);
  let sum = 0;
  let term = probability({ passed, runs }, p);
  for (let k = passed; k <= runs && term > 1e-18; k++) {
    sum += term;
    term *= p / (1 - p) * (runs - k) / (k + 1);
  }
  return sum;
}

/** By how much `broke` less `fixed` varies if so many pairs differ, and `shift` of the pairs is what is expected of it. */
function spread(pairs: number, differ: number, shift: number): number {
  return Math.sqrt(pairs * (Math.max(differ / pairs, Math.abs(shift)) - shift ** 2));
}

/** Of so many pairs that differ, how many must have broken to be as extreme as `z`. */
function leastBroken(pairs: number, differ: number, z: number, shift: number): number {
  const least = Math.ceil((differ + pairs * shift + z * spread(pairs, differ, shift)) / 2 - 1e-9);
  return differ === 0 && shift === 0 && z > 0 ? 1 : least;
}

/** The probability that pairs come out as extreme as `z`: `share` of them differ, and of these `among` broke. */
function chanceOfPairs(
  pairs: number,
  z: number,
  shift: number,
  share: number,
  among: number = share === 0 ? 0 : (1 + shift / share) / 2,
): number {
  return probabilities(pairs, share).reduce((sum, chance, differ) => {
    if (chance < 1e-13) return sum;
    return sum + chance * atLeast(leastBroken(pairs, differ, z, shift), differ, among);
  }, 0);
}

/** Into how many parts the share of pairs that differ is cut at first; of what is only said, into fewer. */
const SHARES = 200;
const FEW_SHARES = 40;

/** The largest such probability, whatever share of the pairs differs; once it is above `enough`, how much it is is not looked for. */
function mostOfPairs(pairs: number, z: number, shift: number, shares = SHARES, enough = 1): number {
  const least = Math.abs(shift);
  const at = (share: number) => chanceOfPairs(pairs, z, shift, share);
  let [best, where] = [0, least];
  const look = (share: number) => {
    const chance = share < least || share > 1 || best > enough ? 0 : at(share);
    if (chance > best) [best, where] = [chance, share];
  };
  for (let i = 0; i <= shares; i++) look(least + (1 - least) * i / shares);
  for (let step = 1 / shares; step > 1e-6; step /= 2) [where - step, where + step].forEach(look);
  return Math.min(1, best);
}

/**
 * The test of one fixture whose runs are pairs, which share their beginnings: some broke, so they passed before and fail
 * now, others were fixed. The largest probability, whatever share of the pairs differs, that as many more broke, if a pair
 * breaks more often than it is fixed by `shift`. It is exact for every joint law of a pair.
 */
export function pPairs(pairs: number, broke: number, fixed: number, shift = 0): number {
  if (shift === 0 && broke <= fixed) return 1;
  const key = ["pairs", pairs, broke, fixed, shift].join(" ");
  const z = (broke - fixed - pairs * shift) / spread(pairs, broke + fixed, shift);
  return getOrMake(known, key, () => mostOfPairs(pairs, z, shift));
}

/** The test of several fixtures together: of all pairs that differ, so many broke by chance, whatever the rates of each are. */
export function pPairsTogether(broke: number, fixed: number): number {
  return atLeast(broke, broke + fixed, 0.5);
}

/** Between which differences of rates the true one lies, each end missed in at most `level`: all of it is below 0 if and only if `pPairs` is at most that. */
export function pairsInterval(pairs: number, broke: number, fixed: number, level: number): Interval {
  const most = (lost: number, won: number) => {
    const isDrop = pPairs(pairs, lost, won) <= level;
    const isRuledOut = (gain: number) => pPairs(pairs, lost, won, -gain) <= level;
    return halved((gain) => !isRuledOut(gain), isDrop ? [-1, 0] : [0, 1], 12)[1];
  };
  return [-most(fixed, broke), most(broke, fixed)];
}

/** How often a drop between two rates is found at a level by so many pairs of independent runs. */
export function powerOfPairs(pairs: number, level: number, from: number, to: number): number {
  const key = ["least", pairs, level].join(" ");
  const find = () =>
    halved((z) => mostOfPairs(pairs, z, 0, FEW_SHARES, level) > level, [0, Math.sqrt(pairs) + 1], 14)[1];
  const z = getOrMake(known, key, find);
  const [broke, fixed] = [from * (1 - to), to * (1 - from)];
  return chanceOfPairs(pairs, z, 0, broke + fixed, broke / (broke + fixed));
}

/** The ps of claims that share a level, as Holm has it: each may be compared with the whole level. */
export function holm(ps: readonly number[]): number[] {
  const order = ps.map((p, i) => ({ p, i })).sort((a, b) => a.p - b.p);
  const shared: number[] = [];
  let most = 0;
  for (const [rank, { p, i }] of order.entries()) {
    most = Math.max(most, p * (ps.length - rank));
    shared[i] = Math.min(1, most);
  }
  return shared;
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
