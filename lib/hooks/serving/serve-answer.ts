import { fire } from "../../core/dispatch.ts";
import type { AnyEvent } from "../../core/events.ts";
import { type Folded, NOTHING } from "../../core/fold.ts";
import type { Context, Hook } from "../../core/hook.ts";
import { extensionOf, formatFileName, parseFileName, parseMoment } from "../file/file-name.ts";
import { moduleRecord } from "../file/hook-record.ts";
import { fitted } from "../hosts/fit-record.ts";
import { type Served, writeAnswer } from "../hosts/write-answer.ts";
import type { HookFile } from "../discover.ts";
import type { ProcessResult } from "../../process/process.ts";
import type { AskedModule, Serving } from "../serve-hook.ts";
import type { ServedCommand } from "./serve-command.ts";

const NEVER_RAN = () => undefined;

/** Asks any hook file, whatever its kind, and says its answer to the host. A module that was asked is not asked again. */
export async function answered(serving: Serving, module: AskedModule | undefined): Promise<Served> {
  const { path, heard, host, options } = serving;
  let file: HookFile;
  try {
    file = module ? namedFile(path, options.event) : (await import("../discover.ts")).readHookFile(path, options.event);
  } catch (error) {
    return { stdout: "", stderr: `${await unusableFile(path, error)}\n`, code: 1 };
  }
  const odd: string[] = [];
  const { record, ran } = await loaded(file, serving, module, (warning) => odd.push(warning));
  const asked = await fire([fitted(record, heard, host, options.isAttended)], { ...heard.fired }, serving.env);
  const folded = lettingGo({ ...asked, warnings: [...odd, ...asked.warnings] }, record.name, serving);
  const end = ran();
  const failed = folded.runs.some((run) => run.failure !== undefined);
  // What a script wrote for Claude Code is passed on as it is, unless it failed and the failure refuses or would be lost.
  const asIs = !failed || (folded.decision !== "deny" && end?.code !== 0);
  if (end && options.host === "claude" && record.mode === "gate" && asIs) return unchanged(end);
  const answer = writeAnswer(folded, heard.fired as AnyEvent, host, heard.wireName);
  return { ...answer, stderr: serving.env.logged.join("") + answer.stderr };
}

/** The answer of a Stop hook that has sent the agent back as often as it may, in a host that would never end that. */
function lettingGo(folded: Folded, hook: string, { path, heard, env, host: { stopCap } }: Serving): Folded {
  const event = heard.fired as AnyEvent;
  if (stopCap === undefined || event.event !== "stop" || folded.decision !== "deny") return folded;
  const key = `times ${path} sent ${heard.agent_id} back`;
  const times = event.stop_hook_active ? Number(env.values.get(key) ?? 0) + 1 : 1;
  env.values.set(key, times);
  if (times <= stopCap) return folded;
  const text = `Hook ${hook} sent the agent back ${stopCap} times, so it may stop now: ${folded.reason}`;
  return { ...NOTHING, runs: folded.runs, systemMessages: [...folded.systemMessages, { hook, text }] };
}

/** The file by its name alone: a module has been read already. */
function namedFile(path: string, event: string | undefined): HookFile {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const named = event === undefined ? name : `${formatFileName(parseMoment(event))}${extensionOf(name)}`;
  return { ...parseFileName(named), name, path, at: path, text: "", executable: false };
}

async function unusableFile(path: string, error: unknown): Promise<string> {
  const { loadMessage } = await import("../discover.ts");
  const said = loadMessage(path, error);
  return /names no event|is not an event/.test(said) ? `${said} Or pass --event` : said;
}

/** The hook of a file; one that cannot be loaded refuses what it guards. */
async function loaded(
  file: HookFile,
  { path, stdin, heard, host, options }: Serving,
  module: AskedModule | undefined,
  warn: (message: string) => void,
): Promise<ServedCommand> {
  try {
    if (module) {
      const { loaded, asked } = module;
      const run = (hook: Hook): Hook => asked ? (_, ctx) => repeated(asked, ctx as Context) : hook;
      return { record: moduleRecord(file, loaded, path, run), ran: NEVER_RAN };
    }
    if (file.kind === "command") {
      const { servedCommand } = await import("./serve-command.ts");
      return servedCommand(file, stdin, heard, host, options);
    }
    const { loadHook } = await import("../discover.ts");
    const folder = { root: file.path.slice(0, file.path.lastIndexOf("/")) || "/", shared: "", sharedFiles: [] };
    const prompt = file.kind === "prompt" && await options.prompt?.() || { model: undefined };
    const around = { projectDir: options.env.CLAUDE_PROJECT_DIR ?? heard.cwd, env: options.env };
    return { record: await loadHook(file, { folder, source: path, host: around, prompt, warn }), ran: NEVER_RAN };
  } catch (error) {
    const { brokenHook, loadMessage } = await import("../discover.ts");
    return { record: brokenHook(file, loadMessage(file.name, error), path), ran: NEVER_RAN };
  }
}

/** What the module did when it was asked first. */
function repeated(asked: NonNullable<AskedModule["asked"]>, ctx: Context): ReturnType<Hook> {
  const { said, inputs, aborted } = asked.ctx ?? {};
  if (said) ctx.said = said;
  if (inputs) ctx.inputs = inputs;
  ctx.aborted = aborted;
  if ("error" in asked) throw asked.error;
  return asked.answer as ReturnType<Hook>;
}

function unchanged({ stdout, stderr, code, signal }: ProcessResult): Served {
  const { signals } = process.getBuiltinModule("node:os").constants;
  return { stdout, stderr, code: code ?? 128 + (signals[signal as NodeJS.Signals] ?? 0) };
}
