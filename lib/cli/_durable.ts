import { existsSync, readFileSync } from "node:fs";
import type { Agent, RunOptions } from "../agent/options.ts";
import type { Prompt } from "../core/messages.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { remote, type RemoteOptions } from "../durable/remote.ts";
import { sha256 } from "../runtime/sha256.ts";
import type { PermissionMode } from "../permissions/rules.ts";
import { findFixture, type Fixture } from "../replay/fixture.ts";
import { eachOf } from "./_each-of.ts";
import { type Flags, refuseTogether } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import type { ReplayedItem } from "./_replay-table.ts";
import { limitsFrom } from "./_run-options.ts";

/**
 * A run that outlives its process: each step is in its log before the next begins. Given the id of a session whose run
 * was interrupted, it continues that run. A question waits until it is answered.
 */
export function durably(
  agent: Agent,
  prompt: Prompt,
  { io, ...options }: RunOptions & { io: Io },
): (more: RunOptions) => Promise<Result> {
  if (options.fork !== undefined) {
    throw new UsageError("Cannot continue from a checkpoint with --durable: leave --durable out, or name a session");
  }
  const id = options.resume ?? crypto.randomUUID();
  if (options.resume === undefined) {
    io.err(`crochet: session ${id} is durable: if this process dies, run the same command with --resume ${id}\n`);
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

interface Waiting {
  readonly agent_id: string;
  readonly reason: string;
}

/** Prints what an agent waits for, and the command that answers. */
function reportWaiting({ agent_id, reason }: Waiting, flags: string, io: Io): void {
  io.err(`crochet: agent ${agent_id} waits: ${reason}\n`);
  io.err(`crochet: answer with: crochet agents answer ${flags}${agent_id} allow|deny [reason]\n`);
}

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
  refuseTogether(flags, "on", ["settings", "hooks", "trust", "rollout", "durable"], "a worker runs the agent");
  const url = String(flags.on);
  const id = flags.resume === undefined ? crypto.randomUUID() : String(flags.resume);
  const options = optionsFrom(flags);
  return async (more) => {
    const follower = {
      id,
      signal: io.signal,
      on: (event: RunEvent) => {
        if (event.type === "question") reportWaiting(event, `--on ${url} `, io);
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
    ...((flags.maxIterations !== undefined || flags.budget !== undefined) && { limits: limitsFrom(flags) }),
    ...(flags.permissionMode !== undefined && { permissions: { mode: flags.permissionMode as PermissionMode } }),
  };
}

/** How many fixtures are under way at once: workers take what they can. */
const AT_ONCE = 64;

/** A hash of a fixture's tape, to compare with a worker's; undefined if it has no tape. */
export function tapeSign(name: string, cwd: string): string | undefined {
  const { tape } = findFixture(name, cwd);
  return existsSync(tape) ? sha256().update(readFileSync(tape)).digest("hex") : undefined;
}

/** Has workers replay fixtures of their own checkouts; how each ended, in the order of the fixtures. */
export async function replayOn(fixtures: readonly Fixture[], flags: Flags["flags"], io: Io): Promise<ReplayedItem[]> {
  refuseTogether(flags, "on", ["update", "hooks", "normalise"], "workers replay what they have");
  const args = ["wire", "verify"].filter((flag) => flags[flag]).map((flag) => `--${flag}`);
  const engine = remote(String(flags.on));
  return await eachOf(fixtures, { atOnce: AT_ONCE, signal: io.signal }, async ({ name }) => {
    const { report, shared, ...item } = await engine.replay({ name, tape: tapeSign(name, io.cwd), args }) as AsData;
    return { ...item, data: { report, shared } };
  });
}

/** An item as `--json` prints it. */
type AsData = Omit<ReplayedItem, "data"> & NonNullable<ReplayedItem["data"]>;
