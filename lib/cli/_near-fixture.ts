import { readdirSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { nearest } from "../core/names.ts";
import { findFixture, FIXTURES, fixturesIn, nameIn } from "../tape/fixture.ts";

/** The name that was meant where it is mistyped; undefined where none is near: then it is of something new. */
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

function foldersIn(folder: string): string[] {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}
