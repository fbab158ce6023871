import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AnyEvent } from "../core/events.ts";
import { type Hook, type HookContext, hookOn, type HookRecord } from "../core/hook.ts";
import { type JsonObject, quietly } from "../core/json.ts";
import { NO_OPINION, type Opinion, OutOfTime, UnusableAnswer } from "../core/verdict.ts";
import { type Kinds, optionFault } from "../input/options.ts";
import { HookLoadError } from "./file/load-error.ts";
import { hookEnvironment, type HookHost, outputFolder, persisted } from "./process/hook-host.ts";
import { howEnded, type ProcessResult, runProcess, type Stream } from "../process/process.ts";

/** Where a workspace keeps its commands for turns. */
export const TOML_FILE = ".agent/hook.toml";

type ExecStatus = "ok" | "failed" | "timeout" | "cancelled" | "rejected";

/** What one run of a command tells while it happens: for the screen as it comes, for the log without the output (S1.20). */
export type ExecRecord =
  & {
    /** Tells the records of one run from those of others. */
    readonly id: string;
    readonly hook: string;
    /** As a person reads it: `Hook(TurnStart)`. */
    readonly title: "Hook(TurnStart)" | "Hook(TurnEnd)";
    readonly turn_id: string;
  }
  & ExecStep;

type ExecStep =
  | { readonly type: "exec_begin"; readonly command: readonly string[]; readonly cwd: string }
  | { readonly type: "exec_output"; readonly stream: Stream; readonly text: string }
  | {
    readonly type: "exec_end";
    readonly status: ExecStatus;
    readonly exit_code: number | null;
    readonly stdout: string;
    readonly stderr: string;
    readonly duration_ms: number;
  }
  /** The input it gave the agent (U11). */
  | {
    readonly type: "exec_input";
    readonly command: readonly string[];
    readonly stderr: string;
    readonly exit_code: number | null;
  };

export interface TomlOptions {
  /** Where the text was read. @default `.agent/hook.toml` of the workspace */
  readonly file?: string;
  readonly onExec?: (record: ExecRecord) => void;
  /** What commands need of the program that runs them. @default the workspace alone */
  readonly host?: HookHost;
  /** Why the turn's rules do not let the command run; one that no rule names is approved by trust in the file (U16). */
  readonly refuses?: (command: readonly string[], key: string, signal: AbortSignal) => Promise<string | undefined>;
  /** The command as the turn's sandbox runs it. */
  readonly confine?: (command: readonly string[], cwd: string) => readonly string[] | Promise<readonly string[]>;
  /** Where the session was begun, as commands read it. @default "script" */
  readonly source?: "cli" | "script";
}

/**
 * The commands of `<workspace>/.agent/hook.toml`: one before a turn, one after it, without a shell, in the workspace
 * (S1). What they write to stderr becomes input for the agent. `text` is what the file held when the run began: once
 * it holds anything else, none of its commands runs. Nothing about it, and nothing a command does, stops the session.
 */
export async function tomlHooks(
  workspace: string,
  text: string,
  options: TomlOptions = {},
): Promise<{ readonly records: readonly HookRecord[]; readonly problems: readonly string[] }> {
  const seen: TomlText = { text, hasChanged: false };
  const whole = { host: { projectDir: workspace }, ...options };
  const records: HookRecord[] = [];
  const problems: string[] = [];
  try {
    for (const [table, given] of Object.entries(await readToml(text, TOML_FILE))) {
      const why = faultOf(table, given);
      // A fault in one table leaves the other alone.
      if (why !== undefined) problems.push(new HookLoadError(TOML_FILE, undefined, why).message);
      else records.push(record({ table, ...given as object } as TurnCommand, seen, workspace, whole));
    }
  } catch (error) {
    problems.push((error as Error).message);
  }
  return { records, problems };
}

type Whole = TomlOptions & { readonly host: HookHost };

/** What the file held, and whether it has held anything else since. */
interface TomlText {
  readonly text: string;
  hasChanged: boolean;
}

