import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Stop } from "../core/events.ts";
import { present } from "../core/json.ts";
import { text, totalTokens } from "../core/messages.ts";
import { thrownWords } from "../core/shown.ts";
import { readBrought } from "../files/confine.ts";
import { nearest } from "../input/nearest.ts";
import { type Tool, ToolError, type ToolOutput, type ToolSession } from "../core/tool.ts";
import { tool } from "./make-tool.ts";
import type { Spawned, ToolContext } from "./tool-context.ts";
import { HAS_READ, PROJECT, workspaceOf } from "./tool-state.ts";
import { checkOptions, optionFault, type OptionKind } from "../input/options.ts";
import { builtProgram } from "../runtime/importing.ts";

/** An agent that another can start by name. */
export interface AgentDefinition {
  /** When to use it: the model reads this. */
  readonly description: string;
  /** @default the parent's system prompt */
  readonly system?: string;
  /** Names of the parent's tools it may use. @default all of them */
  readonly tools?: readonly string[];
  /** @default the parent's model */
  readonly model?: string;
}

const DEFINITION: { readonly [field in keyof AgentDefinition]-?: OptionKind } = {
  description: "a text",
  system: "a text",
  tools: "a list of texts",
  model: "a text",
};

/** What the front matter of a definition may say; `name` and `color` are for other hosts. */
const { system: _, ...SHARED } = DEFINITION;
const FRONT_MATTER: { readonly [field: string]: OptionKind } = {
  ...SHARED,
  tools: "a text or a list of texts",
  name: "a text",
  color: "a text",
};

interface AgentToolOptions {
  readonly agents?: { readonly [name: string]: AgentDefinition };
  /** A folder of `<name>.md` files, resolved against the agent's directory. @default "agents" */
  readonly folder?: string;
}

type Known = Required<AgentToolOptions>;
type Kinds = Known["agents"];

/** The agents that a tool can start in a session. */
export interface KindsOfAgent {
  /** The folder of which it reads definitions, from the agent's directory. */
  readonly folder: string;
  /** Defined in code, or inside a program that was built. */
  readonly inCode: Kinds;
  /** Defined in files alone. */
  readonly inFiles: Kinds;
}

export interface AgentTool extends Tool<AgentInput> {
  readonly kinds: (session: ToolSession) => Promise<KindsOfAgent>;
}

interface AgentInput {
  description: string;
  prompt: string;
  subagent_type?: string;
  resume_agent_id?: string;
  run_in_background?: boolean;
}

const GENERAL = "general-purpose";
/** What has no front matter is a page that lies there, unless an agent of its name is asked for. */
const NO_HEAD = "no_definition";

const DESCRIPTION =
  `Starts another agent for a task of its own and returns its final report. It does not see this conversation: put everything
it needs into the prompt. It has the same tools unless its type says otherwise. Several calls in one reply run at the same time. With
run_in_background the call returns at once and the report comes later as a message. With resume_agent_id an earlier agent continues where it stopped.`;

/**
 * The tool that starts agents, with agents of your own.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { agentTool, Read } from "crochet/tools";
 *
 * const reviewer = { description: "Reviews a change", system: "You review code.", tools: ["Read"] };
 * const lead = agent({ name: "lead", tools: [Read, agentTool({ agents: { reviewer } })] });
 * ```
 */
export function agentTool(given: AgentToolOptions = {}): AgentTool {
  checkOptions(given, { agents: "an object", folder: "a text" }, "make the tool that starts agents");
  for (const [name, definition] of Object.entries(given.agents ?? {})) {
    checkOptions(definition, DEFINITION, `start agents of type '${name}'`);
    if (definition.description !== undefined) continue;
    throw new TypeError(`Cannot start agents of type '${name}' as it has no 'description': say what it is for`);
  }
  const { agents, folder = "agents" } = given;
  // Twice: those in code come first, and win.
  const inCode: Kinds = { ...agents, ...builtProgram()?.agents?.[folder], ...agents };
  const options = { folder, agents: inCode };
  const made = tool<AgentInput>({
    name: "Agent",
    aliases: ["Task"],
    description: descriptionOf(inCode),
    describe: async (session) => descriptionOf({ ...inCode, ...await inFiles(session, options) }),
    effect: "write",
    parallel: true,
    input: {
      type: "object",
      properties: {
        description: { type: "string", description: "The task in three to five words" },
        prompt: { type: "string", description: "The whole task" },
        subagent_type: { type: "string", description: `The kind of agent; default: ${GENERAL}` },
        resume_agent_id: {
          type: "string",
          description: "The ID, from its report, of an agent to continue; its kind stays the same",
        },
        run_in_background: { type: "boolean", description: "Return at once; the report comes later" },
      },
      required: ["description", "prompt"],
      additionalProperties: false,
    },
    run: (input, context) => start(input, context, options),
    render: (response: { content?: { text?: string }[] }) => (response.content ?? []).map((c) => c.text ?? "").join(""),
  });
  const kinds = async (session: ToolSession) => ({ folder, inCode, inFiles: await inFiles(session, options) });
  return { ...made, kinds };
}

