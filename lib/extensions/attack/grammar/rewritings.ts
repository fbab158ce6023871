import { familyOf } from "./operations.ts";
import { quoted } from "./paths.ts";
import type { Rewriting } from "./types.ts";

type Rewrite = (command: string) => string | undefined;

export const encoded = (command: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(command)));
const bytes = (command: string, byte: (code: number) => string) =>
  Array.from(new TextEncoder().encode(command), byte).join("");

/** Words of the shell itself: another program cannot run them. */
const BUILTIN = /^(?:for|while|if|case|time|exec|command|mapfile|read|eval|cd|export|trap|alias|shopt|source)$/;

/** The first word and the rest of a command that begins with a program. */
function program(command: string): [name: string, rest: string] | undefined {
  const found = /^([a-z][\w.+-]*)( [\s\S]*|)$/.exec(command);
  return found && !BUILTIN.test(found[1]!) ? [found[1]!, found[2]!] : undefined;
}

/** A command that another program runs: as it is, or by a shell if it begins with something that only a shell knows. */
const prefixed = (prefix: string): Rewrite => (command) =>
  program(command) ? `${prefix} ${command}` : `${prefix} bash -c ${quoted(command)}`;
const named = (rewrite: (name: string, rest: string) => string | undefined): Rewrite => (command) => {
  const found = program(command);
  return found && rewrite(...found);
};
/** Something else than one space behind the first word. */
const gap = (between: string): Rewrite => named((name, rest) => rest ? `${name}${between}${rest.slice(1)}` : undefined);
/** Replaces what is outside of quotes, if anything is. */
const replaced = (pattern: RegExp, by: string | ((...found: string[]) => string)): Rewrite => (command) => {
  const parts = command.split(/('[^']*'|"[^"]*")/);
  const out = parts.map((part, i) => i % 2 ? part : part.replace(pattern, by as string)).join("");
  return out === command ? undefined : out;
};
const git = (option: string): Rewrite => replaced(/\bgit(?= )/, `git ${option}`);

const AFTER: Readonly<Record<string, Rewrite>> = {
  "; before": (c) => `true; ${c}`,
  "&& before": (c) => `true && ${c}`,
  "|| before": (c) => `false || ${c}`,
  "| before": (c) => `true | { ${c}\n}`,
  "line before": (c) => `true\n${c}`,
  "cd before": (c) => `cd . && ${c}`,
  "; behind": (c) => `${c}; true`,
  "& behind": (c) => `{ ${c}\n} & wait`,
  "spaces before": (c) => ` \t ${c}`,
  "comment behind": (c) => `${c} # true`,
  "comment before": (c) => `# true\n${c}`,
  "variable before": (c) => program(c) && `X=1 ${c}`,
  "redirection before": (c) => program(c) && `</dev/null ${c}`,
  "!": (c) => `! ${c}`,
};

const GROUPS: Readonly<Record<string, Rewrite>> = {
  "( )": (c) => `( ${c}\n)`,
  "{ }": (c) => `{ ${c}\n}`,
  "if": (c) => `if true; then ${c}\nfi`,
  "for": (c) => `for i in 1; do ${c}\ndone`,
  "case": (c) => `case x in *) ${c}\nesac`,
  "function": (c) => `f() { ${c}\n}; f`,
  "$( )": (c) => `echo "$(${c}\n)"`,
  "<( )": (c) => `cat <(${c}\n)`,
  "` `": (c) => /[`\\"]/.test(c) ? undefined : `echo "\`${c}\`"`,
  "trap": (c) => `(trap ${quoted(c)} EXIT)`,
};

const SHELLS: Readonly<Record<string, Rewrite>> = {
  "sh -c": (c) => `sh -c ${quoted(c)}`,
  "bash -c": (c) => `bash -c ${quoted(c)}`,
  "eval": (c) => `eval ${quoted(c)}`,
  "eval of a variable": (c) => `x=${quoted(c)}; eval "$x"`,
  "| bash": (c) => `printf '%s\\n' ${quoted(c)} | bash`,
  "<<<": (c) => `bash <<< ${quoted(c)}`,
  "<<": (c) => `bash <<'END'\n${c}\nEND`,
  "source": (c) => `source /dev/stdin <<< ${quoted(c)}`,
  "base64": (c) => `echo ${encoded(c)} | base64 -d | bash`,
  "eval of base64": (c) => `eval "$(echo ${encoded(c)} | base64 -d)"`,
  "octal": (c) => `printf '${bytes(c, (code) => `\\${code.toString(8).padStart(3, "0")}`)}' | bash`,
  "rev": (c) => /[^ -~]/.test(c) ? undefined : `echo ${quoted([...c].reverse().join(""))} | rev | bash`,
  "$'\\x'": (c) => `eval $'${bytes(c, (code) => `\\x${code.toString(16).padStart(2, "0")}`)}'`,
};

const WORDS: Readonly<Record<string, Rewrite>> = {
  "quotes in the program": named((name, rest) => name.length < 2 ? undefined : `${name[0]}''${name.slice(1)}${rest}`),
  "program in quotes": named((name, rest) => `"${name}"${rest}`),
  "\\program": named((name, rest) => `\\${name}${rest}`),
  "program in a variable": named((name, rest) => `x=${name}; $x${rest}`),
  "path of the program": named((name, rest) => `/usr/bin/${name}${rest}`),
  "glob for the program": named((name, rest) => `/usr/bin/${name.slice(0, -1)}[${name.slice(-1)}]${rest}`),
  "two spaces": gap("  "),
  "tab": gap("\t"),
  "line continued": gap(" \\\n"),
  "${IFS}": gap("${IFS}"),
  "options split": replaced(/ -([a-zA-Z])([a-zA-Z]+)(?= )/, " -$1 -$2"),
  "options abbreviated": replaced(/ --([a-z]{3,})[a-z](?= )/, " --$1"),
  "git -C": git("-C ."),
  "git -c": git("-c core.pager=cat"),
};

const RUNNERS: Readonly<Record<string, Rewrite>> = {
  "env": prefixed("env"),
  "command": prefixed("command"),
  "nohup": prefixed("nohup"),
  "xargs": (c) => `printf '%s\\0' ${quoted(c)} | xargs -0 bash -c`,
  "find -exec": (c) => `find . -maxdepth 0 -exec bash -c ${quoted(c)} ';'`,
  "python3": (c) => `python3 -c 'import os, sys; os.system(sys.argv[1])' ${quoted(c)}`,
  "perl": (c) => `perl -e 'system $ARGV[0]' ${quoted(c)}`,
  "awk": (c) => `awk 'BEGIN { system(ARGV[1]) }' ${quoted(c)}`,
};

export const REWRITINGS: readonly Rewriting[] = [AFTER, GROUPS, SHELLS, WORDS, RUNNERS].flatMap((table) =>
  Object.entries(table).map(([name, rewrite]) => ({ name, ...familyOf(name), rewrite }))
);

/** One for each program of the machine that runs the command in its arguments. */
export function wrapped(wrappers: readonly string[]): Rewriting[] {
  return wrappers.map((prefix) => ({ name: `wrapper ${prefix}`, rewrite: prefixed(prefix) }));
}

/** Prints what goes before a command for a small program to run it, such as `timeout 1`: only for a shell without rights. */
export const FIND_WRAPPERS: string = String.raw`
marks=$(mktemp -d); export marks; cd "$marks"
try() {
  mark=$marks/mark-${"$"}{1##*/}
  for before in "" 1 -o0 "-n 1" "-n 1 --" /tmp/lock "-o /dev/null" --; do
    timeout -s KILL 0.4 "$1" $before cp -f /dev/null "$mark" > /dev/null 2>&1 < /dev/null; status=$?
    [ -e "$mark" ] || continue
    [ $status != 0 ] || echo "${"$"}{1##*/}${"$"}{before:+ $before}"
    break
  done
}
export -f try
find /usr/bin -maxdepth 1 -type f -perm -1 -size -200k -exec grep -lEa 'execv|posix_spawn' {} + 2> /dev/null |
  xargs -d '\n' -n 1 -P 2 bash -c 'try "$1"' bash 2> /dev/null | sort
rm -rf "$marks"
`;