function record(turn: TurnCommand, seen: TomlText, workspace: string, options: Whole): HookRecord {
  const { table } = turn;
  const { file = join(workspace, TOML_FILE) } = options;
  const name = `${TOML_FILE}#${table}`;
  const run = async (event: AnyEvent, ctx: HookContext): Promise<Opinion> => {
    if (!isUnchanged(seen, file) || (startedByHook(event) && turn.run_on_hook_input === false)) return NO_OPINION;
    return await runTurn(name, turn, workspace, { ...options, event, ctx });
  };
  const on = [{ event: table === "turn_start" ? "turn-start" : "turn-end", scope: "root" } as const];
  return hookOn(on, run as Hook, { name, kind: "command", source: file, read: (raw) => raw as Opinion });
}

/** @throws {UnusableAnswer} the first time that it is not: the warning */
function isUnchanged(seen: TomlText, file: string): boolean {
  if (seen.hasChanged) return false;
  // A pipe in its place would never end; what cannot be read is not what it was.
  const now = quietly(() => statSync(file).isFile() ? readFileSync(file, "utf8") : undefined);
  if (now === seen.text) return true;
  seen.hasChanged = true;
  throw new UnusableAnswer(
    `Cannot run the commands of ${TOML_FILE} as it has changed since the run began: its new bytes count from the next run`,
  );
}

function startedByHook(event: AnyEvent): boolean {
  return "trigger" in event && event.trigger === "hook_input";
}

type Turn = Whole & { readonly event: AnyEvent; readonly ctx: HookContext };

async function runTurn(name: string, turn: TurnCommand, workspace: string, options: Turn): Promise<Opinion> {
  const { event, ctx, host, onExec } = options;
  const title = event.event === "turn-start" ? "Hook(TurnStart)" : "Hook(TurnEnd)";
  const base = { id: ctx.uuid(), hook: name, title, turn_id: event.turn_id } as const;
  const report: Report = (record) => onExec?.({ ...base, ...record });
  const stops = turn.on_failure === "stop";
  const written = [turn.command, ...turn.args ?? []];
  let ran: ProcessResult;
  try {
    ran = await execute(written, workspace, turn.timeout, options, report);
    const input = (turn.json ? jsonInput(ran.stdout) : ran.stderr).trim();
    if (input !== "") {
      const file = () => join(outputFolder(host, event.session_id), `hook-${ctx.uuid()}-input.txt`);
      ctx.hookInput(persisted(input, file), { persist: turn.persist === true });
      report({ type: "exec_input", command: written, stderr: input, exit_code: ran.code });
    }
  } catch (error) {
    if (!stops) throw error;
    return { halt: `${name}: ${(error as Error).message}` };
  }
  return stops && ran.code !== 0 ? { halt: `${name} ${howEnded(ran)}` } : NO_OPINION;
}

type Report = (record: ExecStep) => void;

/** What a command reads on stdin: where it runs, and why. */
function turnInput({ event, ctx, source = "script" }: Turn, cwd: string): string {
  return JSON.stringify({
    hook: event.event === "turn-start" ? "turn_start" : "turn_end",
    cwd,
    sub_id: event.turn_id,
    session_source: source,
    timestamp: ctx.now().toISOString(),
    is_hook_input_turn: startedByHook(event),
  });
}

