import {
  copyFileSync,
  cpSync,
  type Dirent,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parsed } from "../core/json.ts";
import { isInside } from "../files/confine.ts";
import { removeTree } from "../files/tree.ts";
import { realOr } from "../hooks/file/user-places.ts";
import type { Tape } from "../log/tape.ts";
import { applyChanges } from "./scratch.ts";

/** A recorded run kept with what it was recorded from. */
export interface Fixture {
  readonly name: string;
  readonly folder: string;
  readonly tape: string;
  /** The tape itself, of a run that is replayed from its log: `tape` is the file of that. */
  readonly taped?: Tape;
  /** Where faults are kept that the agent once did not survive; there may be none. */
  readonly faults: string;
  /** The workspace as it was before the run. */
  readonly files: string | undefined;
}

export const FIXTURES = "fixtures";

/** The faults of a tape lie beside it: `<name>.fault.json`, by its folder's name or its own. */
export function faultFile(tape: string): string {
  const folder = dirname(tape);
  const name = basename(tape) === "tape.jsonl" ? basename(folder) : basename(tape, ".jsonl");
  return join(folder, `${name}.fault.json`);
}

/** What an extension found, beside the tape of it; `by` names the extension, which alone can run it again. */
export const FINDING_FILE = "finding.json";
const OLD_FINDING = "attack.json";

/** Whether a fixture is a finding: it is judged by what was found, and has no live run. */
export function isFinding({ folder }: Pick<Fixture, "folder">): boolean {
  return [FINDING_FILE, OLD_FINDING].some((name) => existsSync(join(folder, name)));
}

/** @throws {TypeError} if the file does not say whose finding it is */
export function finderOf({ name, folder }: Fixture): string {
  const path = join(folder, FINDING_FILE);
  if (!existsSync(path)) {
    throw new TypeError(
      `Cannot replay ${name} as ${OLD_FINDING} is ${FINDING_FILE} now: rename it and add "by": "attack"`,
    );
  }
  const { by } = (parsed(readFileSync(path, "utf8")) ?? {}) as { by?: unknown };
  if (typeof by === "string") return by;
  throw new TypeError(`Cannot replay ${name} as ${path} does not say "by" which extension it was found: add it`);
}

/** Of a kept run, the file with what is not on its tape: what its hooks said, and how each prompt ended. */
export const OBSERVED_FILE = "observed.json";

export function fixtureAt(folder: string): Fixture {
  const files = join(folder, "files");
  return {
    name: basename(folder),
    folder,
    tape: tapeFile(folder),
    faults: faultFile(tapeFile(folder)),
    files: existsSync(files) ? files : undefined,
  };
}

/** The project of a fixture: the nearest folder above `fixtures/` or `.crochet/`, else the one the fixture lies in. */
export function fixtureProject(folder: string): string {
  const real = realOr(folder);
  for (let path = real; dirname(path) !== path; path = dirname(path)) {
    if (path !== real && [FIXTURES, ".crochet"].includes(basename(path))) return dirname(path);
  }
  return dirname(real);
}

/** How a tape names a project that is not its fixture's own. */
export function projectOnTape(folder: string, project: string): { readonly project?: string } {
  const real = realOr(project);
  return real === fixtureProject(folder) ? {} : { project: relative(realOr(folder), real) };
}

/** The project whose memory files and agents a fixture has: its own, or the folder of it that was recorded in; else none. */
export function programFolder(folder: string, recorded: string | undefined): string | undefined {
  const project = fixtureProject(folder);
  const program = recorded === undefined ? project : realOr(resolve(folder, recorded));
  return isInside(program, project) ? program : undefined;
}

/** The fixture of a name in `fixtures/` or of a path, which need not be there yet. With a slash it is a path first. */
export function findFixture(given: string, cwd: string): Fixture {
  const [named, path] = [join(cwd, FIXTURES, given), resolve(cwd, given)];
  const places = given.includes("/") ? [path, named] : [named, path];
  const folder = places.find((place) => existsSync(place)) ?? places[0]!;
  // A tape's own file stands for its fixture; a fixture may be named like one.
  return fixtureAt(tapeFile(folder) === folder ? dirname(folder) : folder);
}

/** What the command line finds a fixture by in a directory: its name in `fixtures/`, or else its path from there. */
export function nameIn(cwd: string, folder: string): string {
  const path = relative(cwd, resolve(cwd, folder)) || ".";
  return dirname(path) === FIXTURES ? basename(path) : path;
}

