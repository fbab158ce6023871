import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Agent } from "../../agent/options.ts";
import { quietly } from "../../core/json.ts";
import { nearest } from "../../input/nearest.ts";
import { shellWord } from "../../core/shown.ts";
import { isInside } from "../../files/confine.ts";
import { entriesOf, treeOf } from "../../files/tree.ts";
import { realOr } from "../../hooks/file/user-places.ts";
import { isFixtureTrusted, type Runs, trustFixtures } from "../../hooks/hook-trust.ts";
import {
  findFixture,
  type Fixture,
  fixtureAt,
  fixtureProject,
  FIXTURES,
  fixturesIn,
  hasTape,
  isFinding,
  lacksTape,
  nameIn,
  scriptFromTape,
  withoutTapeIn,
} from "../../replay/fixture.ts";
import { headerOf } from "../../replay/read-tape.ts";
import { type ReplayedBy, replayedBy } from "../../replay/replayed-by.ts";
import { BUILT_IN } from "../../runtime/importing.ts";
import type { Flags } from "./flags.ts";
import { type Io, UsageError } from "./io.ts";
import { builtIn, loadAgent } from "./script.ts";

/** How long a script may take to load: as long as a hook may take. */
const MOST_SECONDS = 60;

/** The agent of a fixture: its own `agent.ts`, or the one its tape was recorded with. */
export async function fixtureAgent(fixture: Fixture, signal?: AbortSignal): Promise<Agent> {
  const script = fixtureScript(fixture);
  return script === BUILT_IN ? await builtIn() : await loadAgent(script, signal && { signal, seconds: MOST_SECONDS });
}

/** The script of that agent, or that it is the built-in one. */
export function fixtureScript(fixture: Fixture): string {
  const { name, tape } = fixture;
  const script = scriptNamed(fixture);
  if (script === undefined) throw noAgent(fixture);
  if (script === BUILT_IN || existsSync(script)) return script;
  throw new UsageError(
    `Cannot run ${name} as its agent ${script} is not there any more: put it back, ` +
      `or let "agent" in the first line of ${tape} say where it is now, seen from there`,
  );
}

/** The error for a fixture that is not an agent's. */
export function noAgent(fixture: Fixture): UsageError {
  const { name, folder } = fixture;
  const again = `crochet replay ${shellWord(name)}`;
  if (hasCommand(fixture)) {
    const whose = isBy(fixture, "program") ? "another program" : "a test, which alone asks what is on it";
    return new UsageError(`Cannot run ${name} as it is of ${whose}: ${again}`);
  }
  return new UsageError(
    `Cannot run ${name} as it is served only, as it names neither an agent nor a command: ${again} -- COMMAND, or put an agent.ts into ${folder}`,
  );
}

/** The files beside fixtures that are run for all of them. */
function sharedIn(folder: string): string[] {
  return readdirSync(folder).filter((file) => /^(invariants|grade)\.(?!(.+\.)?prompt\.md$)/.test(file)).map((file) =>
    join(folder, file)
  );
}

/** The words of the command that was recorded, or of its tests; none if it was an agent of ours. */
export function commandOf(fixture: Fixture): readonly string[] {
  const who = quietly(() => replayedBy(fixture)); // replaying it says what is wrong
  return who && "command" in who ? who.command : [];
}

/** What is trusted with a fixture: itself, by the words of its command if it has one, and what its folder shares. */
function runsOf(
  fixture: Fixture,
): { readonly project: string; readonly path: string; readonly command: Runs[string] }[] {
  const placed = (path: string, command: Runs[string] = []) => {
    const project = fixtureProject(path);
    return { project, path: relative(project, realOr(path)), command };
  };
  return [
    placed(fixture.folder, commandOf(fixture)),
    ...sharedIn(dirname(fixture.folder)).map((file) => placed(file)),
  ];
}

/** Trusts the fixture that a person has just recorded, and no other. */
export async function trustRecorded(folder: string, { env }: Pick<Io, "env">): Promise<void> {
  const [{ project, path, command }] = runsOf(fixtureAt(folder)) as [ReturnType<typeof runsOf>[0]];
  await trustFixtures(project, env, { [path]: command });
}

/** What a person trusts with a project: each of its fixtures by name. */
export function runsIn(project: string): Runs {
  const all = fixturesBelow(join(project, FIXTURES)).flatMap(runsOf).filter((one) => one.project === realOr(project));
  const own = all.sort((a, b) => a.path < b.path ? -1 : 1);
  return Object.fromEntries(own.map(({ path, command }) => [path, command]));
}

