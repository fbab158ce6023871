import { availableParallelism } from "node:os";
import { join } from "node:path";
import { eachOf } from "../../cli/kit/each-of.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";
import { quietly } from "../../core/json.ts";
import { shellWord } from "../../core/shown.ts";
import { stateFolder, writeStateFile } from "../../files/state.ts";
import { pathFrom } from "../../cli/show/call-subject.ts";
import { needOwnFiles } from "../../runtime/own-copy.ts";
import { HOST_NAMES, type HostName } from "../../hooks/hosts/index.ts";
import { newSeed } from "../../testing/fast-check.ts";
import { againLine } from "./findings.ts";
import { findSubjects } from "./find-subjects.ts";
import { sandboxWorks, Time } from "./hook-lane.ts";
import { sameFields } from "./laws/order.ts";
import { plantedSecrets, Scratch } from "./scratch-project.ts";
import { type CheckReport, type HookReport, type Law, LAWS } from "./check-report.ts";

export interface CheckOptions {
  /** Where relative paths begin. @default the process's directory */
  readonly cwd?: string;
  /** Events for each hook, at least half of them generated; all dangerous calls are among them. @default 100 */
  readonly runs?: number;
  /** The same seed makes the same events. @default a new one each time */
  readonly seed?: number;
  /** The host whose protocol command hooks speak. @default by the path, else claude */
  readonly host?: HostName | undefined;
  /** Seconds a hook has for one answer. @default 5 */
  readonly timeout?: number;
  /** Seconds for the whole check; what is not asked then was not checked enough. @default 60 for each hook */
  readonly time?: number;
  /** How often a hook may keep an agent going before it counts as endless. @default 50 */
  readonly rounds?: number;
  /** The laws to hold hooks to. @default all */
  readonly laws?: readonly Law[];
  /** Whether each hook is also changed a little at a time, to see whether its examples notice. @default false */
  readonly mutants?: boolean;
  /** Whether examples that were found missing, and events that break a law, are written beside the hook. @default false */
  readonly save?: boolean;
  /** The event of a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string | undefined;
  /** Whether events that show a fault, and are too long for a line to paste, become files in `.crochet/cases`. @default false */
  readonly cases?: boolean;
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  /** Gets the names of the hooks before any of them runs, and how many seconds that takes, about and at most. */
  readonly onFound?: (hooks: readonly string[], about: number, most: number) => void;
  /** Gets the number of events each hook was asked about so far. */
  readonly onProgress?: (hook: string, runs: number) => void;
  /** Gets the report of each hook when it is done. */
  readonly onHook?: (report: HookReport) => void;
}

const OPTIONS: { readonly [option in keyof CheckOptions]-?: OptionKind } = {
  cwd: "a text",
  runs: "a whole number",
  seed: "a whole number",
  host: HOST_NAMES,
  timeout: "more than 0",
  time: "more than 0",
  rounds: "a whole number",
  laws: "a list",
  mutants: "true or false",
  save: "true or false",
  event: "a text",
  cases: "true or false",
  env: "an object",
  signal: "an AbortSignal",
  onFound: "a function",
  onProgress: "a function",
  onHook: "a function",
};

type Given = "cwd" | "env" | "seed" | "runs" | "timeout" | "rounds" | "mutants" | "save" | "signal";

export interface CheckSession extends Required<Pick<CheckOptions, Given>> {
  /** What repeats the check, beside its paths, seed and runs. */
  readonly flags: string;
  /** Writes an event to a file that can be named; undefined if there is to be none. */
  readonly keepCase: (name: string, text: string) => string | undefined;
  readonly laws: ReadonlySet<Law>;
  readonly scratch: Scratch;
  readonly sandbox: boolean;
  readonly secrets: { readonly [name: string]: string };
  readonly onProgress: CheckOptions["onProgress"];
}

