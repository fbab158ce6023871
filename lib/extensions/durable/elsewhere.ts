import type { RunOptions } from "../../agent/options.ts";
import { present } from "../../core/json.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import { remote } from "./remote.ts";
import type { RemoteOptions } from "./_wire.ts";
import type { PermissionMode } from "../../permissions/rules.ts";
import { reportWaiting } from "../../cli/kit/durable-run.ts";
import type { RunGifts } from "../../cli/kit/run-gifts.ts";
import type { Flags } from "../../cli/kit/flags.ts";
import type { Io } from "../../cli/kit/io.ts";
import { limitsFrom } from "../../cli/kit/run-options.ts";

/** A run on an engine, followed from here; with no prompt the last run of the session is followed again. */
function runOn(agent: string, prompt: string, flags: Flags["flags"], io: Io): (more: RunOptions) => Promise<Result> {
  const url = String(flags.on);
  const id = flags.resume === undefined ? crypto.randomUUID() : String(flags.resume);
  const { model, cwd, permissionMode, maxIterations, budget } = flags as {
    readonly [flag: string]: string | undefined;
  };
  const options: RemoteOptions = present({
    ...{ model, cwd, limits: (maxIterations ?? budget) === undefined ? undefined : limitsFrom(flags) },
    permissions: permissionMode === undefined ? undefined : { mode: permissionMode as PermissionMode },
  });
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

export default runOn satisfies RunGifts["elsewhere"];
