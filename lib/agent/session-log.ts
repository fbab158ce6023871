import { isBlank, type Prompt, promptText } from "../core/messages.ts";
import type { ModelParams } from "../core/model.ts";
import type { SessionState } from "../core/run.ts";
import type { RunEvent } from "../core/run-events.ts";
import { hasState, logsDir, readStateFile, removeState } from "../files/state.ts";
import { realOr } from "../hooks/file/user-places.ts";
import { scriptOf } from "../runtime/importing.ts";
import { crochetVersion, runtimeVersion } from "../runtime/version.ts";
import type { AnswerFact, LogEntry } from "../log/entry.ts";
import { filesRead, plain } from "../log/step.ts";
import { type LoggedSession, LogLane } from "../log/log-lane.ts";
import { isNoted } from "../log/log-lines.ts";
import { answersOf, noteOwnLog, sweepLogs } from "../log/own.ts";
import type { Past } from "../log/past.ts";
import { RunLog } from "../log/run-log.ts";
import type { PermissionAsker, PermissionReply } from "../permissions/gate.ts";
import type { SessionRecord } from "../replay/person-answers.ts";
import { LaneClock } from "../replay/tape-clock.ts";
import { MAIN } from "../replay/tape.ts";
import { jsonlStore, loadBelow } from "../transcript/jsonl.ts";
import type { SessionStore } from "../transcript/memory-store.ts";
import type { AgentOptions, RunOptions } from "./options.ts";

/** What a run begins with. */
export interface LoggedBegin {
  readonly prompt: Prompt;
  readonly asks: ModelParams | undefined;
  readonly trigger: "user" | "resume";
}

/** The log of a session, with the lane of its agent. */
export interface SessionLog extends LoggedSession, SessionRecord {
  readonly id: string;
  readonly store: SessionStore;
  /** Whether a run that was cut off goes on with the next prompt. */
  readonly goesOn: boolean;
  /** What is not as it was where a run is forked. */
  readonly warnings?: readonly string[];
  /** A run begins; one that goes on begins as it did. */
  prompted(begin: LoggedBegin, state: SessionState): LoggedBegin;
  /** Whether it needs events of a kind. */
  hears(type: RunEvent["type"]): boolean;
  /** What hooks shared and where the numbers of events stood, in a session that is resumed. */
  readonly left: Pick<SessionState, "sequence" | "values"> | undefined;
  /** Asks for permission where no person is: the run waits for an answer from outside. Undefined if it must not wait. */
  waiting(emit: (event: RunEvent) => void): PermissionAsker | undefined;
  close(): Promise<void>;
}

/** Where a session is logged; undefined: nowhere. */
function folderOf({ from }: AgentOptions, { log, durable, from: own }: RunOptions, cwd: string): string | undefined {
  const { CROCHET_LOG: named = "" } = process.env;
  if (log === false || (named === "off" && log === undefined)) {
    if (!durable && own === undefined) return undefined;
    const fix = `leave out ${log === false ? "'log: false'" : "CROCHET_LOG=off"}`;
    throw new TypeError(`Cannot run with '${durable ? "durable" : "from"}' as nothing is logged: ${fix}`);
  }
  if (typeof log === "string") return log;
  const isLogged = named !== "" || log === true || durable || own !== undefined || isMain(from);
  return isLogged ? logsDir(cwd, process.env, true) : undefined;
}

/** Whether an agent is made in the script that a person runs; a test is not one. */
function isMain(from: string | undefined): boolean {
  const [, script] = process.argv;
  if (!from?.startsWith("file:") || script === undefined || process.env.NODE_ENV === "test") return false;
  return !/[._]test\.\w+$/.test(script) && realOr(scriptOf(from)) === realOr(script);
}

