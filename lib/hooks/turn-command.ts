import { nearest } from "../files/nearest.ts";
import { HookLoadError } from "./file/load-error.ts";

export type TurnTable = "turn_start" | "turn_end";

/** A command of `.agent/hook.toml`, checked. */
export interface TurnCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Whether the command also runs in a turn that a HookInput began. */
  readonly runOnHookInput: boolean;
  /** Whether its input stays in the conversation. */
  readonly persist: boolean;
  /** Whether its input is what it prints, as JSON, in place of its stderr. */
  readonly json: boolean;
  /** In seconds. */
  readonly timeout: number | undefined;
  /** Whether a failure ends the agent. */
  readonly stopOnFailure: boolean;
}

const TABLES: readonly string[] = ["turn_start", "turn_end"];
const KEYS = ["command", "args", "run_on_hook_input", "persist", "json", "timeout", "on_failure"];

/** Reads one table of the file; undefined if it is not there. */
export async function readTurnCommand(text: string, file: string, table: TurnTable): Promise<TurnCommand | undefined> {
  const tables = await readToml(text, file);
  const bad = (why: string) => new HookLoadError(file, undefined, why);
  const stray = Object.keys(tables).find((name) => !TABLES.includes(name));
  if (stray !== undefined) throw bad(`'${stray}' is no table of it: did you mean '${nearest(stray, TABLES)}'?`);
  const given = tables[table];
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw bad(`'${table}' is no table: write [${table}]`);
  }
  return checked(given as { readonly [key: string]: unknown }, table, (why) => bad(`[${table}] ${why}`));
}

function checked(
  given: { readonly [key: string]: unknown },
  table: TurnTable,
  bad: (why: string) => HookLoadError,
): TurnCommand {
  const stray = Object.keys(given).find((key) => !KEYS.includes(key));
  if (stray !== undefined) throw bad(`has an unknown key '${stray}': did you mean '${nearest(stray, KEYS)}'?`);
  const flag = (key: string, otherwise: boolean): boolean => {
    const value = given[key] ?? otherwise;
    if (typeof value !== "boolean") throw bad(`has ${key} = ${shown(value)}: expected true or false`);
    return value;
  };
  const { command, args = [], timeout, on_failure = "continue" } = given;
  if (typeof command !== "string" || command.trim() === "") throw bad('has no command: write command = "program"');
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string")) {
    throw bad(`has args = ${shown(args)}: expected a list of texts`);
  }
  if (table === "turn_end" && "run_on_hook_input" in given) {
    throw bad("has 'run_on_hook_input', which belongs to [turn_start]");
  }
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0)) {
    throw bad(`has timeout = ${shown(timeout)}: expected a number of seconds`);
  }
  if (on_failure !== "continue" && on_failure !== "stop") {
    throw bad(`has on_failure = ${shown(on_failure)}: expected "continue" or "stop"`);
  }
  return {
    command,
    args,
    runOnHookInput: flag("run_on_hook_input", true),
    persist: flag("persist", false),
    json: flag("json", false),
    timeout: timeout as number | undefined,
    stopOnFailure: on_failure === "stop",
  };
}

function shown(value: unknown): string {
  return typeof value === "bigint" ? String(value) : JSON.stringify(value) ?? String(value);
}

/** Reads a TOML document; a mistake is an error with its place. */
export async function readToml(text: string, file: string): Promise<{ readonly [table: string]: unknown }> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    const at = error instanceof TomlError ? { line: error.line, column: error.column } : undefined;
    throw new HookLoadError(file, at, `it is not valid TOML: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}
