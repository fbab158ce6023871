import { basename, dirname, join } from "node:path";
import {
  hasState,
  isFolder,
  readStateFile,
  removeState,
  stateFile,
  stateFiles,
  userState,
  writeStateFile,
} from "../files/state.ts";
import { isObject, quietly } from "../core/json.ts";
import { readBrought } from "../files/confine.ts";
import { hashOf } from "../runtime/sha256.ts";
import { holdsHooks } from "./discover.ts";
import { isSkipped, parseFileName } from "./file/file-name.ts";
import { type Imports, importsOf, type ReadBytes } from "./file/imports.ts";
import { type Environment, realOr } from "./file/user-places.ts";
import { fileHashes, type Gatekeeper } from "./folder.ts";

/** What a working directory may bring along that makes us run something, in the order it is listed. */
const TRUSTABLE = [
  "hooks",
  ".claude/settings.json",
  ".claude/settings.local.json",
  "hooks.yaml",
  ".agent/hook.toml",
  ".crochet/config.yaml",
  ".mcp.json",
] as const;

export type Trustable = (typeof TRUSTABLE)[number];

/** Hashes of bytes, by the file's path in its project. */
type Files = { readonly [file: string]: string };

/** What fixtures may run, by their path in the project: of another program's recording, the words of its command. */
export type Runs = { readonly [path: string]: readonly string[] };

interface Trust {
  readonly dir: string;
  /** The files of the hooks folder are listed one by one, with what they import of the project. */
  readonly files: Files;
  /** The files that guard: without them, as they were, no run starts. */
  readonly guards: readonly string[];
  /** Fixtures, and the files beside them that all use: by their names, however they change, and by their commands. */
  readonly fixtures: Runs;
  /** When, in UTC. */
  readonly at: string;
}

/** How one thing in a directory stands. */
export interface Standing {
  readonly thing: Trustable;
  /** Refused is what is never read, trusted or not: a pipe, a device, a link out of the project. */
  readonly state: "trusted" | "untrusted" | "changed" | "refused";
  readonly why?: string;
}

/** What is there that could be trusted, and whether it is. Nothing is imported. */
export function standings(dir: string, env: Environment): Standing[] {
  const trust = trustOf(dir, env);
  return TRUSTABLE.flatMap((thing): Standing[] => {
    const now = filesOr(dir, thing);
    if (typeof now === "string") return [{ thing, state: "refused", why: now }];
    return Object.keys(now).length === 0 ? [] : [{ thing, state: stateOf(trust, thing, now) }];
  });
}

function stateOf(trust: Trust | undefined, thing: Trustable, now: Files): "trusted" | "untrusted" | "changed" {
  const before = trustedOf(trust, thing);
  if (Object.keys(before).length === 0) return "untrusted";
  return JSON.stringify(before) === JSON.stringify(now) ? "trusted" : "changed";
}

/** A file that is not a thing of its own lies in the hooks folder, or is imported there. */
function thingOf(file: string): Trustable {
  return TRUSTABLE.find((thing) => thing === file) ?? "hooks";
}

function trustedOf(trust: Trust | undefined, thing: Trustable): Files {
  return Object.fromEntries(Object.entries(trust?.files ?? {}).filter(([file]) => thingOf(file) === thing));
}

/** What is trusted of a directory, in the order it is listed. */
export function trustedThings(trust: Trust): Trustable[] {
  return TRUSTABLE.filter((thing) => Object.keys(trustedOf(trust, thing)).length > 0);
}

/** A file that `trust` would trust now, or that is gone since. */
export interface TrustedFile {
  readonly file: string;
  readonly state: "same" | "new" | "changed" | "gone";
}

/** Every file that could be trusted, and how it differs from what was trusted before. */
export function trustedFiles(dir: string, env: Environment): TrustedFile[] {
  const before = trustOf(dir, env)?.files ?? {};
  const now: Files = Object.assign({}, ...TRUSTABLE.map((thing) => filesOf(dir, thing)));
  const gone = Object.keys(before).filter((file) => now[file] === undefined);
  return [
    ...Object.entries(now).map(([file, hash]): TrustedFile => {
      return { file, state: before[file] === undefined ? "new" : before[file] === hash ? "same" : "changed" };
    }),
    ...gone.map((file): TrustedFile => ({ file, state: "gone" })),
  ];
}