/** The log of a session that works in `cwd`, claimed by this process. A run that was cut off goes on with no prompt or its own. */
export async function logFor(
  options: AgentOptions,
  own: RunOptions,
  cwd: string,
  prompt: Prompt | undefined,
  resolve: (path: string) => string,
): Promise<SessionLog | undefined> {
  const folder = folderOf(options, own, cwd);
  if (folder === undefined) return undefined;
  const files = jsonlStore(folder);
  if (own.from !== undefined) return await forkLog(own.from, { folder, files, resolve, options, own, cwd, prompt });
  const known = own.fork === undefined ? own.resume ?? own.id : undefined;
  const release = known === undefined ? undefined : await files.lock(known);
  try {
    const past = known === undefined ? undefined : await pastOf(files.pathOf!(known), own, prompt);
    return await sessionLog({ folder, files, known, past, options, own, cwd, release });
  } catch (error) {
    await release?.();
    throw error;
  }
}

/** The log of a session that goes another way than a run that was logged or recorded. */
async function forkLog(
  from: string,
  { resolve, prompt = "", ...place }: Omit<Opening, "known" | "past" | "release"> & {
    readonly resolve: (path: string) => string;
    readonly prompt: Prompt | undefined;
  },
): Promise<SessionLog> {
  if (!isBlank(prompt)) {
    throw new TypeError(`Cannot fork ${from} with a prompt as it has its own: leave the prompt out`);
  }
  const { folder, files, own, cwd, options } = place;
  const id = own.id ?? crypto.randomUUID();
  const release = await files.lock(id);
  try {
    const [{ forked }, { Past }, { LineLog }, { Log }] = await Promise.all([
      import("../log/fork.ts"),
      import("../log/past.ts"),
      import("../transcript/line-log.ts"),
      import("../log/read-log.ts"),
    ]);
    const { log: { header, entries }, warnings } = await forked(from, { folder, resolve, cwd, id });
    const agent = options.from === undefined ? {} : { agent: scriptOf(options.from) };
    const past = new Past(new Log([{ ...header, ...agent }, ...entries.slice(1)]), true, true);
    const file = new LineLog(files.pathOf!(id));
    file.append(past.before);
    file.close();
    return Object.assign(await sessionLog({ ...place, known: id, past, release }), { warnings });
  } catch (error) {
    await release();
    throw error;
  }
}

async function pastOf(path: string, own: RunOptions, prompt: Prompt | undefined): Promise<Past | undefined> {
  if (!hasState(path)) return undefined;
  const [{ readLog }, { Past }] = await Promise.all([import("../log/read-log.ts"), import("../log/past.ts")]);
  const log = readLog(path);
  if (!log) return undefined;
  const was = log.prompts.at(-1) ?? "";
  const continues = prompt !== undefined && (isBlank(prompt) || JSON.stringify(prompt) === JSON.stringify(was));
  if (own.durable && !continues && log.begins.length > log.ends.length) {
    const words = JSON.stringify(promptText(was as Prompt).slice(0, 100));
    throw new TypeError(
      `Cannot prompt session '${log.header.id}' as its last run was interrupted: go on with it first, with no prompt or ${words}`,
    );
  }
  return new Past(log, continues);
}

/** Notes the secrets that a log shows, to be found when their variables are gone. */
async function noteSecrets(log: RunLog, cwd: string): Promise<void> {
  const { encodedForms, secretsOf, secretsOfFolder } = await import("../replay/redact/secrets.ts");
  const known = [...secretsOf(process.env), ...secretsOfFolder(cwd)];
  if (known.length === 0) return;
  log.flush();
  const text = readStateFile(log.path) ?? "";
  for (const [value, name] of known) {
    const forms = [value, ...encodedForms(value)];
    if (forms.some((form) => text.includes(JSON.stringify(form).slice(1, -1)))) {
      log.line({ secret: "environment", name, value });
    }
  }
}

interface Opening {
  readonly folder: string;
  readonly files: ReturnType<typeof jsonlStore>;
  readonly known: string | undefined;
  readonly past: Past | undefined;
  readonly options: AgentOptions;
  readonly own: RunOptions;
  readonly cwd: string;
  readonly release: (() => Promise<void>) | undefined;
}

/** Once for all runs of a process: it looks at every log. */
let swept = false;

