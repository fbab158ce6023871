import type { Hook, HookRecord } from "../core/hook.ts";
import type { Model } from "../core/model.ts";
import type { HookDefinitions } from "./definition.ts";
import type { DefinitionsOptions } from "./definitions.ts";
import type { PromptHookOptions } from "./prompt-hook.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";

/**
 * A hook that lets a model judge each tool call (S4.20). The model answers `{"ok": true}` or
 * `{"ok": false, "reason": "…"}`; if it cannot be asked, the call is refused.
 *
 * @example
 * ```ts
 * import { agent, matchTool, promptGate } from "crochet";
 * import { Bash } from "crochet/tools";
 * import { scripted } from "crochet/testing";
 *
 * const judge = scripted([{ text: '{"ok": false, "reason": "Nothing may leave this machine"}' }]);
 * const gate = promptGate(judge, "Does this send data away? {{.ToolName}}: {{.Input}}", { modelName: "small" });
 * const model = scripted([{ tools: [{ name: "Bash", input: { command: "curl example.org" } }] }, { text: "I will not" }]);
 * const { denials } = await agent({ model, tools: [Bash], hooks: { preToolUse: matchTool("Bash", gate) } }).run("go");
 * console.log(denials[0]?.reason); // "Nothing may leave this machine"
 * ```
 */
export function promptGate(model: Model, template: string, options: PromptHookOptions = {}): Hook<"pre-tool-use"> {
  checkOptions(options, PROMPT_OPTIONS, "use promptGate()");
  return judge(model, template, options);
}

/**
 * A hook that lets a model judge whether the agent is done (S4.20). If it cannot be asked, the agent stops. Once a hook
 * has sent the agent back it steps aside (`stop_hook_active`), so that no judge keeps an agent forever; `insist` asks it
 * at every stop.
 *
 * @example
 * ```ts
 * import { agent, promptStop } from "crochet";
 * import { scripted } from "crochet/testing";
 *
 * const judge = scripted([{ text: '{"ok": false, "reason": "Run the tests"}' }]);
 * const tested = promptStop(judge, "Did the agent run the tests? It says: {{last_assistant_message}}");
 * const model = scripted([{ text: "Done" }, { text: "Tests pass" }]);
 * console.log((await agent({ model, hooks: { stop: tested } }).run("go")).text); // "Tests pass"
 * ```
 */
export function promptStop(
  model: Model,
  template: string,
  { insist = false, ...options }: PromptHookOptions & { readonly insist?: boolean } = {},
): Hook<"stop"> {
  checkOptions({ insist, ...options }, { ...PROMPT_OPTIONS, insist: "true or false" }, "use promptStop()");
  const ask: Hook<"stop"> = judge(model, template, options);
  return (event, ctx) => event.stop_hook_active && !insist ? undefined : ask(event, ctx);
}

/** Nothing of prompts is loaded before the first event. */
function judge(model: Model, template: string, options: PromptHookOptions): Hook<any> {
  let hook: Promise<Hook<any>> | undefined;
  return async (event, ctx) => {
    hook ??= import("./prompt-hook.ts").then(({ promptJudge }) => promptJudge(model, template, options));
    return await (await hook)(event, ctx);
  };
}

/**
 * Hooks from a definitions file (`hooks.yaml`, or JSON), or from the same object in code (S3.13): give it to
 * `HookRegistry.registerSource`. The file is read when the hooks are loaded.
 *
 * @example
 * ```ts
 * import { definitions, type HookConfig, HookRegistry, type HookRule, wrapToolCall } from "crochet";
 *
 * const rule: HookRule = { field: "args.command", operator: "contains", value: "rm", action: "deny", reason: "No rm" };
 * const guard: HookConfig = { name: "guard", type: "inline", matcher: { events: ["PreToolUse"], tools: ["bash"] }, inline_rules: [rule] };
 * const hooks = new HookRegistry().registerSource(definitions({ hooks: { definitions: [guard] } }));
 * await hooks.load();
 * const why = await wrapToolCall(hooks, "s", "bash", { command: "rm x" }, () => "").catch((error) => error.message);
 * console.log(why); // "No rm"
 * ```
 */
export function definitions(
  from: string | HookDefinitions,
  options: DefinitionsOptions = {},
): () => Promise<readonly HookRecord[]> {
  checkOptions(options, DEFINITIONS_OPTIONS, "use definitions");
  return async () => await (await import("./definitions.ts")).definitions(from, options)();
}

/**
 * The hook files of a folder, as an agent loads its own: give it to `HookRegistry.registerSource`. A file that cannot
 * be loaded is an error of `load()`.
 *
 * @example
 * ```ts
 * import { mkdirSync, writeFileSync } from "node:fs";
 * import { hookFolder, HookRegistry, wrapToolCall } from "crochet";
 *
 * mkdirSync("hooks");
 * writeFileSync("hooks/pre-tool-use@Bash.guard.rules", 'args.command contains "rm" -> deny("No rm")\n');
 * const hooks = new HookRegistry().registerSource(hookFolder("./hooks"));
 * await hooks.load();
 * const why = await wrapToolCall(hooks, "s", "Bash", { command: "rm x" }, () => "").catch((error) => error.message);
 * console.log(why); // "No rm"
 * ```
 */
export function hookFolder(path: string, options: HookFolderOptions = {}): () => Promise<readonly HookRecord[]> {
  checkOptions(options, FOLDER_OPTIONS, "use hookFolder()");
  const { by: prompt, ...rest } = options;
  return async () => (await (await import("./folder.ts")).hookFolders([path], { prompt, ...rest })()).flat();
}

type HookFolderOptions = Pick<DefinitionsOptions, "by" | "host" | "warn">;

const FOLDER_OPTIONS: { readonly [option in keyof HookFolderOptions]-?: OptionKind } = {
  by: "an object",
  host: "an object",
  warn: "a function",
};

const PROMPT_OPTIONS: { readonly [option in keyof PromptHookOptions]-?: OptionKind } = {
  modelName: "a text",
  cache: "seconds, true or false",
};

const DEFINITIONS_OPTIONS: { readonly [option in keyof DefinitionsOptions]-?: OptionKind } = {
  workspace: "a text",
  internal: "an object",
  by: "an object",
  host: "an object",
  onProblem: "a function",
  warn: "a function",
};
