import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type AnyEvent, type EventName, EVENTS } from "../core/events.ts";
import type { Hook, HookRecord } from "../core/hook.ts";
import { isObject, type JsonObject, present } from "../core/json.ts";
import { NO_OPINION, type Opinion, readNative } from "../core/verdict.ts";
import { nearest } from "../input/nearest.ts";
import { startOf } from "./command-hook.ts";
import { type Definition, fieldsOf, type HookDefinitions, readEntry } from "./definition.ts";
import { conditionsOf, momentsOf } from "./definition-matcher.ts";
import { HookLoadError } from "./file/load-error.ts";
import { type KindParts, listedNames } from "./file/hook-record.ts";
import { nameWarnings, SEED_TOOLS } from "./known-names.ts";
import type { HookHost } from "./process/hook-host.ts";
import { type ProcessResult, runProcess } from "../process/process.ts";
import { programAt } from "../process/programs.ts";
import { readRan } from "./process/read-result.ts";
import { projection } from "./process/wire.ts";
import { type PromptModel, promptRecord, warnOff, withoutModel } from "./prompt-hook.ts";
import { readDefinition } from "./read-answer.ts";
import { type Condition, isToolTest, type Rule } from "./rule.ts";
import { parseRules } from "./rule-lines.ts";
import { rulesIn } from "./rule-yaml.ts";
import { compileRules } from "./hook-rules.ts";
import { compileTemplate } from "./template.ts";
import { type Path, readYaml, type YamlText } from "./yaml.ts";

export interface DefinitionsOptions {
  /** Where relative scripts and path patterns begin. @default the folder of the file */
  readonly workspace?: string;
  /** The functions that definitions of type `internal` call by their name. */
  readonly internal?: { readonly [name: string]: Hook<any> };
  /** The model for definitions of type `llm`. Without one they are not created (S3.17), or refuse under `on_error: deny`. */
  readonly by?: PromptModel;
  /** What command definitions need of the program that runs them. @default the workspace alone */
  readonly host?: HookHost;
  /** Gets why a definition was dropped; the others work. @default the first mistake is thrown */
  readonly onProblem?: (message: string) => void;
  /** Gets warnings. @default console.warn */
  readonly warn?: (message: string) => void;
}

type Load = () => Promise<readonly HookRecord[]>;

/** As `definitions` of loaded-when-called.ts, which loads this. */
export function definitions(from: string | HookDefinitions, options: DefinitionsOptions = {}): Load {
  const { warn = warnOnConsole } = options;
  const file = typeof from === "string" ? resolve(from) : "the definitions given in code";
  return async () => {
    const text = typeof from === "string"
      ? await readFile(file, "utf8").catch((error) => {
        throw new HookLoadError(file, undefined, `it cannot be read: ${error.message}`);
      })
      : JSON.stringify(from, null, 2);
    const workspace = typeof from === "string" ? dirname(file) : process.cwd();
    const records = await readDefinitions(text, file, { workspace, ...options });
    for (const warning of records.flatMap((record) => nameWarnings(record))) warn(warning);
    return records;
  };
}

const warnOnConsole = (message: string) => console.warn(`crochet: ${message}`);

type PlacedOptions = DefinitionsOptions & { readonly workspace: string };

export async function readDefinitions(text: string, file: string, options: PlacedOptions): Promise<HookRecord[]> {
  try {
    return recordsOf(await readYaml(text, file), file, options);
  } catch (error) {
    tellOrThrow(error, options);
    return [];
  }
}

function tellOrThrow(error: unknown, { onProblem }: DefinitionsOptions): void {
  if (!(error instanceof HookLoadError) || !onProblem) throw error;
  onProblem(error.message);
}

export const HOOKS = { definitions: "a list", enabled: "true or false", llm_model: "a text" } as const;

