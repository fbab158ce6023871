import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isObject, type JsonObject, objectOf, parsed } from "../../core/json.ts";
import { isInside } from "../../files/confine.ts";
import { homeOf } from "../../hooks/file/user-places.ts";
import type { Env } from "./pointing.ts";

/**
 * Variables by which a program trusts a copy of a directory, for its process alone, if the person's own settings of that
 * program trust the directory. These settings are read and never written.
 */
export function trustOfCopy(directory: string, env: Env): { readonly [name: string]: string } {
  return {
    ...(claudeTrusts(directory, env) && { CLAUDE_CODE_SANDBOXED: "1" }),
    ...(geminiTrusts(directory, env) && { GEMINI_CLI_TRUST_WORKSPACE: "true" }),
  };
}

/** Settings of a project that Claude Code takes from an argument alone if it works in a copy: what a trusted one allows. */
export function claudeRules(directory: string, env: Env): object | undefined {
  if (!claudeTrusts(directory, env)) return undefined;
  const all = ["settings.json", "settings.local.json"].map((name) =>
    settings(join(directory, ".claude", name)).permissions
  );
  const named = (name: string) =>
    all.flatMap((rules) => isObject(rules) && Array.isArray(rules[name]) ? rules[name] : []);
  const permissions = { allow: named("allow"), additionalDirectories: named("additionalDirectories") };
  return Object.values(permissions).some((list) => list.length > 0) ? { permissions } : undefined;
}

/** Claude Code trusts a folder with all below it. */
export function claudeTrusts(directory: string, env: Env): boolean {
  const { projects } = settings(join(env.CLAUDE_CONFIG_DIR || homeOf(env), ".claude.json"));
  return Object.entries(objectOf(projects)).some(([folder, project]) =>
    isInside(directory, folder) && isObject(project) && project.hasTrustDialogAccepted === true
  );
}

/** In Gemini CLI the rule of the longest path decides; one may be for the folder above. */
export function geminiTrusts(directory: string, env: Env): boolean {
  const file = env.GEMINI_CLI_TRUSTED_FOLDERS_PATH || join(homeOf(env), ".gemini", "trustedFolders.json");
  const rules = Object.entries(settings(file))
    .map(([path, rule]) => ({ folder: rule === "TRUST_PARENT" ? dirname(path) : path, rule }))
    .filter(({ folder }) => isInside(directory, folder)).sort((a, b) => b.folder.length - a.folder.length);
  return rules[0] !== undefined && rules[0].rule !== "DO_NOT_TRUST";
}

function settings(path: string): JsonObject {
  try {
    return objectOf(parsed(readFileSync(path, "utf8")));
  } catch {
    return {}; // nothing is trusted
  }
}
