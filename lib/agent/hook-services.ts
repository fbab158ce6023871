import type { RunEvent } from "../core/run-events.ts";
import type { HookHost } from "../hooks/process/hook-host.ts";
import type { PermissionGate } from "../permissions/gate.ts";
import { ENV_FILE, runningTasks } from "../tools/tool-state.ts";
import type { SessionStore } from "../transcript/memory-store.ts";
import type { ToolSet } from "./tool-set.ts";

export interface HookHostParts extends Pick<HookHost, "envFile" | "confine"> {
  readonly id: string;
  readonly cwd: string;
  readonly store: SessionStore;
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
      const prompt_id = promptId();
      return {
        transcript_path: store.pathOf?.(id) ?? "",
        permission_mode: gate?.permissions().mode ?? "default",
        ...(prompt_id !== undefined && { prompt_id }),
        ...(parent_agent_id !== undefined && { agent_transcript_path: store.pathOf?.(agent_id) ?? "" }),
        ...(mcp_server && { fields: { mcp_server } }),
        ...(event.event === "stop" && agent_id === id && { background_tasks: runningTasks(toolState) }),
      };
    },
    ...more,
    ...(gate && { remember: gate.remember }),
    ...(emit && {
      onOutput: ({ hook, event, stream, text }) =>
        emit({ agent_id: event.agent_id, type: "hook_output", hook, event: event.event, stream, text }),
    }),
  };
}

/** The file through which SessionStart hooks set variables for the shell of a session. */
interface EnvFile {
  /** Its path; the folder is made when it is first asked for, and the shell then knows of it. */
  readonly path: () => string;
  readonly remove: () => void;
}

/** Keeps the file of one session; Bash finds it in its state. */
export function sessionEnvFile(toolState: Map<string, unknown>): EnvFile {
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
