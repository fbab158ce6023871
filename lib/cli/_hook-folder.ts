import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { standings, trust } from "../hooks/trust.ts";
import type { Io } from "./_io.ts";

/**
 * Adds to the project's hooks; `write` gets the folder. A trusted folder stays trusted: the only new bytes are ours, and
 * the user asked for them. Returns whether it is.
 */
export function addToHooks(cwd: string, { env }: Io, write: (folder: string) => void): boolean {
  const folder = join(cwd, "hooks");
  const trusted = !existsSync(folder) || standings(cwd, env).some((s) => s.thing === "hooks" && s.state === "trusted");
  mkdirSync(folder, { recursive: true });
  write(folder);
  if (trusted) trust(cwd, env, "hooks");
  return trusted;
}

/** What there is to do in a folder that is not trusted yet. */
export const UNTRUSTED = "look at ./hooks, then run 'crochet trust'\n";