/** Checks the hooks at some paths. What is wrong with a hook is in the report, never thrown. */
export async function check(paths: readonly string[], options: CheckOptions = {}): Promise<CheckReport> {
  const { cwd = process.cwd(), env = process.env, host, event } = options;
  refuseWrong(options);
  needOwnFiles("check hooks");
  const sandbox = await sandboxWorks();
  const found = await Promise.all(paths.map((path) => findSubjects(path, { cwd, env, host, event })));
  const subjects = found.flatMap((one) => one.subjects);
  const inTurn = subjects.length / Math.min(availableParallelism(), subjects.length || 1);
  const { runs: events = 100, time = SECONDS_EACH * inTurn } = options;
  const seconds = subjects.map(({ kind }) => (kind === "command" ? 20 : 5) * (events + 70) / 170);
  const about = inTurn * seconds.reduce((sum, one) => sum + one, 0) / (seconds.length || 1);
  options.onFound?.(subjects.map(({ name }) => name), about, time);
  const problems = found.flatMap((one, i) =>
    paths.length > 1 && one.subjects.length + one.problems.length === 0
      ? [`Cannot check '${paths[i]}': there is no hook in it`]
      : one.problems
  );
  const scratch = new Scratch();
  try {
    const session = sessionOf(options, { cwd, env, scratch, sandbox });
    const { checkSubject } = await import("./check-one.ts");
    const atOnce = Math.min(availableParallelism(), subjects.length);
    const end = performance.now() + 1000 * time;
    let left = subjects.length;
    const checked = await eachOf(subjects, { atOnce, signal: session.signal }, async (subject) => {
      // What one hook leaves of its time is for those after it.
      const own = new Time((end - performance.now()) * Math.min(atOnce, left) / left--);
      const checked = await checkSubject(subject, session, own);
      options.onHook?.(checked.report);
      return checked;
    });
    const { seed, runs, laws } = session;
    const rewrites = checked.flatMap((one) => one.rewrites);
    const ordered = laws.has("order") ? sameFields(rewrites, seed, againLine(paths, session)) : [];
    const hooks = checked.map(({ report }): HookReport => ({
      ...report,
      findings: [...report.findings, ...ordered.filter(({ hook }) => hook === report.hook)],
    }));
    const isOk = ({ findings, unchecked, skipped }: HookReport) =>
      unchecked === undefined && skipped === undefined && findings.every(({ severity }) => severity === "warning");
    return {
      ok: hooks.every(isOk) && problems.length === 0,
      ...{ seed, runs, hooks, problems },
      host: host ?? "claude",
      sandbox: sandbox ? "bubblewrap" : "none",
    };
  } finally {
    scratch.close();
  }
}

/** @throws {TypeError} that names the option: a check that checks nothing must not pass */
function refuseWrong(options: CheckOptions): void {
  checkOptions(options, OPTIONS, "check");
  const { runs = 0, rounds = 2, laws = LAWS } = options;
  for (const [name, value, least] of [["runs", runs, 0], ["rounds", rounds, 2]] as const) {
    if (value < least) {
      throw new TypeError(`Cannot check as '${name}' must be ${least} or more: current value is ${value}`);
    }
  }
  const stray = laws.find((law) => !LAWS.includes(law));
  if (stray !== undefined || laws.length === 0) {
    const why = stray === undefined ? "is empty" : `has '${stray}'`;
    throw new TypeError(`Cannot check as 'laws' ${why}: expected some of ${LAWS.join(", ")}`);
  }
}

function sessionOf(
  options: CheckOptions,
  given: Pick<CheckSession, "cwd" | "env" | "scratch" | "sandbox">,
): CheckSession {
  const { runs = 100, seed = newSeed(), timeout = 5, time, rounds = 50 } = options;
  const { host, event, cases = false, mutants = false, save = false, onProgress } = options;
  const { signal = new AbortController().signal } = options;
  const flags = [
    host === undefined ? "" : ` --for ${host}`,
    event === undefined ? "" : ` --event ${shellWord(event)}`,
    timeout === 5 ? "" : ` --timeout ${timeout}`,
    time === undefined ? "" : ` --time ${time}`,
    mutants ? " --mutants" : "",
  ].join("");
  return {
    ...given,
    ...{ runs, seed, timeout, rounds, flags, mutants, save, signal, onProgress },
    keepCase: (name, text) => cases ? keepCase(given, name, text) : undefined,
    laws: new Set(options.laws ?? LAWS),
    secrets: plantedSecrets(),
  };
}

/** Undefined where no state can be written: then there is a line to paste, or none. */
function keepCase({ cwd, env }: Pick<CheckSession, "cwd" | "env">, name: string, text: string): string | undefined {
  return quietly(() => {
    const file = join(stateFolder(cwd, env, "cases"), `${name.replaceAll(/[^\w.@+-]+/g, "-")}.json`);
    writeStateFile(file, `${text}\n`);
    return pathFrom(cwd, file);
  });
}

const SECONDS_EACH = 60;
