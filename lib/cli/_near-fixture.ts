import { type Dirent, readdirSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { nearest } from "../files/nearest.ts";
import { findFixture, FIXTURES, fixturesIn, nameIn } from "../tape/fixture.ts";

/** The name that was probably meant; undefined if none is similar. */
export function mistyped(word: string, names: readonly string[]): string | undefined {
  return nearest(word, names, Math.ceil(word.length / 3));
}

/** The fixture that was meant, by what the command line finds it. */
export function nearFixture(given: string, cwd: string): string | undefined {
  const { folder } = findFixture(given, cwd);
  const beside = dirname(folder);
  const near = mistyped(basename(folder), fixturesIn(beside).map(({ name }) => name));
  return near === undefined ? undefined : nameIn(cwd, join(beside, near));
}

/** The folder that was meant: one beside it, or that of a fixture. */
export function nearFolder(given: string, cwd: string): string | undefined {
  const folder = resolve(cwd, given);
  const places = [dirname(folder), join(cwd, FIXTURES)];
  const folders = places.flatMap(foldersIn);
  const near = mistyped(basename(folder), folders.map((path) => basename(path)));
  return near === undefined ? undefined : relative(cwd, folders.find((path) => basename(path) === near)!);
}

/**
 * Where there are fixtures, if the directory has none: in the directory itself, in projects below it, as in a
 * repository of several packages, or in the nearest one above.
 */
export function foldersOfFixtures(cwd: string): string[] {
  if (fixturesIn(cwd).length > 0) return ["."];
  const below = foldersNamed(cwd, DEPTH).filter((path) => fixturesIn(path).length > 0);
  if (below.length > 0) return below.map((path) => relative(cwd, path)).sort();
  for (let above = dirname(cwd);; above = dirname(above)) {
    const path = join(above, FIXTURES);
    if (fixturesIn(path).length > 0) return [relative(cwd, path)];
    if (dirname(above) === above) return [];
  }
}

/** How far below a project others are looked for. */
const DEPTH = 4;

function foldersNamed(folder: string, depth: number): string[] {
  const folders = foldersIn(folder).filter((path) => !/^(?:\.|node_modules$)/.test(basename(path)));
  return folders.flatMap((path) => {
    if (basename(path) === FIXTURES) return [path];
    return depth === 0 ? [] : foldersNamed(path, depth - 1);
  });
}

function foldersIn(folder: string): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // there is none, or it may not be looked into
  }
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}
