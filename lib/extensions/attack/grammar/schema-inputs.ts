import { absolute } from "./paths.ts";
import type { AttackCall, Operation, PropertyKind, Target, ToolSchema } from "./types.ts";
import { isObject } from "../../../core/json.ts";

const COMMAND = /^(?:command|cmd|script|code|shell|bash|exec)/i;
const ADDRESS = /url|uri|href|endpoint|address|host/i;
const CONTENT = /content|text|body|data|value|new|replace|message/i;

/** Whatever a foreign tool does with its input may be any of these: a run without guards shows which. */
const ANY = ["outside-writes", "changes", "removes", "reads", "unasked-writes", "later-code", "model-calls"] as const;

/** More values of one field than these are not tried. */
const MOST_VALUES = 8;

/** Operations of tools that the table does not know, from their schemas; and the known ones by other names of their tools. */
export function operationsOf(tools: readonly ToolSchema[], known: readonly Operation[]): Operation[] {
  const names = new Set(known.map(({ tool }) => tool));
  return tools.flatMap((tool) => {
    const aliased = (tool.aliases ?? []).flatMap((alias) =>
      known.filter((operation) => operation.tool === tool.name).map((operation) => renamed(operation, alias))
    );
    return names.has(tool.name) || tool.name === "Agent" ? aliased : [...aliased, ...foreign(tool, known)];
  });
}

function renamed(operation: Operation, tool: string): Operation {
  const call = (target: Target, path: string) => ({ ...operation.call(target, path), tool });
  return { ...operation, name: `${tool}: ${operation.name}`, tool, call };
}

function foreign(tool: ToolSchema, known: readonly Operation[]): Operation[] {
  const fields = textFields(tool.input_schema);
  return [...fields].flatMap(([field, values]) => {
    if (COMMAND.test(field)) {
      return known.filter(({ shell }) => shell).map((operation) => commanded(tool, field, operation));
    }
    // A choice of words is not a text: each of its words is tried beside the other fields.
    if (values.length > 0) return [];
    const address = made(tool, field, "address", ["network"], (_, { port }) => `http://127.0.0.1:${port}/`);
    if (ADDRESS.test(field)) {
      return [address, made(tool, field, "file address", ANY, (path, target) => `file://${absolute(path, target)}`)];
    }
    const choices = CONTENT.test(field) ? [] : choicesOf(fields);
    const nameOf = (chosen: object) => ["path", ...Object.values(chosen)].join(" ");
    return [...choices.map((chosen) => made(tool, field, nameOf(chosen), ANY, (path) => path, chosen)), address];
  });
}

/** A shell's operation by a tool that takes commands under another name. */
function commanded(tool: ToolSchema, field: string, operation: Operation): Operation {
  const call = (target: Target, path: string): AttackCall => ({
    tool: tool.name,
    input: filled(tool, { [field]: operation.call(target, path).input[operation.shell!] }, target),
  });
  return { ...operation, name: `${tool.name}: ${operation.name}`, tool: tool.name, shell: field, call };
}

function made(
  tool: ToolSchema,
  field: string,
  what: string,
  effects: readonly PropertyKind[],
  value: (path: string, target: Target) => string,
  chosen: Readonly<Record<string, unknown>> = {},
): Operation {
  const call = (target: Target, path: string): AttackCall => ({
    tool: tool.name,
    input: filled(tool, { ...chosen, [field]: value(path, target) }, target),
  });
  return { name: `${tool.name}.${field}: ${what}`, effects, tool: tool.name, call };
}

const fieldsOf = (schema: ToolSchema["input_schema"]) =>
  (isObject(schema.properties) ? schema.properties : {}) as Readonly<Record<string, Record<string, unknown>>>;

/** The text fields of a tool, lists of texts too, with the words that are allowed if there is a choice. */
function textFields(schema: ToolSchema["input_schema"]): Map<string, readonly unknown[]> {
  return new Map(
    Object.entries(fieldsOf(schema)).flatMap(([name, field]) => {
      const { type, items, enum: values } = field;
      const isText = type === "string" || Array.isArray(values) ||
        (type === "array" && isObject(items) && items.type === "string");
      return isText ? [[name, Array.isArray(values) ? values.slice(0, MOST_VALUES) : []] as const] : [];
    }),
  );
}

/** One for each word of the first choice that there is, or the one empty choice. */
function choicesOf(fields: ReadonlyMap<string, readonly unknown[]>): Record<string, unknown>[] {
  const choice = [...fields].find(([, values]) => values.length > 0);
  return choice ? choice[1].map((value) => ({ [choice[0]]: value })) : [{}];
}

/** The given fields in the form the schema asks for, and something that fits in all that it requires. */
function filled({ input_schema: schema }: ToolSchema, given: Readonly<Record<string, unknown>>, target: Target) {
  const required = Array.isArray(schema.required) ? schema.required as string[] : [];
  const entries = Object.entries(fieldsOf(schema)).flatMap(([name, field]) => {
    const value = name in given
      ? given[name]
      : required.includes(name) || CONTENT.test(name)
      ? sampleOf(name, field, target)
      : undefined;
    if (value === undefined) return [];
    return [[name, field.type === "array" && !Array.isArray(value) ? [value] : value]];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function sampleOf(name: string, field: Readonly<Record<string, unknown>>, target: Target): unknown {
  if (Array.isArray(field.enum)) return field.enum[0];
  if (field.default !== undefined) return field.default;
  const { minimum = 1 } = field;
  const samples: Readonly<Record<string, unknown>> = {
    ...{ integer: minimum, number: minimum, boolean: true, array: [], object: {} },
    string: /old|search|find|pattern/i.test(name) ? target.text ?? "" : "changed\n",
  };
  return samples[String(field.type)] ?? samples.string;
}
