import { bashScript, fishScript, zshScript } from "./_completion-scripts.ts";
import { command, type Usage } from "./_flags.ts";
import { type Actions, everyCommand } from "./_group.ts";
import { type Command, EXIT, UsageError } from "./_io.ts";

const SHELLS = { bash: bashScript, zsh: zshScript, fish: fishScript };

const USAGE: Usage = {
  name: "completions",
  words: "bash|zsh|fish",
  about: "Prints a script that lets a shell complete commands and flags; made from the tables the commands read.",
  flags: [],
  example: `eval "$(crochet completions bash)"`,
};

/** The command, for the table of all commands that it is itself in. */
export function completing(commands: Actions): { readonly default: Command } {
  return {
    default: command(USAGE, async ({ words: [shell] }, io) => {
      if (shell === undefined || !Object.hasOwn(SHELLS, shell)) {
        throw new UsageError(
          `Cannot complete for '${shell ?? ""}' as it is no known shell: expected bash, zsh or fish`,
        );
      }
      io.out(SHELLS[shell as keyof typeof SHELLS](await everyCommand(commands)));
      return EXIT.ok;
    }),
  };
}
