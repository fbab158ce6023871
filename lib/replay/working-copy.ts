import {
  copyFileSync,
  type Dirent,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { confine, isInside } from "../files/confine.ts";
import { entriesOf, removeTree, treeOf } from "../files/tree.ts";
import { git } from "../process/git.ts";
import { isExecutable } from "../process/programs.ts";
import { type Fixture, inScratch } from "./fixture.ts";
import type { Header } from "../log/entry.ts";
import { TapeError } from "./read-tape.ts";
import { keepFiles, LEFT_OUT, type LeftOut, MOST_BYTES, MOST_FILES, readable, secretIn } from "./record/keep-files.ts";
import { placer, placesHere } from "../log/redact/places.ts";
import { redactor } from "../log/redact/redact.ts";

interface WorkspaceOptions {
  /** The directory whose program is tried. */
  readonly cwd: string;
  /** Works in it, and not in a copy. @default false */
  readonly here?: boolean | undefined;
  /** Gets what is to be said of the copy, a line each. */
  readonly note?: ((line: string) => void) | undefined;
}

/** Whether the command of a tape works in its directory itself, as nothing of that was kept. */
export function worksHere({ command, made, input }: Header): boolean {
  return command !== undefined && made === undefined && !input;
}

/**
 * Works in the directory that the command of a tape runs in again: a copy of `cwd` as it is now, with what the recorded
 * run changed as it was before, and without what it made; or the files of the fixture, if all of them were kept.
 */
export async function inWorkspace<T>(
  fixture: Fixture,
  header: Header,
  { cwd, here = false, note }: WorkspaceOptions,
  work: (cwd: string) => Promise<T>,
): Promise<T> {
  if (here) return await work(cwd);
  const { folder, files } = fixture;
  // What a fixture keeps whole, as it was asked to, is its whole workspace.
  const { made = [], git: isRepository, input: isWhole } = header;
  return await inScratch(isWhole ? files : undefined, async (copy) => {
    if (!isWhole) {
      for (const { path, why } of copyDirectory(cwd, copy, folder, made)) note?.(`${path} is not in the copy: ${why}`);
      await putBack(copy, files, made);
    }
    if (isRepository) git(copy, "init", "--quiet");
    return await work(copy);
  });
}

/**
 * Copies a directory as it is, but for `fixtures/`, `.crochet/` and `.git`, for a folder, and for what a run `made`. Packages are linked. Returns
 * what is left out as git ignores it and it is too large, or as it cannot be read.
 *
 * @throws {TapeError} if there is too much else
 */
export function copyDirectory(
  directory: string,
  to: string,
  except: string,
  made: readonly string[] = [],
): LeftOut[] {
  const root = realpathSync(directory);
  const { restore } = placer(placesHere(directory));
  const own = [
    to,
    existsSync(except) ? realpathSync(except) : except,
    ...made.map((path) => join(root, restore(path))),
  ];
  const leftOut: LeftOut[] = [];
  const leave = (path: string, why: string) => leftOut.push({ path: relative(root, path), why });
  const ignored = ignoredIn(root);
  let [files, bytes, spent] = [0, 0, 0];
  const copy = (path: string, entry: Dirent, counts: boolean): void => {
    const target = join(to, relative(root, path));
    if (entry.name === PACKAGES) return readable(path, leave, () => symlinkSync(realpathSync(path), target));
    if (LEFT_OUT.has(entry.name) || own.includes(path)) return;
    if (counts && ignored.has(relative(root, path))) {
      const size = sizeOf(path, entry, leave);
      if (spent + size > MOST_BYTES) {
        return void leave(path, `git ignores it, and ignored files have over ${MOST_TEXT}`);
      }
      spent += size;
      return copy(path, entry, false);
    }
    if (entry.isDirectory()) {
      mkdirSync(target);
      return entriesOf(path, listed(leave)).forEach((below) => copy(join(path, below.name), below, counts));
    }
    if (entry.isSymbolicLink()) return symlinkSync(linkFor(path, root), target);
    if (!entry.isFile()) return;
    if (counts) [files, bytes] = [files + 1, bytes + (readable(path, leave, () => lstatSync(path).size) ?? 0)];
    if (files > MOST_FILES || bytes > MOST_BYTES) {
      throw new TapeError(
        `Cannot work in a copy of ${directory} as it has more than ${MOST_FILES} files or ${MOST_TEXT}: ` +
          `work in it with 'crochet record --files none'`,
      );
    }
    readable(path, leave, () => copyFileSync(path, target));
  };
  mkdirSync(to, { recursive: true });
  for (const entry of entriesOf(root, listed(leave))) copy(join(root, entry.name), entry, true);
  return leftOut;
}

const PACKAGES = "node_modules";
const MOST_TEXT = `${MOST_BYTES / 2 ** 20} MB`;

/** Files and folders that git ignores, by their paths; none without git. */
function ignoredIn(root: string): Set<string> {
  const all = git(root, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z") ?? "";
  return new Set(all.split("\0").map((path) => path.replace(/\/$/, "")));
}

type Leave = (path: string, why: string) => void;

const listed = (leave: Leave) => (folder: string, read: () => Dirent[]) => readable(folder, leave, read);

/** The bytes of what is copied of a file or folder, which need not be counted any more beyond the most there may be. */
function sizeOf(path: string, entry: Dirent, leave: Leave): number {
  if (LEFT_OUT.has(entry.name)) return 0;
  if (!entry.isDirectory()) return readable(path, leave, () => lstatSync(path).size) ?? 0;
  let size = 0;
  for (const [below, found] of treeOf(path, { has: ({ name }) => !LEFT_OUT.has(name), list: listed(leave) })) {
    if (!found.isDirectory()) size += readable(join(path, below), leave, () => lstatSync(join(path, below)).size) ?? 0;
    if (size > MOST_BYTES) break;
  }
  return size;
}

/** The words of a link for a copy: it leads to the same file of the copy, or to the same place outside. */
function linkFor(path: string, root: string): string {
  const words = readlinkSync(path);
  const to = resolve(dirname(path), words);
  if (!isInside(to, root)) return to;
  return isAbsolute(words) ? relative(dirname(path), to) || "." : words;
}

/**
 * Compares a directory with the copy that was made of it before a run. The copy keeps only what has changed since or is
 * gone; the names of what is new are returned.
 */
function changedSince(copy: string, directory: string, leftOut: readonly LeftOut[], except: string): string[] {
  const root = realpathSync(directory);
  const closed = new Set(leftOut.map(({ path }) => path));
  const isKnown = (path: string) => lstatSync(join(copy, path), { throwIfNoEntry: false });
  const made: string[] = [];
  const look = (folder: string) => {
    for (const { name } of entriesOf(join(root, folder), listed(() => {}))) {
      const path = join(folder, name);
      const known = isKnown(path);
      if (closed.has(path) || join(root, path) === except || (LEFT_OUT.has(name) && name !== PACKAGES)) continue;
      if (!known) made.push(path);
      else if (known.isDirectory()) look(path);
    }
  };
  look("");
  const prune = (folder: string) => {
    for (const entry of entriesOf(join(copy, folder))) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) prune(path);
      else if (entry.name === PACKAGES || isSame(join(root, path), join(copy, path), root)) {
        rmSync(join(copy, path));
      }
    }
  };
  prune("");
  return made;
}