/** Why fixtures may not be run: the user has not trusted one of them, or what they share. */
function distrusted(fixtures: readonly Fixture[], { trust }: Flags["flags"], io: Io): string | undefined {
  if (trust === true) return undefined;
  const all = fixtures.flatMap(runsOf).filter(({ project, path, command }) =>
    !isFixtureTrusted(project, io.env, path, command)
  );
  const [first] = all;
  if (first === undefined) return undefined;
  const names = [...new Set(all.map(({ path }) => path))];
  const shown = `${names.slice(0, MOST_NAMES).join(", ")}${names.length > MOST_NAMES ? " …" : ""}`;
  const [are, they] = names.length === 1 ? ["is", "it runs"] : ["are", "they run"];
  const dir = first.project === realOr(io.cwd) ? "" : ` ${relative(io.cwd, first.project) || "."}`;
  const lasting = first.path.startsWith(`${FIXTURES}/`) ? `run 'crochet trust${dir}', or ` : "";
  return `${shown} ${are} not trusted: look at what ${they}, then ${lasting}add --trust for this call`;
}

const MOST_NAMES = 3;

/** @throws {UsageError} if fixtures may not be run */
export function expectTrusted(fixtures: readonly Fixture[], flags: Flags["flags"], io: Io, verb = "replay"): void {
  const why = distrusted(fixtures, flags, io);
  if (why !== undefined) throw new UsageError(`Cannot ${verb} as ${why}`);
}

/** The `agent.ts` of a fixture, or the script that its tape names. @throws {Error} if it leads out of the project */
function scriptNamed(fixture: Fixture): string | undefined {
  const { name, folder } = fixture;
  const own = join(folder, "agent.ts");
  if (existsSync(own)) return own;
  const { agent } = headerOf(fixture);
  if (agent === undefined || agent === BUILT_IN) return agent;
  const script = scriptFromTape(folder, agent);
  const project = fixtureProject(folder);
  if (isInside(realOr(script), project)) return script;
  throw new Error(
    `Cannot replay ${name}: its tape names the agent ${script}, which is outside the project ${project}: ` +
      `put an agent.ts into ${folder}`,
  );
}

/** What a replay of a project's fixtures would run, from the project. */
export function fixtureScripts(project: string): string[] {
  const fixtures = fixturesIn(join(project, FIXTURES));
  const named = fixtures.flatMap((fixture) => quietly(() => scriptNamed(fixture)) ?? []); // replaying says what is wrong
  const beside = [join(project, FIXTURES), ...fixtures.map(({ folder }) => folder)].flatMap(sharedIn);
  const scripts = [...named.filter((script) => script !== BUILT_IN), ...beside];
  return [...new Set(scripts.map((path) => relative(project, path)))].sort();
}

/** The name that was probably meant; undefined if none is similar. */
export function mistyped(word: string, names: readonly string[]): string | undefined {
  return nearest(word, names, Math.ceil(word.length / 3));
}

/** The fixture that was meant, as the command line finds it. */
export function nearFixture(given: string, cwd: string): string | undefined {
  const { folder } = findFixture(given, cwd);
  const near = mistyped(basename(folder), fixturesIn(dirname(folder)).map(({ name }) => name));
  return near === undefined ? undefined : nameIn(cwd, join(dirname(folder), near));
}