function recordsOf(yaml: YamlText, file: string, options: PlacedOptions): HookRecord[] {
  if (yaml.value === null) return [];
  const top = fieldsOf(yaml.value, [], "a file of hooks", { hooks: "an object" }, yaml);
  const hooks = fieldsOf(top.hooks ?? {}, ["hooks"], "'hooks'", HOOKS, yaml) as Partial<HookDefinitions["hooks"]>;
  const { definitions: list = [], enabled, llm_model: modelName } = hooks;
  if (enabled === false) return [];
  const noModel: PromptModel = { model: undefined };
  const place = { yaml, file, modelName, noModel, host: { projectDir: options.workspace }, ...options };
  const records: HookRecord[] = [];
  for (const i of list.keys()) {
    try {
      const path = ["hooks", "definitions", i];
      const definition = readEntry(list[i], path, `${file}#${i + 1}`, yaml);
      if (records.some((r) => r.name === definition.name)) {
        throw yaml.mistake([...path, "name"], `definition '${definition.name}' is there twice: names are ids`);
      }
      const record = recordOf(definition, { ...place, path });
      if (record) records.push(record);
    } catch (error) {
      tellOrThrow(error, options);
    }
  }
  return records;
}

interface DefinitionContext extends PlacedOptions {
  readonly host: HookHost;
  readonly yaml: YamlText;
  readonly file: string;
  readonly path: Path;
  readonly modelName: string | undefined;
  /** In place of a missing model: one for the whole file, so that it is reported once. */
  readonly noModel: PromptModel;
}

type Parts = KindParts & Pick<HookRecord, "misses" | "namedTools" | "namedFields">;

function recordOf(definition: Definition, place: DefinitionContext): HookRecord | undefined {
  const { name, timeout, priority, enabled, onError, matcher } = definition;
  const mistake = (key: string, { message }: Error) =>
    place.yaml.mistake([...place.path, "matcher", key], `definition '${name}' has a mistake: ${message}`);
  const on = momentsOf(matcher, mistake);
  const misses = conditionsOf(matcher, place.workspace, mistake);
  const parts = partsOf(definition, on, misses, place);
  if (!parts) return undefined;
  const tools = [...matcher.tools?.flatMap(listedNames) ?? [], ...parts.namedTools ?? []];
  const written = [...matcher.tools ?? [], ...matcher.path_patterns ?? [], ...matcher.model_patterns ?? []].join("|");
  return {
    name,
    on,
    ...(written !== "" && { matcher: written }),
    ...(misses && { misses }),
    priority,
    mode: "gate",
    timeout,
    ...(onError !== undefined && { onError }),
    lenient: true,
    enabled,
    source: place.file,
    ...parts,
    namedTools: tools.filter((name) => !SEED_TOOLS.has(name)),
  };
}

function partsOf(
  definition: Definition,
  on: HookRecord["on"],
  misses: HookRecord["misses"],
  place: DefinitionContext,
): Parts | undefined {
  const { name } = definition;
  const { file, host, warn = warnOnConsole, by } = place;
  switch (definition.type) {
    case "inline": {
      const events = on.map((o) => o.event);
      const rules = readInline(definition.rules!, events, place);
      const both = rules.map((rule) => ({ ...rule, when: withSeedTools(rule.when) }));
      return { ...compileRules(both, file, events), dialect: "definition" };
    }
    case "command": {
      const { command } = definition;
      return definitionCommand(command === undefined ? scriptOf(definition, place) : { name, command }, host);
    }
    case "llm": {
      const { onError } = definition;
      if (!by && (onError ?? "continue") === "continue") return void warnOff(place.noModel, warn);
      const asked = by ?? place.noModel;
      const template = compileTemplate(definition.prompt!);
      for (const warning of template.warnings) warn(`${file}, definition '${name}': ${warning}`);
      const { cache, model: modelName = place.modelName } = definition;
      const parts = promptRecord(template, asked, { modelName, cache });
      return { ...parts, ...withoutModel({ ...parts, ...present({ misses, onError }) }, asked, warn) };
    }
    case "internal":
      return internalParts(name, place);
  }
}

/** A script is a file that is started without a shell. */
function scriptOf({ name, script }: Definition, { workspace, yaml, path }: DefinitionContext) {
  try {
    return { name, ...programAt(resolve(workspace, script!)) };
  } catch (error) {
    const { message } = error as Error;
    throw yaml.mistake([...path, "script"], `definition '${name}' has a script that cannot be read: ${message}`);
  }
}

