import type { Stop } from "../core/events.ts";
import type { Usage } from "../core/messages.ts";
import type { ToolContext as LoopContext } from "../core/tool.ts";

/** What a tool gets beside its input. */
export interface ToolContext extends LoopContext {
  /** Starts an agent below this one; absent if there can be none. */
  readonly spawn?: (request: SpawnRequest) => Promise<Spawned>;
  /** The type of an agent that was started before; undefined if no agent has that id. */
  readonly typeOf?: (agentId: string) => Promise<string | undefined>;
}

/** What a tool asks for when it wants an agent below its own. */
export interface SpawnRequest {
  readonly type: string;
  readonly prompt: string;
  /** The task in a few words. */
  readonly description?: string;
  readonly system?: string;
  readonly model?: string;
  /** The names of the tools it may use; all of its parent's if absent. */
  readonly tools?: readonly string[];
  /** The id of the agent to continue. */
  readonly resume?: string;
  /** Not waited for: its result comes as a later message. */
  readonly background?: boolean;
}

export interface Spawned {
  readonly agent_id: string;
  readonly type: string;
  readonly model: string;
  /** Its last words; empty while it works in the background. */
  readonly text: string;
  readonly stop: Stop | undefined;
  readonly usage: Usage;
  /** The names of the tools it called, in order. */
  readonly tools: readonly string[];
  readonly duration_ms: number;
}