/** Why bytes that lie in a directory are not to be run; undefined if they are the trusted ones. */
export function distrust(
  dir: string,
  thing: Trustable,
  env: Environment,
  bytes?: string | Uint8Array,
): string | undefined {
  const now = bytes === undefined ? filesOr(dir, thing) : { [thing]: hashOf(bytes) };
  if (typeof now === "string") return now;
  if (Object.keys(now).length === 0) return undefined;
  const state = stateOf(trustOf(dir, env), thing, now);
  return state === "trusted" ? undefined : whyNot(thing, state === "untrusted");
}

function whyNot(file: string, isNew: boolean): string {
  return `${file} ${
    isNew ? "is not trusted" : "has changed since it was trusted"
  }: look at it, then run 'crochet trust'`;
}

/** Whether hooks may use a file: it is not a hook of its own. Only tests read examples. */
function isShared(file: string): boolean {
  return dirname(file) !== "hooks" || isSkipped(basename(file)) && !file.endsWith(".examples.yaml");
}

/** Why each file of the hooks folder is not to be run: it is not as it was trusted, or what all of them may use is not. */
export function hooksKeeper(dir: string, env: Environment): Gatekeeper {
  const before = trustedOf(trustOf(dir, env), "hooks");
  if (Object.keys(before).length === 0) return () => whyNot("hooks", true);
  const now = filesOr(dir, "hooks");
  if (typeof now === "string") return () => now;
  const shared = [...Object.keys(before), ...Object.keys(now)]
    .find((file) => before[file] !== now[file] && isShared(file));
  return (name) => {
    const file = `hooks/${name}`;
    if (before[file] === undefined || before[file] !== now[file]) return whyNot(file, before[file] === undefined);
    return shared === undefined ? undefined : whyNot(shared, before[shared] === undefined);
  };
}

/** Whether a file of the hooks folder was a guard when it was trusted. */
export function isTrustedGuard(dir: string, env: Environment, name: string): boolean {
  return trustOf(dir, env)?.guards.includes(`hooks/${name}`) ?? false;
}

/** The trusted guards that are not as they were trusted, or gone. */
export function changedGuards(dir: string, env: Environment): { readonly thing: Trustable; readonly why: string }[] {
  const trust = trustOf(dir, env);
  if (!trust) return [];
  const keeper = hooksKeeper(dir, env);
  return trust.guards.flatMap((file) => {
    const thing = thingOf(file);
    const why = !hasState(join(trust.dir, file))
      ? `${file} is gone since it was trusted: put it back, or run 'crochet trust'`
      : thing === "hooks"
      ? keeper(basename(file))
      : distrust(dir, thing, env);
    return why === undefined ? [] : [{ thing, why }];
  });
}

/** Remembers the bytes that are there now: of everything, or of one thing beside what is trusted already. */
export function trust(dir: string, env: Environment, only?: Trustable): Trust {
  const real = realOr(dir);
  const before = trustOf(real, env);
  const made = TRUSTABLE.map((thing) =>
    only === undefined || only === thing ? filesOf(real, thing) : trustedOf(before, thing)
  );
  const files: Files = Object.assign({}, ...made);
  return write({
    dir: real,
    files,
    guards: Object.keys(files).filter((file) => guards(real, file)),
    fixtures: only === undefined ? {} : before?.fixtures ?? {},
    at: new Date().toISOString(),
  }, env);
}

/** Trusts fixtures beside what is trusted already, also by others who record in this directory at the same time. */
export async function trustFixtures(dir: string, env: Environment, runs: Runs): Promise<void> {
  const { withFileLock } = await import("../files/lock.ts");
  const real = realOr(dir);
  await withFileLock(stateFile("trust", real, env), new AbortController().signal, () => {
    const at = new Date().toISOString();
    const before = trustOf(real, env) ?? { dir: real, files: {}, guards: [], fixtures: {}, at };
    write({ ...before, fixtures: { ...before.fixtures, ...runs } }, env);
    return Promise.resolve();
  });
}

