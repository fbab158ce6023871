import type { HookRunner } from "../agent.ts";
import type { PermissionGate } from "../permissions/gate.ts";

/** What holds for a command that a hook runs as a person would: the session's deny rules and its sandbox (S1.16). */
export function commandRules(
  gate: PermissionGate | undefined,
  sandbox: "workspace" | undefined,
  cwd: string,
): Pick<HookRunner, "forbids" | "confine"> {
  return {
    async forbids(command) {
      if (!gate) return undefined;
      const { decide } = await import("../permissions/rules.ts");
      const call = {
        tool_name: "Bash",
        input: { command: command.map(quoted).join(" ") },
        cwd,
        effect: "write",
      } as const;
      // Only what is forbidden outright: a trusted command is approved without asking.
      const { behavior, rule } = decide({ ...gate.permissions(), mode: "bypassPermissions" }, call);
      return behavior === "deny" ? rule : undefined;
    },
    async confine(command) {
      if (!sandbox) return command;
      const { openSandbox } = await import("../permissions/sandbox.ts");
      return (await openSandbox({ mode: sandbox, roots: [cwd] }))(command, cwd);
    },
  };
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
