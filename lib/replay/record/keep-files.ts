import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmdirSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import { removeTree, treeOf } from "../../files/tree.ts";
import { SKIPPED } from "../scratch.ts";
import { draftIn } from "../../files/drafts.ts";
import { fixtureAt, FIXTURES, scriptOnTape } from "../fixture.ts";
import type { TapeOptions } from "../tape-options.ts";
import { TapeError } from "../read-tape.ts";
import { type Redactor, redactor } from "../../log/redact/redact.ts";
import { whatIs } from "../../log/redact/scan.ts";
import { BUILT_IN, scriptOf } from "../../runtime/importing.ts";
import { git } from "../../process/git.ts";

/** What is never part of a recorded workspace. */
export const LEFT_OUT = new Set([...SKIPPED, FIXTURES]);
/** Where people keep secrets; templates of such files hold no secrets. */
const ENV_FILE = /^\.env(?!.*\.(?:example|sample|template)$)(?:\.|$)/;
export const MOST_FILES = 2000;
export const MOST_BYTES = 10 * 1024 * 1024;

export interface LeftOut {
  readonly path: string;
  readonly why: string;
}

/**
 * Copies a workspace as it is into a fixture, but for what ran (`except`), for files that show a secret, for links that
 * lead out of it, as fixtures are published, and for what cannot be read. Returns the last three.
 *
 * @throws {TapeError} if it is too large to be kept with a test
 */
export function keepFiles(workspace: string, fixture: string, except: readonly string[]): LeftOut[] {
  const search = redactor();
  const leftOut: LeftOut[] = [];
  const leave = (path: string, why: string) => leftOut.push({ path: relative(workspace, path), why });
  const isLink = (path: string) => lstatSync(path).isSymbolicLink();
  const kept = filesOf(workspace, except, leave).filter((path) =>
    readable(path, leave, () => {
      const why = secretIn(relative(workspace, path), search, "its name") ??
        (isLink(path) ? whyNoLink(path, workspace, search) : whyNoFile(path, search));
      if (why !== undefined) leave(path, why);
      return why === undefined;
    })
  );
  for (const path of kept) {
    const to = join(fixture, "files", relative(workspace, path));
    mkdirSync(dirname(to), { recursive: true });
    if (isLink(path)) symlinkSync(readlinkSync(path), to);
    else cpSync(path, to);
  }
  return leftOut;
}

/** What is read of a path; undefined if it cannot be read, which is reported unless it was removed meanwhile. */
export function readable<T>(path: string, leave: (path: string, why: string) => void, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EACCES" || code === "EPERM") leave(path, "you have no permission to read it");
    else if (code !== "ENOENT") throw error;
    else if (path.includes("\ufffd")) leave(path, "its name is not in UTF-8");
    return undefined;
  }
}

export function secretIn(text: string, search: Redactor, what = "it"): string | undefined {
  const [found] = search.find(text);
  return found && `${what} shows ${whatIs(found)}`;
}

function whyNoFile(path: string, search: Redactor): string | undefined {
  return ENV_FILE.test(basename(path)) ? "it is a file for secrets" : secretIn(readFileSync(path, "utf8"), search);
}

/** A link is kept if it leads to the same file of a copy: within the workspace, by a relative path. */
function whyNoLink(path: string, workspace: string, search: Redactor): string | undefined {
  const words = readlinkSync(path);
  const to = resolve(dirname(path), words);
  const real = existsSync(path) ? relative(realpathSync(workspace), realpathSync(path)) : "";
  if (isAbsolute(words) || [relative(workspace, to), real].some((path) => /^\.\.(\/|$)/.test(path))) {
    return `it is a link to ${to}`;
  }
  return secretIn(words, search);
}

