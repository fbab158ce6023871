import { decide, type Decision, type Permissions } from "../../lib/permissions/rules.ts";

export const CWD = "/srv/project";

/** What the rules say of a Bash command. */
export function ofBash(command: string, permissions: Permissions, cwd = CWD): Decision {
  return decide(permissions, { tool_name: "Bash", input: { command }, cwd, effect: "write" });
}

/** The same, in a word. */
export function behavior(command: string, permissions: Permissions, cwd = CWD): Decision["behavior"] {
  return ofBash(command, permissions, cwd).behavior;
}

/** What the rules say of a call of any tool. */
export function ofTool(
  tool_name: string,
  input: Record<string, unknown>,
  permissions: Permissions,
  { cwd = CWD, effect = "write" as "none" | "read" | "write" } = {},
): Decision {
  return decide(permissions, { tool_name, input, cwd, effect });
}
