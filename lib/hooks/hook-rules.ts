import { type AnyEvent, type EventName, EVENTS } from "../core/events.ts";
import type { HookRecord } from "../core/hook.ts";
import { isObject, type JsonObject } from "../core/json.ts";
import { fromAction, NO_OPINION, type Opinion } from "../core/verdict.ts";
import { boundedSearch } from "../regex/bounded-search.ts";
import { runaway } from "../regex/runaway.ts";
import type { HookFile } from "./discover.ts";
import { HookLoadError } from "./file/load-error.ts";
import { type KindParts, readHeader, recordBase } from "./file/hook-record.ts";
import { compileNameGlob } from "./name-glob.ts";
import { type Projection, projection } from "./process/wire.ts";
import { namesOf } from "./read-answer.ts";
import { type Condition, fieldReader, type FieldTest, fieldText, isToolTest, type Rule } from "./rule.ts";
import { parseRules } from "./rule-lines.ts";
import { readRules } from "./rule-yaml.ts";
import { readYaml } from "./yaml.ts";

/** The rules of a text, in the form that its file's name says. @throws {HookLoadError} with file, line and column */
export async function rulesIn(text: string, file: string): Promise<readonly Rule[]> {
  return file.endsWith(".rules") ? parseRules(text, file) : readRules(await readYaml(text, file));
}

export async function loadRules(file: HookFile, source: string): Promise<HookRecord> {
  const base = recordBase(file, readHeader(file.text), source);
  const parts = compileRules(await rulesIn(file.text, file.name), file.name, base.on.map(({ event }) => event));
  return { ...base, ...parts, namedTools: [...base.namedTools ?? [], ...parts.namedTools] };
}

type RuleParts = KindParts & Required<Pick<HookRecord, "namedTools" | "namedFields">>;

/** A hook of rules (U13): the first that applies decides. One that could do nothing at any of the events is a mistake. */
export function compileRules(rules: readonly Rule[], file: string, events: readonly EventName[]): RuleParts {
  if (rules.length === 0) {
    throw new HookLoadError(file, undefined, "it holds no rule: add one, or begin its name with '_'");
  }
  const compiled = rules.map((rule) => compileRule(rule, file, events));
  const byEvent = new Map(
    events.map((event) => [
      event,
      compiled.flatMap(({ test, byEvent }) => {
        const answer = byEvent.get(event);
        return answer ? [{ test, answer }] : [];
      }),
    ]),
  );
  const tests = rules.flatMap(({ when }) => testsIn(when));
  return {
    namedTools: tests.flatMap((test) => isToolTest(test) ? [test.value] : []),
    namedFields: tests.map(({ field }) => field),
    kind: "rules",
    dialect: "native",
    run(event) {
      const projected = projection(event);
      for (const { test, answer } of byEvent.get(event.event) ?? []) if (test(projected)) return answer(event);
      return NO_OPINION;
    },
    read: (raw) => raw as Opinion,
  };
}

function testsIn(condition: Condition): FieldTest[] {
  if ("field" in condition) return [condition];
  if ("not" in condition) return testsIn(condition.not);
  return ("and" in condition ? condition.and : condition.or).flatMap(testsIn);
}

type Answer = (event: Parameters<HookRecord["run"]>[0]) => Opinion;

/** A rule counts only at events where its action does something. */
function compileRule(rule: Rule, file: string, events: readonly EventName[]): {
  readonly test: (event: Projection) => boolean;
  readonly byEvent: ReadonlyMap<EventName, Answer>;
} {
  const byEvent = new Map<EventName, Answer>();
  let why: string | undefined;
  for (const event of events) {
    const answer = answerOf(rule, event);
    if (typeof answer === "string") why ??= answer;
    else byEvent.set(event, answer);
  }
  if (byEvent.size === 0 && why !== undefined) throw new HookLoadError(file, rule.change?.at ?? rule.at, why);
  const test = compileCondition(rule.when, file);
  const strict = ["deny", "ask", "halt"].includes(rule.action);
  return { test: (event) => test(event) ?? strict, byEvent };
}

/** What the rule answers at an event, or why it can answer nothing there. */
function answerOf({ action, reason, change }: Rule, event: EventName): Answer | string {
  const beside = reason === undefined ? {} : { reason };
  if (change) {
    const set = subjectSetter(event, change.field, change.value);
    return typeof set === "string" ? set : (fired) => ({ ...beside, value: { to: set(fired) } });
  }
  if (action === "deny" && EVENTS[event].deny === "ignored") return `${event} cannot be denied`;
  try {
    const opinion = Object.freeze(fromAction(event, action, beside));
    return () => opinion;
  } catch (error) {
    return (error as Error).message.replace(/^Cannot use the answer to \w+ as /, "");
  }
}

/** Whether a condition holds; undefined if the text is too long to be sure. */
type Test = (event: Projection) => boolean | undefined;

