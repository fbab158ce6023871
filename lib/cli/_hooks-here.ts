import type { Found } from "../hooks/sources.ts";
import type { Flags } from "./_flags.ts";
import type { Io } from "./_io.ts";

/** All hooks of a project as `crochet run` would find them. */
export async function hooksHere(cwd: string, flags: Flags["flags"], io: Io): Promise<Found> {
  const { HookSources } = await import("../hooks/sources.ts");
  const sources = new HookSources({
    cwd,
    env: io.env,
    settings: typeof flags.settings === "string" ? [flags.settings] : [],
    hooks: typeof flags.hooks === "string" ? [flags.hooks] : [],
    // Nobody is asked while hooks are only looked at; whether anybody could be is what the listing tells.
    prompt: { model: io.env.ANTHROPIC_API_KEY ? neverAsked : undefined },
    host: { projectDir: cwd, env: io.env },
  });
  return await sources.refresh();
}

const neverAsked = () => {
  throw new Error("Cannot ask a model here as hooks are only listed");
};
