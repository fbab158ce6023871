import { type Channels, reaching } from "./channel.ts";
import type { Host } from "./host.ts";

/** A list of our names of tools as an expression with theirs. */
export function theirNames(channels: Channels): Host["settings"]["toolMatcher"] {
  const theirs = (name: string) => reaching(channels, (ours) => ours === name).join("|") || name;
  return (names) => `^(${names.map(theirs).join("|")})$`;
}

/** Our names of tools, and those of the host's that do the same. */
export function alsoIn(channels: Channels, tools: readonly string[]): readonly string[] {
  return [...new Set([...tools, ...reaching(channels, (ours) => tools.includes(ours))])];
}

/** A new result as the text that it is, or has as its content; else undefined. */
export function resultText(value: unknown): string | undefined {
  const words = typeof value === "string" ? value : (value as { content?: unknown } | null)?.content;
  return typeof words === "string" ? words : undefined;
}
