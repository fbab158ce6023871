import { dirname } from "node:path";
import type { HookRecord } from "../../core/hook.ts";
import type { Ran } from "../process/process.ts";
import { askedByHost, servedAnswer } from "./serve-answer.ts";
import type { ServedCommand } from "./served-command.ts";
import type { Served } from "./to-host.ts";
import { type HookFile, loadMessage, readHookFile } from "../discover.ts";
import { brokenHook, loadHook } from "../load.ts";
import type { Serving } from "../serve.ts";

/** Serves any hook file: whatever its kind, its name and its config. */
export async function serveWhole(serving: Serving): Promise<Served> {
  const { path, options } = serving;
  let file: HookFile;
  try {
    file = readHookFile(path, options.event);
  } catch (error) {
    return { stdout: "", stderr: `${sayUnusable(path, error)}\n`, code: 1 };
  }
  const odd: string[] = [];
  const { record, ran } = file.kind === "command"
    ? await command(file, serving)
    : await inProcess(file, serving, (warning) => odd.push(warning));
  const asked = await askedByHost(record, serving);
  const folded = { ...asked, warnings: [...odd, ...asked.warnings] };
  const end = ran();
  const failed = folded.runs.some((run) => run.failure !== undefined);
  // What was written for this host is handed on as it is, unless it failed and has to refuse, or nobody would hear of it.
  const told = !failed || (folded.decision !== "deny" && end?.code !== 0);
  if (end && options.host === "claude" && record.mode === "gate" && told) return asItIs(end);
  return servedAnswer(folded, serving);
}

function sayUnusable(path: string, error: unknown): string {
  const said = loadMessage(path, error);
  return /names no event|is no event/.test(said) ? `${said} Or pass --event` : said;
}

const NEVER_RAN = () => undefined;

async function command(file: HookFile, { path, stdin, heard, options }: Serving): Promise<ServedCommand> {
  // What starts processes costs a module more than all of its own.
  const { servedCommand } = await import("./served-command.ts");
  try {
    return servedCommand(file, stdin, heard, options);
  } catch (error) {
    return { record: broken(file, error, path), ran: NEVER_RAN };
  }
}

async function inProcess(
  file: HookFile,
  { path, heard, options }: Serving,
  warn: (message: string) => void,
): Promise<ServedCommand> {
  const folder = { root: dirname(file.path), shared: "", sharedFiles: [] };
  const host = { projectDir: options.env.CLAUDE_PROJECT_DIR ?? heard.cwd, env: options.env };
  try {
    const prompt = { model: file.kind === "prompt" ? await options.model?.() : undefined };
    return { record: await loadHook(file, { folder, source: path, host, prompt, warn }), ran: NEVER_RAN };
  } catch (error) {
    return { record: broken(file, error, path), ran: NEVER_RAN };
  }
}

function broken(file: HookFile, error: unknown, path: string): HookRecord {
  return brokenHook(file, loadMessage(file.name, error), path);
}

const SIGNALS: { readonly [name: string]: number } = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGTERM: 15,
};

function asItIs({ stdout, stderr, code, signal }: Ran): Served {
  return { stdout, stderr, code: code ?? 128 + (SIGNALS[signal ?? ""] ?? 0) };
}
