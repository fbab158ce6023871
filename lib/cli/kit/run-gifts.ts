import type { Agent, RunOptions } from "../../agent/options.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import type { OnPrompt } from "./config.ts";
import type { Flags } from "./flags.ts";
import { type Io, UsageError } from "./io.ts";

/** What a run asks extensions for, without their list: an agent that is built has no more of them than this. */
export interface RunGifts {
  /** Puts the runs of an agent among those that are watched. */
  readonly watch: (agent: Agent, options: WatchOptions) => Agent;
  /** How a run looks on a terminal, and how a person is asked there; without it a run is shown as in a pipe. */
  readonly terminal: {
    readonly watch: (
      start: (options: RunOptions) => Promise<Result>,
      where: { readonly io: Io; readonly cwd: string },
    ) => Promise<Result>;
    /** Writes what hooks run, write, answer and pass to the model. */
    readonly hooks: (io: Io) => (event: RunEvent) => void;
  };
  /** `--on`: a run on an engine. */
  readonly elsewhere: (
    agent: string,
    prompt: string,
    flags: Flags["flags"],
    io: Io,
  ) => (more: RunOptions) => Promise<Result>;
}

export interface WatchOptions {
  readonly env: Io["env"];
  readonly workspace: string;
  readonly onPrompt: OnPrompt;
}

/** What an extension gives; undefined if there is none that does. */
export async function runGift<Gift extends keyof RunGifts>(gift: Gift): Promise<RunGifts[Gift] | undefined> {
  return (await (await import("../../extensions/early.ts")).GIFTS[gift]?.())?.default;
}

/** @throws {UsageError} if no extension gives what a flag asks for */
export function expectGiven<Gift>(gift: Gift | undefined, flag: string): Gift {
  if (gift !== undefined) return gift;
  throw new UsageError(`Cannot use ${flag} as no extension here does what it asks for: leave it out`);
}
