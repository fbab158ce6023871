import { basename, isAbsolute, relative } from "node:path";
import { EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import type { ResolvedName } from "../core/names.ts";
import { expectEvent } from "../input/nearest.ts";
import type { DefinitionMatcher } from "./definition.ts";
import { listedNames, matcherOf } from "./file/hook-record.ts";
import { compileNameGlob } from "./name-glob.ts";
import { SEED_TOOLS } from "./known-names.ts";
import { type Projection, projection } from "./process/wire.ts";

/** Makes the error for a pattern of one key that does not compile. */
type Mistake = (key: keyof DefinitionMatcher, error: Error) => Error;

/** The moments a definition listens to; without `events` every one there is. */
export function momentsOf({ events }: DefinitionMatcher, mistake: Mistake): ResolvedName[] {
  return compiled("events", events ?? Object.keys(EVENTS), expectEvent, mistake);
}

/** The conditions of a definition as a reason why not (U12): all must hold, and one on a field that the event lacks does not. */
export function conditionsOf(matcher: DefinitionMatcher, workspace: string, mistake: Mistake): HookRecord["misses"] {
  const on = (field: string, key: keyof DefinitionMatcher, compile: (pattern: string) => TextTest) => {
    const patterns = matcher[key];
    return patterns && condition(field, patterns, compiled(key, patterns, compile, mistake));
  };
  const conditions = [
    on("tool", "tools", (pattern) => matcherOf(withSeedNames(pattern))),
    on("path", "path_patterns", (glob) => pathGlob(glob, workspace)),
    on("new_model", "model_patterns", compileNameGlob),
  ].filter((c) => c !== undefined);
  if (conditions.length === 0) return undefined;
  return (event) => {
    const projected = projection(event);
    for (const misses of conditions) {
      const why = misses(projected);
      if (why !== undefined) return why;
    }
    return undefined;
  };
}

type TextTest = (value: string) => boolean;

/** A list of names with the tools that names of seed S3 among them mean. */
function withSeedNames(pattern: string): string {
  const tools = listedNames(pattern).flatMap((name) => SEED_TOOLS.get(name) ?? []);
  return [pattern, ...tools].join("|");
}

function compiled<T>(
  key: keyof DefinitionMatcher,
  patterns: readonly string[],
  compile: (pattern: string) => T,
  mistake: Mistake,
): T[] {
  try {
    return patterns.map((pattern) => compile(pattern));
  } catch (error) {
    throw mistake(key, error as Error);
  }
}

function condition(field: string, patterns: readonly string[], tests: readonly TextTest[]) {
  const written = patterns.map((pattern) => `'${pattern}'`).join(", ");
  return (event: Projection): string | undefined => {
    const value = event[field];
    if (typeof value !== "string") return `the event has no ${field} for ${written}`;
    return tests.some((test) => test(value)) ? undefined : `${field} '${value}' does not match ${written}`;
  };
}

/** A pattern without '/' also means the file's own name; one that is not absolute also means a path from the workspace. */
function pathGlob(pattern: string, workspace: string): TextTest {
  const test = compileNameGlob(pattern);
  const byName = !pattern.includes("/");
  return (path) => {
    if (test(path) || (byName && test(basename(path)))) return true;
    if (!isAbsolute(path)) return false;
    const inside = relative(workspace, path);
    return inside !== "" && inside.split("/")[0] !== ".." && test(inside);
  };
}
