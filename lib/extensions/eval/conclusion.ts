import type { Row, Summary } from "./summary.ts";
import type { Rate } from "./exact-stats.ts";

/** What an eval comes to. */
export interface Conclusion {
  /** Whether what is claimed holds; "measured" if nothing is claimed, "not graded" if nothing says what passes. */
  readonly is: "good" | "bad" | "measured" | "not graded" | "not measured";
  /** Some of its words. */
  readonly badge: string;
  readonly words: string;
}

/** One sentence, in which each p says what its words do. */
export function concluded(summary: Omit<Summary, "conclusion">, atLeast: number | undefined): Conclusion {
  const { ended, measured, rows, suite, variants: [now, other], unreached, hooks } = summary;
  const { ungraded, ungradedAs, lostAs } = summary;
  const not = (words: string): Conclusion => ({ is: "not measured", badge: words.split(":")[0]!, words });
  if (ended === "aborted") return not("interrupted: not all runs were made");
  if (ended === "lost") {
    const share = `more than 10 % of the runs were lost${ungraded > 0 ? " or not graded" : ""}`;
    return not(`not measured: ${share}, the last as ${ungradedAs ?? lostAs}`);
  }
  if (!measured) {
    return not(`not measured: the budget ended before ${now === WITH ? "all pairs were run" : "the first look"}`);
  }
  if (hooks) return hooksConclusion(hooks, rows.length);
  const changed = summary.mayFit ? `${changedWords(rows)}; ` : "";
  const worse = rows.filter((row) => row.worse).map(({ fixture, p }) => `${fixture} (p ${pText(p!)})`);
  const together = `these ${rows.length} fixtures together (p ${pText(suite?.p ?? 1)})`;
  const below = rows.filter((row) => row.below).map(({ fixture }) => fixture);
  const against = [
    ...(suite?.worse ? [["worse", ` on ${worse.join(", ") || together}, compared with ${other}`]] : []),
    ...(below.length > 0 ? [[`below ${atLeast}`, ` on ${below.join(", ")}`]] : []),
    ...(unreached.length > 0 ? [["never put to the test", `: ${unreached.join(", ")}`]] : []),
  ];
  if (against.length > 0) {
    return { is: "bad", badge: against[0]![0]!, words: changed + against.map((parts) => parts.join("")).join("; ") };
  }
  const ends = sumOf(rows.flatMap(({ asRecorded }) => asRecorded ?? []));
  const notGraded = `not graded: ${ends.passed} of ${ends.runs} runs ended as recorded`;
  if (rows.every(({ asRecorded }) => asRecorded)) return { is: "not graded", badge: "not graded", words: notGraded };
  if (!suite && atLeast === undefined) {
    const { passed, runs } = sumOf(rows.map(({ cells: [now] }) => now!));
    const words = `passed ${passed} of ${runs} runs${ends.runs > 0 ? `; ${notGraded}` : ""}`;
    return { is: "measured", badge: "measured", words };
  }
  const p = Math.min(suite?.p ?? 1, ...rows.map((row) => row.p ?? 1));
  const shown = [
    ...(suite ? [["not shown to be worse", ` than ${other} (p ${pText(p)})`]] : []),
    ...(atLeast !== undefined ? [[`not shown to be below ${atLeast}`, ""]] : []),
  ];
  return { is: "good", badge: shown[0]![0]!, words: changed + shown.map((parts) => parts.join("")).join("; ") };
}

/** How many runs came out otherwise than those that they continue. */
function changedWords(rows: readonly Row[]): string {
  const sum = (key: "broke" | "fixed") => rows.reduce((all, { pairs }) => all + (pairs?.[key] ?? 0), 0);
  const now = (n: number, one: string, many: string) => `${n} now ${n === 1 ? one : many}`;
  return `${now(sum("fixed"), "passes", "pass")} that failed, ${now(sum("broke"), "fails", "fail")} that passed`;
}

function sumOf(rates: readonly Rate[]): Rate {
  const sum = (key: "passed" | "runs") => rates.reduce((all, rate) => all + rate[key], 0);
  return { passed: sum("passed"), runs: sum("runs") };
}

/** What the variant is called that has the hooks in question. */
export const WITH = "with";

/** What hooks change, in one sentence. */
function hooksConclusion({ rate, interval: [low, high], unchanged }: Hooks, changed: number): Conclusion {
  const all = changed + Object.keys(unchanged).length;
  const fixtures = `${all} ${all === 1 ? "fixture" : "fixtures"}`;
  if (changed === 0) {
    return { is: "good", badge: "decoration", words: `decoration: it changes 0 of ${fixtures}` };
  }
  const between = `${Math.round(low * 100)} to ${Math.round(high * 100)}`;
  if (low <= 0 && high >= 0) {
    const badge = "no difference shown";
    return { is: "good", badge, words: `${badge}: ${points(rate)} points (${between})` };
  }
  const badge = low > 0 ? "helps" : "hurts";
  const overall = `${points(rate * changed / all)} over all ${fixtures}`;
  const words = `${badge}: ${points(rate)} points where it speaks (${between}), ${overall}`;
  return { is: low > 0 ? "good" : "bad", badge, words };
}

type Hooks = NonNullable<Summary["hooks"]>;

function points(rate: number): string {
  return `${rate > 0 ? "+" : ""}${Math.round(rate * 100)}`;
}

/** Rounded up: a p that is shown as 0.050 is at most that. */
export function pText(p: number): string {
  return p < 0.001 ? "< 0.001" : (Math.ceil(p * 1000 - 1e-9) / 1000).toFixed(3);
}

/** What is against an agent on one fixture, in words; empty if nothing is. */
export function verdictOf({ worse, below, p }: Row): string {
  return [worse ? `worse (p ${pText(p!)})` : "", below ? "below" : ""].filter(Boolean).join(", ");
}

/** A level as a table has it: 95 %, or 99.25 %. */
export function percent(level: number): string {
  return `${Number((level * 100).toFixed(2))}%`;
}

/** What is to be said beside the conclusion and the table, in the terminal and on the page. */
export function notesOf(summary: Summary): string[] {
  const { rows, reached, ended, paid, kept, mayFit, anew = {} } = summary;
  const whys = Object.entries(anew);
  const all = paid.calls + kept.calls;
  return [
    ...(whys.length > 0 || rows.some(({ pairs }) => pairs)
      ? [`${paid.calls} of ${all} calls paid${paid.calls === 0 && all > 0 ? ": the model was not asked" : ""}`]
      : []),
    ...whys.map(([why, runs]) => `asked anew in ${runs} ${runs === 1 ? "run" : "runs"}: ${why}`),
    ...(mayFit ? ["rates would be wrong if the change was made by looking at these runs: --fresh"] : []),
    ...rows.flatMap(({ difference }) => {
      if (!difference) return [];
      const { rate, interval: [low, high], level } = difference;
      const between = `between ${points(low)} and ${points(high)} (${percent(level)})`;
      return [`the rate differs by ${points(rate)} points, ${between}`];
    }),
    ...reached,
    ...(ended === "refuted" ? ["ended early: the runs that are left would not be needed"] : []),
  ];
}
