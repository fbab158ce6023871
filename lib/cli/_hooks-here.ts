import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "../agent.ts";
import type { Found } from "../hooks/sources.ts";
import type { Flags } from "./_flags.ts";
import type { Io } from "./_io.ts";

/** All hooks of a project as `crochet run` would have them: with an agent, those it brings itself come first. */
export async function hooksHere(cwd: string, flags: Flags["flags"], io: Io, agent?: Agent): Promise<Found> {
  const { HookSources } = await import("../hooks/sources.ts");
  const own = await agent?.ownHooks();
  const sources = new HookSources({
    cwd,
    env: io.env,
    settings: typeof flags.settings === "string" ? [flags.settings] : [],
    hooks: typeof flags.hooks === "string" ? [flags.hooks] : [],
    // No model is asked while hooks are only listed; whether one could be asked is what the list shows.
    prompt: { model: io.env.ANTHROPIC_API_KEY ? neverAsked : undefined },
    host: { projectDir: cwd, env: io.env },
    ...(own && { scriptFolders: own.folders, listsScript: true }),
  });
  const found = await sources.refresh();
  if (!own) return found;
  const inCode = own.inCode.map((record) => ({ record, scope: "script" as const, source: record.source }));
  return { ...found, listed: [...inCode, ...found.listed] };
}

const neverAsked = () => {
  throw new Error("Cannot ask a model here as hooks are only listed");
};

/** The scripts of a folder that make an agent with `from`, found by reading: these load `./hooks` beside them by themselves. */
export function agentScripts(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|js|mjs)$/.test(entry.name))
    .map(({ name }) => name)
    .filter((name) => /\bagent\(\{[^]*\bfrom\b/.test(readFileSync(join(folder, name), "utf8")))
    .sort();
}

/** What such a script does, as far as reading shows it. */
export function besideWords(script: string): string {
  return `${script} loads its own hooks without 'crochet trust': ./hooks beside it, unless its 'hooks' option says otherwise`;
}
