import type { HookFile } from "./discover.ts";

/** What runs a script that is no program by itself, by its extension. */
const INTERPRETERS: { readonly [ext: string]: readonly [program: string, ...args: string[]] } = {
  ".sh": ["/bin/sh"],
  ".py": ["/usr/bin/env", "python3"],
  ".rb": ["/usr/bin/env", "ruby"],
  ".pl": ["/usr/bin/env", "perl"],
};

/** How a script is started: as the program it is, else by what its `#!` line or its extension names. */
export function programOf(file: HookFile): { readonly command: string; readonly args: readonly string[] } {
  const shebang = /^#![ \t]*(\S+)(?:[ \t]+(.*\S))?[ \t]*$/m.exec(file.text.split("\n", 1)[0]!);
  if (file.executable && shebang) return { command: file.path, args: [] };
  const [command, ...args] = shebang
    ? [shebang[1]!, ...(shebang[2] === undefined ? [] : [shebang[2]])]
    : INTERPRETERS[file.ext] ?? [file.path];
  // As the system reads such a line: all after the program is one argument. Only `env` takes words.
  const words = command!.endsWith("/env") ? args.flatMap((arg) => arg.split(/[ \t]+/)) : args;
  return { command: command!, args: [...words, file.path] };
}
