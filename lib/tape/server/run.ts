import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../../core/shown.ts";
import { git } from "../../process/git.ts";
import { withDraft } from "../drafts.ts";
import type { DriftReport } from "../drift/drift.ts";
import { type Fixture, fixtureAt, inScratch } from "../fixture.ts";
import type { Header } from "../format.ts";
import type { Normaliser } from "../normalise.ts";
import { tapeFile } from "../options.ts";
import { readTape, TapeError } from "../read.ts";
import { keepFiles } from "../record/keep-files.ts";
import { sourceOf } from "../record/recorded-tape.ts";
import { placer, placesHere } from "../redact/places.ts";
import { redactor } from "../redact/redact.ts";
import type { Tape } from "../tape.ts";
import { writeTape } from "../write.ts";
import { asksModel } from "./api.ts";
import { type CommandEnd, runCommand } from "./command.ts";
import { listen, type Listening, refusingProxy } from "./listen.ts";
import { type Env, placesOf, pointedAt, shownVariables, upstreamsIn } from "./pointing.ts";
import { installFolder } from "./program.ts";
import { Recorder } from "./record.ts";
import { tapeOfRun } from "./recording.ts";
import { Replayer, type ReplayerOptions } from "./replay.ts";

interface RunOptions {
  readonly command: readonly string[];
  /** Its directory, and that of the recorded workspace. */
  readonly cwd: string;
  readonly env: Env;
  readonly signal?: AbortSignal;
  readonly timeout?: number | undefined;
}

export interface RecordOptions extends RunOptions {
  /** Keeps what it prints in place of showing it. @default false */
  readonly quiet?: boolean;
  readonly normalise?: readonly Normaliser[];
  /** Writes placeholders for secrets. @default false: a run that shows one is not kept */
  readonly redact?: boolean;
  readonly onLeftOut?: (path: string, why: string) => void;
}

/** A server that passes requests on and notes them, until it is stopped. */
export async function startRecording(env: Env, root: string, redact: boolean) {
  const seed = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
  const search = redactor({ seed, root, env });
  const ids = redactor({ seed, root, env, learns: true, ...(!redact && { kinds: ["cookie", "organisation"] }) });
  const recorder = new Recorder(upstreamsIn(env), (...secret) => {
    for (const one of [search, ids]) one.learn(...secret);
  });
  const server = await listen(recorder.answer, { token: crypto.randomUUID().replaceAll("-", "") });
  return {
    server,
    /** @throws {Error} if there is nothing to keep, or it shows a secret */
    async write(fixture: Fixture, end: string, header: Partial<Header>, folder?: string): Promise<Tape> {
      await recorder.settled();
      const { exchanges, began, seen } = recorder;
      const refuse = (why: string) => new TapeError(`Cannot record ${fixture.name} as ${why}`);
      const asked = exchanges.filter(({ sent }) => asksModel(sent));
      if (asked.length === 0) throw refuse("the command asked no model through it: see 'crochet tape record --help'");
      if (asked.every(({ attempt }) => attempt.status === 502)) throw refuse(asked[0]!.attempt.body!);
      const url = seen.url;
      const tape = tapeOfRun({
        exchanges,
        places: placesOf(root, env),
        folder,
        redactor: ids,
        header: {
          source: url === undefined ? "nothing" : sourceOf(url, seen.answer?.requestId),
          ...(url !== undefined && { url }),
          ...{ at: new Date(began).toISOString(), seed, ...header },
        },
        end,
      });
      await writeTape(tapeFile(fixture.folder), tape, { redactor: redact ? ids : search });
      return tape;
    },
  };
}

/** Runs a command before the real API and keeps what it asked, with the workspace as it was before. */
export async function recordCommand(
  fixture: Fixture,
  options: RecordOptions,
): Promise<{ tape: Tape; end: CommandEnd }> {
  const { command, cwd, env, normalise = [], redact = false, onLeftOut } = options;
  return await withDraft(fixture.folder, async (draft) => {
    for (const { path, why } of keepFiles(cwd, draft, [])) onLeftOut?.(path, why);
    const git = isRepository(cwd);
    const { server, write } = await startRecording(env, cwd, redact);
    try {
      using pointed = pointedAt(server.url, command, { env });
      const end = await runCommand(pointed.command, { ...options, env: pointed.env });
      const header = {
        ...{ command, env: shownVariables(env), ...(git && { git }) },
        ...(normalise.length > 0 && { normalise }),
      };
      const tape = await write(fixture, end.end, header, installFolder(command[0]!, env));
      const files = fixtureAt(draft).files;
      if (files !== undefined) renameSync(files, join(fixture.folder, "files"));
      return { tape, end };
    } finally {
      await server.close();
    }
  });
}

