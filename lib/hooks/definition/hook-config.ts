import type { EventName, EVENTS } from "../../core/events.ts";
import type { OnError } from "../../core/hook.ts";
import type { Action, Operator } from "../rule/rule.ts";

/** The types of a definition. */
export const HOOK_TYPES = ["internal", "command", "llm", "inline"] as const;

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

/** One rule of an inline definition. */
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
