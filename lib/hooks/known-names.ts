import { EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import { kebab } from "../core/names.ts";
import { nearest } from "../input/nearest.ts";
import { TOOL_ALIASES, type ToolRow, TOOLS } from "../input/tool-table.ts";
import { isAboutTool } from "./file/file-name.ts";
import { sampleEvent } from "./samples.ts";

type ToolFields = { readonly [tool: string]: readonly string[] };

/** The tools of `crochet/tools`. */
export const TOOL_FIELDS: ToolFields = Object.fromEntries(
  Object.entries<ToolRow>(TOOLS).flatMap(([tool, { fields, elsewhere }]) =>
    elsewhere ? [] : [[tool, fields.map((field) => field.replace("?", ""))]]
  ),
);

/** Tools of Claude Code, as their names are written. */
export const HOST_TOOLS: readonly string[] = [
  ...Object.keys({ ...TOOLS, ...TOOL_ALIASES }),
  ...["Skill", "TaskUpdate", "TaskList", "TaskGet"],
];

/** Names of tools in seed S3's style, which are aliases in hooks.yaml: `bash`, `write_file`, `multi_edit`. */
export const SEED_TOOLS: ReadonlyMap<string, string> = new Map([
  ...Object.keys(TOOL_FIELDS).flatMap((tool): [string, string][] => [
    [tool.toLowerCase(), tool],
    [kebab(tool).replaceAll("-", "_"), tool],
  ]),
  ["read_file", "Read"],
  ["write_file", "Write"],
  ["edit_file", "Edit"],
]);

type Naming = Pick<HookRecord, "name" | "on" | "namedTools" | "namedFields">;

/** A name that no tool or field has, and the sentence that says so. */
export interface Misnamed {
  readonly name: string;
  readonly of: "tool" | "field";
  readonly message: string;
}

/** What a hook names that is not a tool or field, so that it would never match. `own` are the agent's tools, if they are known. */
export function nameWarnings(record: Naming, own: ToolFields = {}): string[] {
  return [...misnamed(record, own).map(({ message }) => message), ...neverFired(record)];
}

/** That a hook listens only to events of other hosts. */
function neverFired({ name, on }: Naming): string[] {
  if (on.some(({ event }) => EVENTS[event].fires)) return [];
  const events = on.map(({ event }) => event).join(" and ");
  return [`Hook ${name} never runs here as only other hosts fire ${events}: 'crochet hooks install' gives it to them`];
}

export function misnamed(record: Naming, own: ToolFields = {}): Misnamed[] {
  const { namedTools = [], namedFields = [] } = record;
  const faults = [
    ...namedTools.map((name) => ({ name, of: "tool" as const, fault: toolFault(name, own) })),
    ...namedFields.map((name) => ({ name, of: "field" as const, fault: fieldFault(name, record, own) })),
  ];
  return faults.flatMap(({ fault, ...named }) =>
    fault ? [{ ...named, message: `Hook ${record.name} names ${fault}` }] : []
  );
}

function toolFault(name: string, own: ToolFields): string | undefined {
  const meant = nearTool(name, own);
  if (meant !== undefined) return misspelt("tool", name, meant);
  const isKnown = HOST_TOOLS.includes(name) || name.startsWith("mcp__") || Object.hasOwn(own, name);
  return isKnown || Object.keys(own).length === 0 ? undefined : `tool '${name}', which this agent does not have`;
}

function misspelt(what: "tool" | "field", name: string, meant: string): string {
  return `${what} '${name}', which does not exist: did you mean '${meant}'?`;
}

/** The tools a hook names that are not built in: those of MCP servers, of scripts and of other hosts. */
export function notBuiltIn({ namedTools = [] }: Naming): string[] {
  return namedTools.filter((name) => !HOST_TOOLS.includes(name) && nearTool(name) === undefined);
}

/** The tool that a name was most likely meant to be; undefined for a tool's name, or one that is like none. */
export function nearTool(name: string, own: ToolFields = {}): string | undefined {
  const known = [...Object.keys(own), ...HOST_TOOLS];
  return known.includes(name) || name.startsWith("mcp__") ? undefined : SEED_TOOLS.get(name) ?? near(name, known);
}

/** The field of a tool's input that a word was most likely meant to be; undefined for a field, or one that is like none. */
export function nearField(word: string, tool: string): string | undefined {
  const fields = Object.hasOwn(TOOL_FIELDS, tool) ? TOOL_FIELDS[tool]! : [];
  return fields.includes(word) ? undefined : near(word, fields);
}

/** Whether a field is one of other tools alone: of a tool that is not ours the fields are not known. */
export function isOfOthers(field: string, tools: readonly string[]): boolean {
  const has = (tool: string) => TOOL_FIELDS[tool]!.includes(field);
  return tools.length > 0 && tools.every((tool) => Object.hasOwn(TOOL_FIELDS, tool) && !has(tool)) &&
    Object.keys(TOOL_FIELDS).some(has);
}

/** The parts of an event that hold a tool's input. */
const INPUTS = ["args", "input", "tool_input", "original_input"];

function fieldFault(path: string, { on, namedTools = [] }: Naming, own: ToolFields): string | undefined {
  const [root, key] = path.split(".") as [string, string?];
  const all = { ...TOOL_FIELDS, ...own };
  const tools = namedTools.length === 0 ? Object.keys(all) : namedTools.map((name) => nearTool(name, own) ?? name);
  const fields = tools.flatMap((tool) => all[tool] ?? []);
  if (INPUTS.includes(root)) {
    // Of a tool that is not ours the fields are not known.
    if (key === undefined || fields.includes(key) || tools.some((tool) => !Object.hasOwn(all, tool))) return undefined;
    const meant = near(key, fields);
    if (meant !== undefined) return misspelt("field", path, `${root}.${meant}`);
    if (namedTools.length === 0) return undefined;
    return `field '${path}', which no call of ${tools.join(" or ")} has: it has ${fields.join(", ")}`;
  }
  const roots = new Set([...ALIASES, ...on.flatMap(({ event }) => Object.keys(sampleEvent(event, { cwd: "/" })))]);
  if (roots.has(root)) return undefined;
  const isInput = fields.includes(root) && on.some(({ event }) => isAboutTool(event));
  const meant = isInput ? `args.${path}` : near(root, [...roots]);
  return meant && misspelt("field", path, meant);
}

/** What every event has beside its own fields, and other names of these. */
const ALIASES = [
  ...["event_id", "timestamp", "session_id", "agent_id", "parent_agent_id", "agent_type", "turn_id"],
  ...["hook_event_name", "tool", "tool_response", "path", "event_type", "exit_reason", ...INPUTS],
];

/** The known word that a word was most likely meant to be: one typing error (two in a long word), in any case. */
function near(word: string, known: readonly string[]): string | undefined {
  const lower = known.map((one) => one.toLowerCase());
  const found = nearest(word.toLowerCase(), lower, word.length > 5 ? 2 : 1);
  return found && known[lower.indexOf(found)];
}
