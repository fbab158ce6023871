import type { RunOptions } from "../agent.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { remote, type RemoteOptions } from "../durable/remote.ts";
import type { PermissionMode } from "../permissions/rules.ts";
import type { Flags } from "./_flags.ts";
import type { Io } from "./_io.ts";

/**
 * A run on an engine, submitted and followed from here; `agent` is the name under which workers serve it. With no prompt
 * the last run of the session is followed again.
 */
export function runOn(
  agent: string,
  prompt: string,
  flags: Flags["flags"],
  io: Io,
): (more: RunOptions) => Promise<Result> {
  const url = String(flags.on);
  const id = flags.resume === undefined ? crypto.randomUUID() : String(flags.resume);
  const options = optionsFrom(flags);
  return async (more) => {
    const follower = {
      id,
      signal: io.signal,
      on: (event: RunEvent) => {
        if (event.type === "question") {
          io.err(`crochet: agent ${event.agent_id} waits: ${event.reason}\n`);
          io.err(`crochet: answer with: crochet agents answer --on ${url} ${event.agent_id} allow|deny [reason]\n`);
        }
        more.on?.(event);
      },
    };
    if (prompt.trim() === "") return await remote(url).follow(follower);
    const onSubmitted = () => {
      io.err(`crochet: session ${id} runs on ${url}; to follow it again: crochet run --on ${url} --resume ${id}\n`);
    };
    return await remote(url).run({ ...follower, agent, prompt, options, onSubmitted });
  };
}

function optionsFrom(flags: Flags["flags"]): RemoteOptions {
  return {
    ...(flags.model !== undefined && { model: String(flags.model) }),
    ...(flags.cwd !== undefined && { cwd: String(flags.cwd) }),
    ...((flags.maxIterations !== undefined || flags.budget !== undefined) && {
      limits: {
        ...(flags.maxIterations !== undefined && { iterations: Number(flags.maxIterations) }),
        ...(flags.budget !== undefined && { dollars: Number(flags.budget) }),
      },
    }),
    ...(flags.permissionMode !== undefined && { permissions: { mode: flags.permissionMode as PermissionMode } }),
  };
}
