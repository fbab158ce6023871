import type { AskedBelow } from "../../agent/spawn.ts";
import type { RunOptions } from "../../agent/options.ts";

/** The object that has what is said about a session outside its journal: events for followers, open questions. */
export const DESK = "crochet";

/** The service of an agent; `fixtures` is that of workers which run them. */
export function serviceOf(agent: string): string {
  return `${DESK}.${agent.replace(/[^A-Za-z0-9._-]/g, "_")}`;
}

/** What a run may have of its own when it is submitted. */
export type RemoteOptions = Pick<RunOptions, "model" | "limits" | "permissions" | "cwd">;

export interface RunRequest {
  readonly prompt: string;
  readonly options?: RemoteOptions;
  /** Where events are sent for followers: the ingress. */
  readonly follow?: string;
}

export interface BelowRequest extends Omit<RunRequest, "prompt"> {
  readonly asked: AskedBelow;
}

export interface DeskQuestion {
  /** With it the engine resumes the agent. */
  readonly token: string;
  readonly about: unknown;
}

export interface Submitted {
  /** The engine's name of it. */
  readonly invocation: string;
  /** The page with which its events begin. */
  readonly from: number;
}

/** What a follower has not read yet. */
export interface Page {
  /** Where to read on; absent while the desk does not know of the run. */
  readonly next?: number;
  /** Events as JSON, a list a page. */
  readonly pages: readonly string[];
}

/** An address as it was given, without the slash at its end. @throws {TypeError} if it is not valid */
export function addressOf(given: string, example: string): string {
  if (/^https?:\/\/[^/\s]/.test(given) && URL.canParse(given)) return given.replace(/\/+$/, "");
  throw new TypeError(`Cannot use '${given}' as an engine's address: give one as ${example}`);
}