/** Whether what a fixture runs is what was trusted under its path. */
export function isFixtureTrusted(dir: string, env: Environment, path: string, command: readonly string[]): boolean {
  const { fixtures = {} } = trustOf(dir, env) ?? {};
  return Object.hasOwn(fixtures, path) && JSON.stringify(fixtures[path]) === JSON.stringify(command);
}

function write(made: Trust, env: Environment): Trust {
  writeStateFile(stateFile("trust", made.dir, env), `${JSON.stringify(made, null, 2)}\n`);
  return made;
}

/** Forgets a directory; says whether it was known. A directory that is gone can be forgotten by the path it had. */
export function revoke(dir: string, env: Environment): boolean {
  const place = stateFile("trust", realOr(dir), env);
  const known = hasState(place);
  removeState(place);
  return known;
}

export function allTrusted(env: Environment): Trust[] {
  return stateFiles(join(userState(env), "trust"), ".json")
    .flatMap(({ path }) => readTrust(path) ?? [])
    .sort((a, b) => a.dir < b.dir ? -1 : 1);
}

function trustOf(dir: string, env: Environment): Trust | undefined {
  const real = realOr(dir);
  const found = readTrust(stateFile("trust", real, env));
  return found?.dir === real ? found : undefined;
}

/** A file that cannot be read trusts nothing. */
function readTrust(path: string): Trust | undefined {
  const { dir, files, guards = [], fixtures, at } = quietly(() => JSON.parse(readStateFile(path)!)) ?? {};
  if (typeof dir !== "string" || !isObject(files)) return undefined;
  return { dir, files, guards, fixtures: isObject(fixtures) ? fixtures : {}, at } as Trust;
}

/** What modules of the hooks folder import of elsewhere. */
export function hookImports(dir: string): Imports {
  const folder = join(dir, "hooks");
  if (!holdsHooks(folder)) return { inside: [], outside: [] };
  return imported(dir, Object.keys(fileHashes(folder, reader(dir))));
}

function imported(dir: string, names: readonly string[]): Imports {
  const { inside, outside } = importsOf(dir, names.map((name) => join(dir, "hooks", name)), reader(dir));
  return { inside: inside.filter((file) => !file.startsWith("hooks/")), outside };
}

function reader(dir: string): ReadBytes {
  return (path) => readBrought(dir, path);
}

/** The files of a thing, or why they are never read. */
function filesOr(dir: string, thing: Trustable): Files | string {
  try {
    return filesOf(dir, thing);
  } catch (error) {
    return (error as Error).message;
  }
}

/** The hash of each file of a thing that is there. @throws {Error} by name, if one is not a regular file of the project */
function filesOf(dir: string, thing: Trustable): Files {
  const path = join(dir, thing);
  const read = reader(dir);
  if (thing !== "hooks") {
    const bytes = read(path);
    return bytes === undefined ? {} : { [thing]: hashOf(bytes) };
  }
  if (!isFolder(path) || !holdsHooks(path)) return {};
  const hashes = fileHashes(path, read);
  const own = Object.entries(hashes).map(([name, hash]) => [`hooks/${name}`, hash]);
  const more = imported(dir, Object.keys(hashes)).inside.map((file) => [file, hashOf(read(join(dir, file))!)]);
  return Object.fromEntries([...own, ...more]);
}

const GUARDING = /pre[-_]?tool[-_]?use|permission[-_]?request|user[-_]?prompt[-_]?submit/i;

/** Whether a file keeps calls or prompts from happening: a gate by its event, or a rule that denies. */
function guards(dir: string, file: string): boolean {
  const text = () => new TextDecoder().decode(readBrought(dir, join(dir, file)));
  switch (file) {
    case ".agent/hook.toml":
    case ".mcp.json":
      return false;
    case ".crochet/config.yaml":
      return /\bdeny\b/.test(text());
    case "hooks.yaml":
      return GUARDING.test(text()) || !/\bevents\b/.test(text()); // without events it is asked about all of them
    case ".claude/settings.json":
    case ".claude/settings.local.json":
      return GUARDING.test(text()) || /"deny"/.test(text());
  }
  if (dirname(file) !== "hooks" || isSkipped(basename(file))) return false;
  const named = quietly(() => parseFileName(basename(file), { executable: true }));
  return named !== undefined &&
    (GUARDING.test(named.on.event) || (/\balso\b/.test(text()) && GUARDING.test(text())));
}