/** The tool that starts agents: general ones, and those described in `agents/<name>.md`. */
export const Agent: AgentTool = agentTool();

/** What the model reads: which agents the user has defined, and when to use each. */
function descriptionOf(kinds: Kinds): string {
  if (Object.keys(kinds).length === 0) return DESCRIPTION;
  const all = { [GENERAL]: { description: "Any task" }, ...kinds };
  const lines = Object.entries<AgentDefinition>(all).map(([name, { description, tools }]) =>
    `- ${name}: ${description.replace(/\s+/g, " ")}${tools ? ` (tools: ${tools.join(", ") || "none"})` : ""}`
  );
  return `${DESCRIPTION}\n\nKinds of agent, by subagent_type:\n${lines.join("\n")}`;
}

/** The agents that only files define. */
async function inFiles(session: ToolSession, options: Known): Promise<Kinds> {
  const { state, warn } = session;
  const kinds: { [name: string]: AgentDefinition } = {};
  const { root, folder } = folderFor(session, options.folder);
  for (const name of await namesIn(folder)) {
    if (Object.hasOwn(options.agents, name)) continue;
    try {
      kinds[name] = await definitionIn(root, folder, name, state);
    } catch (error) {
      if ((error as { code?: string }).code !== NO_HEAD) warn((error as Error).message);
    }
  }
  return kinds;
}

async function start(input: AgentInput, context: ToolContext, options: Known): Promise<ToolOutput> {
  if (!context.spawn) throw new ToolError("Cannot start an agent as this tool is not run by one", { code: "no_agent" });
  const type = await typeFor(input, context);
  const { system, model, tools } = await definitionOf(type, context, options);
  const spawned = await context.spawn({
    type,
    prompt: input.prompt,
    description: input.description,
    ...present({ system, model, tools, resume: input.resume_agent_id }),
    ...(input.run_in_background && { background: true }),
  });
  const { usage } = spawned;
  const common = { prompt: input.prompt, agentId: spawned.agent_id, agentType: type };
  if (input.run_in_background) {
    const words = `Agent ${spawned.agent_id} works in the background; its report comes as a later message.`;
    return { content: words, response: { status: "async_launched", ...common, content: [text(words)] } };
  }
  const report = reportOf(spawned);
  return {
    content: report,
    response: {
      status: "completed",
      ...common,
      toolsUsed: [...new Set(spawned.tools)],
      content: [text(report)],
      resolvedModel: spawned.model,
      totalDurationMs: Math.round(spawned.duration_ms),
      totalTokens: totalTokens(usage),
      totalToolUseCount: spawned.tools.length,
      usage,
    },
  };
}

/** A resumed agent keeps its type: as another it would have tools and instructions that are not its own. */
async function typeFor({ subagent_type, resume_agent_id }: AgentInput, { typeOf }: ToolContext): Promise<string> {
  const stored = resume_agent_id === undefined ? undefined : await typeOf?.(resume_agent_id);
  if (stored !== undefined && subagent_type !== undefined && subagent_type !== stored) {
    throw new ToolError(
      `Cannot resume agent '${resume_agent_id}' as a ${subagent_type} as it is a ${stored}: leave subagent_type out`,
      { code: "other_type" },
    );
  }
  return stored ?? subagent_type ?? GENERAL;
}

async function definitionOf(type: string, context: ToolContext, options: Known): Promise<Partial<AgentDefinition>> {
  if (Object.hasOwn(options.agents, type)) return options.agents[type]!;
  const { root, folder } = folderFor(context, options.folder);
  const files = await namesIn(folder);
  if (files.includes(type)) return await definitionIn(root, folder, type, context.state);
  if (type === GENERAL) return {};
  const known = [GENERAL, ...Object.keys(options.agents), ...files];
  const types = `the types are ${known.join(", ")}; did you mean '${nearest(type, known)}'?`;
  throw new ToolError(`Cannot start an agent of type '${type}' as there is no such type: ${types}`, {
    code: "unknown_type",
  });
}

