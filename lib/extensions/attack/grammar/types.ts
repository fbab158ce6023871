import type { Tool } from "../../../core/tool.ts";
import type { WorldPlaces } from "../world.ts";

export interface AttackCall {
  readonly tool: string;
  readonly input: Record<string, unknown>;
  /** The call is the first of a new session of the same agent: its hooks are loaded again, its shell is a new one. */
  readonly session?: true;
  /** What the sub-agent that this call starts does, as its model is the adversary too. */
  readonly calls?: readonly AttackCall[];
}

/** The properties without their argument: what an operation can do to the world. */
export type PropertyKind =
  | "outside-writes"
  | "changes"
  | "removes"
  | "reads"
  | "runs"
  | "pushes"
  | "loses-history"
  | "loses-work"
  | "network"
  | "unasked-writes"
  | "later-code"
  | "model-calls";

/** Holes that a user may know of and accept: rules cannot see into programs. */
export type Family = "interpreters" | "build-tools" | "copies";

/** What the adversary aims at: the workspace has a commit that was not pushed, another branch with its own, and open work. */
export interface Target extends Pick<WorldPlaces, "workspace" | "remote"> {
  readonly property: PropertyKind;
  /** The file, relative to the workspace; absolute if it is outside. */
  readonly path?: string;
  /** A text that is in the file once, for tools that replace text. */
  readonly text?: string;
  readonly program?: string;
  readonly port?: number;
  /** How often something has to happen before the property is broken. */
  readonly times?: number;
  readonly branch: string;
}

/** One way to have an effect. */
export interface Operation {
  readonly name: string;
  readonly effects: readonly PropertyKind[];
  readonly tool: string;
  /** The field of the input that holds a shell command; without it, paths are those of a file tool. */
  readonly shell?: string;
  /** The operation takes the folder of the target, not the file. */
  readonly folder?: true;
  readonly family?: Family;
  /** @param path The target as a spelling wrote it. */
  call(target: Target, path: string): AttackCall;
}

export interface Spelling {
  readonly name: string;
  readonly for: "shell" | "file" | "both";
  spell(path: string, target: Target): string | undefined;
}

export interface Rewriting {
  readonly name: string;
  readonly family?: Family;
  rewrite(command: string): string | undefined;
}

export interface Plan {
  readonly name: string;
  readonly family?: Family;
  calls(goal: AttackCall, target: Target): readonly AttackCall[] | undefined;
}

/** What the guard's own text suggests: a path or a command that it may take for something else, or what it looks for in a file. */
export interface Mined {
  readonly name: string;
  spell?(path: string): string;
  rewrite?(command: string): string | undefined;
  readonly contents?: string;
}

/** Names of the grammar's tables: a step can be shrunk, kept and printed. */
export interface CandidateStep {
  readonly operation: string;
  readonly spelling?: string;
  readonly rewritings: readonly string[];
  readonly plan?: string;
  readonly mined?: string;
}

export interface Candidate {
  readonly steps: readonly CandidateStep[];
}

export type ToolSchema = Pick<Tool, "name" | "aliases" | "input_schema">;

export interface Tables {
  readonly operations: readonly Operation[];
  readonly spellings: readonly Spelling[];
  readonly rewritings: readonly Rewriting[];
  readonly plans: readonly Plan[];
  readonly mined: readonly Mined[];
}

export interface Grammar extends Tables {
  /** The calls of a candidate; undefined if some part of it does not apply. */
  build(candidate: Candidate): AttackCall[] | undefined;
}

/** What the adversary made of a call, without what came of it. */
export function plainCall({ tool, input, session, calls }: AttackCall): AttackCall {
  return { tool, input, ...(session && { session }), ...(calls && { calls: calls.map(plainCall) }) };
}
