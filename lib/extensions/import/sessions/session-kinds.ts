import { isObject, type JsonObject } from "../../../core/json.ts";

/** A line of a session log, and where it stands. */
export interface LogLine {
  readonly value: JsonObject;
  readonly line: number;
}

/** What the log of one agent holds: the main agent's, or that of an agent it started. */
export interface AgentLog {
  /** `main`, or `agent:1` for the first agent that was started. */
  readonly lane: string;
  readonly path: string;
  readonly lines: readonly LogLine[];
  /** The id of the agent; absent for the main agent. */
  readonly agent?: string | undefined;
  readonly agentType?: string | undefined;
}

/** Where a moment was logged, and what its hooks could know of it. */
interface Logged {
  readonly lane: string;
  readonly path: string;
  readonly line: number;
  /** Milliseconds since the epoch; NaN if the log does not say. */
  readonly at: number;
  readonly cwd: string;
  readonly turn: string;
  readonly mode?: string | undefined;
}

/** A call of a tool, and what the model read of it. */
export interface LoggedCall extends Logged {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  /** As the client holds it: an object, or the text of a script or patch. */
  readonly input: unknown;
  /** How it ended: a person interrupts it with a key, or refuses it. */
  outcome: "ok" | "error" | "denied" | "interrupted";
  /** The texts of the result; "" if the model read nothing of it, or only an image. */
  result: string;
  /** The tool's own result, if the log has it. */
  response?: unknown;
  /** Commands and patches that a script ran. */
  nested?: (
    | { readonly command: string; readonly exit_code: number; readonly output: string }
    | { readonly patch: readonly string[]; readonly text: string }
  )[];
}

export type Moment =
  | LoggedCall
  /** Something a person typed. */
  | Logged & { readonly kind: "prompt"; readonly text: string }
  /** A reply without a call, which came to its end; `active`: a hook had sent the agent back before, in the same turn. */
  | Logged & { readonly kind: "stop"; readonly text: string; readonly active: boolean };

/** One agent of a session, as its log was read. */
export interface ReadLane {
  readonly moments: readonly Moment[];
  /** Replies of the model that came to their end. */
  readonly modelCalls: number;
  readonly version?: string | undefined;
}

export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The texts of a message or a result, a line each; images have none. */
export function textsOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap((part) => isObject(part) && typeof part.text === "string" ? [part.text] : []).join("\n");
}
