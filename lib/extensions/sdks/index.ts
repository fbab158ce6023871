import type { AiSdkHooks } from "./ai-sdk.ts";
import type { ClaudeAgentSdkHooks } from "./claude-agent-sdk.ts";
import type { OpenAiAgentsHooks } from "./openai-agents.ts";

/** What each SDK is given. */
interface SdkHooks {
  "claude-agent-sdk": ClaudeAgentSdkHooks;
  "ai-sdk": AiSdkHooks;
  "openai-agents": OpenAiAgentsHooks;
}

const SDKS: { readonly [S in keyof SdkHooks]: (folder: string) => Promise<SdkHooks[S]> } = {
  "claude-agent-sdk": async (folder) => (await import("./claude-agent-sdk.ts")).claudeAgentSdk(folder),
  "ai-sdk": async (folder) => (await import("./ai-sdk.ts")).aiSdk(folder),
  "openai-agents": async (folder) => (await import("./openai-agents.ts")).openaiAgents(folder),
};

/**
 * A folder of hook files in the form that another SDK takes: its `hooks` option, a middleware, or tools.
 *
 * @throws {TypeError} naming each hook whose event the SDK has no place for
 * @example
 * ```ts
 * import { mkdirSync, writeFileSync } from "node:fs";
 * import { hooksFor } from "crochet/hosts";
 *
 * mkdirSync("hooks");
 * writeFileSync("hooks/pre-tool-use@rm.guard.ts", `export default () => ({ action: "deny", reason: "No rm" });`);
 * const { tools } = await hooksFor("ai-sdk", "./hooks");
 * const { rm } = tools({ rm: { execute: () => "removed" } });
 * console.log(await rm.execute({}, {}).catch(({ message }) => message)); // "No rm"
 * ```
 */
export function hooksFor<S extends keyof SdkHooks>(sdk: S, folder: string): Promise<SdkHooks[S]> {
  if (!Object.hasOwn(SDKS, sdk)) {
    throw new TypeError(`Cannot give hooks to '${sdk}' as that SDK is not known: ${Object.keys(SDKS).join(", ")}`);
  }
  return SDKS[sdk](folder);
}
