import type { AgentTool } from "../tools/agent.ts";
import type { SpawnRequest } from "../tools/tool-context.ts";
import type { StoredPast } from "./session-past.ts";
import type { SessionPlace } from "./session-place.ts";

/** What an agent below another is, when it is continued by its id and no agent starts it. */
export interface StoredBelow extends Pick<SpawnRequest, "type" | "system" | "tools" | "model"> {
  readonly parent: string;
  readonly depth: number;
}

/**
 * What a stored session was below another: its prompt, tools and model are those of its type, not its parent's (S0.26).
 *
 * @throws {TypeError} if the agent has no such type any more
 */
export async function storedBelow(
  { parts, cwd, store }: Pick<SessionPlace, "parts" | "cwd" | "store">,
  past: StoredPast,
): Promise<StoredBelow | undefined> {
  const { parent, agent_type: type } = past.transcript.about ?? {};
  if (parent === undefined || type === undefined) return undefined;
  const starts = parts.tools.find((one): one is AgentTool => "kinds" in one);
  const { definitionNamed } = await import("../tools/agent.ts");
  const definition = definitionNamed(type, await starts?.kinds({ cwd, state: new Map(), warn: () => {} }));
  if (!definition) {
    const why = `it is an agent of type '${type}', which agent '${parts.name}' does not have`;
    throw new TypeError(
      `Cannot resume '${past.from}' as ${why}: define the type, or resume it by the agent that has it`,
    );
  }
  // One below each agent above it; a transcript that names itself as its parent is not followed forever.
  let depth = 0;
  for (let id: string | undefined = parent; id !== undefined && depth < 100; depth++) {
    id = (await store.load(id))?.about?.parent;
  }
  return { ...definition, type, parent, depth };
}
