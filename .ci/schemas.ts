/**
 * JSON schemas (draft-07) of the files that people write, made from the tables by which these files are read: for editors, in `dist/schemas`.
 * A schema is never stricter than its reader (test/package/schemas.property.test.ts).
 */
import { FIELDS } from "../lib/extensions/check/examples/example.ts";
import { SETTINGS } from "../lib/cli/kit/config.ts";
import { CASE, FILE, RULES } from "../lib/extensions/eval/cases.ts";
import { EVENT_NAMES, pascal } from "../lib/core/names.ts";
import { COMMON, HOOK_TYPES, MATCHER, NEEDED, OWN } from "../lib/hooks/definition.ts";
import { HOOKS } from "../lib/hooks/definitions.ts";
import { ACTIONS, OPERATORS } from "../lib/hooks/rule.ts";
import { RULE, TEST } from "../lib/hooks/rule-yaml.ts";
import { KEYS } from "../lib/hooks/toml.ts";
import { KINDS, type OptionKind, type Schema } from "../lib/input/options.ts";

type Properties = { readonly [name: string]: Schema };

const EMPTY = { enum: [null] };
const SOME_TEXT = { type: "string", pattern: "\\S" };
const FIELD_PATH = { type: "string", pattern: "^(?!(?:.*\\.)?__proto__(?:\\.|$))[A-Za-z_][\\w-]*(?:\\.[\\w-]+)*$" };

/** Words that an editor offers, among any others. */
const suggested = (words: readonly string[]): Schema => ({ anyOf: [{ enum: words }, { type: "string" }] });
const EVENT = suggested(EVENT_NAMES.flatMap((name) => [name, pascal(name)]));

const orEmpty = (schema: Schema): Schema => ({ anyOf: [schema, EMPTY] });

const kind = (of: OptionKind): Schema => typeof of === "string" ? KINDS[of][1] : { enum: of };

function each<T>(table: { readonly [name: string]: T }, schema: (of: T) => Schema): Properties {
  return Object.fromEntries(Object.entries(table).map(([name, of]) => [name, schema(of)]));
}

function object(properties: Properties, more: Schema = {}): Schema {
  return { type: "object", properties, additionalProperties: false, ...more };
}

/** The same in `hooks.yaml`, where what is left empty is not there. */
function emptyOr(properties: Properties, more: Schema = {}): Schema {
  return object(properties, { additionalProperties: EMPTY, ...more });
}

const having = (...names: readonly string[]): Schema => ({ required: names });
const without = (...names: readonly string[]): Schema => ({ not: { anyOf: names.map((name) => having(name)) } });

/** Settings, with their parts. */
function settings(table: typeof SETTINGS): Schema {
  return object(each(table, ({ is: [, schema], parts }) => ({ ...schema, ...(parts && settings(parts)) })));
}

/** One of `field`, `and`, `or` and `not`; only a test of a field has an operator and a value. */
const CONDITION: Schema = {
  anyOf: [
    { ...having("field", "operator", "value"), ...without("and", "or", "not") },
    ...["and", "or", "not"].map((name) => ({
      ...having(name),
      ...without(...["field", "and", "or", "not", "operator", "value"].filter((other) => other !== name)),
    })),
  ],
};

const test: Properties = {
  ...each(TEST, kind),
  field: FIELD_PATH,
  operator: { enum: OPERATORS },
  value: { type: ["string", "number", "boolean"] },
  ...Object.fromEntries(["and", "or"].map((name) => [
    name,
    { type: "array", minItems: 1, items: { $ref: "#/definitions/condition" } },
  ])),
  not: { $ref: "#/definitions/condition" },
};

const definitions: Properties = {
  condition: object({ ...test, reason: EMPTY }, CONDITION),
  rule: object({
    ...each(RULE, kind),
    ...test,
    ...{ action: { enum: ACTIONS }, reason: orEmpty(KINDS["a text"][1]), modify_field: FIELD_PATH },
  }, {
    ...CONDITION,
    required: ["action"],
    if: { properties: { action: { const: "modify" } } },
    then: having("modify_field", "modify_value"),
    else: without("modify_field", "modify_value"),
  }),
};

