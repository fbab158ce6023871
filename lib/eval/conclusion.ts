import type { Summary } from "./compare.ts";

/** What an eval comes to. */
export interface Conclusion {
  /** Whether nothing is against the agent; "not measured" if that cannot be said. */
  readonly is: "good" | "bad" | "not measured";
  /** Some of its words. */
  readonly badge: string;
  readonly words: string;
}

/** One sentence, in which each p says what its words do. */
export function concluded(summary: Omit<Summary, "conclusion">, atLeast: number | undefined): Conclusion {
  const { ended, measured, rows, suite, variants: [, other], unreached, runs, hooks } = summary;
  const { ungraded, ungradedAs, lostAs } = summary;
  const not = (words: string): Conclusion => ({ is: "not measured", badge: words.split(":")[0]!, words });
  if (ended === "aborted") return not("interrupted: not all runs were made");
  if (ended === "lost") {
    const share = `more than 10 % of the runs were lost${ungraded > 0 ? " or not graded" : ""}`;
    return not(`not measured: ${share}, the last as ${ungradedAs ?? lostAs}`);
  }
  if (!measured) {
    const isPaired = rows.some(({ fork }) => fork);
    return not(`not measured: the budget ended before ${isPaired ? "all pairs were run" : "the first look"}`);
  }
  if (hooks) return hooksConclusion(hooks, rows.length);
  const worse = rows.filter((row) => row.worse).map(({ fixture, p }) => `${fixture} (p ${pText(p!)})`);
  const together = `these ${rows.length} fixtures together (p ${pText(suite?.p ?? 1)})`;
  const below = rows.filter((row) => row.below).map(({ fixture }) => fixture);
  const against = [
    ...(suite?.worse ? [["worse", ` on ${worse.join(", ") || together}, compared with ${other}`]] : []),
    ...(below.length > 0 ? [[`below ${atLeast}`, ` on ${below.join(", ")}`]] : []),
    ...(unreached.length > 0 ? [["never put to the test", `: ${unreached.join(", ")}`]] : []),
  ];
  if (against.length > 0) {
    return { is: "bad", badge: against[0]![0]!, words: against.map((parts) => parts.join("")).join("; ") };
  }
  const passed = rows.reduce((sum, { cells: [now] }) => sum + now!.passed, 0);
  const p = Math.min(suite?.p ?? 1, ...rows.map((row) => row.p ?? 1));
  const shown = [
    ...(suite ? [["not shown to be worse", ` than ${other} (p ${pText(p)})`]] : []),
    ...(atLeast !== undefined ? [[`not shown to be below ${atLeast}`, ""]] : []),
    ...(!suite && atLeast === undefined ? [["passed", ` ${passed} of ${runs} runs`]] : []),
  ];
  return { is: "good", badge: shown[0]![0]!, words: shown.map((parts) => parts.join("")).join("; ") };
}

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
  const words = `${badge}: ${points(rate)} points where it speaks (${between}), ${
    points(rate * changed / all)
  } over all ${fixtures}, given what was recorded before`;
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

/** A level as a table has it: 95 %, or 99.25 %. */
export function percent(level: number): string {
  return `${Number((level * 100).toFixed(2))}%`;
}

/** What is to be said beside the conclusion and the table, in the terminal and on the page. */
export function notesOf({ variants: [, other], beyond, rows, reached, ended }: Summary): string[] {
  return [
    ...rows.flatMap(({ difference }) => {
      if (!difference) return [];
      const { rate, interval: [low, high], level } = difference;
      return [
        `the rate differs by ${points(rate)} points, between ${points(low)} and ${points(high)} (${percent(level)})`,
      ];
    }),
    ...(beyond?.worse ? [`worse than ${other} also beyond these fixtures (p ${pText(beyond.p)})`] : []),
    ...reached,
    ...(ended === "refuted" ? ["ended early: the runs that are left would not be needed"] : []),
  ];
}
