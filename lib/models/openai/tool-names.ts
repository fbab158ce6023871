import { isToolUse } from "../../core/messages.ts";
import type { ModelRequest } from "../../core/model.ts";
import { hashOf } from "../../runtime/sha256.ts";

/** The API takes no longer name. */
const LONGEST = 64;

/** The names of a request's tools as the API takes them: a long one is cut, with a hash to tell it from others. */
export function toolNames({ tools, messages }: Pick<ModelRequest, "tools" | "messages">): {
  readonly short: (name: string) => string;
  readonly long: (name: string) => string;
} {
  const shortened = new Map<string, string>();
  const called = messages.flatMap(({ content }) => content.filter(isToolUse));
  for (const { name } of [...tools, ...called]) if (isLong(name)) shortened.set(shortOf(name), name);
  return { short: (name) => isLong(name) ? shortOf(name) : name, long: (name) => shortened.get(name) ?? name };
}

function isLong(name: unknown): name is string {
  return typeof name === "string" && name.length > LONGEST;
}

function shortOf(name: string): string {
  const hash = hashOf(name, 8);
  return `${name.slice(0, LONGEST - hash.length - 1)}_${hash}`;
}
