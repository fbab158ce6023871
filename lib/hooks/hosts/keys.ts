import type { Host } from "./host.ts";

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
