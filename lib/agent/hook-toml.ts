import type { HookRunner } from "./options.ts";
import type { HookRecord } from "../core/hook.ts";
import type { ExecRecord } from "../hooks/toml.ts";

/**
 * The commands of a workspace's `.agent/hook.toml` (S1), for the `hooks` of a run. The file is read anew at each
 * prompt, and none of its commands runs once it changes after that; they obey the run's rules, its mode and its sandbox.
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
  return ({ host, refuses, confine, emit, warn }) => {
    const warned = new Set<string>();
    return async () => {
      const { existsSync, readFileSync } = await import("node:fs");
      const { TOML_FILE, tomlHooks } = await import("../hooks/toml.ts");
      const dir = workspace ?? host.projectDir;
      const file = `${dir}/${TOML_FILE}`;
      const text = existsSync(file) ? readFileSync(file, "utf8") : undefined;
      const options = { host, refuses, confine, onExec: (exec: ExecRecord) => emit({ type: "exec", exec }) };
      if (text === undefined) return [];
      const { records, problems } = await tomlHooks(dir, text, options);
      for (const problem of problems) if (!warned.has(problem) && warned.add(problem)) warn(problem);
      return records;
    };
  };
}
