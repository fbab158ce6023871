import { cpSync, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { eachOf, reportLeft } from "../../cli/kit/each-of.ts";
import { filesBelow } from "../../cli/kit/known-fixtures.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { EXIT, type Io, UsageError } from "../../cli/kit/io.ts";
import { table } from "../../cli/show/text.ts";
import { readBrought } from "../../files/confine.ts";
import { fixtureAt, FIXTURES, OBSERVED_FILE, scriptFromTape, scriptOnTape } from "../../replay/fixture.ts";
import { ImportRefused } from "../../replay/accumulate.ts";
import { FORMATS } from "./formats.ts";
import { importSession } from "./import-session.ts";
import { importRecording } from "./import.ts";
import { readTape } from "../../replay/read-tape.ts";
import { USER_FILE } from "../../replay/run-on-tape.ts";
import type { Tape } from "../../log/tape.ts";
import { writeTape } from "../../replay/write-tape.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import { findSessions, type SessionFiles } from "./sessions/find-session.ts";

/** Not beside the project's own fixtures: an imported tape has no agent to replay it. */
const IMPORTED = "fixtures/imported";

const USAGE: Usage = {
  name: "fixtures import",
  words: "<file | dir>…",
  about: "Makes a fixture from a run of an eval (its folder) or a log of Claude Code 2.1.300 or later. " +
    `Converts recordings of other tools to tapes (${Object.keys(FORMATS).join(", ")}). ` +
    "Calls of the Messages API are verified: the SDK must read the same reply from the tape as was recorded. Calls of OpenAI's APIs are read as openai() reads them.",
  flags: [
    ["--out <dir>", `where to write the tapes (${IMPORTED}; ${FIXTURES} for runs)`],
    ["--json", "print JSON"],
  ],
  example: "crochet fixtures import tests/cassettes",
};

interface Outcome {
  readonly file: string;
  readonly tape?: string;
  readonly format?: string;
  readonly calls?: number;
  readonly notes?: readonly string[];
  readonly refused?: string;
}

/** Exit code 1 if a recording was refused. */
export default command(USAGE, async ({ words, flags }, io) => {
  if (words.length === 0) throw new UsageError(`Cannot import as no file is named: ${USAGE.example}`);
  const folderFor = (path: string) => resolve(io.cwd, String(flags.out ?? (isRunFolder(path) ? FIXTURES : IMPORTED)));
  const found = [...new Set(words.flatMap((word) => filesOf(word, io)))];
  const { sessions } = findSessions(found.filter((path) => path.endsWith(".jsonl")));
  const logs = new Map(sessions.map((session) => [session.path, session]));
  const agents = new Set(sessions.flatMap((session) => session.agents));
  const paths = found.filter((path) => !agents.has(path) && !agents.has(path.replace(/\.meta\.json$/, ".jsonl")));
  const name = namer(paths);
  const outcomes = await eachOf(paths, { atOnce: 1, signal: io.signal }, (path) => {
    const tapePath = join(folderFor(path), name(path), "tape.jsonl");
    return imported(path, tapePath, logs.get(path), io);
  });
  reportLeft(paths.length - outcomes.length, paths.length, "imported", io);
  const isRefused = outcomes.some(({ refused }) => refused !== undefined);
  const code = io.signal.aborted ? EXIT.interrupted : isRefused ? EXIT.failed : EXIT.ok;
  return { data: outcomes, text: shown(outcomes), code };
});

/** `log` if it is the log of a session. */
async function imported(
  path: string,
  tapePath: string,
  log: SessionFiles | undefined,
  io: Io,
): Promise<Outcome> {
  const file = relative(io.cwd, path) || path;
  try {
    if (existsSync(tapePath)) {
      const there = relative(io.cwd, tapePath);
      throw new ImportRefused(`Cannot import '${file}' as ${there} exists: remove it first`);
    }
    if (isRunFolder(path)) {
      const { calls } = await importRun(path, tapePath);
      return { file, tape: relative(io.cwd, tapePath), format: "run", calls: calls.length, notes: [] };
    }
    const beside = (name: string) => brought(dirname(path), name);
    const { tape, format, notes } = log
      ? importSession(log, file)
      : await importRecording(readFileSync(path), file, beside);
    await writeTape(tapePath, tape);
    return { file, tape: relative(io.cwd, tapePath), format, calls: tape.calls.length, notes };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    if (error instanceof ImportRefused || /^Cannot write tape/.test(message)) return { file, refused: message };
    // The recordings imported before must still be reported.
    if (code !== undefined) {
      return { file, refused: `Cannot import '${file}' as it cannot be read or written: ${message}` };
    }
    throw error;
  }
}

/** A file that a recording refers to, which is in its folder or below. */
function brought(folder: string, name: string): Uint8Array | undefined {
  try {
    return readBrought(folder, join(folder, name));
  } catch (error) {
    throw new ImportRefused(`it refers to a file that may not be read: ${(error as Error).message}`);
  }
}

/** A file, or all files below a folder except hidden and installed ones, and bodies that belong to a recording. */
function filesOf(word: string, io: Io): string[] {
  const path = resolve(io.cwd, word);
  if (!existsSync(path)) throw new UsageError(`Cannot import '${word}' as there is no such file`);
  if (!statSync(path).isDirectory() || isRunFolder(path)) return [path];
  const files = filesBelow(path).filter((file) => !/(?:^|[/\\])\.|\.blobs[/\\]/.test(relative(path, file)));
  if (files.length > 0) return files;
  throw new UsageError(`Cannot import '${word}' as it has no files: name hidden files and links one by one`);
}

/** Each file's name without extensions, with its folder's name if several files share it. */
function namer(paths: readonly string[]): (path: string) => string {
  const plain = (text: string) => text.replace(/[^\w.-]+/g, "-").replace(/^-+/, "").slice(0, 100);
  const endings = /(\.(cassette|chunks|ya?ml|json|jsonl|har|txt|sse|gz))+$/i;
  const ownOf = (path: string) =>
    plain(isRunFolder(path) ? path.split("/").slice(-3).join("-") : basename(path).replace(endings, "")) || "recording";
  const alike = Map.groupBy(paths, ownOf);
  const taken = new Set<string>();
  return (path) => {
    const own = ownOf(path);
    const name = alike.get(own)!.length === 1 ? own : `${plain(basename(dirname(path)))}-${own}`;
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${name}-${n}`;
    taken.add(free);
    return free;
  };
}

function shown(outcomes: readonly Outcome[]): string {
  const done = outcomes.filter(({ refused }) => refused === undefined);
  const rows = done.map((one) => [one.file, one.format!, String(one.calls), one.tape!, one.notes!.join("; ")]);
  return [
    rows.length > 0 ? table(["recording", "format", "calls", "tape", "notes"], rows) : "",
    ...outcomes.map(({ refused }) => refused === undefined ? "" : `✗ ${refused}\n`),
    `${done.length} imported, ${outcomes.length - done.length} refused\n`,
  ].join("");
}

function isRunFolder(folder: string): boolean {
  return existsSync(join(folder, OBSERVED_FILE)) && existsSync(fixtureAt(folder).tape);
}

/**
 * Makes a fixture of a run of an eval, with the files it began with; its tools then run for real in a replay. Without
 * files they cannot, and their results stay on the tape.
 *
 * @throws {ImportRefused} if its agent is not there any more
 */
async function importRun(run: string, tapePath: string): Promise<Tape> {
  const folder = realpathSync(run); // the agent is named from where the run really is
  const { files, tape: path } = fixtureAt(folder);
  const { header, tools, ...rest } = await readTape(path);
  const { agent } = header;
  const script = agent === undefined || agent === BUILT_IN ? undefined : scriptFromTape(folder, agent);
  if (script !== undefined && !existsSync(script)) {
    throw new ImportRefused(
      `Cannot import '${run}' as its agent ${script} is not there: import a run of the agent here`,
    );
  }
  const kept = files === undefined && header.tools;
  const tape: Tape = {
    ...rest,
    tools: kept ? tools : [],
    header: { ...header, tools: kept, ...(script !== undefined && { agent: scriptOnTape(dirname(tapePath), script) }) },
  };
  await writeTape(tapePath, tape);
  if (files !== undefined) cpSync(realpathSync(files), join(dirname(tapePath), "files"), { recursive: true });
  const user = join(folder, USER_FILE);
  if (existsSync(user)) cpSync(user, join(dirname(tapePath), USER_FILE));
  return tape;
}