function filesOf(
  workspace: string,
  except: readonly string[],
  leave: (path: string, why: string) => void,
): string[] {
  const kept: string[] = [];
  let bytes = 0;
  const tree = treeOf(workspace, {
    has: ({ name }, path) => !LEFT_OUT.has(name) && !except.includes(join(workspace, path)),
    list: (folder, read) => readable(folder, leave, read),
  });
  for (const [name, entry] of tree) {
    if (!entry.isFile() && !entry.isSymbolicLink()) continue;
    const path = join(workspace, name);
    const size = readable(path, leave, () => lstatSync(path).size);
    if (size === undefined) continue;
    kept.push(path);
    bytes += size;
    if (kept.length > MOST_FILES || bytes > MOST_BYTES) {
      throw new TapeError(
        `Cannot keep ${workspace} with the fixture as it has more than ${MOST_FILES} files or ${
          MOST_BYTES / 2 ** 20
        } MB: give a smaller --cwd, or record with --tools`,
      );
    }
  }
  return kept;
}

/**
 * Warns of files of a fixture that git would not commit, such as a build that a run began with: here they are there, and
 * in a clone the replay drifts. Undefined if there are none, or without git.
 */
export function gitIgnored(fixture: string, cwd: string): string | undefined {
  const ignored = git(fixture, "ls-files", "--others", "--ignored", "--exclude-standard", "-z") ?? "";
  const [first, ...more] = ignored.split("\0").filter((path) => path !== "");
  if (first === undefined) return undefined;
  const folder = relative(cwd, fixture) || ".";
  const others = more.length === 0 ? "" : ` and ${more.length} more`;
  return `git ignores ${folder}/${first}${others}, without which a clone cannot replay it: git add --force ${folder}`;
}

/**
 * What a recording that no command began needs so that `crochet replay` can run it again: the agent's script, unless
 * that is a test, and of an update that the agent asks for the workspace as it is before the run, if the tape had one.
 */
export function recordedFrom(
  options: TapeOptions,
  from: string | undefined,
  cwd: string,
  byAgent: boolean,
): TapeOptions {
  const { path, agent, mode } = options;
  if (path === undefined || path.endsWith(".jsonl") || agent !== undefined || from === undefined) return options;
  const script = from === BUILT_IN ? undefined : scriptOf(from);
  if (script !== undefined && /[._](?:test|spec)\.\w+$/.test(script)) return options;
  const keeps = byAgent && mode === "update" && fixtureAt(path).files !== undefined;
  return {
    ...options,
    agent: script === undefined ? BUILT_IN : scriptOnTape(path, script),
    ...(keeps && {
      workspace: taken(cwd, path, script === undefined ? [] : [script, join(dirname(script), "hooks")]),
    }),
  };
}

/**
 * A workspace as it is now, out of sight of the tools that work in it. Too large a one is still recorded: it can be
 * replayed in this directory.
 */
function taken(cwd: string, fixture: string, except: readonly string[]): NonNullable<TapeOptions["workspace"]> {
  const copy = mkdtempSync(join(tmpdir(), "crochet-files-"));
  const { ready, keep, drop } = besideTape(fixture, copy);
  let whole = true;
  let leftOut: ReturnType<typeof keepFiles> = [];
  try {
    leftOut = keepFiles(cwd, copy, except);
  } catch (error) {
    if (!(error instanceof TapeError)) throw error;
    whole = false;
  }
  return {
    leftOut,
    ready: () => whole ? ready() : undefined,
    keep: () => whole && keep(),
    drop() {
      removeTree(copy);
      drop();
    },
  };
}

/** The `files/` of a folder, which come to lie beside a tape in place of those of an earlier one. */
export function besideTape(fixture: string, folder: string): NonNullable<TapeOptions["workspace"]> {
  const draft = draftIn(fixture);
  const files = join(fixture, "files");
  return {
    ready() {
      mkdirSync(draft, { recursive: true });
      if (existsSync(join(folder, "files"))) {
        cpSync(join(folder, "files"), join(draft, "files"), { recursive: true, verbatimSymlinks: true });
      }
    },
    keep() {
      if (existsSync(files)) renameSync(files, join(draft, "before"));
      if (existsSync(join(draft, "files"))) renameSync(join(draft, "files"), files);
    },
    drop() {
      if (!existsSync(draft)) return;
      removeTree(draft);
      if (readdirSync(fixture).length === 0) rmdirSync(fixture);
    },
  };
}