function compileCondition(condition: Condition, file: string): Test {
  if ("not" in condition) {
    const inner = compileCondition(condition.not, file);
    return (event) => {
      const held = inner(event);
      return held === undefined ? undefined : !held;
    };
  }
  if ("field" in condition) {
    const read = fieldReader(condition.field);
    const compare = comparison(condition, file);
    return (event) => {
      const text = fieldText(read(event));
      return text === undefined ? false : compare(text);
    };
  }
  // `and` is settled by a part that fails, `or` by one that holds; what is unsure leaves the whole unsure.
  const settling = "or" in condition;
  const parts = (settling ? condition.or : condition.and).map((part) => compileCondition(part, file));
  return (event) => {
    let held: boolean | undefined = !settling;
    for (const part of parts) {
      const one = part(event);
      if (one === settling) return settling;
      if (one === undefined) held = undefined;
    }
    return held;
  };
}

type Comparison = (text: string) => boolean | undefined;

function comparison(test: FieldTest, file: string): Comparison {
  const { operator, value, at } = test;
  switch (operator) {
    case "equals":
      return (text) => text === value;
    case "contains":
      return (text) => text.includes(value);
    case "glob":
      try {
        return compileNameGlob(value);
      } catch (error) {
        throw new HookLoadError(file, at, `it has a mistake: ${(error as Error).message}`);
      }
    case "matches":
      return search(value, (why) => new HookLoadError(file, at, why));
  }
}

/** A search that ends in time, or is unsure: a rule that forbids then applies, one that permits does not. */
function search(pattern: string, mistake: (why: string) => HookLoadError): Comparison {
  // Other languages write flags in front.
  const [, flags = "", source] = /^(?:\(\?([ims]+)\))?(.*)$/s.exec(pattern)!;
  let regex: RegExp;
  try {
    regex = new RegExp(source!, flags);
  } catch (error) {
    throw mistake(`'${pattern}' is not a regular expression: ${(error as Error).message}`);
  }
  const why = runaway(regex);
  if (why !== undefined) throw mistake(`'${pattern}' cannot be used safely, ${why}`);
  return boundedSearch(regex);
}

/** How `modify` sets one field of a copy of the subject; a text says why it cannot be set there. */
function subjectSetter(event: EventName, field: string, value: unknown): ((event: AnyEvent) => unknown) | string {
  const subject = EVENTS[event].subject;
  if (subject === null) return `nothing can be modified on ${event}`;
  const roots = namesOf(subject);
  const [root, ...rest] = field.split(".") as [string, ...string[]];
  if (!roots.includes(root)) {
    return `'${field}' is not inside what ${event} can modify: expected ${example(event, roots[0]!)}`;
  }
  const whole = rest.length === 0;
  const expected = (what: string) => `'${field}' is ${what} and cannot be set to ${JSON.stringify(value)}`;
  switch (subject) {
    case "input":
      if (whole && !isObject(value)) return expected("the tool's whole input, an object,");
      return (fired) => put((fired as unknown as JsonObject).input, rest, value);
    case "result":
      if (whole && !isResult(value)) return expected("a result, a text or an object with 'content',");
      return (fired) => whole ? structuredClone(value) : { response: put(responseOf(fired), rest, value) };
    case "turn":
    case "request":
      if (rest.length !== 1 || !(rest[0] === "system" || (rest[0] === "append" && subject === "request"))) {
        return `'${field}' cannot be set by a rule: expected ${example(event, roots[0]!)}`;
      }
      if (typeof value !== "string") return expected("a text");
      return () => ({ [rest[0]!]: value });
    case "retry":
      if (!whole || typeof value !== "boolean") return expected("true or false");
      return () => value;
    default:
      if (!whole || typeof value !== "string") return expected("a text");
      return () => value;
  }
}

function example(event: EventName, root: string): string {
  const { subject } = EVENTS[event];
  if (subject === "turn" || subject === "request") return `${root}.system`;
  return subject === "input" || subject === "result" ? `${root} or a field of it, such as ${root}.name` : root;
}

/** A copy with one field set; what cannot hold the field gives way to an object that can. */
function put(given: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return structuredClone(value);
  if (Array.isArray(given) && /^\d+$/.test(key) && Number(key) <= given.length) {
    const copy = [...given];
    copy[Number(key)] = put(copy[Number(key)], rest, value);
    return copy;
  }
  const copy: { [key: string]: unknown } = isObject(given) ? { ...given } : {};
  copy[key] = put(Object.hasOwn(copy, key) ? copy[key] : undefined, rest, value);
  return copy;
}

function responseOf(event: AnyEvent): unknown {
  return event.event === "post-tool-use" ? event.result?.response : undefined;
}

function isResult(value: unknown): boolean {
  return typeof value === "string" || value === null ||
    (isObject(value) && ("content" in value || "response" in value));
}
