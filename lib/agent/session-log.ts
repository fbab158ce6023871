import { isBlank, type Prompt } from "../core/messages.ts";
import type { SessionState } from "../core/run.ts";
import type { RunEvent } from "../core/run-events.ts";
import { wordsOf } from "../files/drafts.ts";
import { hasState, logsDir, readStateFile } from "../files/state.ts";
import { scriptOf } from "../runtime/importing.ts";
import { crochetVersion, runtimeVersion } from "../runtime/version.ts";
import type { AnswerFact, LogEntry } from "../log/entry.ts";
import { filesRead, plain } from "../log/step.ts";
import { type LoggedSession, LogLane } from "../log/log-lane.ts";
import { isNoted } from "../log/log-lines.ts";
import { newSeal, readOwn, removeAnswers, sweepLogs } from "../log/own.ts";
import type { Past } from "../log/past.ts";
import { RunLog } from "../log/run-log.ts";
import type { PermissionAsker, PermissionReply } from "../permissions/gate.ts";
import type { SessionRecord } from "../replay/person-answers.ts";
import { LaneClock } from "../log/tape-clock.ts";
import { MAIN } from "../log/tape.ts";
import { jsonlStore, logOf } from "../log/stores/jsonl.ts";
import type { Seal } from "../log/line-log.ts";
import type { SessionStore } from "../log/stores/memory-store.ts";
import { transcriptOf } from "../log/stores/store.ts";
import { type BeginAsked, stillOpen } from "./begin.ts";
import type { AgentOptions, RunOptions } from "./options.ts";

export interface SessionLog extends LoggedSession, SessionRecord {
  readonly id: string;
  readonly store: SessionStore;
  /** Whether a run that was cut off goes on with the next prompt. */
  readonly goesOn: boolean;
  /** A run begins; one that goes on begins as it did. */
  prompted(begin: BeginAsked, state: SessionState): BeginAsked;
  hears(type: RunEvent["type"]): boolean;
  /** What hooks shared and where the numbers of events stood, in a session that is resumed. */
  readonly left: Pick<SessionState, "sequence" | "values"> | undefined;
  /** Asks for permission where no person is: the run waits for an answer from outside. Undefined if it must not wait. */
  waiting(emit: (event: RunEvent) => void): PermissionAsker | undefined;
  close(): Promise<void>;
}

/** Where a session is logged. @throws {TypeError} if what it is asked to do needs a log, and it is asked to write none */
function folderOf({ log, durable }: RunOptions, cwd: string): string {
  if (log === false || (process.env.CROCHET_LOG === "off" && log === undefined)) {
    const fix = `leave out ${log === false ? "'log: false'" : "CROCHET_LOG=off"}`;
    throw new TypeError(`Cannot run with '${durable ? "durable" : "from"}' as nothing is logged: ${fix}`);
  }
  return typeof log === "string" ? log : logsDir(cwd, process.env, true);
}

interface LogOptions {
  readonly isAsked: boolean;
  readonly options: AgentOptions;
  readonly own: RunOptions;
  readonly cwd: string;
  readonly prompt: Prompt | undefined;
  readonly resolve: (path: string) => string;
  readonly warn: (words: string) => void;
}

/**
 * The log of a session that works in `cwd`, claimed by this process. A run that was cut off goes on with no prompt or its
 * own. One that was not asked for fails no run: it is warned of.
 */
export async function logFor(given: LogOptions): Promise<SessionLog | undefined> {
  const { isAsked, options, own } = given;
  if (isAsked) return await openLog(given);
  // A script that did not ask for a log may hear no warnings.
  const warn = own.on || options.on ? given.warn : (words: string) => sayOnce("why not", words);
  try {
    return await openLog({
      ...given,
      warn,
      lost: (error) => warn(`The log ends here, and the run goes on: ${wordsOf(error)}`),
    });
  } catch (error) {
    // Whose the log is that a session goes on with, is not a matter of logging.
    if (own.resume !== undefined && error instanceof TypeError) throw error;
    warn(`This run is not logged. ${wordsOf(error)}`);
    return undefined;
  }
}

