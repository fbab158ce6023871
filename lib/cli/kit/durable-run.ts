import type { Agent, RunOptions } from "../../agent/options.ts";
import type { Prompt } from "../../core/messages.ts";
import type { Result } from "../../core/run-events.ts";
import { type Io, UsageError } from "./io.ts";

/** A run that outlives its process: each step is in its log before the next begins, and a question waits until it is answered. */
export function durably(
  agent: Agent,
  prompt: Prompt,
  { io, ...options }: RunOptions & { io: Io },
): (more: RunOptions) => Promise<Result> {
  if (options.fork !== undefined) {
    throw new UsageError("Cannot continue from a model call with --durable: leave --durable out, or name a run");
  }
  const id = options.resume ?? crypto.randomUUID();
  if (options.resume === undefined) {
    io.err(`crochet: run ${id} is durable: if this process dies, run the same command with --resume ${id}\n`);
  }
  return (more) =>
    agent.run(prompt, {
      ...options,
      ...more,
      id,
      durable: true,
      on: (event) => {
        if (event.type === "question") reportWaiting(event, "", io);
        more.on?.(event);
      },
    });
}

/** Prints what an agent waits for, and the command that answers. */
export function reportWaiting(
  { agent_id, reason }: Record<"agent_id" | "reason", string>,
  flags: string,
  io: Io,
): void {
  io.err(`crochet: agent ${agent_id} waits: ${reason}\n`);
  io.err(`crochet: answer with: crochet agents answer ${flags}${agent_id} allow|deny [reason]\n`);
}
