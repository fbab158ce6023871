import { isObject } from "../../core/json.ts";
import { isToolResult, type Message } from "../../core/messages.ts";
import { comparable, unmarked } from "../canonical.ts";
import { isPlain, type Normalise, normalised, normalisedHead } from "../normalise.ts";
import type { TapeRequest } from "../tape.ts";

/**
 * The cause of a difference: the author's words (`prompt`), a tool's description or result (`tool`), the agent, which
 * altered the model's own turn (`echo`), the SDK or the API (`wire`), or none of them: the same calls, otherwise (`order`).
 */
export type Cause = "prompt" | "tool" | "echo" | "wire" | "order";

/** The first place where two requests differ. What is absent on one side is undefined there. */
export interface Difference {
  readonly cause: Cause;
  readonly path: string;
  readonly expected?: unknown;
  readonly actual?: unknown;
}

/** Where a request first differs from a recorded one; undefined if they are the same to a tape. */
export function firstDifference(
  expected: TapeRequest,
  actual: TapeRequest,
  normalise?: Normalise,
): Difference | undefined {
  const [was, is] = [normalisedHead(expected, normalise), normalisedHead(actual, normalise)];
  return within("model", "prompt", was.model, is.model) ??
    paramsDiffer(was.params, is.params) ??
    systemDiffers(was.system, is.system) ??
    within("tools", "tool", was.tools.map(unmarked), is.tools.map(unmarked)) ??
    messagesDiffer(expected.messages, actual.messages, normalise);
}

function within(path: string, cause: Cause, expected: unknown, actual: unknown): Difference | undefined {
  const found = differs(expected, actual, path);
  return found && { cause, ...found };
}

function paramsDiffer(expected: TapeRequest["params"], actual: TapeRequest["params"]): Difference | undefined {
  for (const key of [...new Set([...Object.keys(expected), ...Object.keys(actual)])].sort()) {
    const found = within(key, "prompt", expected[key], actual[key]);
    if (found) return found;
  }
  return undefined;
}

function systemDiffers(expected: TapeRequest["system"], actual: TapeRequest["system"]): Difference | undefined {
  const text = (system: TapeRequest["system"]) =>
    system.length === 0 ? undefined : (system[0] as { text: string }).text;
  const plain = [expected, actual].every((system) => system.length === 0 || isPlain(system));
  return plain
    ? within("system", "prompt", text(expected), text(actual))
    : within("system", "prompt", expected.map(unmarked), actual.map(unmarked));
}

function messagesDiffer(
  expected: readonly Message[],
  actual: readonly Message[],
  normalise: Normalise | undefined,
): Difference | undefined {
  const read = (message: Message | undefined, path: string) => {
    if (message === undefined) return undefined;
    return comparable(normalise ? normalised(message, path, normalise) : message);
  };
  for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
    if (expected[i] === actual[i]) continue;
    const path = `messages.${i}`;
    const [was, is] = [read(expected[i], path), read(actual[i], path)];
    const found = differs(was, is, path);
    if (found) return { cause: causeIn(was, is, found.path), ...found };
  }
  return undefined;
}

function causeIn(was: Message | undefined, is: Message | undefined, path: string): Cause {
  if (was?.role === "assistant" || (was === undefined && is?.role === "assistant")) return "echo";
  const at = Number(path.split(".")[3]);
  const block = (message: Message | undefined) => Number.isNaN(at) ? undefined : message?.content[at];
  const blocks = [block(was), block(is)].filter((b) => b !== undefined);
  return blocks.length > 0 && blocks.every(isToolResult) ? "tool" : "prompt";
}

/** Numbers that JSON has no words for are null in a request: `1e400` of a reply is Infinity here. */
function inJson(value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? null : value;
}

/** The first difference of two values, depth first, in the order of the first one's keys. */
export function differs(
  expected: unknown,
  actual: unknown,
  path: string,
): Pick<Difference, "path" | "expected" | "actual"> | undefined {
  if (inJson(expected) === inJson(actual)) return undefined;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
      if (i >= expected.length) return { path: `${path}.${i}`, actual: actual[i] };
      if (i >= actual.length) return { path: `${path}.${i}`, expected: expected[i] };
      const found = differs(expected[i], actual[i], `${path}.${i}`);
      if (found) return found;
    }
    return undefined;
  }
  if (isObject(expected) && isObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const found = differs(expected[key], actual[key], `${path}.${key}`);
      if (found) return found;
    }
    return undefined;
  }
  return {
    path,
    ...(expected !== undefined && { expected }),
    ...(actual !== undefined && { actual }),
  };
}
