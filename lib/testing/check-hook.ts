import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { CheckOptions } from "./check/check.ts";
import type { CheckReport, Finding, Law } from "./check/report/report.ts";

/** Thrown by a law that a hook breaks: its message is what a person needs, its report is all there is. */
export class BrokenLaw extends Error {
  override name = "BrokenLaw";
  declare readonly report: CheckReport;
  constructor(message: string, report: CheckReport) {
    super(message);
    Object.defineProperty(this, "report", { value: report }); // runners show all that can be listed
  }
}

/**
 * Checks a hook file, a folder of hooks, or a host's settings: generated events in a scratch workspace, laws, shrunk
 * counter-examples. What is wrong is in the report; see {@link laws} for functions that throw.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { checkHook } from "crochet/testing";
 *
 * writeFileSync("stop.again.sh", "echo 'Once more' >&2\nexit 2\n");
 * const { ok, hooks } = await checkHook("stop.again.sh", { runs: 2, rounds: 9 });
 * console.log(ok, hooks[0]?.findings[0]?.code); // false "terminating.loops"
 * ```
 */
export async function checkHook(path: string | URL, options: CheckOptions = {}): Promise<CheckReport> {
  const { check } = await import("./check/check.ts");
  const full = typeof path === "string" ? resolve(options.cwd ?? ".", path) : fileURLToPath(path);
  const report = await check([full], options);
  if (report.hooks.length + report.problems.length > 0 || options.signal?.aborted) return report;
  // A test of a folder that has been moved must not go on passing.
  return { ...report, ok: false, problems: [`Cannot check '${full}' as there is no hook in it`] };
}

type LawOptions = Omit<CheckOptions, "laws">;

/** Holds a hook to one law, or to all. @throws {BrokenLaw} with the smallest example that was found */
export type HookLaw = (path: string | URL, options?: LawOptions) => Promise<CheckReport>;

function law(...held: readonly Law[]): HookLaw {
  return async function hold(path, options = {}) {
    const report = await checkHook(path, { ...options, ...(held.length > 0 && { laws: held }) });
    if (report.ok) return report;
    const broken = new BrokenLaw(words(report), report);
    // Runners show the line of the test. By its name: of an arrow Bun would take all lines away.
    Error.captureStackTrace(broken, hold);
    throw broken;
  };
}

function words({ problems, hooks }: CheckReport): string {
  const faults = hooks.flatMap(({ findings }) => findings).filter(({ severity }) => severity === "fault");
  return [...problems, ...faults.map(faultWords)].join("\n");
}

function faultWords({ hook, law, message, trace = [], counterexample, reproduce, mend }: Finding): string {
  return [
    `${hook} is not ${law}: ${message}`,
    ...(trace.length > 0 ? trace : counterexample === null ? [] : [JSON.stringify(counterexample)]),
    `mend: ${mend}`,
    `again: ${reproduce}`,
  ].join("\n  ");
}

/**
 * The laws, each as a function that throws where a hook breaks it: for the tests of any runner.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { laws } from "crochet/testing";
 *
 * writeFileSync("stop.once.ts", `export default ({ stop_hook_active }) =>
 *   stop_hook_active ? undefined : { action: "deny", reason: "Look again" };`);
 * const { hooks } = await laws.terminates("stop.once.ts", { runs: 2 });
 * console.log(hooks[0]?.termination?.letsGo); // "on stop_hook_active"
 * ```
 */
export const laws = {
  /** It answers every event in time, never crashes, and leaves no process behind. */
  total: law("total"),
  /** Its output is an answer to its event, in the words of its host. */
  lawful: law("lawful"),
  /** Whatever the model does, it lets go: not refuted in so many rounds. */
  terminates: law("terminating"),
  /** The same event in the same state gets the same verdict. */
  deterministic: law("deterministic"),
  /** Its output is bounded and holds no secret; it runs nothing of what it is given. */
  polite: law("polite"),
  /** It answers its own examples as they say. */
  examples: law("examples"),
  /** All of these. Guards that can be got around and hooks that rewrite the same are warnings, and in the report. */
  all: law(),
} as const;