/** The error for a fixture that is not there; `fix` if none has a similar name. */
export function noFixture(verb: string, given: string, cwd: string, fix: string): UsageError {
  const near = nearFixture(given, cwd);
  const help = near === undefined ? fix : `did you mean '${near}'?`;
  return new UsageError(`Cannot ${verb} '${given}' as there is no such fixture: ${help}`);
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The folder that is named, else that of the fixtures, which `mayLack`. */
export function folderOf([given]: readonly string[], { cwd }: Io, verb: string, mayLack = false): string {
  const folder = resolve(cwd, given ?? FIXTURES);
  if (isFolder(folder) || (mayLack && given === undefined && !existsSync(folder))) return folder;
  const why = existsSync(folder) ? "it is not a folder" : "there is no such folder";
  throw new UsageError(`Cannot ${verb} '${given ?? FIXTURES}' as ${why}`);
}

/** The fixtures of a folder, and of the folders in it that hold fixtures. */
function fixturesBelow(folder: string): Fixture[] {
  return [folder, ...groupsIn(folder).map(({ path }) => path)].flatMap((path) => fixturesIn(path));
}

/** Folders in a folder that hold fixtures, such as imported ones, with how many. */
export function groupsIn(folder: string): { path: string; count: number }[] {
  const folders = isFolder(folder) ? entriesOf(folder).filter((entry) => entry.isDirectory()) : [];
  const groups = folders.map(({ name }) => join(folder, name)).filter((path) => !hasTape(fixtureAt(path)));
  return groups.map((path) => ({ path, count: fixturesIn(path).length })).filter(({ count }) => count > 0);
}

const SKIPPED = ["node_modules", ".git"];

/** Every file below a folder, in order; links are not followed, as they may lead out of it or round in a circle. */
export function filesBelow(folder: string): string[] {
  const tree = treeOf(folder, { has: (entry) => !entry.isDirectory() || !SKIPPED.includes(entry.name) });
  return [...tree].flatMap(([path, entry]) => entry.isFile() ? [join(folder, path)] : []);
}

export function allFixtures({ cwd }: Io): Fixture[] {
  return fixturesBelow(resolve(cwd, FIXTURES)).map((fixture) => ({ ...fixture, name: nameIn(cwd, fixture.folder) }));
}

/** What is left of fixtures whose tapes are gone: of all, or of those that are named. */
export function fixturesLeft(words: readonly string[], { cwd }: Io): Fixture[] {
  const named = words.length > 0 ? words.map((word) => findFixture(word, cwd)) : withoutTapeIn(resolve(cwd, FIXTURES));
  return named.filter(lacksTape).map((fixture) => ({ ...fixture, name: nameIn(cwd, fixture.folder) }));
}

export function noFixtures(verb: string): string {
  return `Cannot ${verb} as there is no fixture in ${FIXTURES}/: crochet record agent.ts "<prompt>"`;
}

interface FixtureChoice {
  /** Whether all of them are those of folders in `fixtures/` too. @default true */
  readonly nested?: boolean;
  /** Whether findings are among all of them: one has no live run, and nothing to review. @default true */
  readonly attacks?: boolean;
  /** For messages. @default "replay" */
  readonly doing?: string;
}

/** The fixtures that are named; without a name, all of them. */
export function fixturesFor(words: readonly string[], io: Io, wanted: FixtureChoice = {}): Fixture[] {
  const { nested = true, attacks = true, doing = "replay" } = wanted;
  if (words.length === 0) {
    const found = nested ? allFixtures(io) : fixturesIn(resolve(io.cwd, FIXTURES));
    const all = attacks ? found : found.filter((one) => !isFinding(one));
    if (all.length > 0) return all;
    throw new UsageError(noFixtures(doing));
  }
  const found = words.flatMap((word) => fixturesOf(word, io, doing));
  return found.filter(({ tape }, i) => found.findIndex((other) => other.tape === tape) === i)
    // Several packages may have fixtures with the same name.
    .map((fixture) => ({ ...fixture, name: nameIn(io.cwd, fixture.folder) }));
}

/** Whether it is known that this replays a fixture. */
export function isBy(fixture: Fixture, by: ReplayedBy["by"]): boolean {
  return quietly(() => replayedBy(fixture))?.by === by;
}

/** Whether a command replays it, and no agent here: that of another program, or of its tests. */
export function hasCommand(fixture: Fixture): boolean {
  return commandOf(fixture).length > 0;
}

/** Flags of a replay that need an agent: what a test asks is up to its test. */
export const NOT_OF_TESTS: readonly string[] = ["hooks", "normalise", "verify", "wire"];

/** Whether a command of tests replays it, with all others that they record. */
export function isOfTests(fixture: Fixture): boolean {
  return isBy(fixture, "test");
}

/** Whether one of the words names it, and not a folder that it is in. */
export function isNamed({ tape }: Fixture, words: readonly string[], { cwd }: Io): boolean {
  return words.some((word) => findFixture(word, cwd).tape === tape);
}

function fixturesOf(given: string, io: Io, verb: string): Fixture[] {
  const found = fixturesNamed(given, io, verb);
  if (found.length > 0) return found;
  const { name } = findFixture(given, io.cwd);
  throw noFixture(verb, given, io.cwd, `crochet record <agent.ts> "<prompt>" --fixture ${name}`);
}

/** The fixture of a name, or all those of a folder or of a project. */
export function fixturesNamed(given: string, io: Io, verb = "replay"): Fixture[] {
  const fixture = findFixture(given, io.cwd);
  // A file that is not a fixture's tape must not select the whole folder.
  if (given.endsWith(".jsonl") && basename(given) !== fixture.name && resolve(io.cwd, given) !== fixture.tape) {
    throw new UsageError(`Cannot ${verb} '${given}' as it is not the tape of a fixture, ${FIXTURES}/<name>/tape.jsonl`);
  }
  if (existsSync(fixture.tape)) return [fixture];
  const found = fixturesIn(fixture.folder);
  return found.length > 0 ? found : fixturesIn(join(fixture.folder, FIXTURES));
}
