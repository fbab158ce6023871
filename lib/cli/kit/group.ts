import { nearest } from "../../input/nearest.ts";
import { listed } from "./flags.ts";
import { type Command, EXIT, UsageError } from "./io.ts";

/** The actions of a command of several words, each with what it is for; loaded when called. */
export type Actions = {
  readonly [name: string]: readonly [
    about: string,
    load: () => Promise<{ readonly default: Command }>,
    /** Who calls it, if no person does: such an action is not listed. */
    calledBy?: "programs",
  ];
};

/** A command of several words. */
export type Group = Command & { readonly actions: () => Promise<Actions> };

interface GroupOptions {
  /** The action without a second word. @default it lists the actions */
  readonly bare?: string;
  readonly example: string;
}

/** A command that hands its second word to one of `actions`. */
export function group(name: string, own: Actions, options: GroupOptions): Group {
  const { bare } = options;
  const actions = async () => ({ ...own, ...await (await import("./extension.ts")).addedTo(name) });
  const command: Command = async (args, io) => {
    const [word, ...rest] = args;
    if (word === "--help" || word === "-h" || word === "help" || (word === undefined && bare === undefined)) {
      io.out(groupHelp(name, await actions(), options));
      return EXIT.ok;
    }
    if (bare !== undefined && (word === undefined || word.startsWith("-"))) {
      return await (await own[bare]![1]()).default(args, io);
    }
    // Those of the kernel load no extension.
    const [, load] = actionOf(name, word!, Object.hasOwn(own, word!) ? own : await actions());
    return await (await load()).default(rest, io);
  };
  return Object.assign(command, { actions });
}

/** The action that a word names. @throws {UsageError} if none has that name */
export function actionOf(
  above: string,
  word: string,
  actions: Actions,
  others: readonly string[] = [],
  next?: string,
): Actions[string] {
  if (Object.hasOwn(actions, word)) return actions[word]!;
  const both = `${word} ${next}`;
  throw unknownCommand(above, both in OLD_COMMANDS ? both : word, [...Object.keys(actions), ...others]);
}

/** What to type for a command that went. */
const OLD_COMMANDS: { readonly [typed: string]: string } = {
  "runs checkpoints": "crochet runs show",
  "runs export": "crochet runs show --json",
  tape: "crochet record -- COMMAND",
  "tape mcp": "crochet mcp",
  "tape record": "crochet record --",
  "tape replay": "crochet replay NAME --",
  "tape serve": "crochet fixtures serve",
  transcripts: "crochet runs",
};

/** A word that is none of those that may follow `above`. */
export function unknownCommand(above: string, word: string, known: readonly string[]): UsageError {
  const typed = (last: string | undefined) => [above, last].filter(Boolean).join(" ");
  const now = OLD_COMMANDS[typed(word)] ?? `crochet ${typed(nearest(word, known))}`;
  return new UsageError(`Unknown command '${typed(word)}': did you mean '${now}'?`);
}

/** The actions that people call, below each other. */
export function listedActions(actions: Actions): string[] {
  return listed(Object.entries(actions).flatMap(([name, [about, , by]]) => by === undefined ? [[name, about]] : []));
}

function groupHelp(name: string, actions: Actions, { bare, example }: GroupOptions): string {
  return [
    `crochet ${name} [action]`,
    "",
    ...listedActions(actions),
    "",
    `crochet ${name} <action> --help shows more${bare === undefined ? "" : `; the default action is '${bare}'`}`,
    "",
    "Example",
    `  ${example}`,
    "",
  ].join("\n");
}