/** Rules as a list, or as a text (S3.30). One that cannot be read is reported, and denies instead unless it permits something. */
function readInline(path: Path, events: readonly EventName[], place: DefinitionContext): Rule[] {
  const { yaml, file, onProblem: report = place.warn ?? warnOnConsole } = place;
  const checked = (rule: Rule): readonly Rule[] => {
    compileRules([rule], file, events);
    return [rule];
  };
  const readable = (read: () => readonly Rule[], action?: unknown): readonly Rule[] => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof HookLoadError)) throw error;
      report(error.message);
      const permits = action === "continue" || action === "allow" || action === "modify";
      if (permits || events.every((event) => EVENTS[event].deny === "ignored")) return [];
      // Why is reported above, once.
      return [{ when: { and: [] }, action: "deny", reason: "One of its rules cannot be read", at: yaml.at(path) }];
    }
  };
  const lines = yaml.inPlace(path);
  if (lines === undefined) {
    return rulesIn(yaml, path).flatMap(({ given, read }) =>
      readable(() => checked(read()), isObject(given) ? given.action : undefined)
    );
  }
  // A text that cannot be taken apart counts as one rule: where each ends is not known.
  return readable(() => parseRules(lines, file)).flatMap((rule) => readable(() => checked(rule), rule.action));
}

/** A rule about a tool by its name of seed S3 also holds for the tool that it means. */
function withSeedTools(when: Condition): Condition {
  if ("not" in when) return { not: withSeedTools(when.not) };
  if ("and" in when) return { and: when.and.map(withSeedTools) };
  if ("or" in when) return { or: when.or.map(withSeedTools) };
  const tool = isToolTest(when) ? SEED_TOOLS.get(when.value) : undefined;
  return tool === undefined ? when : { or: [when, { ...when, value: tool }] };
}

function internalParts(name: string, { internal = {}, yaml, path }: DefinitionContext): Parts {
  const hook = Object.hasOwn(internal, name) ? internal[name] : undefined;
  if (!hook) {
    const known = Object.keys(internal);
    const fix = known.length === 0 ? "pass it as internal" : `did you mean '${nearest(name, known)}'?`;
    throw yaml.mistake([...path, "name"], `definition '${name}' names no function that was given in code: ${fix}`);
  }
  return { kind: "module", dialect: "definition", run: (event, ctx) => hook(event as never, ctx), read: readInternal };
}

/** A function may answer as in code, or as definitions do. */
function readInternal(raw: unknown, { event }: AnyEvent): Opinion {
  const isDefinition = typeof raw === "object" && raw !== null && "modified_data" in raw;
  return isDefinition ? readDefinition(raw, event) : readNative(raw, event);
}

/** A command of a definition: the event as JSON on stdin, `{action, reason, modified_data}` on stdout; exit code 2 denies. */
function definitionCommand(
  command: { readonly name: string; readonly command: string; readonly args?: readonly string[] },
  host: HookHost,
): KindParts {
  return {
    kind: "command",
    dialect: "definition",
    async run(event, ctx) {
      const { place, ...watched } = await startOf(command, { host, event, ctx });
      return runProcess({ ...place, ...watched, input: `${JSON.stringify(written(event))}\n` });
    },
    read: (raw, { event }) => {
      const read = (json: JsonObject) => Object.keys(json).length === 0 ? NO_OPINION : readDefinition(json, event);
      return readRan(raw as ProcessResult, read).opinion;
    },
  };
}

/** The event under its names on the wire and under those of rules and templates, with the fields of S3.34 and S3.35. */
function written(event: AnyEvent): object {
  const projected = projection(event);
  const { tool, args, result, path, error, duration_ms, event_type, profile, config, exit_reason } = projected;
  // A definition sees both outcomes under one name (S3.34).
  const seed = event.event === "post-tool-use" ? { event: "PostToolUse" } : {};
  const named = { ...seed, tool, args, result, path, error, duration_ms, event_type, profile, config, exit_reason };
  return { ...JSON.parse(JSON.stringify(projected)), ...named };
}
