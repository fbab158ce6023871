import { hooksOf, TOOL_EVENTS, ToolCalls } from "./load.ts";

type AiTool = { readonly execute?: ((input: any, options: any) => unknown) | undefined };
type AiMessage = { readonly role: string; readonly content: unknown };
type Part = { readonly type: string; readonly text: string };

export interface AiSdkHooks {
  /** The same tools, with hooks around each call. */
  readonly tools: <T extends { readonly [name: string]: AiTool }>(tools: T) => T;
  /** For `wrapLanguageModel()`: prompts pass the hooks, and a hook that ends the run is obeyed. */
  readonly middleware: {
    readonly specificationVersion: "v3";
    readonly transformParams: <P extends { prompt: AiMessage[] }>(options: { params: P }) => Promise<P>;
  };
}

/** Hooks for `generateText()`, `streamText()` and agents of the AI SDK 6. */
export async function aiSdk(folder: string): Promise<AiSdkHooks> {
  const has = (event: string) => [...TOOL_EVENTS, "user-prompt-submit"].includes(event);
  const calls = new ToolCalls(await hooksOf(folder, "ai-sdk", has), "ai-sdk");
  /** What the model reads of a prompt, which is sent again with every step. */
  const prompts = new Map<string, readonly string[]>();
  const submit = async (prompt: string) => {
    const { decision, reason, modified, value, contexts } = await calls.fire({ event: "user-prompt-submit", prompt });
    if (decision === "deny") throw new Error(`A hook refused the prompt: ${reason}`);
    prompts.set(prompt, [modified ? String(value) : prompt, ...contexts.map(({ text }) => text)]);
  };
  const read = (message: AiMessage): AiMessage => {
    const texts = message.role === "user" ? prompts.get(textOf(message)) : undefined;
    const others = (message.content as readonly Part[]).filter?.(({ type }) => type !== "text");
    return texts ? { ...message, content: [...others, ...texts.map((text) => ({ type: "text", text }))] } : message;
  };
  const hooked = (name: string, tool: AiTool): AiTool => {
    const { execute } = tool;
    if (!execute) return calls.expectRun(name, tool);
    return {
      ...tool,
      execute: (input, options) => calls.run({ name, input, id: options?.toolCallId }, (now) => execute(now, options)),
    };
  };
  return {
    tools: (tools) =>
      Object.fromEntries(Object.entries(tools).map(([name, one]) => [name, hooked(name, one)])) as never,
    middleware: {
      specificationVersion: "v3",
      transformParams: async ({ params }) => {
        const { prompt } = params;
        if (prompt.at(-1)?.role === "user") await submit(textOf(prompt.at(-1)!));
        calls.expectGoing();
        return { ...params, prompt: prompt.map(read) };
      },
    },
  };
}

function textOf({ content }: AiMessage): string {
  const parts = Array.isArray(content) ? content as readonly Part[] : [];
  return parts.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");
}
