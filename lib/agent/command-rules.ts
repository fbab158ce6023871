import type { HookRunner, SandboxOption } from "./options.ts";
import type { HookEnv } from "../core/hook.ts";
import { shellWord } from "../core/shown.ts";
import type { PermissionGate } from "../permissions/gate.ts";
import type { Sandbox } from "../permissions/sandbox.ts";
import type { Wrap } from "../process/process.ts";

/** What holds for a command that a hook runs as a person would: the session's deny rules and its sandbox (S1.16). */
export function commandRules(
  gate: PermissionGate | undefined,
  sandbox: Open | undefined,
  cwd: string,
): Pick<HookRunner, "forbids" | "confine"> {
  return {
    async forbids(command) {
      if (!gate) return undefined;
      const { decide } = await import("../permissions/rules.ts");
      const input = { command: command.map(shellWord).join(" ") };
      const call = { tool_name: "Bash", input, cwd, effect: "write" } as const;
      // Only what is forbidden outright: a trusted command is approved without asking.
      const { behavior, rule } = decide({ ...gate.permissions(), mode: "bypassPermissions" }, call);
      return behavior === "deny" ? rule : undefined;
    },
    confine: async (command, folder = cwd) => sandbox ? (await sandbox())(command, folder) : command,
  };
}

type Open = () => Promise<Wrap>;

/** How to start commands in the session's sandbox, which is opened by the first of them: for turns and for all hooks. */
export function sessionSandbox(
  option: SandboxOption | undefined,
  cwd: string,
): { readonly turn?: Open; readonly hooks?: Open; readonly sandbox?: Sandbox } {
  if (option === undefined) return {};
  const { mode = "workspace", git = false } = typeof option === "string" ? { mode: option } : option;
  const sandbox: Sandbox = { mode: "workspace", roots: [cwd], ...(git && { git }) };
  let opened: Promise<Wrap> | undefined;
  const turn: Open = () =>
    opened ??= import("../permissions/sandbox.ts").then(({ openSandbox }) => openSandbox(sandbox));
  return { turn, sandbox, ...(mode === "hooks" && { hooks: turn }) };
}

/** Runs programs for hooks (`ctx.$`), in the sandbox if hooks are confined to it. */
export function hookExec(confine: Open | undefined): NonNullable<HookEnv["exec"]> {
  return async (command, args, options) => {
    const { exec } = await import("../process/process.ts");
    if (!confine) return exec(command, args, options);
    const [program, ...given] = (await confine())([command, ...args], options.cwd);
    return exec(program!, given, options);
  };
}
