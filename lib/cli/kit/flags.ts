import { resolve } from "node:path";
import { nearest } from "../../input/nearest.ts";
import { type Command, EXIT, type Io, UsageError } from "./io.ts";
import type { Reporter } from "./report.ts";
import { wrap } from "../show/text.ts";

/** How a command is called: the whole of its `--help`. */
export interface Usage {
  readonly name: string;
  /** What is typed before the words. @default "crochet " and the name */
  readonly typed?: string;
  /** The words after the name: `<needed>`, `[optional]`; with a `…` in them the command itself says how many. */
  readonly words: string;
  readonly about: string;
  /**
   * Flags as `--name <value>`, `--name [value]` or `--name`, with what each does; every command has `--help` too. A value
   * in quotes is the only one that may stand apart: after the flag, any other word is one of the command's. A flag that
   * ends with `…` may be given several times: its values are lines.
   */
  readonly flags: readonly (readonly [flag: string, about: string])[];
  /** Flags, without dashes, that have no effect beside another: if ignored silently, a gate that was asked for would be open. */
  readonly excludes?: readonly (readonly [flag: string, others: readonly string[], why: string])[];
  /** Works when pasted. */
  readonly example: string;
  /** Whether its output is a reply, or for a program, and no report: it goes out byte for byte. */
  readonly passes?: true;
  /** More text for the end of `--help`; made only when it is asked for. */
  readonly more?: () => Promise<string>;
}

export interface Flags {
  readonly words: readonly string[];
  readonly flags: { readonly [name: string]: string | boolean | undefined };
}

/** What was typed, read and as it was. */
export interface TypedFlags extends Flags {
  readonly args: readonly string[];
}

/** What a command found: printed as data with `--json`, else as text. */
export interface Answer {
  readonly data: unknown;
  readonly text: string;
  /** @default EXIT.ok */
  readonly code?: number;
}

/** A command that does `work` with its words and flags, or says how it is called. */
export function command(usage: Usage, work: (asked: TypedFlags, io: Reporter) => Promise<number | Answer>): Command {
  const run: Command = async (args, given) => {
    const read = await readFlags(usage, args);
    if (!read.flags.help) {
      expectWords(usage, read.words);
      refuseTogether(usage, read.flags);
      const io = usage.passes
        ? passing(given)
        : (await import("./report.ts")).reporting(given, resolve(given.cwd, String(read.flags.cwd ?? "")));
      return report(await work({ ...read, args }, io), read.flags, io);
    }
    given.out(helpText(usage) + (await usage.more?.() ?? ""));
    return EXIT.ok;
  };
  return Object.assign(run, { usage });
}

function passing(io: Io): Reporter {
  return { ...io, data: (value) => io.out(`${JSON.stringify(value)}\n`), hide: (value) => value, learn: () => {} };
}

/** Prints what was found, if it is not printed yet. */
export function report(answer: number | Answer, { json }: Flags["flags"], io: Reporter): number {
  if (typeof answer === "number") return answer;
  if (json) io.data(answer.data);
  else io.out(answer.text);
  return answer.code ?? EXIT.ok;
}

/** Refuses missing and surplus words: if a second folder were ignored silently, it would seem to have been searched. */
function expectWords(usage: Usage, given: readonly string[]): void {
  const places = usage.words.match(/(?:<[^>]*>|\[[^\]]*\]|[^\s<[])+/g) ?? [];
  const needed = places.filter((place) => place.startsWith("<")).length;
  if (usage.words.includes("…") || (given.length >= needed && given.length <= places.length)) return;
  const typed = [typedFor(usage), ...given].join(" ");
  throw new UsageError(`Cannot run '${typed}' as it takes ${usage.words || "no words"}: ${usage.example}`);
}

function flagsOf({ flags }: Usage): Usage["flags"] {
  return [...flags, ["--debug", "show where an error came from"], ["--help", "this text"]];
}

