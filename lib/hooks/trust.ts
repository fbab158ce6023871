import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { sha256 } from "../files/sha256.ts";
import { holdsHooks } from "./discover.ts";
import { type Environment, realOr, stateFile, userState, writeWhole } from "./file/places.ts";
import { fileHashes, treeHash } from "./file/tree.ts";

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

/** What a person trusts of one directory: the hash of each thing's bytes. */
export interface Trust {
  readonly dir: string;
  readonly hashes: { readonly [thing: string]: string };
  /** The hash of each file, those of the hooks folder one by one. */
  readonly files: { readonly [file: string]: string };
  /** When, in UTC. */
  readonly at: string;
}

/** How one thing in a directory stands. */
export interface Standing {
  readonly thing: Trustable;
  readonly state: "trusted" | "untrusted" | "changed";
}

/** What is there that could be trusted, and whether it is. Nothing is imported. */
export function standings(dir: string, env: Environment): Standing[] {
  const trust = trustOf(dir, env);
  return TRUSTABLE.flatMap((thing) => {
    const hash = hashOf(dir, thing);
    return hash === undefined ? [] : [{ thing, state: stateOf(trust, thing, hash) }];
  });
}

function stateOf(trust: Trust | undefined, thing: string, hash: string): Standing["state"] {
  const known = trust?.hashes[thing];
  return known === undefined ? "untrusted" : known === hash ? "trusted" : "changed";
}

/** A file that `trust` would trust now, or that is gone since. */
export interface TrustedFile {
  readonly file: string;
  readonly state: "same" | "new" | "changed" | "gone";
}

/** Every file that could be trusted, and how it differs from what was trusted before. */
export function trustedFiles(dir: string, env: Environment): TrustedFile[] {
  const before = trustOf(dir, env)?.files ?? {};
  const now = filesIn(dir, TRUSTABLE);
  const gone = Object.keys(before).filter((file) => now[file] === undefined);
  return [
    ...Object.entries(now).map(([file, hash]): TrustedFile => {
      return { file, state: before[file] === undefined ? "new" : before[file] === hash ? "same" : "changed" };
    }),
    ...gone.map((file): TrustedFile => ({ file, state: "gone" })),
  ];
}

function filesIn(dir: string, things: readonly Trustable[]): { [file: string]: string } {
  const found: { [file: string]: string } = {};
  for (const thing of things) {
    const hash = hashOf(dir, thing);
    if (hash === undefined) continue;
    if (thing !== "hooks") found[thing] = hash;
    else for (const [name, hash] of Object.entries(fileHashes(join(dir, thing)))) found[`${thing}/${name}`] = hash;
  }
  return found;
}

/** Why bytes that lie in a directory are not to be run; undefined where they are the trusted ones. */
export function distrust(
  dir: string,
  thing: Trustable,
  env: Environment,
  bytes?: string | Uint8Array,
): string | undefined {
  const hash = bytes === undefined ? hashOf(dir, thing) : hashOfBytes(bytes);
  if (hash === undefined) return undefined;
  const state = stateOf(trustOf(dir, env), thing, hash);
  if (state === "trusted") return undefined;
  const why = state === "changed" ? "has changed since it was trusted" : "is not trusted";
  return `${thing} ${why}: look at it, then run 'crochet trust'`;
}

/** Remembers the bytes that are there now: of everything, or of one thing beside what is trusted already. */
export function trust(dir: string, env: Environment, only?: Trustable): Trust {
  const real = realpathSync(dir);
  const things = only === undefined ? TRUSTABLE : [only];
  const before = only === undefined ? undefined : trustOf(real, env);
  const now = things.map((thing) => [thing, hashOf(real, thing)]).filter(([, hash]) => hash !== undefined);
  const made: Trust = {
    dir: real,
    hashes: { ...before?.hashes, ...Object.fromEntries(now) },
    files: { ...before?.files, ...filesIn(real, things) },
    at: new Date().toISOString(),
  };
  writeWhole(stateFile("trust", real, env), `${JSON.stringify(made, null, 2)}\n`);
  return made;
}

/** Forgets a directory; says whether it was known. A directory that is gone can be forgotten by the path it had. */
export function revoke(dir: string, env: Environment): boolean {
  const place = stateFile("trust", realOr(dir), env);
  const known = statSync(place, { throwIfNoEntry: false }) !== undefined;
  rmSync(place, { force: true });
  return known;
}

/** Everything that is trusted, by directory. */
export function allTrusted(env: Environment): Trust[] {
  const folder = join(userState(env), "trust");
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names.filter((name) => name.endsWith(".json"))
    .flatMap((name) => readTrust(join(folder, name)) ?? [])
    .sort((a, b) => a.dir < b.dir ? -1 : 1);
}

function trustOf(dir: string, env: Environment): Trust | undefined {
  const real = realOr(dir);
  const found = readTrust(stateFile("trust", real, env));
  return found?.dir === real ? found : undefined;
}

/** A file that cannot be read trusts nothing. */
function readTrust(path: string): Trust | undefined {
  try {
    const { dir, hashes, files = {}, at } = JSON.parse(readFileSync(path, "utf8"));
    const isTrust = typeof dir === "string" && typeof hashes === "object" && hashes !== null;
    return isTrust ? { dir, hashes, files, at } : undefined;
  } catch {
    return undefined;
  }
}

function hashOf(dir: string, thing: Trustable): string | undefined {
  const path = join(dir, thing);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (thing === "hooks") return stat.isDirectory() && holdsHooks(path) ? treeHash(path) : undefined;
  return stat.isFile() ? hashOfBytes(readFileSync(path)) : undefined;
}

function hashOfBytes(bytes: string | Uint8Array): string {
  return sha256().update(bytes).digest("hex");
}
