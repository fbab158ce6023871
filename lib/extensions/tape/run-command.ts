import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { textOf } from "../../core/messages.ts";
import { shellWord } from "../../core/shown.ts";
import { git } from "../../process/git.ts";
import type { DriftReport } from "../../replay/drift/drift-report.ts";
import { type Fixture, fixtureAt, inScratch, tapeFile } from "../../replay/fixture.ts";
import type { Header, Normaliser } from "../../log/entry.ts";
import { readTape, TapeError } from "../../replay/read-tape.ts";
import type { OnDrift } from "../../replay/tape-options.ts";
import { besideTape, keepFiles, type LeftOut } from "../../replay/record/keep-files.ts";
import { sourceOf } from "../../replay/record/seen-wire.ts";
import { placer, placesHere } from "../../log/redact/places.ts";
import { redactor } from "../../log/redact/redact.ts";
import { type Call, isImported, type Tape, UNRECORDED } from "../../log/tape.ts";
import { checkWritable, writeTape } from "../../replay/write-tape.ts";
import { asksModel } from "../../replay/requests/api.ts";
import { endedEarly, type ProgramEnd, type ProgramOptions, runCommand } from "./start-command.ts";
import { listen, type Listening, refusingProxy } from "../../replay/requests/listen.ts";
import { type Env, placesOf, pointedAt, shownVariables, upstreamsIn } from "./pointing.ts";
import { installFolder } from "../../replay/requests/compared-program.ts";
import { Recorder } from "./forward-requests.ts";
import { type Doings, doingsOf, doneOtherwise, watchFiles } from "./doings.ts";
import { type RecordedRun, tapeOfRun } from "./tape-of-run.ts";
import { Replayer } from "./answer-requests.ts";
import { claudeTrusts } from "./trusting.ts";
import {
  commandBeside,
  commandIn,
  copyDirectory,
  inWorkspace,
  keepChanged,
  worksHere,
} from "../../replay/working-copy.ts";

/** It is typed in `cwd`: its program is that of this directory. */
export interface RunOptions extends Omit<ProgramOptions, "env" | "over"> {
  readonly env: Env;
  /** Lets MCP servers run for real. @default they are recorded, and answered from a tape that has them */
  readonly mcp?: "live" | undefined;
  /** Gets what is to be said of the run. @default the report says it */
  readonly note?: (line: string) => void;
}

export interface RecordOptions extends RunOptions {
  readonly command: readonly string[];
  /** What the fixture keeps of the directory, as it was before. @default what the run changes or removes */
  readonly keeps?: "changed" | "all" | "nothing";
  /** A folder whose copy it works in, all of which is kept. */
  readonly files?: string | undefined;
  readonly normalise?: readonly Normaliser[];
  /** Results of its tools may differ in a replay. @default false */
  readonly loose?: boolean;
  /** Writes placeholders for secrets. @default false: a run that shows one is not kept */
  readonly redact?: boolean;
  /** Replaces the fixture. @default false */
  readonly replace?: boolean;
  /** Keeps what it printed and did to files: the caller proves that. @default false */
  readonly proves?: boolean;
  readonly onLeftOut?: (path: string, why: string) => void;
}

interface Writing {
  /** Where the program is installed. */
  readonly folder?: string | undefined;
  readonly replace?: boolean;
  /** Why there is nothing to write, if no model was asked. */
  readonly unasked?: string;
  readonly did?: RecordedRun["did"];
}

