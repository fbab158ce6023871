import { readFileSync, realpathSync } from "node:fs";
import { type Environment, stateFile, writeWhole } from "../hooks/file/places.ts";
import { isRule } from "../permissions/parse-rule.ts";

/**
 * The rules to which a person said "always" in a project. Kept with the person and not in the project: neither a
 * checkout nor an agent that may write there allows itself anything.
 */
export function rememberedRules(dir: string, env: Environment): string[] {
  try {
    const { dir: of, allow } = JSON.parse(readFileSync(placeOf(dir, env), "utf8")) as { dir: string; allow: string[] };
    return of === realpathSync(dir) && Array.isArray(allow) ? allow.filter(isRule) : [];
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
  writeWhole(placeOf(dir, env), `${JSON.stringify({ dir: realpathSync(dir), allow }, null, 2)}\n`);
}

function placeOf(dir: string, env: Environment): string {
  return stateFile("permissions", realpathSync(dir), env);
}