async function execute(
  written: readonly string[],
  cwd: string,
  timeout: number | undefined,
  turn: Turn,
  report: Report,
): Promise<ProcessResult> {
  const { host, refuses, confine, event, ctx } = turn;
  // Each reading of `ctx.signal` is a signal of its own: listeners come and go on one.
  const { signal } = ctx;
  const started = ctx.now().getTime();
  const shown = { stdout: "", stderr: "" };
  let open = true;
  const end = (status: ExecStatus, ran?: ProcessResult) => {
    if (!open) return;
    open = false;
    signal.removeEventListener("abort", cancelled);
    const { code: exit_code = null, stdout = shown.stdout, stderr = shown.stderr } = ran ?? {};
    const duration_ms = ctx.now().getTime() - started;
    report({ type: "exec_end", status, exit_code, stdout, stderr, duration_ms });
  };
  // Reported at once: the run is over before the last of the processes is.
  const cancelled = () => end("cancelled");
  report({ type: "exec_begin", command: written, cwd });
  signal.addEventListener("abort", cancelled, { once: true });
  try {
    const why = await refuses?.(written, `${event.turn_id}/${event.event}`, signal);
    if (why !== undefined) {
      end("rejected");
      throw new UnusableAnswer(`Cannot run '${written.join(" ")}' as ${why}`);
    }
    const [command, ...args] = await confine?.(written, cwd) ?? written;
    const ran = await runProcess({
      command: command!,
      args,
      cwd,
      env: hookEnvironment({ host, event, ctx }, cwd),
      input: turnInput(turn, cwd),
      signal,
      timeout: timeout === undefined ? undefined : timeout * 1000,
      outputDir: () => outputFolder(host, event.session_id),
      onOutput: (stream, text) => {
        if (!open) return;
        if (shown[stream].length < MOST_SHOWN) shown[stream] += text;
        report({ type: "exec_output", stream, text });
      },
    });
    end(ran.ended === "timeout" ? "timeout" : ran.ended ? "cancelled" : ran.code === 0 ? "ok" : "failed", ran);
    if (ran.ended === "timeout") {
      throw new OutOfTime(`it took longer than its limit of ${timeout} s: raise 'timeout', or leave it out`);
    }
    return ran;
  } catch (error) {
    end("failed");
    throw withFix(error, written[0]!);
  }
}

/** A program that cannot be started, with what the author of the file can do. */
function withFix(error: unknown, command: string): unknown {
  if (!(error instanceof Error) || !error.message.startsWith("Cannot start ")) return error;
  const fix = /\s/.test(command)
    ? 'command is the program alone, write what follows it as args = ["…"]'
    : "write a program of PATH, or its path from the workspace";
  return new UnusableAnswer(`${error.message}: ${fix}`);
}

/** What is kept for the end of a command that is cancelled. */
const MOST_SHOWN = 1_000_000;

/** A HookInput as JSON: a text, or an object that holds one. */
function jsonInput(stdout: string): string {
  if (stdout.trim() === "") return "";
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch (error) {
    throw new UnusableAnswer(`Cannot read its HookInput as it is not valid JSON: ${(error as Error).message}`);
  }
  const { text, stderr } = Object(value) as { text?: unknown; stderr?: unknown };
  const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
  const words = typeof value === "string" ? value : text ?? stderr ?? (isEmpty ? "" : undefined);
  if (typeof words === "string") return words;
  throw new UnusableAnswer('Cannot read its HookInput as it holds no text: print {"text": "..."}');
}

/** A table of the file, as it is written. */
interface TurnCommand {
  readonly table: "turn_start" | "turn_end";
  readonly command: string;
  readonly args?: readonly string[];
  /** Whether the command also runs in a turn that a HookInput began. @default true */
  readonly run_on_hook_input?: boolean;
  /** Whether its input stays in the conversation. */
  readonly persist?: boolean;
  /** Whether its input is what it prints, as JSON, in place of its stderr. */
  readonly json?: boolean;
  /** In seconds. */
  readonly timeout?: number;
  readonly on_failure?: "continue" | "stop";
}

const TABLES: Kinds = { turn_start: "an object", turn_end: "an object" };

export const KEYS: Kinds = {
  command: "a text",
  args: "a list of texts",
  run_on_hook_input: "true or false",
  persist: "true or false",
  json: "true or false",
  timeout: "a number of seconds",
  on_failure: ["continue", "stop"],
};

function faultOf(table: string, value: unknown): string | undefined {
  const unfit = optionFault({ [table]: value }, TABLES);
  if (unfit) return unfit.why;
  const given = value as JsonObject;
  if ("cwd" in given) return `[${table}] has 'cwd', but commands always run in the workspace: remove it`;
  const fault = optionFault(given, KEYS);
  if (fault) return `in [${table}] ${fault.why}`;
  if (!String(given.command ?? "").trim()) return `[${table}] has no command: write command = "program"`;
  if (table === "turn_end" && "run_on_hook_input" in given) {
    return "[turn_end] has 'run_on_hook_input', which belongs to [turn_start]";
  }
  return undefined;
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
