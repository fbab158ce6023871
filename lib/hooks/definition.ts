import type { EventName, EVENTS } from "../core/events.ts";
import type { HookRecord, OnError } from "../core/hook.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { shown } from "../core/shown.ts";
import { type Kinds, optionFault, type OptionKind } from "../input/options.ts";
import type { Action, Operator } from "./rule.ts";
import type { Path, YamlText } from "./yaml.ts";

export const HOOK_TYPES = ["internal", "command", "llm", "inline"] as const;

/** How a hook of `hook.toml` runs. */
export type HookType = (typeof HOOK_TYPES)[number];

type Name = EventName | { [N in EventName]: keyof (typeof EVENTS)[N]["aliases"] & string }[EventName];
type Pascal<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Capitalize<Head>}${Pascal<Tail>}`
  : Capitalize<S>;
type OneOrMany<T> = T | readonly T[];

/** When a definition applies: all that is given must hold. */
export interface HookMatcher {
  readonly events?: OneOrMany<Name | Pascal<Name>>;
  /** Names, lists of names or regular expressions; `bash` and `write_file` mean `Bash` and `Write` too. */
  readonly tools?: OneOrMany<string>;
  readonly path_patterns?: OneOrMany<string>;
  readonly model_patterns?: OneOrMany<string>;
}

/** When a rule applies. */
type HookCondition =
  | { readonly field: string; readonly operator: Operator; readonly value: string | number | boolean }
  | { readonly and: readonly HookCondition[] }
  | { readonly or: readonly HookCondition[] }
  | { readonly not: HookCondition };

/** A rule of a hook without code: what must hold of an event, and what is said then. */
export type HookRule =
  & HookCondition
  & { readonly reason?: string }
  & (
    | { readonly action: Exclude<Action, "modify"> }
    | { readonly action: "modify"; readonly modify_field: string; readonly modify_value: unknown }
  );

/** One entry of `hooks.definitions` (S3.13). */
export type HookConfig =
  & {
    readonly name?: string;
    readonly description?: string;
    readonly matcher?: HookMatcher;
    /** Seconds. @default 30 */
    readonly timeout?: number;
    /** Lower runs earlier. @default 100 */
    readonly priority?: number;
    /** @default true */
    readonly enabled?: boolean;
    /** @default "continue" */
    readonly on_error?: OnError;
  }
  & (
    | { readonly type: "internal" }
    | { readonly type: "command"; readonly command: string }
    | { readonly type: "command"; readonly script: string }
    | { readonly type: "llm"; readonly prompt: string; readonly model?: string; readonly cache?: boolean | number }
    | { readonly type: "inline"; readonly inline_rules: readonly HookRule[] | string }
    | { readonly type: "inline"; readonly rules: readonly HookRule[] | string }
  );

/** A definitions file as an object. */
export interface HookDefinitions {
  readonly hooks: {
    readonly enabled?: boolean;
    /** The model of `llm` definitions that name none. */
    readonly llm_model?: string;
    readonly definitions?: readonly HookConfig[];
  };
}

/** The default time limit, in seconds. */
const TIMEOUT = 30;

/** One entry of `hooks.definitions`, checked (S3.13). */
export interface Definition extends Pick<HookRecord, "name" | "priority" | "enabled" | "onError"> {
  readonly type: HookType;
  readonly matcher: DefinitionMatcher;
  readonly timeout: number;
  readonly command?: string;
  readonly script?: string;
  readonly prompt?: string;
  readonly model?: string;
  readonly cache?: boolean | number;
  readonly rules?: Path;
}

/** When a definition applies: all that is given must hold. */
export type DefinitionMatcher = { readonly [K in keyof HookMatcher]?: readonly string[] };

export const MATCHER: { readonly [K in keyof Required<HookMatcher>]: OptionKind } = {
  events: "a text or a list of texts",
  tools: "a text or a list of texts",
  path_patterns: "a text or a list of texts",
  model_patterns: "a text or a list of texts",
};

/** What definitions of every type may have. */
export const COMMON: Kinds = {
  name: "a text",
  type: HOOK_TYPES,
  matcher: "an object",
  description: "a text",
  timeout: "a number of seconds",
  priority: "a whole number",
  enabled: "true or false",
  on_error: ["continue", "deny", "abort"],
};

export const OWN: { readonly [T in HookType]: Kinds } = {
  internal: {},
  command: { command: "a text", script: "a text" },
  llm: { prompt: "a text", model: "a text", cache: "seconds, true or false" },
  inline: { inline_rules: "any", rules: "any" },
};

/** Of these fields a definition must have exactly one. */
export const NEEDED: { readonly [T in HookType]: { readonly keys: readonly string[]; readonly words: string } } = {
  internal: { keys: [], words: "" },
  command: { keys: ["command", "script"], words: "Command hook requires 'command' or 'script'" },
  llm: { keys: ["prompt"], words: "LLM hook requires 'prompt'" },
  inline: { keys: ["inline_rules", "rules"], words: "Inline hook requires 'inline_rules'" },
};

const ALL: Kinds = Object.assign({}, COMMON, ...Object.values(OWN));

/** Reads one entry of a definitions file; a mistake names the file, the definition, the field and the fix. */
export function readEntry(given: unknown, path: Path, fallbackName: string, yaml: YamlText): Definition {
  const name = isObject(given) ? given.name ?? fallbackName : fallbackName;
  const what = `definition '${String(name)}'`;
  const bad = (key: string, why: string) => yaml.mistake([...path, key], `${what} ${why}`);
  const entry = fieldsOf(given, path, what, ALL, yaml);
  const { description: _, matcher, on_error: onError, ...own } = entry;
  if (typeof name !== "string" || name.trim() === "") throw bad("name", "has no name: expected a text");
  const type = entry.type as HookType | undefined;
  if (type === undefined) throw bad("type", `has no type: expected ${HOOK_TYPES.join(", ")}`);
  const stray = Object.keys(entry).find((key) => !Object.hasOwn(COMMON, key) && !Object.hasOwn(OWN[type], key));
  if (stray !== undefined) throw bad(stray, `has the field '${stray}', which means nothing with type '${type}'`);
  // S3.15, S3.16: each type has a field it cannot do without.
  const { keys, words } = NEEDED[type];
  const there = keys.filter((key) => entry[key] !== undefined && entry[key] !== "" && [entry[key]].flat().length > 0);
  if (keys.length > 0 && there.length === 0) throw yaml.mistake(path, `${what} is incomplete: ${words}`);
  if (there.length > 1) throw bad(there[1]!, `has both '${there.join("' and '")}': keep one of them`);
  const matched = fieldsOf(matcher ?? {}, [...path, "matcher"], `the matcher of ${what}`, MATCHER, yaml);
  return {
    ...{ timeout: TIMEOUT, priority: 100, enabled: true },
    ...own,
    ...{ name, type },
    matcher: Object.fromEntries(Object.entries(matched).map(([key, value]) => [key, [value].flat()])),
    ...(onError !== undefined && { onError: onError as OnError }),
    ...(type === "inline" && { rules: [...path, there[0]!] }),
  };
}

/** The fields of an object, without those that are left empty: each is known and fits. */
export function fieldsOf(given: unknown, path: Path, what: string, kinds: Kinds, yaml: YamlText): JsonObject {
  if (!isObject(given)) throw yaml.mistake(path, `${shown(given)} is not an object: expected ${what}`);
  const found = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const fault = optionFault(found, kinds);
  if (fault) throw yaml.mistake([...path, fault.option], `in ${what} ${fault.why}`);
  return found;
}