/** Keeps cac from taking '007' for a number, and '--flag=' for a flag whose value is the next word. */
const AS_TYPED = "\0";

/** Reads a command's words and flags with cac; `usage` says which flags there are, and what each takes. */
export async function readFlags(usage: Usage, args: readonly string[]): Promise<Flags> {
  if (!args.some((arg) => arg.startsWith("-"))) return { words: args, flags: {} };
  const { cac } = await import("cac");
  const cli = cac();
  const known = new Map<string, string>();
  for (const [flag, about] of flagsOf(usage)) {
    known.set(longName(flag), flag);
    cli.option(flag === "--help" ? "-h, --help" : flag, about);
  }
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const typed = args.slice(0, end).map((arg, i) => {
    if (!arg.startsWith("-") || arg === "-") return AS_TYPED + arg;
    const [, name = arg, value] = /^([^=]*)=?(.*)$/s.exec(arg)!;
    const flag = name === "-h" ? "--help" : name.startsWith("--") ? known.get(name.slice(2)) : undefined;
    if (flag === undefined) throw unknownFlag(usage, name);
    const [, only] = /'(.*)'/.exec(flag) ?? [];
    if (!arg.includes("=")) return only === undefined || args[i + 1] === only ? arg : `${arg}=${AS_TYPED}`;
    if (!takesValue(flag)) throw new UsageError(`Cannot read ${arg} as ${flag} takes no value: write ${flag}`);
    return `${name}=${AS_TYPED}${value}`;
  });
  const { args: words, options } = cli.parse(["", "", ...typed], { run: false });
  const flags: Record<string, string | boolean> = {};
  for (const flag of known.values()) {
    const name = camel(longName(flag));
    // cac reads '--no-x' as x switched off.
    const off = /^no-(.*)/.exec(longName(flag))?.[1];
    const given = off === undefined ? options[name] : options[camel(off)] === false || undefined;
    const values = ([given].flat() as (string | boolean | undefined)[]).map((one) =>
      typeof one === "string" ? one.slice(AS_TYPED.length) : one
    );
    const value = flag.endsWith("…") && values.every((one) => one) ? values.join("\n") : values.at(-1);
    if (value === undefined) continue;
    if (flag.includes("<") && (value === true || value === "")) {
      throw new UsageError(`Cannot read --${longName(flag)} as its value is missing: write ${flag}`);
    }
    flags[name] = value === "" && flag.includes("'") ? true : value;
  }
  return { words: [...words.map((word) => word.slice(AS_TYPED.length)), ...args.slice(end + 1)], flags };
}

/** What to type for a flag that went, by the command that had it, or of many. */
const OLD_FLAGS: { readonly [typed: string]: string } = {
  "--cwd": "cd DIR",
  "crochet attack --only": "crochet replay",
  "crochet chat --rollout": "crochet view",
  "crochet doctor --replay": "crochet replay",
  "crochet fixtures import --replace": "rm -r fixtures/imported",
  "crochet hooks check --rounds": "crochet hooks check --time SECONDS",
  "crochet hooks explain --hook": "crochet hooks explain --event NAME",
  "crochet hooks new --lang": "crochet hooks new NAME.sh",
  "crochet hooks install --runtime": "crochet hooks install --for claude",
  "crochet hooks test --bisect": "crochet hooks test --in claude@2.1.286,claude@2.1.325",
  "crochet hooks test --strict": "crochet hooks test --in claude@2.1.286,claude@2.1.325",
  "crochet hooks uninstall --runtime": "crochet hooks uninstall --for claude",
  "crochet init --upgrade": "npm install ./crochet-VERSION.tgz",
  "crochet record --here": "crochet record --files none",
  "crochet record --user": "crochet record --turns USER.md",
  "crochet replay --bisect": "git bisect run crochet replay",
  "crochet replay --here": "crochet record --files none",
  "crochet replay --mcp": "crochet record --mcp live",
  "crochet replay --on": "crochet eval --on URL",
  "crochet replay --tools": "crochet record --loose",
  "crochet replay --watch": "bun test --watch",
  "crochet run --rollout": "crochet view",
  "crochet view --open": "crochet view --out FILE",
};