async function openLog(given: LogOptions & Partial<Pick<Opening, "lost">>): Promise<SessionLog> {
  const { options, own, cwd, prompt, resolve, warn, lost } = given;
  const folder = folderOf(own, cwd);
  const seal = newSeal();
  if (typeof seal === "string") {
    if (lost) throw new Error(`It cannot be sealed as there is no key. ${seal}`);
    warn(
      `This run cannot be sealed as there is no key, so its log is not your own: to resume or replay it, trust it. ${seal}`,
    );
  }
  const files = jsonlStore(folder);
  const place = { folder, files, options, own, cwd, lost, seal: typeof seal === "string" ? undefined : seal };
  if (own.from !== undefined) return await forkLog(own.from, { ...place, resolve, prompt, warn });
  const known = own.fork === undefined ? own.resume ?? own.id : undefined;
  const release = known === undefined ? undefined : await files.lock(known);
  try {
    const past = known === undefined ? undefined : await pastOf(files.pathOf!(known), own, prompt);
    const opened = await sessionLog({ ...place, ...past, known, release });
    if (lost) sayOnce("where", `runs are logged in ${folder} (CROCHET_LOG=off writes no log)`);
    return opened;
  } catch (error) {
    await release?.();
    throw error;
  }
}

/** What this process has said about logs that it did not ask for. */
const said = new Set<string>();

/** Says a thing once in a process: a server runs agents without end. */
function sayOnce(about: string, words: string): void {
  if (!said.has(about)) console.error(`crochet: ${words}`);
  said.add(about);
}

/** The log of a session that goes another way than a run that was logged or recorded. */
async function forkLog(
  from: string,
  { resolve, prompt = "", warn, ...place }:
    & Omit<Opening, "known" | "past" | "release">
    & Pick<LogOptions, "resolve" | "prompt" | "warn">,
): Promise<SessionLog> {
  if (!isBlank(prompt)) {
    throw new TypeError(`Cannot fork ${from} with a prompt as it has its own: leave the prompt out`);
  }
  const { folder, files, own, cwd, options } = place;
  const id = own.id ?? crypto.randomUUID();
  const release = await files.lock(id);
  try {
    const [{ forked }, { Past }, { LineLog }, { Log }] = await Promise.all([
      import("../replay/record/fork.ts"),
      import("../log/past.ts"),
      import("../log/line-log.ts"),
      import("../log/read-log.ts"),
    ]);
    const { trust } = own;
    const { log: { header, entries }, isOwn, warnings } = await forked(from, { folder, resolve, cwd, id, trust });
    if (hasState(files.pathOf!(id))) {
      throw new TypeError(`Cannot fork ${from} as run '${id}' has a log: give another id`);
    }
    const agent = options.from === undefined ? {} : { agent: scriptOf(options.from) };
    const past = new Past(new Log([{ ...header, ...agent }, ...entries.slice(1)]), true, { isCopied: true });
    const seal = isOwn ? place.seal : undefined;
    const file = new LineLog(files.pathOf!(id), seal);
    file.append(past.before.entries);
    file.close();
    warnings.forEach(warn);
    return await sessionLog({ ...place, seal, known: id, past, release });
  } catch (error) {
    await release();
    throw error;
  }
}

/** What a log has that a session goes on with, and the seal to go on with if it is our own. */
async function pastOf(
  path: string,
  own: RunOptions,
  prompt: Prompt | undefined,
): Promise<Pick<Opening, "past" | "seal"> | undefined> {
  const found = readOwn(path, "resume", own.trust);
  if (!found) return undefined;
  const [{ Log }, { Past }] = await Promise.all([import("../log/read-log.ts"), import("../log/past.ts")]);
  const log = new Log(found.entries, path);
  const was = log.prompts.at(-1) ?? "";
  const continues = prompt !== undefined && (isBlank(prompt) || JSON.stringify(prompt) === JSON.stringify(was));
  if (own.durable && !continues && log.begins.length > log.ends.length) {
    throw stillOpen(log.header.id, was as Prompt);
  }
  return { past: new Past(log, continues, { isOwn: found.seal !== undefined }), seal: found.seal };
}

