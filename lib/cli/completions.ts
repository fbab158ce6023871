import { command, flagsOf, type Usage } from "./_flags.ts";
import { type Actions, everyCommand, type Typed } from "./_group.ts";
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
          `Cannot complete for '${shell ?? ""}' as that shell is not known: expected bash, zsh or fish`,
        );
      }
      io.out(SHELLS[shell as keyof typeof SHELLS](await everyCommand(commands)));
      return EXIT.ok;
    }),
  };
}

/** A flag as a shell needs it. */
interface Flag {
  readonly name: string;
  readonly about: string;
  /** What its value is; undefined if it takes none. */
  readonly value: string | undefined;
}

function flagsFor(usage: Usage | undefined): Flag[] {
  return (usage ? flagsOf(usage) : []).map(([flag, about]) => {
    const [, name, , value] = /^(--[\w-]+)(\s+[<[](.+)[>\]])?$/.exec(flag)!;
    return { name: name!, about, value };
  });
}

/** Those that are one word: what can follow `crochet` itself. */
const top = (all: readonly Typed[]) => all.filter(({ path }) => path.length === 1);
const joined = ({ path }: Typed) => path.join(" ");

/** For bash: no other package is needed. */
function bashScript(all: readonly Typed[]): string {
  const cases = all.map((one) => {
    const words = [...one.actions, ...flagsFor(one.usage).map(({ name }) => name)];
    return `    '${joined(one)}') words='${words.join(" ")}' ;;`;
  });
  const paths = all.map((one) => `'${joined(one)}'`).join(" | ");
  const valued = [...new Set(all.flatMap(({ usage }) => flagsFor(usage)).filter((f) => f.value).map((f) => f.name))];
  return `# crochet completions bash
_crochet() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} at='' next i words
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${at:+$at }\${COMP_WORDS[i]}"
    case $next in
      ${paths}) at=$next ;;
      *) break ;;
    esac
  done
  # A value is a file or a name that only its owner knows.
  case $before in
    ${valued.join(" | ")}) return ;;
  esac
  case $at in
    '') words='${[...top(all).map(joined), "help", "--help", "--version"].join(" ")}' ;;
${cases.join("\n")}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _crochet crochet
`;
}

/** For zsh: to be evaluated, or kept as a file `_crochet` in `$fpath`. */
function zshScript(all: readonly Typed[]): string {
  const about = (name: string, text: string) => quoted(`${name}:${text}`);
  const below = (one: Typed) =>
    one.actions.map((action) => {
      const child = all.find(({ path }) => path.join(" ") === [...one.path, action].join(" "));
      return about(action, child?.about ?? "");
    });
  const cases = all.map((one) => {
    const flags = flagsFor(one.usage).map((flag) => about(flag.name, flag.about));
    return `    ${quoted(joined(one))}) commands=(${below(one).join(" ")}); flags=(${flags.join(" ")}) ;;`;
  });
  return `#compdef crochet
_crochet() {
  local at='' next i
  local -a commands flags
  for ((i = 2; i < CURRENT; i++)); do
    next="\${at:+$at }\${words[i]}"
    case $next in
      ${all.map((one) => quoted(joined(one))).join("|")}) at=$next ;;
      *) break ;;
    esac
  done
  case $at in
    '') commands=(${top(all).map((one) => about(joined(one), one.about)).join(" ")}) ;;
${cases.join("\n")}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe -o flag flags
  elif (( \${#commands} )); then
    _describe command commands
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _crochet ]]; then _crochet "$@"; else compdef _crochet crochet; fi
`;
}

/** For fish. */
function fishScript(all: readonly Typed[]): string {
  const at = (path: string) => `-n ${quoted(`__crochet_at ${quoted(path)}`)}`;
  const lines = all.flatMap((one) => {
    const above = one.path.slice(0, -1).join(" ");
    return [
      `complete -c crochet -f ${at(above)} -a ${quoted(one.path.at(-1)!)} -d ${quoted(one.about)}`,
      ...flagsFor(one.usage).map(({ name, about, value }) =>
        `complete -c crochet ${at(joined(one))} -l ${name.slice(2)}${value === undefined ? "" : " -r"} -d ${
          quoted(about)
        }`
      ),
    ];
  });
  return `# crochet completions fish
function __crochet_at --argument-names wanted
    set -l known ${all.map((one) => quoted(joined(one))).join(" ")}
    set -l at
    set -l typed (commandline -opc)
    for word in $typed[2..-1]
        contains -- (string join ' ' -- $at $word) $known; or break
        set -a at $word
    end
    test "$at" = "$wanted"
end
${lines.join("\n")}
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
