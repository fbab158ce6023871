import type { Usage } from "./_flags.ts";
import { type Command, EXIT, UsageError } from "./_io.ts";

/** The actions of a command of several words, each with what it is for; loaded when called. */
export type Actions = {
  readonly [name: string]: readonly [about: string, load: () => Promise<{ readonly default: Command }>];
};

/** A command of several words. */
type Group = Command & { readonly actions: Actions };

interface Options {
  /** The action without a second word. @default it lists the actions */
  readonly bare?: string;
  readonly example: string;
}

/** A command that hands its second word to one of `actions`. */
export function group(name: string, actions: Actions, options: Options): Group {
  const { bare } = options;
  const command: Command = async (args, io) => {
    const [word, ...rest] = args;
    if (word === "--help" || word === "-h" || word === "help" || (word === undefined && bare === undefined)) {
      io.out(await groupHelp(name, actions, options));
      return EXIT.ok;
    }
    if (bare !== undefined && (word === undefined || word.startsWith("-"))) {
      return await (await actions[bare]![1]()).default(args, io);
    }
    const action = Object.hasOwn(actions, word!) ? actions[word!] : undefined;
    if (action) return await (await action[1]()).default(rest, io);
    const { nearest } = await import("../files/nearest.ts");
    const near = nearest(word!, Object.keys(actions));
    throw new UsageError(`Unknown command '${name} ${word}': did you mean 'crochet ${name} ${near}'?`);
  };
  return Object.assign(command, { actions });
}

async function groupHelp(name: string, actions: Actions, { bare, example }: Options): Promise<string> {
  const { inLines } = await import("./_flags.ts");
  const names = Object.keys(actions);
  const width = Math.max(...names.map((one) => one.length)) + 2;
  return [
    `crochet ${name} [action]`,
    "",
    ...Object.entries(actions).map(([one, [about]]) => `  ${one.padEnd(width)}${inLines(about, 2 + width)}`),
    "",
    `crochet ${name} <action> --help shows more${bare === undefined ? "" : `; the default action is '${bare}'`}`,
    "",
    "Example",
    `  ${example}`,
    "",
  ].join("\n");
}

/** One command as a person can type it: its words, and its table of flags. */
export interface Typed {
  readonly path: readonly string[];
  readonly about: string;
  readonly usage: Usage | undefined;
  /** The words that can follow, of a command of several. */
  readonly actions: readonly string[];
}

/** Every command and action, with the table it reads its flags by: help and completion cannot differ from it. */
export async function everyCommand(actions: Actions, above: readonly string[] = []): Promise<Typed[]> {
  const found: Typed[] = [];
  for (const [name, [about, load]] of Object.entries(actions)) {
    const { default: command } = await load();
    const path = [...above, name];
    const below = (command as Partial<Group>).actions;
    found.push({ path, about, usage: command.usage, actions: Object.keys(below ?? {}) });
    if (below) found.push(...await everyCommand(below, path));
  }
  return found;
}
