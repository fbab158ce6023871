import { type JsonObject, parsed } from "../../core/json.ts";
import type { Folded } from "../../core/fold.ts";
import { ToolDeniedError } from "../../hooks/wrap-tool-call.ts";
import { hooksOf, TOOL_EVENTS, ToolCalls } from "./load.ts";

type AgentTool = { readonly type: string; readonly name: string };
type Details = { readonly toolCall?: { readonly callId: string } };

interface FunctionTool extends AgentTool {
  invoke(context: unknown, input: string, details?: Details): Promise<unknown>;
  needsApproval(context: unknown, input: unknown, callId?: string): Promise<boolean>;
}

export interface OpenAiAgentsHooks {
  /** The same tools, with hooks around each call. A hook that asks interrupts the run, as `needsApproval` does. */
  readonly tools: <T extends AgentTool>(tools: readonly T[]) => T[];
}

export async function openaiAgents(folder: string): Promise<OpenAiAgentsHooks> {
  const sdk = "openai-agents";
  const calls = new ToolCalls(await hooksOf(folder, sdk, (event) => TOOL_EVENTS.includes(event)), sdk);
  /** What hooks said when the SDK asked whether a call needs a person, so that each is asked once. */
  const judged = new Map<string, Folded>();
  const judge = async (tool_name: string, input: JsonObject, id: string): Promise<Folded> => {
    const said = judged.get(id) ?? await calls.fire({ event: "pre-tool-use", tool_name, input, tool_use_id: id });
    judged.set(id, said);
    return said;
  };
  const hooked = (tool: FunctionTool): FunctionTool => ({
    ...tool,
    needsApproval: async (context, input, id = "") =>
      (await judge(tool.name, input as JsonObject, id)).decision === "ask" ||
      await tool.needsApproval(context, input, id),
    invoke: async (context, text, details) => {
      const input = (parsed(text) ?? {}) as JsonObject;
      const id = details?.toolCall?.callId ?? "";
      const said = await judge(tool.name, input, id);
      judged.delete(id);
      // The SDK makes a call that a hook asked about only once a person has approved it.
      const pre = said.decision === "ask" ? { ...said, decision: "allow" as const } : said;
      const call = { name: tool.name, input, id, pre };
      const output = await calls.run(call, (now) => tool.invoke(context, JSON.stringify(now), details))
        .catch((error) => error instanceof ToolDeniedError ? error.message : Promise.reject(error));
      calls.expectGoing();
      return output;
    },
  });
  const one = (tool: AgentTool): AgentTool =>
    "invoke" in tool ? hooked(tool as FunctionTool) : calls.expectRun(tool.name, tool);
  return { tools: (tools) => tools.map(one) as never };
}