function unknownFlag(usage: Usage, typed: string): UsageError {
  const now = OLD_FLAGS[`crochet ${usage.name} ${typed}`] ?? OLD_FLAGS[typed];
  const near = now ? `'${now}'` : nearest(typed, flagsOf(usage).map(([flag]) => `--${longName(flag)}`));
  return new UsageError(`Unknown flag ${typed} for '${typedFor(usage)}': did you mean ${near}?`);
}

const typedFor = ({ name, typed = `crochet ${name}` }: Usage) => typed;
const takesValue = (flag: string) => /[<[]/.test(flag);
const longName = (flag: string) => /--([\w-]+)/.exec(flag)![1]!;
const camel = (name: string) => name.replace(/-(\w)/g, (_, c: string) => c.toUpperCase());
const kebab = (name: string) => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);

function refuseTogether({ excludes = [] }: Usage, flags: Flags["flags"]): void {
  const isGiven = (name: string) => flags[camel(name)] !== undefined;
  for (const [one, others, why] of excludes) {
    const other = isGiven(one) ? others.find(isGiven) : undefined;
    if (other === undefined) continue;
    throw new UsageError(`Cannot use --${other} with --${one} as ${why}: leave one of them out`);
  }
}

/** What a number must be. @default any that is not negative */
interface NumberRange {
  readonly least?: number;
  readonly most?: number;
  readonly whole?: boolean;
}

export function numberFlag(flags: Flags["flags"], name: string, range: NumberRange = {}): number | undefined {
  const { least = 0, most = Infinity, whole = false } = range;
  const given = flags[name];
  if (given === undefined) return undefined;
  const value = typeof given === "string" && given.trim() !== "" ? Number(given) : NaN;
  if (value >= least && value <= most && (whole ? Number.isInteger(value) : Number.isFinite(value))) return value;
  const which = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`;
  const kind = whole ? "whole number" : "number";
  throw new UsageError(`Cannot use --${kebab(name)} ${given} as it is not a ${kind} ${which}`);
}

export const PORT = { most: 65_535, whole: true };

/** What `--budget` gives: dollars, or tokens as 500k or 2M. */
export function budgetFlag({ budget }: Flags["flags"]): { dollars: number } | { tokens: number } | undefined {
  if (budget === undefined) return undefined;
  const [, number, unit] = /^\$?(\d+(?:\.\d+)?)([km]?)$/i.exec(String(budget)) ?? [];
  if (unit === "") return { dollars: Number(number) };
  if (unit !== undefined) return { tokens: Number(number) * (/k/i.test(unit) ? 1e3 : 1e6) };
  throw new UsageError(`Cannot use --budget ${budget} as it is neither dollars nor tokens: --budget 5, --budget 500k`);
}

/** The text of `--help`, for a terminal of the usual width. */
export function helpText(usage: Usage): string {
  return [
    `${typedFor(usage)} ${usage.words}`.trim(),
    "",
    `  ${inLines(usage.about, 2)}`,
    "",
    ...listed(flagsOf(usage)),
    "",
    "Example",
    `  ${usage.example}`,
    "",
  ].join("\n");
}

const COLUMNS = 80;

/** A text in lines that begin below each other. */
export function inLines(text: string, indent: number): string {
  return wrap(text, COLUMNS - indent, 0).join(`\n${" ".repeat(indent)}`);
}

/** Names below each other, each with what it is for. */
export function listed(all: readonly (readonly [name: string, about: string])[]): string[] {
  const width = Math.max(...all.map(([name]) => name.length)) + 2;
  return all.map(([name, about]) => `  ${name.padEnd(width)}${inLines(about, 2 + width)}`.trimEnd());
}
