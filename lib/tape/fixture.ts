import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve } from "node:path";
import { tapeFile } from "./options.ts";
import { TapeError } from "./read.ts";

/** A recorded run kept with what it was recorded from. */
export interface Fixture {
  readonly name: string;
  readonly folder: string;
  readonly tape: string;
  /** The workspace as it was before the run. */
  readonly files: string | undefined;
}

/** Where fixtures are kept, below a project. */
export const FIXTURES = "fixtures";

export function fixtureAt(folder: string): Fixture {
  const files = join(folder, "files");
  return {
    name: basename(folder),
    folder,
    tape: tapeFile(folder),
    files: existsSync(files) ? files : undefined,
  };
}

/** The fixture of a name in `fixtures/`, or of a folder. */
export function findFixture(given: string, cwd: string): Fixture {
  const named = join(cwd, FIXTURES, given);
  const folder = !given.includes("/") && existsSync(named) ? named : resolve(cwd, given);
  const found = fixtureAt(folder.endsWith(".jsonl") ? dirname(folder) : folder);
  return existsSync(found.folder) ? found : fixtureAt(named);
}

/** Every fixture below a folder that has a tape, by name. */
export function fixturesIn(folder: string): Fixture[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => fixtureAt(join(folder, entry.name)))
    .filter(({ tape }) => existsSync(tape))
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

/** A copy of a fixture's files to work in, which goes with the work. */
export async function inScratch<T>(files: string | undefined, work: (cwd: string) => Promise<T>): Promise<T> {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "crochet-replay-")));
  try {
    if (files !== undefined) cpSync(files, cwd, { recursive: true });
    return await work(cwd);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** What is never part of a recorded workspace. */
const LEFT_OUT = new Set([".git", "node_modules", ".crochet", FIXTURES]);
const MOST_FILES = 2000;
const MOST_BYTES = 10 * 1024 * 1024;

/**
 * Copies a workspace as it is into a fixture, but for what ran (`except`).
 *
 * @throws {TapeError} where it is too large to be kept with a test
 */
export function keepFiles(workspace: string, fixture: string, except: readonly string[]): void {
  const paths: string[] = [];
  let bytes = 0;
  const walk = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (LEFT_OUT.has(entry.name) || except.includes(path)) continue;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) {
        paths.push(path);
        bytes += statSync(path).size;
        if (paths.length > MOST_FILES || bytes > MOST_BYTES) {
          throw new TapeError(
            `Cannot keep ${workspace} with the fixture as it has more than ${MOST_FILES} files or ${
              MOST_BYTES / 2 ** 20
            } MB: give a smaller --cwd, or record with --tools`,
          );
        }
      }
    }
  };
  walk(workspace);
  for (const path of paths) {
    const to = join(fixture, "files", relative(workspace, path));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(path, to);
  }
}

/** A name for a fixture made of a prompt. */
export function nameFor(prompt: string): string {
  const words = prompt.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return words.slice(0, 40).replace(/-+$/, "") || "run";
}
