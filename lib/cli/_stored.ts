import { logsDir, readStateFile, stateFile, writeStateFile } from "../files/state.ts";
import { type Environment, realOr } from "../hooks/file/user-places.ts";
import { isRule } from "../permissions/parse-rule.ts";
import { jsonlStore, type JsonlStoreOptions } from "../transcript/jsonl.ts";
import type { Listed, TranscriptStore } from "../transcript/store.ts";
import { type Io, UsageError } from "./_io.ts";
import { newestFirst, rolloutId, rollouts, runMeant } from "./_project.ts";

/** The transcripts of a project, as `crochet run` keeps them. */
export function projectStore(
  cwd: string,
  env: Environment,
  warn: (message: string) => void,
  options: JsonlStoreOptions = {},
): TranscriptStore {
  return jsonlStore(logsDir(cwd, env), {
    ...options,
    onTorn: (id, bytes) => warn(`The last line of session ${id} was torn by a crash: ${bytes} bytes are left out`),
  });
}

/** The log of a run that a person means by `last`, its id or the beginning of it. */
export function logMeant(given: string, cwd: string, io: Pick<Io, "env">): string | undefined {
  const all = rollouts(cwd, io.env);
  return given === "last" ? newestFirst(all)[0] : runMeant(given, all);
}

/** What is stored, the newest session first. */
export async function storedSessions(store: TranscriptStore): Promise<Listed[]> {
  const created = ({ about }: Listed) => about?.created ?? "";
  return (await store.list()).sort((a, b) => created(b).localeCompare(created(a)));
}

/** The sessions that no other session started: those a person can resume. */
export async function ownSessions(store: TranscriptStore): Promise<Listed[]> {
  return (await storedSessions(store)).filter(({ about }) => about?.parent === undefined);
}

/** The session that `last` means: the one that was last written to. */
export function lastId(cwd: string, env: Environment): string {
  const [newest] = newestFirst(rollouts(cwd, env));
  if (newest === undefined) throw new UsageError("Cannot find the last session as none is stored here: run one first");
  return rolloutId(newest);
}

/**
 * The rules to which a person said "always" in a project. Kept with the person and not in the project: neither a
 * checkout nor an agent that may write there allows itself anything.
 */
export function rememberedRules(dir: string, env: Environment): string[] {
  try {
    const { dir: of, allow } = JSON.parse(readStateFile(placeOf(dir, env))!) as { dir: string; allow: string[] };
    return of === realOr(dir) && Array.isArray(allow) ? allow.filter(isRule) : [];
  } catch {
    return [];
  }
}

export function rememberRules(dir: string, env: Environment, rules: readonly string[]): void {
  keep(dir, env, [...new Set([...rememberedRules(dir, env), ...rules])]);
}

/** Whether the rule was remembered. */
export function forgetRule(dir: string, env: Environment, rule: string): boolean {
  const all = rememberedRules(dir, env);
  if (!all.includes(rule)) return false;
  keep(dir, env, all.filter((one) => one !== rule));
  return true;
}

function keep(dir: string, env: Environment, allow: readonly string[]): void {
  writeStateFile(placeOf(dir, env), `${JSON.stringify({ dir: realOr(dir), allow }, null, 2)}\n`);
}

function placeOf(dir: string, env: Environment): string {
  return stateFile("permissions", realOr(dir), env);
}
