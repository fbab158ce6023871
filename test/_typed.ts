import type { Usage } from "../lib/cli/kit/flags.ts";
import type { Actions, Group } from "../lib/cli/kit/group.ts";

/** A command with the words by which it is called. */
interface Typed {
  readonly typed: string;
  readonly usage: Usage;
  readonly isForPrograms: boolean;
}

/** Every command that has a usage, those of several words too. */
export async function typedIn(actions: Actions, above: readonly string[] = []): Promise<Typed[]> {
  const all = Object.entries(actions).map(async ([word, [, load, calledBy]]) => {
    const { default: command } = await load();
    const words = [...above, word];
    if ("actions" in command) return await typedIn(await (command as Group).actions(), words);
    const { usage } = command as typeof command & { readonly usage: Usage };
    return [{ typed: words.join(" "), usage, isForPrograms: calledBy === "programs" }];
  });
  return (await Promise.all(all)).flat();
}
