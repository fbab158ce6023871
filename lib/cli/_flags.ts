import { nearest } from "../core/names.ts";
import { wrap } from "./show/width.ts";
import { type Command, EXIT, type Io, UsageError } from "./_io.ts";

/** How a command is called: the whole of its `--help`. */
export interface Usage {
  readonly name: string;
  /** The words after the name, as a person would write them. */
  readonly words: string;
  readonly about: string;
  /** Flags as `--name <value>`, `--name [value]` or `--name`, with what each does; every command has `--help` too. */
  readonly flags: readonly (readonly [flag: string, about: string])[];
  /** Works when pasted. */
  readonly example: string;
  /** What `--help` says below all that; made only when it is asked for. */
  readonly more?: () => Promise<string>;
}

export interface Flags {
  readonly words: readonly string[];
  readonly flags: { readonly [name: string]: string | boolean | undefined };
}

/** What was typed, read and as it was. */
interface Asked extends Flags {
  readonly args: readonly string[];
}

/** A command that does `work` with its words and flags, or says how it is called. */
export function command(usage: Usage, work: (asked: Asked, io: Io) => Promise<number>): Command {
  const run: Command = async (args, io) => {
    const read = await readFlags(usage, args);
    if (!read.flags.help) return await work({ ...read, args }, io);
    io.out(helpText(usage) + (await usage.more?.() ?? ""));
    return EXIT.ok;
  };
  return Object.assign(run, { usage });
}

/** Every flag of a command. */
export function flagsOf({ flags }: Usage): Usage["flags"] {
  return [...flags, ["--help", "this text"]];
}

/** Reads a command's words and flags; a flag it does not know, or one without its value, is a usage error with the mend. */
export async function readFlags(usage: Usage, args: readonly string[]): Promise<Flags> {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  // The parser takes as long to load as a tape to read.
  if (!own.some((arg) => arg.startsWith("-"))) return { words: end < 0 ? args : args.toSpliced(end, 1), flags: {} };
  const { cac } = await import("cac");
  const cli = cac(usage.name);
  for (const [flag, about] of flagsOf(usage)) cli.option(flag, about);
  const parsed = cli.parse(["", "", ...own.map(keepText)], { run: false });
  const known = new Map(flagsOf(usage).map(([flag]) => [camel(longName(flag)), flag]));
  const flags: Record<string, string | boolean> = {};
  for (const [key, value] of Object.entries(parsed.options)) {
    if (key === "--") continue;
    const flag = known.get(key === "h" ? "help" : key);
    if (flag === undefined) {
      const typed = key.length === 1 ? `-${key}` : `--${dashed(key)}`;
      const near = nearest(typed, [...known.values()].map((f) => `--${longName(f)}`));
      throw new UsageError(
        `Cannot read ${typed} as 'crochet ${usage.name}' has no such flag: did you mean ${near}?`,
      );
    }
    if (key === "h") {
      flags.help = true;
      continue;
    }
    const takesValue = flag.includes("<");
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (takesValue && (last === true || last === "")) {
      throw new UsageError(`Cannot read --${longName(flag)} as its value is missing: write ${flag}`);
    }
    const hasValue = takesValue || (flag.includes("[") && typeof last !== "boolean");
    flags[key] = hasValue ? restoreText(String(last)) : Boolean(last);
  }
  return { words: [...parsed.args.map((w) => restoreText(String(w))), ...(end < 0 ? [] : args.slice(end + 1))], flags };
}

// The parser turns what looks like a number into one; a mark in front keeps "007" a text.
const MARK = "\u0000";
const keepText = (arg: string) => /^-/.test(arg) ? arg.replace(/^(--[^=]+=)(.+)$/s, `$1${MARK}$2`) : `${MARK}${arg}`;
const restoreText = (text: string) => text.replaceAll(MARK, "");

const longName = (flag: string) => /--([\w-]+)/.exec(flag)![1]!;
const camel = (name: string) => name.replace(/-(\w)/g, (_, c: string) => c.toUpperCase());
const dashed = (name: string) => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);

/** Refuses flags that mean nothing beside another: silently left out, a gate that was asked for would stand open. */
export function refuseTogether(flags: Flags["flags"], one: string, others: readonly string[], why: string): void {
  const other = others.find((name) => flags[name] !== undefined);
  if (other === undefined) return;
  throw new UsageError(`Cannot use --${other} with --${one} as ${why}: leave one of them out`);
}

/** The text of `--help`, for a terminal of the usual width. */
export function helpText(usage: Usage): string {
  const all = flagsOf(usage);
  const width = Math.max(...all.map(([flag]) => flag.length)) + 2;
  const flags = all.map(([flag, about]) => `  ${flag.padEnd(width)}${inLines(about, 2 + width)}`).join("\n");
  return [
    `crochet ${usage.name} ${usage.words}`.trim(),
    "",
    `  ${inLines(usage.about, 2)}`,
    "",
    flags,
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
