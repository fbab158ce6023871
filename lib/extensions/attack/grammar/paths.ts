import { basename, dirname, isAbsolute, join } from "node:path";
import { shellWord as word } from "../../../core/shown.ts";
import type { Spelling, Target } from "./types.ts";

type Spell = (path: string, target: Target) => string | undefined;

function spellings(kind: Spelling["for"], table: Readonly<Record<string, Spell>>): Spelling[] {
  return Object.entries(table).map(([name, spell]) => ({ name, for: kind, spell }));
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function absolute(path: string, { workspace }: Target): string {
  return isAbsolute(path) ? path : join(workspace, path);
}

/** Spellings that keep the path relative say nothing about a file outside. */
const relative = (spell: (path: string) => string): Spell => (path) => isAbsolute(path) ? undefined : spell(path);
/** Spellings of the characters of the last name; a name of one character has no inside. */
const inName = (spell: (name: string) => string): Spell => (path) => {
  const name = basename(path);
  return name.length < 2 || word(path) !== path ? undefined : path.slice(0, -name.length) + spell(name);
};
const last = (name: string) => [name.slice(0, -1), name.slice(-1)] as const;

const BOTH: Readonly<Record<string, Spell>> = {
  "./": relative((path) => `./${path}`),
  "absolute": (path, target) => isAbsolute(path) ? undefined : absolute(path, target),
  "folder/..": relative((path) => `.git/../${path}`),
  "../workspace": (path, { workspace }) => isAbsolute(path) ? undefined : `../${basename(workspace)}/${path}`,
  "up to the root": (path, target) => "..".concat("/..".repeat(20), absolute(path, target)),
  "//": relative((path) => `.//${path.replace("/", "//")}`),
  "/./": relative((path) => `./${path.replace("/", "/./")}`),
  "//absolute": (path, target) => `/${absolute(path, target)}`,
  "/proc/self/cwd": relative((path) => `/proc/self/cwd/${path}`),
  "/proc/thread-self/cwd": relative((path) => `/proc/thread-self/cwd/${path}`),
  "/proc/self/root": (path, target) => `/proc/self/root${absolute(path, target)}`,
  "the folder above": (path) => dirname(path),
};

const SHELL: Readonly<Record<string, Spell>> = {
  "all of the folder": (path) => `${word(dirname(path))}/${basename(path).startsWith(".") ? ".[!.]*" : "*"}`,
  "double quotes": (path) => `"${path}"`,
  "single quotes": (path) => quoted(path),
  "quotes inside": inName((name) => `${name[0]}''${name.slice(1)}`),
  "double quotes inside": inName((name) => `${last(name)[0]}"${last(name)[1]}"`),
  "backslash": inName((name) => `${last(name)[0]}\\${last(name)[1]}`),
  "*": inName((name) => `${last(name)[0]}*`),
  "?": inName((name) => `${last(name)[0]}?`),
  "? first": inName((name) => name.startsWith(".") ? `.?${name.slice(2)}` : `?${name.slice(1)}`),
  "[]": inName((name) => `${last(name)[0]}[${last(name)[1]}]`),
  "[!]": inName((name) => `${last(name)[0]}[!_]`),
  "{,}": inName((name) => `{${name},${name}}`),
  "{..}": inName((name) => /\w$/.test(name) ? `${last(name)[0]}{${last(name)[1]}..${last(name)[1]}}` : name),
  "${unset}": inName((name) => `${name[0]}\${unset}${name.slice(1)}`),
  "${:-}": inName((name) => `${last(name)[0]}\${unset:-${last(name)[1]}}`),
  "$'\\x'": inName((name) => `$'${[...name].map((c) => `\\x${c.charCodeAt(0).toString(16)}`).join("")}'`),
  "$'\\0'": inName((name) => `$'\\${name.charCodeAt(0).toString(8).padStart(3, "0")}'${name.slice(1)}`),
  "$PWD": relative((path) => `"$PWD/${path}"`),
  "~+": relative((path) => `~+/${word(path)}`),
  "$(pwd)": relative((path) => `"$(pwd)/${path}"`),
  "$(echo)": (path) => `"$(echo ${word(path)})"`,
  "`echo`": (path) => `\`echo ${word(path)}\``,
  "$(printf)": inName((name) => `$(printf '\\${name.charCodeAt(0).toString(8)}')${name.slice(1)}`),
  "$(rev)": (path) => `"$(echo ${word([...path].reverse().join(""))} | rev)"`,
  "$(base64)": (path) => `"$(echo ${btoa(path)} | base64 -d)"`,
  "$(find)": (path, { workspace }) =>
    `"$(find ${isAbsolute(path) ? dirname(path) : workspace} -name ${
      quoted(basename(path))
    } -not -path '*/.git/*' | head -n 1)"`,
  "${PWD:0:1}": (path) => path.includes("/") && word(path) === path ? path.replaceAll("/", "${PWD:0:1}") : undefined,
  "/proc/$$/cwd": relative((path) => `/proc/$$/cwd/${word(path)}`),
};

/** What other tools than ours may take for the same file. */
const FILE: Readonly<Record<string, Spell>> = {
  "missing/..": relative((path) => `missing/../${path}`),
  "upper case": (path) => path.toUpperCase(),
  "mixed case": inName((name) => last(name)[0] + last(name)[1].toUpperCase()),
  "full width": (path) => path.replace(/[!-~]/, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
  "zero width": inName((name) => `${name[0]}\u200b${name.slice(1)}`),
  "%2e": (path) => path.includes(".") ? path.replaceAll(".", "%2e") : undefined,
  "file://": (path, target) => `file://${absolute(path, target)}`,
  "NUL": (path) => `${path}\0.txt`,
  "space behind": (path) => `${path} `,
  "dot behind": (path) => `${path}.`,
  "line break behind": (path) => `${path}\n`,
  "\\": (path) => path.includes("/") ? path.replaceAll("/", "\\") : `.\\${path}`,
  "~": (path, target) => `~/${"../".repeat(20)}${absolute(path, target).slice(1)}`,
};

export const SPELLINGS: readonly Spelling[] = [
  ...spellings("both", BOTH),
  ...spellings("shell", SHELL),
  ...spellings("file", FILE),
];
