import { checkPrices, type Prices } from "../models/anthropic/prices.ts";
import type { Stop } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import type { Limits } from "../core/limits.ts";
import type { Json, Message, Prompt } from "../core/messages.ts";
import { type ApiTool, type Model, MOST_MARKS, type SystemBlock } from "../core/model.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { shown } from "../core/shown.ts";
import type { Tool } from "../core/tool.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";
import type { CodeHooks } from "../hooks/code-hooks.ts";
import type { HookHost } from "../hooks/process/hook-host.ts";
import { checkMcp, type McpOptions } from "../mcp/servers.ts";
import type { PermissionAsker } from "../permissions/gate.ts";
import type { Permissions } from "../permissions/rules.ts";
import type { TapeOptions } from "../replay/tape-options.ts";
import type { KindsOfAgent } from "../tools/agent.ts";
import { checkQuestionAsker, type QuestionAsker } from "../tools/question-asker.ts";
import type { RunnableTool } from "../tools/make-tool.ts";
import type { MinimalStore } from "../log/stores/memory-store.ts";
import type { Engine, Step } from "./engine.ts";
import type { OutputOption } from "./typed-output.ts";
import { checkModelParams, PARAM_OPTIONS, type ParamOptions } from "./params.ts";
import type { AskedBelow, Below } from "./spawn.ts";

/** Where commands run. With `git`, git may write to `.git`, but for its hooks and settings. */
export type SandboxOption = "workspace" | "hooks" | { mode?: "workspace" | "hooks"; git?: boolean; network?: boolean };

/** What an agent may have, and a run of it in its place. */
interface CommonOptions extends ParamOptions {
  /** A model's name, or a model. @default the environment variable CROCHET_MODEL, else `DEFAULT_MODEL` */
  model?: string | Model;
  limits?: Partial<Limits>;
  /** What models cost that have no list price here, or another one: dollars per million tokens, by the model's name. */
  prices?: Prices;
  /** Rules for tool calls; deny rules of the agent hold for its runs too. @default every call may run: the author chose the tools */
  permissions?: Permissions;
  /**
   * Runs commands where only the workspace can be written and there is no network: those of Bash and hook.toml, and with
   * "hooks" those of all hooks. @default commands run as you
   */
  sandbox?: SandboxOption;
  /** Where transcripts are kept; `save` and `load` are enough. @default in memory */
  store?: MinimalStore;
  /** Puts AGENTS.md and CLAUDE.md into the system prompt, or files of these names. @default false */
  memory?: boolean | readonly string[];
  /**
   * Whether a conversation that has become long is summarised, and from how many tokens on. @default true, at three
   * quarters of the model's `contextWindow`, else at 150_000, and if the API finds it too long
   */
  compact?: boolean | { at: number };
  /** MCP servers whose tools the agent has as `mcp__server__tool`; those of a run are added to the agent's. */
  mcp?: McpOptions;
  /** Runs each model call and tool call: a journal or an engine. @default directly */
  step?: Step | Engine;
  /** A fixture's folder to replay from, or more about a tape. */
  tape?: string | TapeOptions;
  /** Ends the run, or every run of the agent. */
  signal?: AbortSignal;
  /** Where tools work. @default the process's directory */
  cwd?: string;
  /** Called with everything that happens. */
  on?: (event: RunEvent) => void;
}

/** What an agent is made of. Everything is optional: the least agent is `agent({})`. */
export interface AgentOptions extends CommonOptions {
  /** `import.meta.url` of the script: relative paths are resolved against it. */
  from?: string;
  /** @default the script's file name, or "agent" */
  name?: string;
  /** The model to continue with if the first one is overloaded or refuses. */
  fallbackModel?: string;
  /** Its instructions: a text, or blocks of the Messages API with cache marks, which other models read as one text. */
  system?: string | readonly SystemBlock[];
  /** What hooks of `session-start` learn of it: the name of a way to run it, and any settings. @default null */
  profile?: string;
  config?: Json;
  /** Our tools, the SDK's runnable tools, or the API's own, which it runs itself: `{ type: "web_search_20260318", name: "web_search" }`. */
  tools?: readonly (Tool | RunnableTool | ApiTool)[];
  /** A folder of hook files, hooks in code, or a list of both; `[]` is none. @default `./hooks` beside the script, if it has some */
  hooks?: string | CodeHooks | readonly (string | CodeHooks)[];
  /**
   * What a run gives back as `result.output`: a zod schema (or any Standard Schema) or JSON Schema of an object. Asked
   * for by a tool if the agent has tools, else by the form of the answer; `{ schema, as }` says otherwise.
   */
  output?: OutputOption;
}