/**
 * Keeps for a fixture, in `draft`, what a run in a directory has changed since a copy was made of it. Gets the names of
 * what it made, and what is not kept and why.
 */
export function keepChanged(
  copy: string,
  { directory, draft, folder, leftOut }: {
    readonly directory: string;
    readonly draft: string;
    readonly folder: string;
    readonly leftOut: readonly LeftOut[];
  },
): { readonly made: string[]; readonly leftOut: LeftOut[] } {
  const search = redactor();
  const all = changedSince(copy, directory, leftOut, folder);
  const named = all.flatMap((path) => {
    const why = secretIn(path, search, "its name");
    return why === undefined ? [] : [{ path, why }];
  });
  const shown = new Set(named.map(({ path }) => path));
  const left = [...leftOut, ...keepFiles(copy, draft, []), ...named];
  return { made: all.filter((path) => !shown.has(path)), leftOut: left };
}

function isSame(path: string, copy: string, root: string): boolean {
  const [now, before] = [path, copy].map((one) => lstatSync(one, { throwIfNoEntry: false }));
  if (!now || !before || (now.mode ^ before.mode) & ~0o666 || now.isDirectory()) return false;
  if (now.isSymbolicLink()) return linkFor(path, root) === readlinkSync(copy);
  return now.size === before.size && readFileSync(path).equals(readFileSync(copy));
}

/**
 * Puts the files of a fixture into a copy, and takes out what its run made. Both are named by the fixture, which may be
 * anyone's: nothing outside the copy is touched.
 *
 * @throws {ToolError} if a name leads out of it, also through a link; then nothing is changed
 */
async function putBack(copy: string, files: string | undefined, made: readonly string[]): Promise<void> {
  const { restore } = placer(placesHere(copy));
  const workspace = { cwd: copy, state: new Map() };
  const inside = async (path: string) => {
    const full = resolve(copy, path);
    return join((await confine(dirname(full), workspace)).real, basename(full));
  };
  const gone = await Promise.all(made.map((path) => inside(restore(path))));
  const kept = files === undefined
    ? []
    : [...treeOf(files)].filter(([, entry]) => !entry.isDirectory()).map(([path]) => join(files, path));
  const targets = await Promise.all(kept.map((path) => inside(relative(files!, path))));
  for (const path of [...gone, ...targets]) removeTree(path);
  for (const [i, path] of kept.entries()) {
    mkdirSync(dirname(targets[i]!), { recursive: true });
    if (lstatSync(path).isSymbolicLink()) symlinkSync(readlinkSync(path), targets[i]!);
    else copyFileSync(path, targets[i]!);
  }
}

/** The words of a command on a tape, as it is called in a copy of the workspace. */
export function commandIn(copy: string, onTape: readonly string[]): string[] {
  const { restore } = placer(placesHere(copy));
  return onTape.map((word) => restore(word));
}

/** What a script is called that an interpreter runs. */
const SCRIPT = /\.(?:[cm]?[jt]sx?|py|rb|pl|php|sh)$/;

/**
 * A command that was typed in a directory, for a run that works on other files: paths of files that are not among those
 * are made absolute.
 *
 * @throws {TapeError} if it would run one of those files: a program that is kept is never that of today
 */
export function commandBeside(files: string, cwd: string, command: readonly string[]): string[] {
  const found = (word: string) =>
    [resolve(files, word), resolve(cwd, word)].find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  // What a program runs is the first file it is given, if that can be run; itself it is looked for here only by a path.
  const [program = "", ...rest] = command;
  const frozen = [program.includes("/") ? program : "", rest.find((word) => found(word) !== undefined) ?? ""]
    .find((word) => {
      const path = found(word);
      return path !== undefined && isInside(path, files) && (SCRIPT.test(path) || isExecutable(path));
    });
  if (frozen !== undefined) {
    throw new TapeError(
      `Cannot keep ${files} with the fixture as the command runs ${frozen}, which is in it: a replay must run the program ` +
        `of its day, so let --files name a folder with what it works on`,
    );
  }
  return command.map((word) => {
    const path = found(word);
    return path === undefined || isInside(path, files) ? word : path;
  });
}
