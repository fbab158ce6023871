import { logsDir, readStateFile, stateFile, writeStateFile } from "../../files/state.ts";
import { type Environment, realOr } from "../../hooks/file/user-places.ts";
import { isRule } from "../../permissions/parse-rule.ts";
import { jsonlStore, type JsonlStoreOptions } from "../../log/stores/jsonl.ts";
import type { Listed, TranscriptStore } from "../../log/stores/store.ts";

/** The transcripts of a project, as `crochet run` keeps them. */
export function projectStore(
  cwd: string,
  env: Environment,
  warn: (message: string) => void,
  options: JsonlStoreOptions = {},
): TranscriptStore {
  return jsonlStore(logsDir(cwd, env), {
    ...options,
    onTorn: (id, bytes) => warn(`The last line of run ${id} was torn by a crash: ${bytes} bytes are left out`),
  });
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
