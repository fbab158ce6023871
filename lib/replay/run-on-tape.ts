import type { HookRecord } from "../core/hook.ts";
import type { Block } from "../core/messages.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import type { McpOptions } from "../mcp/servers.ts";
import type { PermissionAsker } from "../permissions/gate.ts";
import type { Permissions } from "../permissions/rules.ts";
import type { Asker } from "../tools/asker.ts";
import type { MinimalStore } from "../transcript/memory-store.ts";
import type { TapeOptions } from "./tape-options.ts";

/** The part of an agent that a run on a tape needs: `agent({...})` has it. */
export interface Replayable {
  readonly name: string;
  readonly from?: string;
  open(options: OnTapeOptions): Promise<{
    prompt(prompt: string | readonly Block[]): Promise<Result>;
    setModel?(model: string): Promise<unknown>;
    close(): Promise<void>;
  }>;
}

export interface OnTapeOptions {
  cwd: string;
  tape: TapeOptions;
  on: (event: RunEvent) => void;
  model?: string;
  rollout?: string;
  signal?: AbortSignal;
  store?: MinimalStore;
  resume?: string;
  permissions?: Permissions;
  sandbox?: { mode?: "workspace" | "hooks"; git?: boolean };
  ask?: PermissionAsker;
  asker?: Asker;
  mcp?: McpOptions;
  hooks?: (runner: any) => () => Promise<readonly HookRecord[]>;
}

export type ReplayHooks = NonNullable<OnTapeOptions["hooks"]>;

/** What a run has done so far. */
export interface RunSoFar {
  readonly events: RunEvent[];
  /** One for each prompt that has ended. */
  readonly results: Result[];
}

/** Opens an agent on a tape, gives it the prompts one after the other, and closes it. `run` keeps what happened, even if this throws. */
export async function runOnTape(
  agent: Pick<Replayable, "open">,
  prompts: readonly { readonly text: string | readonly Block[]; readonly model?: string | undefined }[],
  options: Omit<OnTapeOptions, "on"> & { on?: OnTapeOptions["on"] | undefined },
  run: RunSoFar,
): Promise<void> {
  const session = await agent.open({
    ...options,
    on: (event) => {
      run.events.push(event);
      options.on?.(event);
    },
  });
  try {
    for (const { text, model } of prompts) {
      if (model !== undefined) await session.setModel?.(model);
      run.results.push(await session.prompt(text));
    }
  } finally {
    await session.close();
  }
}