/** What agents of a type are, by what a session can start; undefined if there is no such type. */
export function definitionNamed(type: string, kinds: KindsOfAgent | undefined): Partial<AgentDefinition> | undefined {
  for (const all of [kinds?.inCode, kinds?.inFiles]) if (all && Object.hasOwn(all, type)) return all[type];
  return type === GENERAL ? {} : undefined;
}

/** The folder of definitions: below the agent's own directory, wherever its shell is; in a replay the project's, if it has one. */
function folderFor(context: Pick<ToolContext, "cwd" | "state">, folder: string): { root: string; folder: string } {
  const project = context.state.get(PROJECT) as string | undefined;
  const root = project !== undefined && existsSync(join(project, folder)) ? project : workspaceOf(context);
  return { root, folder: join(root, folder) };
}

async function namesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch(() => []);
  return files.filter((file) => file.endsWith(".md")).map((file) => file.slice(0, -3)).sort();
}

async function definitionIn(root: string, folder: string, name: string, state: ToolSession["state"]) {
  const hasRead = state.get(HAS_READ) as ((path: string, text: string) => void) | undefined;
  return await readDefinition(join(folder, `${name}.md`), hasRead, root);
}

/** Reads `agents/<name>.md`, a file of the project: front matter (description, tools, model), then the system prompt. */
export async function readDefinition(
  path: string,
  hasRead?: (path: string, text: string) => void,
  project = dirname(path),
): Promise<AgentDefinition> {
  const fail = (why: string, code = "bad_definition") => new ToolError(`Cannot use ${path} as ${why}`, { code });
  let text: string;
  try {
    text = new TextDecoder().decode(readBrought(project, path));
  } catch (error) {
    throw fail(`it cannot be read: ${thrownWords(error)}`);
  }
  hasRead?.(path, text);
  const { splitFrontMatter } = await import("../hooks/front-matter.ts");
  const { head, body, unclosed } = splitFrontMatter(text);
  if (unclosed) throw fail("its front matter is never closed: end it with a line '---'");
  if (head === undefined) {
    throw fail("it has no front matter: begin it with '---', a line 'description: …' and '---'", NO_HEAD);
  }
  const { parse } = await import("yaml");
  let fields: Record<string, unknown>;
  try {
    fields = parse(head) as Record<string, unknown>;
  } catch (error) {
    throw fail(`its front matter is not YAML: ${(error as Error).message.split("\n")[0]}`);
  }
  const fault = optionFault(fields ?? {}, FRONT_MATTER);
  if (fault) throw fail(`in its front matter ${fault.why}`);
  const { description, tools, model } = fields ?? {};
  if (typeof description !== "string") throw fail("its front matter has no 'description': say what it is for");
  const names = typeof tools === "string" ? tools.split(",").map((t) => t.trim()).filter(Boolean) : tools;
  return {
    description,
    ...(body.trim() !== "" && { system: body.trim() }),
    ...(names !== undefined && { tools: names as string[] }),
    ...(typeof model === "string" && { model }),
  };
}

/** Why an agent ended that was not done. */
const EARLY: { readonly [stop in Stop]?: string } = {
  max_iterations: "it reached its limit of model calls",
  max_continuations: "a hook kept it going until its limit of continuations",
  stop_hook_stalled: "a hook kept it going though it did nothing more",
  budget: "the budget is spent",
  truncated: "its last reply was cut off by the output limit",
  refused: "the model refused to go on",
  halted: "a hook ended it",
  waiting: "it waits for an answer, which the prompt may give",
};

/** What an agent said in the end, as the one that started it reads it: marked, as a user's message may carry it too. */
export function reportOf({ agent_id, type, text, stop }: Spawned): string {
  // It never began, or its turn was refused: these are the words of a hook, and there is nothing to resume.
  if (stop === "denied") return text;
  const why = stop && EARLY[stop];
  const early = why === undefined ? "" : `, who ended before the task was done as ${why}`;
  const words = text === "" ? "(no words)" : text;
  return `${words}\n\n${marked({ agent_id, type }, early)}`;
}

/** What the agent that started one reads if it failed: with its id, so that it can be resumed. */
export function failureOf(agent: Pick<Spawned, "agent_id" | "type">, message: string): string {
  return `The agent ended with an error: ${message}\n\n${marked(agent)}`;
}

function marked({ agent_id, type }: Pick<Spawned, "agent_id" | "type">, early = ""): string {
  return `[Report of agent ${agent_id} (${type}), not of the user${early}; resume it with resume_agent_id]`;
}