/** Notes the secrets that a log shows, to be found when their variables are gone. */
async function noteSecrets(log: RunLog, cwd: string): Promise<void> {
  const { encodedForms, secretsOf, secretsOfFolder } = await import("../log/redact/secrets.ts");
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

interface Opening extends Pick<LogOptions, "options" | "own" | "cwd"> {
  readonly folder: string;
  readonly files: ReturnType<typeof jsonlStore>;
  readonly known: string | undefined;
  readonly past?: Past | undefined;
  readonly seal: Seal | undefined;
  readonly release: (() => Promise<void>) | undefined;
  /** Called once if the disk does not take what is logged; absent: the run fails. */
  readonly lost: ((error: Error) => void) | undefined;
}

async function sessionLog({ files, known, past, seal, options, own, cwd, ...opened }: Opening): Promise<SessionLog> {
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
  // In a folder that was named there may be other files.
  if (opened.folder === logsDir(cwd, { ...process.env, CROCHET_LOG: "" })) sweepLogs(files.pathOf!(id), seal);
  const log = new RunLog({
    path: files.pathOf!(id),
    header,
    past,
    seal,
    sync: own.log !== undefined,
    durable,
    lost: opened.lost,
  });
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
  /** What another session said, or an agent below one, if that is our own or trusted. */
  const saidIn = async (asked: string) => {
    const path = logOf(opened.folder, asked);
    const isElsewhere = path !== files.pathOf!(asked);
    const found = asked === id && !isElsewhere ? undefined : readOwn(path, "resume", own.trust);
    if (!found?.seal) return found && await files.load(asked);
    const { Log } = await import("../log/read-log.ts");
    const log = new Log(found.entries, path);
    const said = isElsewhere ? log.transcript(asked) : log.transcript();
    return said && { ...transcriptOf(said, path), ...(isElsewhere && { isElsewhere }) };
  };
  return Object.assign(session, {
    id,
    mainLane: lane,
    hears: isNoted,
    goesOn: past?.open !== undefined,
    answers: {
      known: past?.answers ?? [],
      isOffline: false,
      counts: (call?: { readonly tool_use_id: string; readonly agent_id?: string }) =>
        past?.counts(log.laneOf(call?.agent_id ?? id), call?.tool_use_id) ?? true,
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
      load: async (asked: string) => await ofLog.load(asked) ?? await saidIn(asked),
    },
    prompted(begin: BeginAsked, now: SessionState): BeginAsked {
      state = now;
      const isFirst = prompts++ === 0;
      const was = open &&
        { prompt: past!.log.prompts.at(-1)! as Prompt, modelParams: open.modelParams, trigger: open.trigger };
      const goesOn = was && !past!.isCopied;
      if (goesOn && own.model === undefined) now.model = open!.model;
      open = undefined;
      const begun = was ?? begin;
      if (!goesOn) {
        const { prompt, modelParams, trigger } = begun;
        const opens = past !== undefined && !past.isCopied && prompts === past.runs + 1;
        const about = { ...(opens && { opens }), model: now.model, ...(modelParams && { modelParams }) };
        log.line({ prompt: prompt as string, ...(this.switched !== undefined && { model: this.switched }) });
        this.switched = undefined;
        log.line({ begin: now.runs, trigger, ...about, at: log.now() });
        log.flush();
      }
      // After the run has begun: its first step is its own.
      if (!isFirst) lane.clock.nextStep();
      return begun;
    },
    waiting: (emit: (event: RunEvent) => void): PermissionAsker | undefined =>
      !durable ? undefined : async ({ key = "", agent_id = id, tool_name, input, reason }, signal) => {
        const { waitForAnswer } = await import("../log/questions.ts");
        const about = { agent_id, tool_name, input, reason };
        return await waitForAnswer<PermissionReply>(log.path, key, about, signal, {
          announce: (token) => emit({ type: "question", token, ...about }),
          warn: (message) => emit({ type: "warning", agent_id, message }),
        });
      },
    async close() {
      if (prompts > (past?.runs ?? 0)) await noteSecrets(log, cwd);
      log.close();
      if (durable) removeAnswers(log.path);
      await release();
    },
  });
}
