import type { HookRunner } from "../agent.ts";
import type { HookRecord } from "../core/hook.ts";

/**
 * The commands of a workspace's `.agent/hook.toml` (S1), for the `hooks` of a run. The file is read anew each turn; its
 * commands obey the run's deny rules and its sandbox.
 *
 * @param workspace where the file is and its commands run; the run's `cwd` if absent
 * @example
 * ```ts
 * import { agent, hookToml } from "crochet";
 * import { scripted } from "crochet/testing";
 *
 * const helper = agent({ model: scripted([{ text: "It is done" }]) });
 * await helper.run("Do it", { hooks: hookToml() });
 * ```
 */
export function hookToml(workspace?: string): (runner: HookRunner) => () => Promise<readonly HookRecord[]> {
  return ({ host, forbids, confine, emit }) => {
    let records: readonly HookRecord[] | undefined;
    return async () =>
      records ??= (await import("../hooks/toml.ts")).tomlHooks(workspace ?? host.projectDir, {
        host,
        forbids,
        confine,
        onExec: (exec) => emit({ type: "exec", exec }),
      });
  };
}