/** A server, or another that can be made to, that passes requests on and notes them, until it is stopped. */
export async function startRecording(
  env: Env,
  root: string,
  redact: boolean,
  serve: typeof listen = listen,
  mcp?: RunOptions["mcp"],
) {
  const seed = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
  const search = redactor({ seed, root, env });
  const ids = redactor({ seed, root, env, learns: true, ...(!redact && { kinds: ["cookie", "organisation"] }) });
  const recorder = new Recorder(upstreamsIn(env), (...secret) => {
    for (const one of [search, ids]) one.learn(...secret);
  });
  recorder.mcp.isOff = mcp === "live";
  const server = await serve(recorder.answer);
  return {
    server,
    /** @throws {Error} if there is nothing to keep, or it shows a secret */
    async write(fixture: Fixture, end: string, header: Partial<Header> = {}, how: Writing = {}): Promise<WrittenTape> {
      const { folder, replace = false, unasked = "no model was asked through it", did } = how;
      await recorder.settled();
      const { exchanges, began, seen, mcp } = recorder;
      const refuse = (why: string) => new TapeError(`Cannot record ${fixture.name} as ${why}`);
      if (mcp.locked !== undefined) {
        const fix = "give it a token in headers, or --mcp live";
        throw new TapeError(`Cannot record MCP server '${mcp.locked}' as it asks for a login: ${fix}`);
      }
      const asked = exchanges.filter(({ sent }) => asksModel(sent));
      if (asked.length === 0) throw refuse(`${unasked}\n  to find the server: see 'crochet record --help'`);
      if (asked.every(({ attempt }) => attempt.status === 502)) throw refuse(asked[0]!.attempt.body!);
      const url = seen.url;
      const tape = tapeOfRun({
        exchanges,
        mcp: mcp.facts,
        places: placesOf(root, env),
        folder,
        redactor: ids,
        header: {
          source: url === undefined ? "nothing" : sourceOf(url, seen.answer?.requestId),
          ...(url !== undefined && { url }),
          ...{ at: new Date(began).toISOString(), seed, ...header },
        },
        end,
        did,
      });
      const written = async (tape: Tape, replace: boolean) =>
        await writeTape(tapeFile(fixture.folder), tape, { replace, redactor: redact ? ids : search });
      await written(tape, replace);
      return { tape, settle: (did) => written({ ...tape, end: { end, ...did } }, true) };
    },
  };
}

interface WrittenTape {
  readonly tape: Tape;
  /** Writes it again with other doings. */
  readonly settle: (did: Doings) => Promise<unknown>;
}

/** What came of a recorded command. */
export interface RecordedCommand extends WrittenTape {
  readonly end: ProgramEnd;
}

/** Runs a command before the real API and keeps what it asked, with what it changed as it was before. */
export async function recordCommand(fixture: Fixture, options: RecordOptions): Promise<RecordedCommand> {
  const { command, cwd, files, onLeftOut } = options;
  if (files === undefined) return await recordIn(cwd, command, fixture, options);
  const run = commandBeside(files, cwd, command);
  return await inScratch(undefined, async (draft) => {
    for (const { path, why } of keepFiles(files, draft, [])) onLeftOut?.(path, why);
    return await inScratch(
      fixtureAt(draft).files,
      (copy) => recordIn(copy, run, fixture, { ...options, keeps: "all" }),
    );
  });
}

/**
 * Runs the command of a tape before the real API, in the workspace of a replay, and records it into another fixture or in
 * place of its own. The caller has seen to it that the fixture is trusted.
 */
export async function recordAgain(
  workspace: string,
  fixture: Fixture,
  tape: Tape,
  into: Fixture,
  options: Omit<RecordOptions, "command" | "keeps" | "files">,
): Promise<RecordedCommand> {
  const { header } = tape;
  const command = commandIn(workspace, header.command ?? []);
  return await recordIn(workspace, commandFor(tape, options.cwd)(workspace), into, {
    ...(!tape.mcp && { mcp: "live" }),
    ...{ ...options, command, keeps: header.input ? "all" : worksHere(header) ? "nothing" : "changed" },
    ...(header.input && { files: fixture.folder }),
    ...(header.normalise && { normalise: header.normalise }),
    ...(header.loose && { loose: true }),
  });
}

