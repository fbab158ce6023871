import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { readDefinition } from "./prompting/read-answer.ts";
import type { AnyEvent } from "../core/events.ts";
import type { Hook, HookRecord } from "../core/hook.ts";
import { nearest } from "../files/nearest.ts";
import { type Opinion, readNative } from "../core/verdict.ts";
import { type Definition, DefinitionReader, type Path } from "./definition/definition.ts";
import { definitionCommand } from "./definition/definition-command.ts";
import { conditionsOf, momentsOf } from "./definition/definition-match.ts";
import type { HookDefinitions } from "./definition/hook-config.ts";
import { type KindParts, listedNames } from "./file/record.ts";
import { nameWarnings, SEED_TOOLS } from "./known-names.ts";
import type { HookHost } from "./process/host.ts";
import { HookLoadError } from "./file/load-error.ts";
import { programAt } from "./process/program.ts";
import { parseRules } from "./rule/rule-language.ts";
import { type Condition, isToolTest } from "./rule/rule.ts";
import { readRules } from "./rule/rule-yaml.ts";
import { compileTemplate } from "./prompting/template.ts";
import { readYaml, type YamlText } from "./rule/yaml.ts";
import { type PromptModel, promptRecord, warnOff, withoutModel } from "./prompt.ts";
import { compileRules } from "./rules.ts";

export interface DefinitionsOptions {
  /** Where relative scripts and path patterns begin. @default the folder of the file */
  readonly workspace?: string;
  /** The functions that definitions of type `internal` call by their name. */
  readonly internal?: { readonly [name: string]: Hook<any> };
  /** The model for definitions of type `llm`. Without one they are not created (S3.17), or refuse under `on_error: deny`. */
  readonly by?: PromptModel;
  /** What command definitions need of the program that runs them. @default the workspace alone */
  readonly host?: HookHost;
  /** Is told why a definition was dropped; the others work. @default the first mistake is thrown */
  readonly onProblem?: (message: string) => void;
  /** Gets warnings. @default console.warn */
  readonly warn?: (message: string) => void;
}

type Load = () => Promise<readonly HookRecord[]>;

/**
 * Hooks from a definitions file (`hooks.yaml`, or JSON), or from the same object in code (S3.13). Given to
 * `HookRegistry.registerSource`; the file is read when the hooks are loaded.
 */
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

