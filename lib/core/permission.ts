import type { Json } from "./messages.ts";
import type { Effect } from "./tool.ts";

export interface PermissionCall {
  readonly tool_name: string;
  readonly input: { readonly [key: string]: unknown };
  readonly tool_use_id: string;
  readonly cwd: string;
  readonly effect: Effect;
  readonly agent_id?: string;
  /** The question's name, unique and stable: an engine keeps its answer under it. */
  readonly key?: string;
}

/** What the permission rules say of a call, after hooks have spoken. */
export interface Permission {
  readonly behavior: "allow" | "ask" | "deny";
  readonly reason: string;
  readonly rule?: string;
  /** Of an ask: what would settle it for the session; permission hooks see it. */
  readonly suggestions?: readonly Json[];
  /** Of a refusal: one line for a person, with what would allow the call. */
  readonly note?: string;
}

export type Permit = (call: PermissionCall, verdict: "continue" | "allow" | "ask") => Permission | Promise<Permission>;

/** Asks a person; absent if no person can be asked. */
export type AskPerson = (
  call: PermissionCall,
  reason: string,
  signal: AbortSignal,
) => Promise<{ behavior: "allow" | "deny"; reason?: string }>;

/** Why a call was not let through. */
export interface Refusal {
  /** What the model reads. */
  readonly words: string;
  readonly reason: string;
  readonly by: string;
  /** One line for a person, with what would allow the call. */
  readonly note?: string;
}

/** The refusals of rules and people in a run that is recorded or replayed. */
export interface Refusals {
  note(toolUseId: string, refusal: Refusal): void;
  /** Why a call was refused when it was recorded. */
  recall(toolUseId: string): Refusal | undefined;
}