/** Records a command in a folder; `run` are its words there. */
async function recordIn(
  cwd: string,
  run: readonly string[],
  fixture: Fixture,
  options: RecordOptions,
): Promise<RecordedCommand> {
  const { command, env, keeps = "changed", files, normalise = [], redact = false, replace = false, proves } = options;
  const leave = ({ path, why }: LeftOut) => options.onLeftOut?.(path, why);
  checkWritable(fixture.tape);
  return await inScratch(undefined, async (draft) => {
    const before = join(draft, "before");
    const leftOut = keeps === "changed" ? copyDirectory(cwd, before, fixture.folder) : [];
    if (keeps === "all") keepFiles(cwd, draft, []).forEach(leave);
    const isRepository = git(cwd, "rev-parse", "--is-inside-work-tree") !== undefined;
    const { server, write } = await startRecording(env, cwd, redact, listen, options.mcp);
    const kept = besideTape(fixture.folder, draft);
    try {
      const copyOf = cwd === options.cwd || keeps === "all" ? undefined : options.cwd;
      using pointed = await pointedAt(server.url, run, { env, cwd, copyOf, mcp: options.mcp !== "live" });
      for (const line of pointed.notes) options.note?.(line);
      const original = (path: string) => join(keeps === "all" ? fixtureAt(draft).files! : before, path);
      const touched = proves && keeps !== "nothing" ? watchFiles(cwd, fixture.folder, original) : undefined;
      const end = await runCommand(pointed.command, { ...options, cwd, env: pointed.env });
      const filesTouched = touched?.();
      const changes = { directory: cwd, draft, folder: fixture.folder, leftOut };
      const changed = keeps === "changed" ? keepChanged(before, changes) : undefined;
      changed?.leftOut.forEach(leave);
      const header = {
        ...{ command, env: shownVariables(env), ...(isRepository && { git: true }) },
        ...(changed && { made: changed.made }),
        ...(files !== undefined && { input: true }),
        ...(normalise.length > 0 && { normalise }),
        ...(options.loose && { loose: true as const }),
      };
      kept.ready();
      const unasked = endedEarly(end, cwd);
      const closed = changed?.leftOut.map(({ path }) => path);
      const done = { stdout: end.wasShown ? undefined : end.stdout, root: cwd, changed: filesTouched };
      const did = proves ? (on: (text: string) => string) => doingsOf(done, on, closed) : undefined;
      const how = { folder: installFolder(run, env), replace, unasked, did };
      const written = await write(fixture, end.end, header, how);
      kept.keep();
      return { ...written, end };
    } finally {
      kept.drop();
      await server.close();
    }
  });
}

export interface CommandReplayOptions extends Omit<RunOptions, "mcp"> {
  /** @default the command of the tape: the caller has seen to it that the fixture is trusted */
  readonly command?: readonly string[];
  /** Compares what is asked alone, and leaves to the caller what the program did. @default false */
  readonly asksOnly?: boolean;
  readonly onDrift?: OnDrift | undefined;
}

/** What came of a command on a tape. */
export interface ReplayedCommand {
  readonly report: DriftReport;
  readonly end: ProgramEnd;
  readonly did: Doings;
}

/** How a command ends that does not end by itself. */
export const CUT = /^(?:SIG\w+|timeout|aborted)$/;

/** Runs a command again, as its program is now, on what it was recorded with and without the network. */
export async function replayCommand(fixture: Fixture, options: CommandReplayOptions): Promise<ReplayedCommand> {
  const tape = await recordedTape(fixture);
  const here = worksHere(tape.header);
  const words = commandFor(tape, options.cwd, options.command);
  const notes: string[] = [];
  return await inWorkspace(
    fixture,
    tape.header,
    { here, note: (line) => notes.push(line), ...options },
    async (cwd) => {
      const { report, ...rest } = await replayIn(cwd, words(cwd), tape, fixture, options).catch((error) => {
        if (error instanceof Error) error.message = [error.message, ...notes].join("\n  ");
        throw error;
      });
      return { ...rest, report: { ...report, notes: [...notes, ...report.notes] } };
    },
  );
}

/** The words of a command for the folder that it runs in: those that were typed in a directory, else those of its tape. */
export function commandFor(
  { header }: Tape,
  cwd: string,
  typed?: readonly string[],
): (copy: string) => readonly string[] {
  const { place } = placer(placesHere(cwd));
  const onTape = typed?.map((word) => place(word)) ?? header.command ?? [];
  return (copy) => {
    const words = commandIn(copy, onTape);
    return header.input && copy !== cwd ? commandBeside(copy, cwd, words) : words;
  };
}

/** @throws {TapeError} if there is no tape, or it is not one of another program */
export async function recordedTape({ name, tape: path }: Fixture): Promise<Tape> {
  if (!existsSync(path)) {
    throw new TapeError(
      `Cannot serve ${name} as there is no tape: crochet record --fixture ${shellWord(name)} -- <command>`,
    );
  }
  const tape = await readTape(path);
  const calls = isImported(tape.header) ? tape.calls.map(asAsked) : tape.calls;
  if (calls.some(({ sent }) => sent)) return { ...tape, calls };
  throw new TapeError(
    isImported(tape.header)
      ? `Cannot serve ${name} as its recording has no answer of the Messages API with its request: let a test replay it, by replay(agent, "${name}")`
      : `Cannot serve ${name} as it was recorded from an agent of crochet: crochet replay ${shellWord(name)}`,
  );
}

