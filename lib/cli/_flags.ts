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
  // To load what reads flags takes as long as to read a tape.
  if (!args.some((arg) => arg.startsWith("-"))) return { words: args, flags: {} };
  const { parseArgs } = await import("node:util");
  const known = new Map(flagsOf(usage).map(([flag]) => [longName(flag), flag]));
  // Every flag as a boolean: which take the word behind them is said by how they are written, and some may go without.
  const { tokens } = parseArgs({
    args: [...args],
    options: { help: { type: "boolean", short: "h" } },
    strict: false,
    tokens: true,
  });
  const words: string[] = [];
  const flags: Record<string, string | boolean> = {};
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const flag = known.get(token.name);
    if (flag === undefined) throw unknownFlag(usage, token.rawName);
    const next = tokens[i + 1];
    let { value } = token;
    if (value === undefined && /[<[]/.test(flag) && next?.kind === "positional") {
      value = next.value;
      i++;
    }
    flags[camel(token.name)] = flagValue(flag, value);
  }
  return { words, flags };
}

function flagValue(flag: string, value: string | undefined): string | boolean {
  const missing = flag.includes("<") && (value === undefined || value === "");
  if (missing) throw new UsageError(`Cannot read --${longName(flag)} as its value is missing: write ${flag}`);
  if (value !== undefined && !/[<[]/.test(flag)) {
    throw new UsageError(`Cannot read ${flag}=${value} as it takes no value: write ${flag}`);
  }
  return value ?? true;
}

function unknownFlag(usage: Usage, typed: string): UsageError {
  const near = nearest(typed, flagsOf(usage).map(([flag]) => `--${longName(flag)}`));
  return new UsageError(`Cannot read ${typed} as 'crochet ${usage.name}' has no such flag: did you mean ${near}?`);
}

const longName = (flag: string) => /--([\w-]+)/.exec(flag)![1]!;
const camel = (name: string) => name.replace(/-(\w)/g, (_, c: string) => c.toUpperCase());

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