/** What hooks that are found elsewhere get of the session they belong to. */
export interface HookRunner {
  readonly host: HookHost;
  /** The model for prompt hooks; absent if no model can be reached. */
  readonly prompt: { readonly model: Model | undefined; readonly modelName?: string | undefined };
  readonly warn: (message: string) => void;
  readonly emit: (event: { readonly type: "exec"; readonly exec: unknown }) => void;
  /** Why rules, mode or a person do not let a command of a hook run; `key` names the question to a person. */
  readonly refuses: (command: readonly string[], key: string, signal: AbortSignal) => Promise<string | undefined>;
  /** The command as the session's sandbox runs it, in a folder of the workspace. */
  readonly confine: (command: readonly string[], cwd?: string) => Promise<readonly string[]>;
}

/** What one run or session may have of its own. */
export interface RunOptions extends CommonOptions {
  /** Asks a person if rules or hooks want that; without it such a call is refused. */
  permissionAsker?: PermissionAsker;
  /** Answers the agent's own questions and looks at its plans; without it such a call ends the turn. */
  questionAsker?: QuestionAsker;
  /** Of `permissions` those of the project's config and settings: a tape keeps them apart, and a replay takes them as they are then. */
  rules?: Permissions;
  /** Hooks found elsewhere, after the agent's own: bound to the session once, then asked for at each turn. */
  hooks?: (runner: HookRunner) => () => Promise<readonly HookRecord[]>;
  /** Where the session is logged: a folder, or true for that of the project. @default the project's, but nowhere in tests and where NODE_ENV is production */
  log?: boolean | string;
  /** Each step of its log is on the disk before the next, a call that was cut off runs again, and questions wait for an answer. @default false */
  durable?: boolean;
  /** Goes another way from a model call on, with no prompt: `<id of a run>#7` or `fixtures/fix#3` serves what was before it. */
  from?: string;
  /** The session's id. If its log or journal has an interrupted run of it, that run continues. @default a new one */
  id?: string;
  /** A stored session to continue: its id, and optionally a checkpoint or number of messages to fork from. */
  resume?: string;
  /** Goes on with a log that was not written here, by this user, in this call alone. @default false */
  trust?: boolean;
  fork?: number | string | true;
  /** A conversation to continue that the caller holds, in place of a stored one. */
  messages?: readonly Message[];
}

/** A session of an agent: several prompts, one transcript. Close it. */
export interface AgentSession<O = unknown> {
  readonly id: string;
  /**
   * One prompt of a person and everything it sets off. Never throws. One that is given while another is answered waits for
   * it, and goes before the turns that hooks ask for at its end; so does what `hasMore` says that the person has typed.
   */
  prompt(
    prompt: Prompt,
    options?: ParamOptions & { signal?: AbortSignal; hasMore?: () => boolean },
  ): Promise<ResultOf<O>>;
  /** As `prompt`, with what a program says and no person does: a turn that reads it as a HookInput and does not keep it. */
  hookInput(text: string, options?: ParamOptions & { signal?: AbortSignal }): Promise<ResultOf<O>>;
  /** The conversation so far. */
  readonly messages: readonly Message[];
  /** Changes the model for later calls; a hook may refuse. Returns whether it was changed. */
  setModel(model: string): Promise<boolean>;
  readonly model: string;
  /** Whether the model can be called: one that is only named needs a key. */
  readonly hasModel: boolean;
  /** Marks this moment in the transcript, to be forked from; its id. */
  checkpoint(): Promise<string>;
  /** Summarises what is past to make room. Whether that was done. */
  compact(options?: { signal?: AbortSignal }): Promise<boolean>;
  /** The hooks that are asked now, in order. */
  hooks(): Promise<readonly HookRecord[]>;
  /** The rules that hold now, with those a person added; undefined if every call may run. */
  permissions(): Permissions | undefined;
  /** Runs an agent below another, as an engine's `spawn` asked for it. */
  below(asked: AskedBelow): Promise<Below>;
  close(reason?: string): Promise<void>;
}

/** An agent: a definition that can be run any number of times. */
export interface Agent<O = unknown> {
  readonly name: string;
  /** The script it was made in, if it said so. */
  readonly from?: string;
  /** The model, the prices and the rules it was made with. */
  readonly model?: string | Model;
  readonly prices?: Prices;
  readonly permissions?: Permissions;
  /** The hooks it brings itself, in order: in code, and the folders a session that begins now would load; `load` gives all of them. */
  ownHooks(): Promise<{
    readonly members: readonly (string | readonly HookRecord[])[];
    readonly inCode: readonly HookRecord[];
    readonly folders: readonly string[];
    load(): Promise<readonly HookRecord[]>;
  }>;
  /** The agents that it can start in a directory; undefined if it has no tool for that. `warn` is passed what is wrong. */
  ownAgents(cwd: string, warn: (message: string) => void): Promise<KindsOfAgent | undefined>;
  /** The same agent without hooks, rules, sandbox and limits: what its guards have to hold back. */
  unguarded(): Agent<O>;
  /** Runs one prompt to its end. A wrong option throws; whatever happens after the start is in the Result. */
  run(prompt: Prompt, options?: RunOptions): Promise<ResultOf<O>>;
  /** As `run`, giving each event as it happens; the generator returns the Result. */
  stream(prompt: Prompt, options?: RunOptions): AsyncGenerator<RunEvent, ResultOf<O>>;
  /**
   * Continues a stored session under its id, or a conversation that the caller holds, under `options.id` or a new one.
   * Throws if there is no such id, or it is running.
   */
  resume(past: string | readonly Message[], prompt: Prompt, options?: RunOptions): Promise<ResultOf<O>>;
  /** As `resume`, under a new id, from a checkpoint, a number of messages, or the end. */
  fork(
    past: string | readonly Message[],
    prompt: Prompt,
    options?: RunOptions & { at?: string | number },
  ): Promise<ResultOf<O>>;
  /** Opens a session that takes several prompts. */
  open(options?: RunOptions): Promise<AgentSession<O>>;
  /**
   * Runs the agent as a script: arguments, terminal output, exit code. Takes the flags of `crochet run`. Does nothing
   * if a command loads the script for its agent, as `crochet replay` does.
   */
  main(args?: readonly string[]): Promise<void>;
}

