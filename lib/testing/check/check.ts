import { availableParallelism } from "node:os";
import { checkOptions, type OptionKind } from "../../core/options.ts";
import { shellWord } from "../../core/shown.ts";
import { type Host, HOSTS, isHost } from "../../hooks/serving/from-host.ts";
import { fastCheck } from "../arbitraries/fast-check.ts";
import { checkSubject } from "./check-subject.ts";
import type { Checked } from "./engine.ts";
import { type FindOptions, findSubjects } from "./find/find.ts";
import { order } from "./laws/order.ts";
import { type CheckReport, type Finding, type HookReport, type Law, LAWS } from "./report/report.ts";
import { sandboxHere } from "./asking/sandbox.ts";
import { plantedSecrets, Scratch } from "./asking/scratch.ts";
import type { Session } from "./session.ts";
import type { Subject } from "./subject.ts";

export interface CheckOptions {
  /** Where relative paths begin. @default the process's directory */
  readonly cwd?: string;
  /** Generated events for each hook. @default 100 */
  readonly runs?: number;
  /** The same seed makes the same events. @default a new one each time */
  readonly seed?: number;
  /** Whose protocol command hooks speak. @default what the path tells, else claude */
  readonly host?: Host | undefined;
  /** Seconds a hook has for one answer at most. @default 5 */
  readonly timeout?: number;
  /** How often a hook may keep an agent going before it is said to loop. @default 50 */
  readonly rounds?: number;
  /** The laws to hold hooks to. @default all */
  readonly laws?: readonly Law[];
  /** For a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string | undefined;
  /** @default the environment of the process */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
  /** How many hooks are checked at once. @default the cores there are */
  readonly parallel?: number;
  /** Is told how far each hook is. */
  readonly onProgress?: (hook: string, runs: number) => void;
  /** Is told of each hook when it is done. */
  readonly onHook?: (report: HookReport) => void;
}

/** What these options must be; numbers, laws and hosts are looked at more closely. */
const OPTIONS: { readonly [option in keyof CheckOptions]-?: OptionKind } = {
  cwd: "a text",
  runs: "any",
  seed: "any",
  host: "any",
  timeout: "any",
  rounds: "any",
  laws: "a list",
  event: "a text",
  env: "an object",
  signal: "an AbortSignal",
  parallel: "any",
  onProgress: "a function",
  onHook: "a function",
};

/** Checks the hooks at some paths. What is wrong with a hook is in the report, never thrown. */
export async function check(paths: readonly string[], options: CheckOptions = {}): Promise<CheckReport> {
  const { cwd = process.cwd(), env = process.env, host, event } = options;
  refuseWrong(options);
  const find: FindOptions = { cwd, env, host, event };
  const sandbox = sandboxHere();
  const found = await Promise.all(paths.map((path) => findSubjects(path, find)));
  const subjects = found.flatMap((one) => one.subjects);
  const problems = found.flatMap((one, i) =>
    paths.length > 1 && one.subjects.length + one.problems.length === 0
      ? [`Cannot check '${paths[i]}' as there is no hook in it`]
      : one.problems
  );
  const scratch = new Scratch();
  try {
    const session = sessionOf(options, { cwd, env, scratch, confine: await sandbox });
    const checked = await pooled(subjects, session, options);
    const again = `crochet hooks check ${
      paths.map(shellWord).join(" ")
    } --seed ${session.seed} --runs ${session.runs}${session.flags}`;
    const rewrites = checked.flatMap((one) => one.rewrites);
    const ordered = session.laws.has("order") ? order(rewrites, session.seed, again) : [];
    const hooks = checked.map(({ report }) => withOrder(report, ordered));
    const faults = hooks.some(({ findings }) => findings.some(({ severity }) => severity === "fault"));
    return {
      ok: !faults && problems.length === 0,
      seed: session.seed,
      runs: session.runs,
      host: host ?? "claude",
      sandbox: session.confine ? "bubblewrap" : "none",
      hooks,
      problems,
    };
  } finally {
    scratch.close();
  }
}

/** @throws {TypeError} that names the option: a check that checks nothing must not pass */
function refuseWrong(options: CheckOptions): void {
  checkOptions(options, OPTIONS, "check");
  const { runs = 100, rounds = 50, seed = 0, parallel = 1, timeout = 5, laws = LAWS, host } = options;
  const whole = (name: string, value: number, least: number) => {
    if (Number.isSafeInteger(value) && value >= least) return;
    throw new TypeError(
      `Cannot check as '${name}' must be a whole number of ${least} or more: current value is ${value}`,
    );
  };
  whole("runs", runs, 0);
  whole("rounds", rounds, 2);
  whole("seed", seed, -0x8000_0000);
  whole("parallel", parallel, 1);
  if (!(timeout > 0)) {
    throw new TypeError(`Cannot check as 'timeout' must be seconds above 0: current value is ${timeout}`);
  }
  const stray = laws.find((law) => !LAWS.includes(law));
  if (stray !== undefined || laws.length === 0) {
    throw new TypeError(
      `Cannot check as 'laws' ${stray === undefined ? "is empty" : `has '${stray}'`}: expected some of ${
        LAWS.join(", ")
      }`,
    );
  }
  if (host !== undefined && !isHost(host)) {
    throw new TypeError(`Cannot check as 'host' is '${host}': expected ${HOSTS.join(", ")}`);
  }
}

function withOrder(report: HookReport, findings: readonly Finding[]): HookReport {
  const own = findings.filter(({ hook }) => hook === report.hook);
  return own.length === 0 ? report : { ...report, findings: [...report.findings, ...own] };
}

function sessionOf(
  options: CheckOptions,
  { cwd, env, scratch, confine }: Pick<Session, "cwd" | "env" | "scratch" | "confine">,
): Session {
  const { runs = 100, seed = Math.floor(Math.random() * 0x7fff_ffff), timeout = 5, rounds = 50, host, event } = options;
  const flags = [
    ...(host !== undefined ? [` --for ${host}`] : []),
    ...(event !== undefined ? [` --event ${shellWord(event)}`] : []),
    ...(timeout !== 5 ? [` --timeout ${timeout}`] : []),
    ...(rounds !== 50 ? [` --rounds ${rounds}`] : []),
  ].join("");
  return {
    get fc() {
      return fastCheck();
    },
    ...{ runs, seed, timeout, rounds, cwd, env, scratch, confine, flags },
    laws: new Set(options.laws ?? LAWS),
    secrets: plantedSecrets(),
    signal: options.signal ?? new AbortController().signal,
    tick: options.onProgress,
  };
}

/** As many at once as there are cores; the reports in the order of the hooks. */
async function pooled(subjects: readonly Subject[], session: Session, options: CheckOptions): Promise<Checked[]> {
  const done: Checked[] = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < subjects.length && !session.signal.aborted; i = next++) {
      done[i] = await checkSubject(subjects[i]!, session);
      options.onHook?.(done[i]!.report);
    }
  };
  const { parallel = availableParallelism() } = options;
  await Promise.all(Array.from({ length: Math.min(parallel, subjects.length) }, work));
  return done.filter((one) => one !== undefined);
}