/** Every fixture below a folder that has a tape, by name. */
export function fixturesIn(folder: string): Fixture[] {
  return foldersIn(folder, (entry) => entry.isDirectory() || entry.isSymbolicLink()).filter(hasTape)
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

function foldersIn(folder: string, counts: (entry: Dirent) => boolean): Fixture[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(folder, { withFileTypes: true }).filter(counts)
    .map(({ name }) => fixtureAt(join(folder, name)));
}

/** Whether there is a tape, or may be one that may not be looked at: passed over, all would seem to have been replayed. */
export function hasTape({ tape }: Fixture): boolean {
  try {
    return statSync(tape, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

/** What is left in a folder of fixtures whose tapes are gone: passed over, all would seem to have been replayed. */
export function withoutTapeIn(folder: string): Fixture[] {
  return foldersIn(folder, (entry) => entry.isDirectory()).filter(lacksTape);
}

/** Whether a folder is a fixture but for its tape. */
export function lacksTape(fixture: Fixture): boolean {
  const { files, faults } = fixture;
  return !hasTape(fixture) && (files !== undefined || existsSync(faults) || isFinding(fixture));
}

/** What a file beside a tape that is loaded for it is called, by a name that is nearly the same. */
const MEANT = [
  [/^invar\w*\.([cm]?[jt]s)$/i, "invariants.$1"],
  [/^(?:grad(?:er|ers|es|ing)|eval|judge)(?:\.[\w-]+)?\.([cm]?[jt]s)$/i, "grade.LABEL.$1"],
] as const;

/** @throws {TypeError} if a file beside a tape would be passed over as its name is nearly one that counts */
export function expectNamesKnown(folder: string): void {
  for (const place of [folder, dirname(folder)]) {
    for (const file of readdirSync(place).filter((name) => !/^invariants\./.test(name))) {
      const [name, meant] = MEANT.find(([name]) => name.test(file)) ?? [];
      if (name === undefined) continue;
      const fix = `rename it to ${file.replace(name, meant!)}`;
      throw new TypeError(`Cannot judge ${nameIn(process.cwd(), folder)} as ${file} beside it is not loaded: ${fix}`);
    }
  }
}

/** A copy of a fixture's files to work in, with those on its tape, which goes with the work. */
export async function inScratch<T>(
  files: string | undefined,
  work: (cwd: string) => Promise<T>,
  onTape?: { readonly [path: string]: string },
): Promise<T> {
  const cwd = scratch();
  try {
    if (files !== undefined) copyAll(files, cwd);
    if (onTape) {
      const { placer, placesHere } = await import("../log/redact/places.ts");
      const { restore } = placer(placesHere(cwd));
      const files = Object.entries(onTape).map(([path, text]) => [restore(path), restore(text)]);
      await applyChanges(cwd, Object.fromEntries(files));
    }
    return await work(cwd);
  } finally {
    removeTree(cwd);
  }
}

function scratch(): string {
  try {
    return realpathSync(mkdtempSync(join(tmpdir(), "crochet-replay-")));
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`Cannot make a folder to work in as ${message}: let TMPDIR name one that may be written to`);
  }
}

/**
 * Plain files by themselves: to load what copies everything else takes longer than most replays. A link leads where its
 * words say: made absolute, it would lead back to the fixture, which the run would then change.
 */
function copyAll(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isFile()) copyFileSync(source, target);
    else cpSync(source, target, { recursive: true, verbatimSymlinks: true });
  }
}

/** A script as a tape names it: relative to the fixture's folder, or to the home directory if only the script is in there. */
export function scriptOnTape(folder: string, script: string): string {
  const home = homedir();
  const inHome = (path: string) => home.length > 3 && path.startsWith(`${home}/`);
  return inHome(script) && !inHome(folder) ? `{HOME}${script.slice(home.length)}` : relative(folder, script);
}

export function scriptFromTape(folder: string, named: string): string {
  return resolve(folder, named.replace(/^\{HOME\}(?=\/)/, homedir()));
}

export function nameFor(prompt: string): string {
  const letters = prompt.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = letters.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return words.slice(0, 40).replace(/-+$/, "") || "run";
}

/** The file of a tape that is named by it or by its fixture's folder. */
export function tapeFile(path: string): string {
  return path.endsWith(".jsonl") && !(existsSync(path) && statSync(path).isDirectory())
    ? path
    : join(path, "tape.jsonl");
}
