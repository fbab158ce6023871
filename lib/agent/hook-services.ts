import { present } from "../core/json.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { HookHost } from "../hooks/process/hook-host.ts";
import type { PermissionGate } from "../permissions/gate.ts";
import { ENV_FILE, runningTasks } from "../tools/tool-state.ts";
import type { ToolSet } from "./tool-set.ts";
import type { HookRunner, SandboxOption } from "./options.ts";
import type { SessionPlace } from "./session-place.ts";
import type { HookEnv } from "../core/hook.ts";
import { shellWord } from "../core/shown.ts";
import type { Sandbox } from "../permissions/sandbox.ts";
import type { Wrap } from "../process/process.ts";
import { builtProgram } from "../runtime/importing.ts";

export interface HookHostParts
  extends Pick<HookHost, "envFile" | "confine">, Pick<SessionPlace, "id" | "cwd" | "store"> {
  readonly set: ToolSet;
  readonly gate: PermissionGate | undefined;
  readonly toolState: ReadonlyMap<string, unknown>;
  readonly promptId: () => string | undefined;
  /** Undefined if the run is not watched: then the output of hooks is not reported while they write it. */
  readonly emit: ((event: RunEvent) => void) | undefined;
}

/** What hooks outside this process learn about the session. */
export function hookHost({ id, cwd, store, set, gate, toolState, promptId, emit, ...more }: HookHostParts): HookHost {
  return {
    projectDir: cwd,
    keepsOutput: true,
    wire: (event) => {
      const { agent_id, parent_agent_id } = event;
      const mcp_server = "tool_use_id" in event ? set.serverOf(event.tool_name) : undefined;
      const pathOf = (id: string) => store.pathOf?.(id) ?? "";
      return present({
        transcript_path: pathOf(id),
        permission_mode: gate?.permissions().mode ?? "default",
        prompt_id: promptId(),
        agent_transcript_path: parent_agent_id === undefined ? undefined : pathOf(agent_id),
        fields: mcp_server && { mcp_server },
        background_tasks: event.event === "stop" && agent_id === id ? runningTasks(toolState) : undefined,
      });
    },
    ...more,
    ...(gate && { remember: gate.remember }),
    ...(emit && {
      onOutput: ({ hook, event, stream, text }) =>
        emit({ agent_id: event.agent_id, type: "hook_output", hook, event: event.event, stream, text }),
    }),
  };
}

/** The file through which SessionStart hooks set variables for the shell of a session, known to it once one asks for it. */
export function sessionEnvFile(toolState: Map<string, unknown>) {
  // Asked for when needed: every session begins here, and few have such a hook.
  const disk = () => process.getBuiltinModule("node:fs");
  let folder: string | undefined;
  return {
    path: () => {
      folder ??= disk().mkdtempSync(`${process.getBuiltinModule("node:os").tmpdir()}/crochet-env-`);
      const path = `${folder}/sessionstart-hook-0.sh`;
      toolState.set(ENV_FILE, path);
      return path;
    },
    remove: () => {
      if (folder !== undefined) disk().rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What holds for a command that a hook runs as a person would: the session's rules, its mode and its sandbox (S1.16). */
export function commandRules(
  gate: PermissionGate | undefined,
  sandbox: Open | undefined,
  cwd: string,
): Pick<HookRunner, "refuses" | "confine"> {
  return {
    async refuses(command, key, signal) {
      if (!gate) return undefined;
      const { decide } = await import("../permissions/rules.ts");
      const input = { command: command.map(shellWord).join(" ") };
      const call = { tool_name: "Bash", input, tool_use_id: key, key, cwd, effect: "write" } as const;
      // Trust in the file approves its commands: only a rule that names one, or plan mode, stands against that.
      const permissions = gate.permissions();
      if (permissions.mode === "plan") return "plan mode runs no commands of hooks: leave plan mode";
      const { behavior, rule, isDoubt } = decide({ ...permissions, mode: "bypassPermissions" }, call);
      if (behavior === "deny") return `the deny rule ${rule} forbids it: change the command or the rule`;
      if (behavior === "allow" || isDoubt) return undefined;
      if (!gate.askPerson) return `the rule ${rule} asks, and no person can be asked: change the command or the rule`;
      const said = await gate.askPerson(call, `a command of hook.toml: the rule ${rule} asks`, signal);
      if (said.behavior === "allow") return undefined;
      return `the user refused it${said.reason ? `: ${said.reason}` : ""}`;
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
  const { mode = "workspace", ...more } = typeof option === "string" ? { mode: option } : option;
  const sandbox: Sandbox = { mode: "workspace", roots: [cwd], ...more };
  let opened: Promise<Wrap> | undefined;
  const turn: Open = () =>
    opened ??= import("../permissions/sandbox.ts").then(({ openSandbox }) => {
      // Temporary files are hidden inside: those of a built program's hooks must not be.
      const hooks = builtProgram()?.extracted;
      return openSandbox({ ...sandbox, ...(hooks !== undefined && { mounts: ["--ro-bind", hooks, hooks] }) });
    });
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
