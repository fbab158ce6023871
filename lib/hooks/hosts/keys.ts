import type { Host } from "./host.ts";

export function renamed(input: unknown, keys: { readonly [from: string]: string } = {}): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [keys[key] ?? key, value]));
}

/** The same names in the other direction. */
export function inverse(keys: { readonly [from: string]: string } = {}): { readonly [to: string]: string } {
  return Object.fromEntries(Object.entries(keys).map(([from, to]) => [to, from]));
}

/** The names of fields by ours for one of our tools: searches call their folder `path` in every host. */
export function keysFor(tool: string, { inputKeys }: Pick<Host, "inputKeys">): { readonly [theirs: string]: string } {
  return /^(Glob|Grep|LS)$/.test(tool) ? {} : inputKeys ?? {};
}

/** A list of our names of tools as an expression with theirs. */
export function theirNames(tools: Host["tools"]): Host["settings"]["toolMatcher"] {
  const theirs = (name: string) => Object.keys(tools).filter((tool) => tools[tool] === name);
  return (names) => `^(${names.map((name) => theirs(name).join("|") || name).join("|")})$`;
}

/** A new result as the text that it is, or has as its content; else undefined. */
export function resultText(value: unknown): string | undefined {
  const words = typeof value === "string" ? value : (value as { content?: unknown } | null)?.content;
  return typeof words === "string" ? words : undefined;
}