function isRepository(cwd: string): boolean {
  return git(cwd, "rev-parse", "--is-inside-work-tree") !== undefined;
}

export interface ReplayOptions extends RunOptions, Pick<ReplayerOptions, "loose" | "without"> {
  /** Works in `cwd` itself. @default in a copy of the recorded workspace */
  readonly here?: boolean;
  readonly quiet?: boolean;
}

/** What came of a command on a tape. */
export interface ReplayedCommand {
  readonly report: DriftReport;
  readonly end: CommandEnd;
  readonly code: number;
}

/** Exit codes of a replay: the command's own says too little, as some end with 0 after an error. */
const CODES = { same: 0, drift: 1, otherEnd: 3, timeout: 124 } as const;

/** Runs a command again on what it was recorded with, and without the network. */
export async function replayCommand(fixture: Fixture, options: ReplayOptions): Promise<ReplayedCommand> {
  const tape = await recordedTape(fixture);
  if (options.here) return await replayIn(options.cwd, tape, fixture, options);
  return await inScratch(fixture.files, (cwd) => {
    recordedCommand(tape, cwd);
    return replayIn(cwd, tape, fixture, options);
  });
}

/** The command of a tape as it is called in a copy of its workspace, which is a git repository if that was one. */
export function recordedCommand({ header }: Tape, cwd: string): string[] {
  if (header.git) git(cwd, "init", "--quiet");
  const { restore } = placer(placesHere(cwd));
  return (header.command ?? []).map((word) => restore(word));
}

/** @throws {TapeError} if there is no tape, or it is not one of another program */
export async function recordedTape({ name, tape: path }: Fixture): Promise<Tape> {
  if (!existsSync(path)) {
    throw new TapeError(
      `Cannot serve ${name} as there is no tape: crochet tape record --fixture ${shellWord(name)} -- <command>`,
    );
  }
  const tape = await readTape(path);
  if (tape.calls.some(({ sent }) => sent)) return tape;
  throw new TapeError(
    `Cannot serve ${name} as it was recorded from an agent of crochet: crochet replay ${shellWord(name)}`,
  );
}

/** Runs a command on a tape in a folder. */
export async function replayIn(
  cwd: string,
  tape: Tape,
  fixture: Fixture,
  options: ReplayOptions,
): Promise<ReplayedCommand> {
  const { command, env } = options;
  const replayer = new Replayer(tape, {
    ...options,
    name: fixture.name,
    places: placesOf(cwd, env),
    folder: installFolder(command[0]!, env),
    elsewhere: !options.here,
  });
  const hosts = new Set<string>();
  const open: Listening[] = [];
  try {
    const server = await listen(replayer.answer);
    open.push(server);
    const proxy = await refusingProxy((host) => hosts.add(host));
    open.push(proxy);
    using pointed = pointedAt(server.url, command, { env, shown: tape.header.env ?? {}, proxy: proxy.url });
    const end = await runCommand(pointed.command, { ...options, cwd, env: pointed.env });
    const was = tape.end?.end ?? end.end; // an imported tape does not say
    if (end.end !== was) replayer.note(`it ended with '${end.end}', but was recorded with '${was}'`);
    if (hosts.size > 0) replayer.note(`refused, as a replay uses no network: ${[...hosts].sort().join(", ")}`);
    const found = await replayer.report(renewal(fixture, command));
    const code = end.end === "timeout"
      ? CODES.timeout
      : !found.ok
      ? CODES.drift
      : end.end === was
      ? CODES.same
      : CODES.otherEnd;
    return { report: { ...found, ok: code === CODES.same }, end, code };
  } finally {
    for (const one of open) await one.close();
  }
}

/** The command that records a tape again. */
function renewal({ name }: Fixture, command: readonly string[]): string {
  return `delete it, then crochet tape record --fixture ${shellWord(name)} -- ${command.map(shellWord).join(" ")}`;
}