/** Reads the text of a definitions file. */
export async function readDefinitions(
  text: string,
  file: string,
  options: DefinitionsOptions & { readonly workspace: string },
): Promise<HookRecord[]> {
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

function recordsOf(
  yaml: YamlText,
  file: string,
  options: DefinitionsOptions & { readonly workspace: string },
): HookRecord[] {
  const reader = new DefinitionReader(yaml, file);
  if (yaml.value === null) return [];
  const top = reader.fields(yaml.value, [], "'hooks:'", ["hooks"]);
  const hooks = reader.fields(top.hooks ?? {}, ["hooks"], "'definitions:'", ["definitions", "enabled", "llm_model"]);
  const list = hooks.definitions ?? [];
  if (!Array.isArray(list)) throw reader.mistake(["hooks", "definitions"], "'hooks.definitions' is not a list");
  if (hooks.enabled === false) return [];
  const modelName = typeof hooks.llm_model === "string" ? hooks.llm_model : undefined;
  const nobody: PromptModel = { model: undefined };
  const place = { yaml, file, modelName, nobody, reader, host: { projectDir: options.workspace }, ...options };
  const records: HookRecord[] = [];
  for (const i of list.keys()) {
    try {
      const path = ["hooks", "definitions", i];
      const definition = reader.definition(list[i], path, `${file}#${i + 1}`);
      if (records.some((r) => r.name === definition.name)) {
        throw reader.mistake([...path, "name"], `definition '${definition.name}' is there twice: names are ids`);
      }
      const record = recordOf(definition, { ...place, path });
      if (record) records.push(record);
    } catch (error) {
      tellOrThrow(error, options);
    }
  }
  return records;
}

interface Place extends DefinitionsOptions {
  readonly workspace: string;
  readonly host: HookHost;
  readonly yaml: YamlText;
  readonly file: string;
  readonly path: Path;
  readonly modelName: string | undefined;
  /** Stands in where no model was given: one for the whole file, so that it is told once. */
  readonly nobody: PromptModel;
  readonly reader: DefinitionReader;
}

type Parts = KindParts & Pick<HookRecord, "misses" | "namedTools" | "namedFields">;

function recordOf(definition: Definition, place: Place): HookRecord | undefined {
  const { name, timeout, priority, enabled, onError, matcher } = definition;
  const mistake = (key: string, { message }: Error) =>
    place.reader.mistake([...place.path, "matcher", key], `definition '${name}' has a mistake: ${message}`);
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
  place: Place,
): Parts | undefined {
  const { name } = definition;
  const { yaml, file, host, warn = warnOnConsole, by } = place;
  switch (definition.type) {
    case "inline": {
      const rules = readInline(definition.rules!, yaml, file).map((rule) => ({
        ...rule,
        when: withSeedTools(rule.when),
      }));
      return { ...compileRules(rules, file, on.map((o) => o.event)), dialect: "definition" };
    }
    case "command": {
      const { command } = definition;
      return definitionCommand(command === undefined ? scriptOf(definition, place) : { name, command }, host);
    }
    case "llm": {
      const { onError } = definition;
      if (!by && (onError ?? "continue") === "continue") return void warnOff(place.nobody, warn);
      const asked = by ?? place.nobody;
      const template = compileTemplate(definition.prompt!);
      for (const warning of template.warnings) warn(`${file}, definition '${name}': ${warning}`);
      const { cache, model: modelName = place.modelName } = definition;
      const { kind, dialect, run, read } = promptRecord(template, asked, { modelName, cache });
      return { kind, dialect, read, ...withoutModel({ run, misses, onError }, asked, warn) };
    }
    case "internal":
      return internalParts(name, place);
  }
}

/** A script is a file that is started without a shell. */
function scriptOf({ name, script }: Definition, { workspace, reader, path }: Place) {
  try {
    return { name, ...programAt(resolve(workspace, script!)) };
  } catch (error) {
    const { message } = error as Error;
    throw reader.mistake([...path, "script"], `definition '${name}' has a script that cannot be read: ${message}`);
  }
}

/** Rules as a list, or as a text in their one-line form (S3.30). */
function readInline(path: Path, yaml: YamlText, file: string) {
  const lines = yaml.inPlace(path);
  return lines === undefined ? readRules(yaml, file, path) : parseRules(lines, file);
}

/** A rule about a tool by its name of seed S3 holds for the tool that name stands for too. */
function withSeedTools(when: Condition): Condition {
  if ("not" in when) return { not: withSeedTools(when.not) };
  if ("and" in when) return { and: when.and.map(withSeedTools) };
  if ("or" in when) return { or: when.or.map(withSeedTools) };
  const tool = isToolTest(when) ? SEED_TOOLS.get(when.value) : undefined;
  return tool === undefined ? when : { or: [when, { ...when, value: tool }] };
}

function internalParts(name: string, { internal = {}, reader, path }: Place): Parts {
  const hook = Object.hasOwn(internal, name) ? internal[name] : undefined;
  if (!hook) {
    const known = Object.keys(internal);
    const mend = known.length === 0 ? "pass it as internal" : `did you mean '${nearest(name, known)}'?`;
    throw reader.mistake([...path, "name"], `definition '${name}' names no function that was given in code: ${mend}`);
  }
  return {
    kind: "module",
    dialect: "definition",
    run: (event, ctx) => hook(event as never, ctx),
    read: readInternal,
  };
}

/** A function may answer as in code, or as definitions do. */
function readInternal(raw: unknown, { event }: AnyEvent): Opinion {
  const isDefinition = typeof raw === "object" && raw !== null && "modified_data" in raw;
  return isDefinition ? readDefinition(raw, event) : readNative(raw, event);
}