/** How a run ended; of an agent with an output, one that is "done" has it. */
type ResultOf<O> = unknown extends O ? Result
  :
    & Omit<Result, "stop" | "output">
    & (
      | { readonly stop: "done"; readonly output: O }
      | { readonly stop: Exclude<Stop, "done">; readonly output?: undefined }
    );

const COMMON: { readonly [option in keyof CommonOptions]-?: OptionKind } = {
  model: "any",
  limits: "an object",
  ...PARAM_OPTIONS,
  prices: "an object",
  permissions: "an object",
  sandbox: ["workspace", "hooks"],
  store: "an object",
  memory: "true, false or a list of texts",
  compact: "any",
  mcp: "an object",
  step: "any",
  tape: "any",
  signal: "an AbortSignal",
  cwd: "a text",
  on: "a function",
};

export const OPTIONS: { readonly [option in keyof AgentOptions]-?: OptionKind } = {
  ...COMMON,
  from: "a text",
  name: "a text",
  fallbackModel: "a text",
  system: "a text or a list",
  profile: "a text",
  config: "any",
  tools: "a list",
  hooks: "any",
  output: "any",
};

export const RUN_OPTIONS: { readonly [option in keyof RunOptions]-?: OptionKind } = {
  ...COMMON,
  permissionAsker: "a function",
  questionAsker: "an object",
  rules: "an object",
  hooks: "a function",
  log: "any",
  durable: "true or false",
  from: "a text",
  id: "a text",
  resume: "a text",
  trust: "true or false",
  fork: "any",
  messages: "a list",
};

const SANDBOX_OPTIONS = { mode: ["workspace", "hooks"], git: "true or false", network: "true or false" } as const;

export function checkGiven(options: RunOptions | AgentOptions, kinds: Kinds, doing: string): void {
  const { sandbox, ...given } = options;
  checkOptions(typeof options === "object" ? given : options, kinds, doing);
  checkModelParams(given, doing);
  if (given.mcp) checkMcp(given.mcp);
  if (given.prices) checkPrices(given.prices);
  checkSystem((given as AgentOptions).system, doing);
  const { compact, questionAsker } = given as RunOptions;
  if (questionAsker) checkQuestionAsker(questionAsker, doing);
  if (
    compact !== undefined && typeof compact !== "boolean" && !((compact as { at?: unknown } | null)?.at as number > 0)
  ) {
    throw new TypeError(
      `Cannot ${doing} as 'compact' must be true, false or { at: tokens }: current value is ${shown(compact)}`,
    );
  }
  if (typeof sandbox === "object") checkOptions(sandbox, SANDBOX_OPTIONS, `${doing} in a sandbox`);
  else checkOptions({ sandbox }, kinds, doing);
}

const BLOCK = { type: ["text"], text: "a text", cache_control: "an object" } as const;
const MARK = { type: ["ephemeral"], ttl: ["5m", "1h"] } as const;

/** @throws {TypeError} if the API would refuse it */
function checkSystem(system: AgentOptions["system"] = "", doing: string): void {
  if (typeof system === "string") return;
  for (const [i, block] of system.entries()) {
    const where = `${doing} with block ${i} of 'system'`;
    checkOptions(block, BLOCK, where);
    if (!block.type || !block.text) {
      throw new TypeError(`Cannot ${where} as it has no text: give { type: "text", text }`);
    }
    const { cache_control: mark } = block;
    if (mark) checkOptions({ ...mark, type: mark.type ?? null }, MARK, `use the cache mark of block ${i} of 'system'`);
  }
  const marked = system.filter((block) => block.cache_control).length;
  if (marked > MOST_MARKS) {
    throw new TypeError(
      `Cannot ${doing} as ${marked} blocks of 'system' have a cache mark: the API takes ${MOST_MARKS}`,
    );
  }
}

type Kinds = { readonly [option: string]: OptionKind };