async function sessionLog({ files, known, past, options, own, cwd, ...opened }: Opening): Promise<SessionLog> {
  const seed = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
  const id = known ?? new LaneClock({ lane: MAIN, epoch: 0, seed, live: false }).uuid();
  const release = opened.release ?? await files.lock(id);
  const header = past?.log.header ?? {
    log: 2,
    id,
    cwd,
    at: new Date().toISOString(),
    seed,
    versions: { crochet: crochetVersion(), runtime: runtimeVersion() },
    ...(options.from !== undefined && { agent: scriptOf(options.from) }),
  };
  const { durable = false } = own;
  // Who names the folder knows best whose logs are there.
  if (typeof own.log !== "string") noteOwnLog(files.pathOf!(id), process.env);
  // In a folder that was named there may be other files.
  if (!swept && opened.folder === logsDir(cwd, { ...process.env, CROCHET_LOG: "" })) {
    sweepLogs(files.pathOf!(id), process.env);
  }
  swept = true;
  const log = new RunLog({ path: files.pathOf!(id), header, past, sync: own.log !== undefined, durable });
  const session: LoggedSession = { log, again: durable, isRuled: false };
  const lane = new LogLane(session, MAIN);
  // A replay draws its id first: what is drawn after it must be the same.
  if (!past || (past.open && past.runs === 0)) lane.clock.uuid();
  let state: SessionState | undefined;
  let open = past?.open;
  let prompts = past?.runs ?? 0;
  const ofLog = log.store(async (claimed) => {
    // The session itself is claimed; agents below it are part of it.
    return claimed === id ? async () => {} : await own.store?.lock?.(claimed) ?? (async () => {});
  }, () => ({
    taken: [lane.inbox.taken, lane.late.taken],
    next: state!.sequence.next,
    ...(state!.values.size > 0 && { values: plain(state!.values) }),
  }));
  return Object.assign(session, {
    id,
    mainLane: lane,
    hears: isNoted,
    goesOn: past?.open !== undefined,
    answers: {
      known: past?.open ? past.log.parts.asked.slice(past.log.parts.asked.length - past.answers) : [],
      isOffline: false,
      note: (fact: AnswerFact) => log.line(fact),
      mask: { on: <T>(value: T) => value, off: <T>(value: T) => value },
    },
    hasRead: filesRead(cwd, (entry) => log.line(entry)),
    line: (entry: LogEntry) => log.line(entry),
    also: (known: typeof log.known) => log.also(known),
    get known() {
      return log.known;
    },
    switched: undefined as string | undefined,
    left: past?.left && { sequence: { next: past.left.next }, values: new Map(past.left.values) },
    store: {
      ...ofLog,
      load: async (asked: string) =>
        await ofLog.load(asked) ?? (asked === id ? await loadBelow(opened.folder, id) : await files.load(asked)),
    },
    prompted(begin: LoggedBegin, now: SessionState): LoggedBegin {
      state = now;
      const isFirst = prompts++ === 0;
      const was = open && { prompt: past!.log.prompts.at(-1)! as Prompt, asks: open.asks, trigger: open.trigger };
      const goesOn = was && !past!.isCopied;
      if (goesOn && own.model === undefined) now.model = open!.model;
      open = undefined;
      const begun = was ?? begin;
      if (!goesOn) {
        const { prompt, asks, trigger } = begun;
        const opens = past !== undefined && !past.isCopied && prompts === past.runs + 1;
        const about = { ...(opens && { opens }), model: now.model, ...(asks && { asks }) };
        log.line({ prompt: prompt as string, ...(this.switched !== undefined && { model: this.switched }) });
        this.switched = undefined;
        log.line({ begin: now.runs, trigger, ...about, at: log.now() }, "written");
      }
      // After the run has begun: its first step is its own.
      if (!isFirst) lane.clock.nextStep();
      return begun;
    },
    waiting: (emit: (event: RunEvent) => void): PermissionAsker | undefined =>
      !durable ? undefined : async ({ key = "", agent_id = id, tool_name, input, reason }, signal) => {
        const { waitForAnswer } = await import("../log/questions.ts");
        const about = { agent_id, tool_name, input, reason };
        return await waitForAnswer<PermissionReply>(log.path, key, about, signal, (token) => {
          emit({ type: "question", token, ...about });
        });
      },
    async close() {
      if (prompts > (past?.runs ?? 0)) await noteSecrets(log, cwd);
      log.close();
      if (durable) removeState(answersOf(log.path));
      await release();
    },
  });
}