/** An imported call as a program asks it. Answers of OpenAI's APIs are kept as an agent reads them, and cannot be sent. */
function asAsked(call: Call): Call {
  const { request: { model, params, system, tools, messages }, attempts } = call;
  const isKept = attempts.every(({ status }) => status !== undefined) && textOf(messages[0]!) !== UNRECORDED;
  if (call.sent || !isKept) return call;
  const lists = Object.entries({ system, tools }).filter(([, list]) => list.length > 0);
  const body = { model, ...params, ...Object.fromEntries(lists), messages };
  return { ...call, sent: { api: "anthropic", method: "POST", path: "/v1/messages", headers: {}, body } };
}

const NO_NETWORK = "refused, as a replay uses no network";

const UNTRUSTED = "Claude Code does not trust this directory here: if it did where this was recorded, that differs";

/** Runs a command on a tape in a folder. */
export async function replayIn(
  cwd: string,
  command: readonly string[],
  tape: Tape,
  fixture: Fixture,
  options: CommandReplayOptions,
): Promise<ReplayedCommand> {
  const { env } = options;
  const over = new AbortController();
  const here = worksHere(tape.header);
  // A recording that no program ended was closed, which says nothing of one.
  const was = tape.header.command && tape.end?.end;
  // What ended the program then is not there now: its tape ends where it was ended.
  const isCut = was !== undefined && CUT.test(was);
  const replayer = new Replayer(tape, {
    ...options,
    ...(isCut && { onUsedUp: () => over.abort() }),
    name: fixture.name,
    places: placesOf(cwd, env),
    folder: installFolder(command, env),
    elsewhere: !here,
  });
  const hosts = new Set<string>();
  const open: Listening[] = [];
  try {
    const server = await listen(replayer.answer);
    open.push(server);
    const proxy = await refusingProxy(server.url, (host) => hosts.add(host));
    open.push(proxy);
    const copyOf = here || tape.header.input ? undefined : options.cwd;
    const { env: shown = {}, versions, input } = tape.header;
    const mcp = tape.mcp !== undefined;
    using pointed = await pointedAt(server.url, command, { env, shown, proxy: proxy.url, cwd, copyOf, mcp });
    for (const line of pointed.notes) replayer.notes.add(line);
    const isTrusted = here || input || (copyOf !== undefined && claudeTrusts(copyOf, env));
    if (!isTrusted && /^claude-cli\b/.test(versions.client ?? "")) replayer.notes.add(UNTRUSTED);
    const original = (path: string) =>
      [fixture.files ?? options.cwd, options.cwd].map((at) => join(at, path)).find((at) => existsSync(at)) ?? "";
    const own = join(cwd, relative(options.cwd, fixture.folder));
    const touched = here ? undefined : watchFiles(cwd, own, original);
    const ended = await runCommand(pointed.command, { ...options, cwd, env: pointed.env, over: over.signal });
    const did = doingsOf({ stdout: ended.stdout, root: cwd, changed: touched?.() }, replayer.on);
    const end = over.signal.aborted ? { ...ended, end: was! } : ended;
    const isSame = was === undefined || end.end === was; // an imported tape does not say
    const refused = [...hosts].sort().join(", ");
    if (refused !== "") replayer.notes.add(`${NO_NETWORK}: ${refused}`);
    if (!replayer.wasAsked && end.end !== "aborted") {
      const network = refused === "" ? "" : `\n  ${NO_NETWORK}: ${refused}`;
      throw new Error(`Cannot replay ${fixture.name} as ${endedEarly(end, cwd)}${network}`);
    }
    if (!isSame) replayer.notes.add(`it ended with '${end.end}', but was recorded with '${was}'`);
    const again = `--fixture ${shellWord(fixture.name)} -- ${command.map(shellWord).join(" ")}`;
    const report = await replayer.report(`delete it, then crochet record ${again}`);
    const isAsked = report.ok && isSame;
    if (options.asksOnly) return { report: { ...report, ok: isAsked }, end, did };
    const { files, printed, notes } = doneOtherwise(replayer.did, did);
    // What follows from other requests is not said.
    const differs = report.ok && (files.length > 0 || printed !== undefined);
    return {
      report: {
        ...report,
        ...(differs && { files, ...(printed && { printed }) }),
        ok: isAsked && !differs,
        notes: [...report.notes, ...notes],
      },
      end,
      did,
    };
  } finally {
    for (const one of open) await one.close();
  }
}
