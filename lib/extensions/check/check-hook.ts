import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { CheckOptions } from "./check.ts";
import type { CheckReport, Finding, Law } from "./check-report.ts";

/** Thrown by a law that a hook breaks. Its message has the counterexample and the fix, `report` has everything. */
export class BrokenLaw extends Error {
  override name = "BrokenLaw";
  declare readonly report: CheckReport;
  constructor(message: string, report: CheckReport) {
    super(message);
    Object.defineProperty(this, "report", { value: report }); // runners print all enumerable properties
  }
}

/**
 * Checks a hook file, a folder of hooks, or a host's settings with generated events in a scratch workspace. What is
 * wrong is in the report; see {@link laws} for functions that throw.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { checkHook } from "crochet/testing";
 *
 * writeFileSync("stop.again.sh", "echo 'Once more' >&2\nexit 2\n");
 * const { ok, hooks } = await checkHook("stop.again.sh", { runs: 2, rounds: 9 });
 * console.log(ok, hooks[0]?.findings[0]?.code); // false "endless.loop"
 * ```
 */
export async function checkHook(path: string | URL, options: CheckOptions = {}): Promise<CheckReport> {
  const { check } = await import("./check.ts");
  const full = typeof path === "string" ? resolve(options.cwd ?? ".", path) : fileURLToPath(path);
  const report = await check([full], options);
  if (report.hooks.length + report.problems.length > 0 || options.signal?.aborted) return report;
  // A test of a folder that was moved must not pass.
  return { ...report, ok: false, problems: [`Cannot check '${full}': there is no hook in it`] };
}

/** Holds a hook to one law, or to all. @throws {BrokenLaw} with the smallest counterexample found */
type HookLaw = (path: string | URL, options?: Omit<CheckOptions, "laws">) => Promise<CheckReport>;

function law(...held: readonly Law[]): HookLaw {
  return async function hold(path, options = {}) {
    const report = await checkHook(path, { ...options, ...(held.length > 0 && { laws: held }) });
    if (report.ok) return report;
    const broken = new BrokenLaw(words(report), report);
    // Runners then show the line of the test. With an arrow function Bun would drop all lines.
    Error.captureStackTrace(broken, hold);
    throw broken;
  };
}

function words({ problems, hooks }: CheckReport): string {
  const faults = hooks.flatMap(({ findings }) => findings).filter(({ severity }) => severity === "fault");
  const missing = hooks.flatMap(({ hook, unchecked, skipped = unchecked }) => skipped ? [`${hook}: ${skipped}`] : []);
  return [...problems, ...faults.map(faultWords), ...missing].join("\n");
}

function faultWords({ hook, law, message, trace = [], counterexample, reproduce, fix }: Finding): string {
  return [
    `${hook} breaks the law '${law}': ${message}`,
    ...(trace.length > 0 ? trace : counterexample === null ? [] : [JSON.stringify(counterexample)]),
    `fix: ${fix}`,
    `again: ${reproduce}`,
  ].join("\n  ");
}

/**
 * The laws, each as a function that throws if a hook breaks it, for any test runner.
 *
 * @example
 * ```ts
 * import { writeFileSync } from "node:fs";
 * import { laws } from "crochet/testing";
 *
 * writeFileSync("stop.once.sh", `case "$(cat)" in *'"stop_hook_active":true'*) exit 0;; esac
 * echo "Look again" >&2
 * exit 2`);
 * const { hooks } = await laws.terminates("stop.once.sh", { runs: 2 });
 * console.log(hooks[0]?.termination?.letsGo); // "on stop_hook_active"
 * ```
 */
export const laws = {
  /** It answers every event in time, never crashes, and leaves no process behind. */
  reliable: law("reliable") as HookLaw,
  /** Its output is an answer to its event that its host understands. */
  protocol: law("protocol") as HookLaw,
  /** It lets every model end: not refuted in so many rounds. */
  terminates: law("terminating") as HookLaw,
  /** The same event in the same state gets the same verdict. */
  deterministic: law("deterministic") as HookLaw,
  /** Copies that are asked at once answer, and keep what they keep, as one after the other. */
  concurrent: law("concurrent") as HookLaw,
  /** It runs no text of its events, shows no secret, writes only in its workspace, and its output is bounded. */
  safe: law("safe") as HookLaw,
  /** It answers its own examples as they say. */
  examples: law("examples") as HookLaw,
  /** All of these. Guards that can be bypassed and hooks that rewrite the same field are warnings in the report. */
  all: law() as HookLaw,
} as const;
