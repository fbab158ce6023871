import { existsSync, readFileSync } from "node:fs";
import type { RunOptions } from "../../agent/options.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import { remote, type RemoteOptions } from "./remote.ts";
import { hashOf } from "../../runtime/sha256.ts";
import type { PermissionMode } from "../../permissions/rules.ts";
import { findFixture, type Fixture } from "../../replay/fixture.ts";
import { eachOf } from "../../cli/kit/each-of.ts";
import { reportWaiting } from "../../cli/kit/durable-run.ts";
import type { RunGifts } from "../../cli/kit/run-gifts.ts";
import type { Flags } from "../../cli/kit/flags.ts";
import type { Io } from "../../cli/kit/io.ts";
import type { ReplayedItem } from "../../cli/kit/replay-table.ts";
import { limitsFrom } from "../../cli/kit/run-options.ts";

/**
 * A run on an engine, submitted and followed from here; `agent` is the name under which workers serve it. With no prompt
 * the last run of the session is followed again.
 */
function runOn(agent: string, prompt: string, flags: Flags["flags"], io: Io): (more: RunOptions) => Promise<Result> {
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
      io.err(`crochet: run ${id} is on ${url}; to follow it again: crochet run --on ${url} --resume ${id}\n`);
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
  return existsSync(tape) ? hashOf(readFileSync(tape)) : undefined;
}

/** Has workers replay fixtures of their own checkouts; how each ended, in the order of the fixtures. */
async function replayOn(fixtures: readonly Fixture[], flags: Flags["flags"], io: Io): Promise<ReplayedItem[]> {
  const args = ["wire", "verify"].filter((flag) => flags[flag]).map((flag) => `--${flag}`);
  const engine = remote(String(flags.on));
  return await eachOf(fixtures, { atOnce: AT_ONCE, signal: io.signal }, async ({ name }) => {
    const { report, shared, ...item } = await engine.replay({ name, tape: tapeSign(name, io.cwd), args }) as AsData;
    return { ...item, data: { report, shared } };
  });
}

/** An item as `--json` prints it. */
type AsData = Omit<ReplayedItem, "data"> & NonNullable<ReplayedItem["data"]>;

export default { run: runOn, replay: replayOn } satisfies RunGifts["elsewhere"];
