import { systemClock } from "../core/clock.ts";
import type { HookEnv } from "../core/hook.ts";

/** What a hook runs in outside of our loop: what is not given is that of this process, loaded when a hook uses it. */
export function hookEnv(given: Partial<HookEnv>): HookEnv {
  const { session_id = "" } = given;
  return {
    session_id,
    agent_id: session_id,
    turn_id: "",
    sequence: { next: 0 },
    clock: systemClock,
    cwd: ".",
    values: new Map(),
    signal: new AbortController().signal,
    exec: async (...args) => (await import("../process/process.ts")).exec(...args),
    files: async (cwd) => (await import("./hook-files.ts")).hookFiles(cwd),
    ...given,
  };
}
