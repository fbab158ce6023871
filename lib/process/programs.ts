import { accessSync, constants, existsSync, readFileSync, statSync } from "node:fs";
import { delimiter, extname, join } from "node:path";
import { quietly } from "../core/json.ts";

/** What runs a script that is not a program itself, by its extension. */
const INTERPRETERS: { readonly [ext: string]: readonly [program: string, ...args: string[]] } = {
  ".sh": ["/bin/sh"],
  ".py": ["/usr/bin/env", "python3"],
  ".rb": ["/usr/bin/env", "ruby"],
  ".pl": ["/usr/bin/env", "perl"],
};

export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
}

/** How a script is started: as the program it is, else by what its `#!` line or its extension names. */
export function programOf(file: { path: string; text: string; executable: boolean }): CommandLine {
  const shebang = /^#![ \t]*(\S+)(?:[ \t]+(.*\S))?[ \t]*$/m.exec(file.text.split("\n", 1)[0]!);
  if (file.executable && shebang) return { command: file.path, args: [] };
  const [command, ...args] = shebang
    ? [shebang[1]!, ...(shebang[2] === undefined ? [] : [shebang[2]])]
    : INTERPRETERS[extname(file.path)] ?? [file.path];
  // As the system reads such a line: all after the program is one argument. Only `env` takes words.
  const words = command!.endsWith("/env") ? args.flatMap((arg) => arg.split(/[ \t]+/)) : args;
  return { command: command!, args: [...words, file.path] };
}

export function programAt(path: string): CommandLine {
  return programOf({ path, text: readFileSync(path, "utf8"), executable: isExecutable(path) });
}

/** The program that a script needs and that is not installed: the one its `#!` line or its extension names. */
export function missingProgram(path: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const { command, args } = programOf({ path, text: readFileSync(path, "utf8"), executable: false });
  const name = command.endsWith("/env") ? args.find((word) => !word.startsWith("-"))! : command;
  return (name.startsWith("/") ? existsSync(name) : onPath(name, env)) ? undefined : name;
}

/** Where a program is installed, by the absolute folders of the PATH. */
export function onPath(name: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const folders = (env.PATH ?? "").split(delimiter).filter((dir) => dir.startsWith("/"));
  return folders.map((dir) => join(dir, name)).find(isProgram);
}

/** Whether there is a file that this process may run. */
export function isProgram(path: string): boolean {
  const isAllowed = () => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  };
  return quietly(isAllowed) ?? false;
}

export function isExecutable(path: string): boolean {
  return (statSync(path).mode & 0o111) !== 0;
}

/** Tools that live in the real home are still found there. */
const TOOL_HOMES: { readonly [name: string]: string } = {
  PYENV_ROOT: ".pyenv",
  RBENV_ROOT: ".rbenv",
  NVM_DIR: ".nvm",
  VOLTA_HOME: ".volta",
  ASDF_DATA_DIR: ".asdf",
  CARGO_HOME: ".cargo",
  RUSTUP_HOME: ".rustup",
  DENO_DIR: ".cache/deno",
};

/** Where such tools are, for a process with another home. */
export function toolHomes(env: Readonly<Record<string, string | undefined>>): { readonly [name: string]: string } {
  const homes = Object.entries(TOOL_HOMES).map(([name, folder]) => [name, env[name] ?? join(env.HOME ?? "", folder)]);
  return Object.fromEntries(homes);
}
