import { ACTIONS, type Condition, isFieldPath, MOST_NESTED, oneOf, OPERATORS, type Rule, scalarText } from "./rule.ts";
import type { YamlText } from "./yaml.ts";

type Path = readonly (string | number)[];
type Fields = { readonly [key: string]: unknown };

const TEST_KEYS = ["field", "operator", "value", "and", "or", "not"];
const RULE_KEYS = [...TEST_KEYS, "action", "reason", "modify_field", "modify_value"];

/** Reads the rules of a list in a YAML text: `{field, operator, value, action, …}`, or `and`, `or`, `not` in place of a field. */
export function readRules(yaml: YamlText, path: Path = []): Rule[] {
  const reader = new RuleReader(yaml);
  const list = path.reduce<unknown>((value, key) => (value as { [key: string | number]: unknown })[key], yaml.value);
  if (!Array.isArray(list)) throw yaml.mistake(path, "its rules are not a list: begin each rule with '- field:'");
  return list.map((_, i) => reader.rule(list[i], [...path, i]));
}

class RuleReader {
  readonly #yaml: YamlText;

  constructor(yaml: YamlText) {
    this.#yaml = yaml;
  }

  rule(given: unknown, path: Path): Rule {
    const rule = this.#fields(given, path, RULE_KEYS);
    const when = this.#condition(rule, path);
    const { reason } = rule;
    const action = oneOf(ACTIONS, rule.action, "action", (why) => this.#yaml.mistake([...path, "action"], why));
    if (reason !== undefined && reason !== null && typeof reason !== "string") {
      throw this.#yaml.mistake([...path, "reason"], `its reason is ${JSON.stringify(reason)}: expected a text`);
    }
    return {
      when,
      action,
      at: this.#yaml.at(path),
      ...(typeof reason === "string" && { reason }),
      ...this.#change(rule, path),
    };
  }

  #change(rule: Fields, path: Path): Pick<Rule, "change"> {
    const { action, modify_field: field, modify_value: value } = rule;
    if (action !== "modify") {
      const stray = ["modify_field", "modify_value"].find((key) => key in rule);
      if (stray === undefined) return {};
      throw this.#yaml.mistake([...path, stray], `'${stray}' means nothing with action '${action}': expected 'modify'`);
    }
    if (typeof field !== "string" || !isFieldPath(field)) {
      throw this.#yaml.mistake(
        [...path, "modify_field"],
        `${shown(field)} is not a field to set: write 'modify_field: args.name'`,
      );
    }
    if (!("modify_value" in rule)) {
      throw this.#yaml.mistake(path, `its 'modify' has no value: write 'modify_value:'`);
    }
    return { change: { field, value, at: this.#yaml.at([...path, "modify_field"]) } };
  }

  #condition(given: Fields, path: Path): Condition {
    const kinds = ["field", "and", "or", "not"].filter((key) => key in given);
    if (kinds.length !== 1) {
      const why = kinds.length === 0 ? "it has no 'field'" : `'${kinds.join("' and '")}' exclude each other`;
      throw this.#yaml.mistake(path, `${why}: give one of field, and, or, not`);
    }
    const [kind] = kinds as ["field" | "and" | "or" | "not"];
    if (kind === "field") return this.#test(given, path);
    const stray = ["operator", "value"].find((key) => key in given);
    if (stray !== undefined) throw this.#yaml.mistake([...path, stray], `'${stray}' means nothing beside '${kind}'`);
    const inner = given[kind];
    if (kind === "not") return { not: this.#nested(inner, [...path, kind]) };
    if (!Array.isArray(inner) || inner.length === 0) {
      throw this.#yaml.mistake([...path, kind], `'${kind}' needs a list of conditions`);
    }
    const parts = inner.map((_, i) => this.#nested(inner[i], [...path, kind, i]));
    return kind === "and" ? { and: parts } : { or: parts };
  }

  #nested(given: unknown, path: Path): Condition {
    if (path.length > 2 * MOST_NESTED) {
      throw this.#yaml.mistake(path, `its conditions are nested more than ${MOST_NESTED} deep`);
    }
    return this.#condition(this.#fields(given, path, TEST_KEYS), path);
  }

  #test({ field, operator, value }: Fields, path: Path): Condition {
    if (typeof field !== "string" || !isFieldPath(field)) {
      throw this.#yaml.mistake(
        [...path, "field"],
        `${shown(field)} is not a field: write names joined by dots, such as args.command`,
      );
    }
    const known = oneOf(OPERATORS, operator, "operator", (why) => this.#yaml.mistake([...path, "operator"], why));
    const compared = scalarText(value);
    if (compared === undefined) {
      throw this.#yaml.mistake(
        [...path, "value"],
        `${shown(value)} is not a text, number, true or false: use 'or' for several`,
      );
    }
    return { field, operator: known, value: compared, at: this.#yaml.at([...path, "value"]) };
  }

  #fields(given: unknown, path: Path, known: readonly string[]): Fields {
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
      throw this.#yaml.mistake(
        path,
        `${shown(given)} is not a rule with field, operator, value and action`,
      );
    }
    for (const key of Object.keys(given)) {
      oneOf(known, key, "key of a rule", (why) => this.#yaml.mistake([...path, key], why));
    }
    return given as Fields;
  }
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
