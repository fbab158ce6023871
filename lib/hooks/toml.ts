import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AnyEvent } from "../core/events.ts";
import type { HookContext, HookRecord } from "../core/hook.ts";
import { NO_OPINION, type Opinion, OutOfTime, UnusableAnswer } from "../core/verdict.ts";
import { optionFault, type OptionKind } from "../input/options.ts";
import { HookLoadError } from "./file/load-error.ts";
import { hookEnvironment, type HookHost, outputFolder, persisted } from "./process/hook-host.ts";
import { howEnded, type ProcessResult, runProcess, type Stream } from "../process/process.ts";

/** Where a workspace keeps its commands for turns. */
export const TOML_FILE = ".agent/hook.toml";

type ExecStatus = "ok" | "failed" | "timeout" | "cancelled" | "rejected";

/** What one run of a command tells while it happens: for the screen as it comes, for the rollout without the output (S1.20). */
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
  readonly onExec?: (record: ExecRecord) => void;
  /** What commands need of the program that runs them. @default the workspace alone */
  readonly host?: HookHost;
  /** The rule that forbids the command; one without is approved (U16). */
  readonly forbids?: (command: readonly string[]) => string | undefined | Promise<string | undefined>;
  /** The command as the turn's sandbox runs it. */
  readonly confine?: (command: readonly string[], cwd: string) => readonly string[] | Promise<readonly string[]>;
  /** Where the session was begun, as commands read it. @default "script" */
  readonly source?: "cli" | "script";
}

/**
 * The commands of `<workspace>/.agent/hook.toml`: one before a turn, one after it, without a shell, in the workspace
 * (S1). What they write to stderr becomes input for the agent. All turns of a run use the `text` it began with; nothing
 * about it, and nothing a command does, stops the session.
 */
export function tomlHooks(workspace: string, text: string, options: TomlOptions = {}): HookRecord[] {
  const whole = { host: { projectDir: workspace }, ...options, text };
  return [record("turn_start", workspace, whole), record("turn_end", workspace, whole)];
}

type Whole = TomlOptions & { readonly host: HookHost; readonly text: string };

function record(table: TurnTable, workspace: string, options: Whole): HookRecord {
  const file = join(workspace, TOML_FILE);
  const name = `${TOML_FILE}#${table}`;
  return {
    name,
    on: [{ event: table === "turn_start" ? "turn-start" : "turn-end", scope: "root" }],
    kind: "command",
    dialect: "native",
    priority: 100,
    mode: "gate",
    lenient: true,
    enabled: true,
    source: file,
    async run(event, ctx) {
      const turn = await readTurnCommand(options.text, TOML_FILE, table);
      if (!turn || (table === "turn_start" && startedByHook(event) && !turn.runOnHookInput)) return NO_OPINION;
      return await runTurn(name, turn, workspace, { ...options, event, ctx });
    },
    read: (raw) => raw as Opinion,
  };
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
  const written = [turn.command, ...turn.args];
  let ran: ProcessResult;
  try {
    ran = await execute(written, workspaceFolder(workspace, turn.cwd), turn.timeout, options, report);
    const input = (turn.json ? jsonInput(ran.stdout) : ran.stderr).trim();
    if (input !== "") {
      const file = () => join(outputFolder(host, event.session_id), `hook-${ctx.uuid()}-input.txt`);
      ctx.hookInput(persisted(input, file), { persist: turn.persist });
      report({ type: "exec_input", command: written, stderr: input, exit_code: ran.code });
    }
  } catch (error) {
    if (!turn.stopOnFailure) throw error;
    return { halt: `${name}: ${(error as Error).message}` };
  }
  return turn.stopOnFailure && ran.code !== 0 ? { halt: `${name} ${howEnded(ran)}` } : NO_OPINION;
}

type Report = (record: ExecStep) => void;

function workspaceFolder(workspace: string, cwd: string): string {
  const folder = resolve(workspace, cwd);
  if (existsSync(folder)) return folder;
  throw new UnusableAnswer(`Cannot run in '${cwd}' as there is no such folder: write its path from the workspace`);
}

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
  const { host, forbids, confine, event, ctx } = turn;
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
    const rule = await forbids?.(written);
    if (rule !== undefined) {
      end("rejected");
      throw new UnusableAnswer(
        `Cannot run '${written.join(" ")}' as the deny rule ${rule} forbids it: change the command or the rule`,
      );
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
  const text = typeof value === "object" && value !== null ? textIn(value) : value;
  if (typeof text === "string") return text;
  throw new UnusableAnswer('Cannot read its HookInput as it holds no text: print {"text": "..."}');
}

function textIn(value: object): unknown {
  const { text, stderr } = value as { text?: unknown; stderr?: unknown };
  return text ?? stderr ?? (Object.keys(value).length === 0 ? "" : undefined);
}

type TurnTable = "turn_start" | "turn_end";

interface TurnCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** From the workspace. */
  readonly cwd: string;
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

const TABLES: Kinds = { turn_start: "an object", turn_end: "an object" };

export const KEYS: Kinds = {
  command: "a text",
  args: "a list of texts",
  cwd: "a text",
  run_on_hook_input: "true or false",
  persist: "true or false",
  json: "true or false",
  timeout: "a number of seconds",
  on_failure: ["continue", "stop"],
};

type Kinds = { readonly [key: string]: OptionKind };

/** Reads one table of the file; undefined if it is not there. */
export async function readTurnCommand(text: string, file: string, table: TurnTable): Promise<TurnCommand | undefined> {
  const tables = await readToml(text, file);
  const bad = (why: string) => new HookLoadError(file, undefined, why);
  const wrong = optionFault(tables, TABLES);
  if (wrong) throw bad(wrong.why);
  const given = tables[table] as { readonly [key: string]: unknown } | undefined;
  if (given === undefined) return undefined;
  const fault = optionFault(given, KEYS);
  if (fault) throw bad(`in [${table}] ${fault.why}`);
  if (!String(given.command ?? "").trim()) throw bad(`[${table}] has no command: write command = "program"`);
  if (table === "turn_end" && "run_on_hook_input" in given) {
    throw bad("[turn_end] has 'run_on_hook_input', which belongs to [turn_start]");
  }
  const { run_on_hook_input: runOnHookInput = true, on_failure, ...rest } = given;
  const otherwise = { args: [], cwd: ".", persist: false, json: false, timeout: undefined };
  return { ...otherwise, ...rest, runOnHookInput, stopOnFailure: on_failure === "stop" } as unknown as TurnCommand;
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
