import type { EventName, EVENTS } from "../core/events.ts";
import type { OnError } from "../core/hook.ts";
import { nearest } from "../files/nearest.ts";
import type { Action, Operator } from "./rule.ts";
import type { YamlText } from "./yaml.ts";

const HOOK_TYPES = ["internal", "command", "llm", "inline"] as const;

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
export type HookCondition =
  | { readonly field: string; readonly operator: Operator; readonly value: string | number | boolean }
  | { readonly and: readonly HookCondition[] }
  | { readonly or: readonly HookCondition[] }
  | { readonly not: HookCondition };

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

export type Path = readonly (string | number)[];
type Fields = { readonly [key: string]: unknown };

/** The default time limit, in seconds. */
const TIMEOUT = 30;

/** One entry of `hooks.definitions`, checked (S3.13). */
export interface Definition {
  readonly name: string;
  readonly type: HookType;
  readonly matcher: DefinitionMatcher;
  readonly timeout: number;
  readonly priority: number;
  readonly enabled: boolean;
  readonly onError?: OnError;
  readonly command?: string;
  readonly script?: string;
  readonly prompt?: string;
  readonly model?: string;
  readonly cache?: boolean | number;
  readonly rules?: Path;
}

/** When a definition applies: all that is given must hold. */
export type DefinitionMatcher = { readonly [K in keyof HookMatcher]?: readonly string[] };

const MATCHER_KEYS = ["events", "tools", "path_patterns", "model_patterns"] as const;
const OWN_KEYS: { readonly [T in Definition["type"]]: readonly string[] } = {
  internal: [],
  command: ["command", "script"],
  llm: ["prompt", "model", "cache"],
  inline: ["inline_rules", "rules"],
};

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isSeconds = (value: unknown) => typeof value === "number" && value > 0 && Number.isFinite(value);

/** The plain fields of a definition: what fits, and the words for it. */
const FIELDS: { readonly [key: string]: readonly [fits: (value: unknown) => boolean, expected: string] } = {
  description: [isText, "a text"],
  timeout: [isSeconds, "a number of seconds"],
  priority: [Number.isInteger, "a whole number"],
  enabled: [isFlag, "true or false"],
  on_error: [(value) => ["continue", "deny", "abort"].includes(value as string), "continue, deny or abort"],
  command: [isText, "a text"],
  script: [isText, "a text"],
  prompt: [isText, "a text"],
  model: [isText, "a text"],
  cache: [(value) => isFlag(value) || value === 0 || isSeconds(value), "seconds, true or false"],
};
const ALL_KEYS = ["name", "type", "matcher", "inline_rules", "rules", ...Object.keys(FIELDS)];

/** Reads entries of a definitions file; a mistake names the file, the definition, the field and the fix. */
export class DefinitionReader {
  readonly #yaml: YamlText;

  constructor(yaml: YamlText) {
    this.#yaml = yaml;
  }

  definition(given: unknown, path: Path, fallbackName: string): Definition {
    const entry = this.fields(given, path, "a definition");
    const name = entry.name ?? fallbackName;
    const bad = (key: string, why: string) => this.#yaml.mistake([...path, key], `definition '${String(name)}' ${why}`);
    if (typeof name !== "string" || name.trim() === "") throw bad("name", "has no name: expected a text");
    this.#known(entry, path, ALL_KEYS, `definition '${name}'`);
    const type = HOOK_TYPES.find((known) => known === entry.type);
    if (!type) throw bad("type", `has type ${shown(entry.type)}: expected ${HOOK_TYPES.join(", ")}`);
    const stray = Object.values(OWN_KEYS).flat().find((key) => key in entry && !OWN_KEYS[type].includes(key));
    if (stray !== undefined) throw bad(stray, `has the field '${stray}', which means nothing with type '${type}'`);
    const plain = Object.entries(entry).filter(([key, value]) => Object.hasOwn(FIELDS, key) && value !== null);
    for (const [key, value] of plain) {
      const [fits, expected] = FIELDS[key]!;
      if (!fits(value)) throw bad(key, `has ${key} ${shown(value)}: expected ${expected}`);
    }
    this.#complete(type, entry, path, name);
    const { on_error: onError, description: _, ...own } = Object.fromEntries(plain) as Fields;
    return {
      ...{ timeout: TIMEOUT, priority: 100, enabled: true },
      ...own,
      ...{ name, type, matcher: this.#matcher(entry.matcher, [...path, "matcher"], name) },
      ...(onError !== undefined && { onError: onError as OnError }),
      ...(type === "inline" && { rules: [...path, "inline_rules" in entry ? "inline_rules" : "rules"] }),
    };
  }

  /** S3.15, S3.16: each type has a field it cannot do without. */
  #complete(type: Definition["type"], entry: Fields, path: Path, name: string): void {
    const missing = (needed: string) => this.#yaml.mistake(path, `definition '${name}' is incomplete: ${needed}`);
    const given = (key: string) => {
      const value = entry[key];
      return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
    };
    if (type === "inline" && !given("inline_rules") && !given("rules")) {
      throw missing("Inline hook requires 'inline_rules'");
    }
    if (type === "llm" && !given("prompt")) throw missing("LLM hook requires 'prompt'");
    if (type !== "command") return;
    if (!given("command") && !given("script")) throw missing("Command hook requires 'command' or 'script'");
    if (given("command") && given("script")) {
      throw this.#yaml.mistake(
        [...path, "script"],
        `definition '${name}' has both 'command' and 'script': keep one of them`,
      );
    }
  }

  #matcher(given: unknown, path: Path, name: string): DefinitionMatcher {
    if (given === undefined || given === null) return {};
    const matcher = this.fields(given, path, `the matcher of definition '${name}'`);
    const found: { -readonly [K in keyof DefinitionMatcher]: DefinitionMatcher[K] } = {};
    this.#known(matcher, path, MATCHER_KEYS, `the matcher of definition '${name}'`);
    for (const key of MATCHER_KEYS) {
      const value = matcher[key];
      if (value === undefined || value === null) continue;
      const list: readonly unknown[] = Array.isArray(value) ? value : [value];
      if (!list.every((item) => isText(item))) {
        throw this.#yaml.mistake(
          [...path, key],
          `definition '${name}' has ${key} ${shown(value)}: expected a list of texts`,
        );
      }
      found[key] = list as readonly string[];
    }
    return found;
  }

  fields(given: unknown, path: Path, what: string, known?: readonly string[]): Fields {
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
      throw this.#yaml.mistake(path, `${shown(given)} is not ${what}`);
    }
    if (known) this.#known(given as Fields, path, known, path.length === 0 ? "the file" : `'${path.join(".")}'`);
    return given as Fields;
  }

  #known(given: Fields, path: Path, known: readonly string[], what: string): void {
    const stray = Object.keys(given).find((key) => !known.includes(key));
    if (stray === undefined) return;
    throw this.#yaml.mistake(
      [...path, stray],
      `${what} has an unknown field '${stray}': did you mean '${nearest(stray, known)}'?`,
    );
  }
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