const rules: Schema = { type: "array", items: { $ref: "#/definitions/rule" } };

/** One entry of `hooks.yaml`: of the fields that belong to types, those of its own. */
function entry(): Schema {
  const fields = Object.assign({}, ...Object.values(OWN)) as Properties;
  const inline = orEmpty({ anyOf: [{ type: "string" }, rules] });
  const matcher = emptyOr({ ...each(MATCHER, (of) => orEmpty(kind(of))), events: orEmpty(oneOrMany(EVENT)) });
  const properties = {
    ...each({ ...COMMON, ...fields } as typeof COMMON, (of) => orEmpty(kind(of))),
    ...{ name: orEmpty(SOME_TEXT), type: kind(HOOK_TYPES), matcher: orEmpty(matcher) },
    ...{ inline_rules: inline, rules: inline },
  };
  const ofType = (type: typeof HOOK_TYPES[number]): Schema => {
    const { keys } = NEEDED[type];
    const isThere = (key: string) => ({ ...having(key), properties: { [key]: { not: { enum: [null, "", []] } } } });
    return {
      if: { properties: { type: { const: type } } },
      then: {
        properties: Object.fromEntries(
          Object.keys(fields).filter((key) => !Object.hasOwn(OWN[type], key)).map((key) => [key, EMPTY]),
        ),
        ...(keys.length > 0 && { oneOf: keys.map(isThere) }),
      },
    };
  };
  return emptyOr(properties, { required: ["type"], allOf: HOOK_TYPES.map(ofType) });
}

const oneOrMany = (one: Schema): Schema => ({ anyOf: [one, { type: "array", items: one }] });

/** Definitions that are all switched off are not read. */
function hooks(): Schema {
  return emptyOr(each(HOOKS, (of) => orEmpty(kind(of))), {
    if: { properties: { enabled: { const: false } }, required: ["enabled"] },
    else: { properties: { definitions: orEmpty({ type: "array", items: entry() }) } },
  });
}

function turn(keys: typeof KEYS): Schema {
  return object({ ...each(keys, kind), command: SOME_TEXT }, { required: ["command"] });
}

function cases(): Schema {
  const files = { anyOf: [KINDS["a text"][1], KINDS["texts by name"][1]] };
  const name = { type: "string", pattern: "^\\w[\\w.-]{0,99}$" };
  const one = object({ ...each(CASE, kind), name, files }, {
    required: ["name"],
    oneOf: [having("prompt"), { ...having("prompts"), properties: { prompts: { minItems: 1 } } }, having("user")],
  });
  const list = { type: "array", minItems: 1, items: one };
  return object({ ...each(FILE, kind), permissions: object(each(RULES, kind)), cases: list }, { required: ["cases"] });
}

const { run_on_hook_input: _, ...atEnd } = KEYS;

/** By the name of its file: what it is of, and the schema. */
const SCHEMAS: { readonly [name: string]: readonly [title: string, schema: Schema] } = {
  cases: ["Cases of crochet eval", cases()],
  config: [".crochet/config.yaml", { ...settings(SETTINGS), type: ["object", "null"] }],
  examples: [
    "*.examples.yaml: examples of a hook",
    { type: "array", minItems: 1, items: object(each(FIELDS, ({ is: [, schema] }) => schema)) },
  ],
  "hook-toml": [".agent/hook.toml", object({ turn_start: turn(KEYS), turn_end: turn(atEnd) })],
  hooks: ["hooks.yaml: definitions of hooks", {
    ...emptyOr({ hooks: orEmpty(hooks()) }),
    type: ["object", "null"],
    definitions,
  }],
  rules: ["*.rules.yaml: rules of a hook", { ...rules, definitions }],
  turns: ["Turns of crochet record", { type: "array", minItems: 1, items: SOME_TEXT }],
};

/** The files, by name. */
export const schemas: { readonly [file: string]: Schema } = Object.fromEntries(
  Object.entries(SCHEMAS).map(([name, [title, schema]]) => [
    `${name}.json`,
    { $schema: "http://json-schema.org/draft-07/schema#", title, ...schema },
  ]),
);
