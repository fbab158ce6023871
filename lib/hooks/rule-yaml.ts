import { isObject, type JsonObject } from "../core/json.ts";
import { shown } from "../core/shown.ts";
import { type Kinds, optionFault } from "../input/options.ts";
import { ACTIONS, type Condition, isFieldPath, MOST_NESTED, oneOf, OPERATORS, type Rule, scalarText } from "./rule.ts";
import type { Path, YamlText } from "./yaml.ts";

export const TEST: Kinds = {
  field: "a text",
  operator: "any",
  value: "any",
  and: "a list",
  or: "a list",
  not: "an object",
};
export const RULE: Kinds = { ...TEST, action: "any", reason: "a text", modify_field: "a text", modify_value: "any" };

/** Reads the rules of a list in a YAML text: `{field, operator, value, action, …}`, or `and`, `or`, `not` in place of a field. */
export function readRules(yaml: YamlText, path: Path = []): Rule[] {
  return rulesIn(yaml, path).map(({ read }) => read());
}

/** The rules of a list, each to be read by itself. */
export function rulesIn(yaml: YamlText, path: Path): { readonly given: unknown; readonly read: () => Rule }[] {
  const list = path.reduce<unknown>((value, key) => (value as { [key: string | number]: unknown })[key], yaml.value);
  if (!Array.isArray(list)) throw yaml.mistake(path, "its rules are not a list: begin each rule with '- field:'");
  return list.map((given, i) => ({ given, read: () => ruleOf(given, [...path, i], yaml) }));
}

function ruleOf(given: unknown, path: Path, yaml: YamlText): Rule {
  const rule = fieldsOf(given, path, RULE, yaml);
  const when = conditionOf(rule, path, yaml);
  const { reason } = rule;
  const action = oneOf(ACTIONS, rule.action, "action", (why) => yaml.mistake([...path, "action"], why));
  const change = action === "modify" ? { change: changeOf(rule, path, yaml) } : {};
  const stray = action === "modify" ? undefined : ["modify_field", "modify_value"].find((key) => key in rule);
  if (stray !== undefined) {
    throw yaml.mistake([...path, stray], `'${stray}' means nothing with action '${action}': expected 'modify'`);
  }
  return { when, action, at: yaml.at(path), ...(typeof reason === "string" && { reason }), ...change };
}

function changeOf(rule: JsonObject, path: Path, yaml: YamlText): NonNullable<Rule["change"]> {
  const { modify_field: field, modify_value: value } = rule;
  if (typeof field !== "string" || !isFieldPath(field)) {
    throw yaml.mistake(
      [...path, "modify_field"],
      `${shown(field)} is not a field to set: write 'modify_field: args.name'`,
    );
  }
  if (!("modify_value" in rule)) throw yaml.mistake(path, `its 'modify' has no value: write 'modify_value:'`);
  return { field, value, at: yaml.at([...path, "modify_field"]) };
}

function conditionOf(given: JsonObject, path: Path, yaml: YamlText): Condition {
  const kinds = ["field", "and", "or", "not"].filter((key) => key in given);
  if (kinds.length !== 1) {
    const why = kinds.length === 0 ? "it has no 'field'" : `'${kinds.join("' and '")}' exclude each other`;
    throw yaml.mistake(path, `${why}: give one of field, and, or, not`);
  }
  if (path.length > 2 * MOST_NESTED) {
    throw yaml.mistake(path, `its conditions are nested more than ${MOST_NESTED} deep`);
  }
  const [kind] = kinds as ["field" | "and" | "or" | "not"];
  if (kind === "field") return testOf(given, path, yaml);
  const stray = ["operator", "value"].find((key) => key in given);
  if (stray !== undefined) throw yaml.mistake([...path, stray], `'${stray}' means nothing beside '${kind}'`);
  const inside = (one: unknown, at: Path) => conditionOf(fieldsOf(one, at, TEST, yaml), at, yaml);
  if (kind === "not") return { not: inside(given.not, [...path, kind]) };
  const parts = given[kind] as readonly unknown[];
  if (parts.length === 0) throw yaml.mistake([...path, kind], `'${kind}' needs a list of conditions`);
  const all = parts.map((one, i) => inside(one, [...path, kind, i]));
  return kind === "and" ? { and: all } : { or: all };
}

function testOf({ field, operator, value }: JsonObject, path: Path, yaml: YamlText): Condition {
  const mistake = (key: string) => (why: string) => yaml.mistake([...path, key], why);
  if (typeof field !== "string" || !isFieldPath(field)) {
    throw mistake("field")(`${shown(field)} is not a field: write names joined by dots, such as args.command`);
  }
  const known = oneOf(OPERATORS, operator, "operator", mistake("operator"));
  const compared = scalarText(value);
  if (compared === undefined) {
    throw mistake("value")(`${shown(value)} is not a text, number, true or false: use 'or' for several`);
  }
  return { field, operator: known, value: compared, at: yaml.at([...path, "value"]) };
}

function fieldsOf(given: unknown, path: Path, kinds: Kinds, yaml: YamlText): JsonObject {
  if (!isObject(given)) {
    throw yaml.mistake(path, `${shown(given)} is not a rule with field, operator, value and action`);
  }
  const { reason, ...rest } = given;
  const fields = reason === null ? rest : given;
  const fault = optionFault(fields, kinds);
  if (fault) throw yaml.mistake([...path, fault.option], fault.why);
  return fields;
}
