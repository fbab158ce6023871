import { fire } from "../../core/dispatch.ts";
import type { AnyEvent } from "../../core/events.ts";
import { type Folded, NOTHING } from "../../core/fold.ts";
import type { Context, HookRecord } from "../../core/hook.ts";
import { extensionOf, formatFileName, parseFileName, parseMoment } from "../file/file-name.ts";
import { moduleRecord } from "../file/hook-record.ts";
import { askEach } from "../hosts/ask-each.ts";
import { fitted } from "../hosts/fit-record.ts";
import { type Served, writeAnswer } from "../hosts/write-answer.ts";
import type { HookFile } from "../discover.ts";
import type { ProcessResult } from "../../process/process.ts";
import type { AskedModule, ModuleAnswer, Serving } from "../serve-hook.ts";
import type { ServedCommand } from "./serve-command.ts";

const NEVER_RAN = () => undefined;

/** Asks any hook file, whatever its kind, and says its answer to the host. A module that was asked is not asked again. */
export async function answered(serving: Serving, module: AskedModule | undefined): Promise<Served> {
  const { path, heard, host, options } = serving;
  const first = heard[0]!;
  let file: HookFile;
  try {
    file = module ? namedFile(path, options.event) : (await import("../discover.ts")).readHookFile(path, options.event);
  } catch (error) {
    return { stdout: "", stderr: `${await unusableFile(path, error)}\n`, code: 1 };
  }
  const odd: string[] = [];
  const { record, ran, asked } = await loaded(file, serving, module, (warning) => odd.push(warning));
  const all = await askEach(heard, host, (one) => {
    const hook = answering(record, asked?.get(one));
    return fire([fitted(hook, one, host, options.isAttended)], { ...one.fired }, serving.env);
  });
  const folded = lettingGo({ ...all, warnings: [...odd, ...all.warnings] }, record.name, serving);
  const end = ran();
  const failed = folded.runs.some((run) => run.failure !== undefined);
  // What a script wrote for Claude Code is passed on as it is, unless it failed and the failure refuses or would be lost.
  const asIs = !failed || (folded.decision !== "deny" && end?.code !== 0);
  // Its new input is that of a tool of ours.
  const isTheirs = !folded.modified || first.from === undefined || first.toolNames.includes(first.from.tool);
  if (end && host.answers.asClaude && record.mode === "gate" && asIs && isTheirs) return unchanged(end);
  const answer = writeAnswer(folded, first.fired as AnyEvent, host, first.wireName);
  return { ...answer, stderr: serving.env.logged.join("") + answer.stderr };
}

/** The answer of a Stop hook that has sent the agent back as often as it may, in a host that would never end that. */
function lettingGo(folded: Folded, hook: string, { path, heard: [one], env, host: { stopCap } }: Serving): Folded {
  const event = one!.fired as AnyEvent;
  if (stopCap === undefined || event.event !== "stop" || folded.decision !== "deny") return folded;
  const key = `times ${path} sent ${one!.agent_id} back`;
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
): Promise<ServedCommand & Pick<AskedModule, "asked">> {
  try {
    if (module) {
      const record = moduleRecord(file, module.loaded, path, (hook) => hook as HookRecord["run"]);
      return { record, ran: NEVER_RAN, ...module.asked && { asked: module.asked } };
    }
    if (file.kind === "command") {
      const { servedCommand } = await import("./serve-command.ts");
      return servedCommand(file, stdin, heard[0]!, host, options);
    }
    const { loadHook } = await import("../discover.ts");
    const folder = { root: file.path.slice(0, file.path.lastIndexOf("/")) || "/", shared: "", sharedFiles: [] };
    const prompt = file.kind === "prompt" && await options.prompt?.() || { model: undefined };
    const around = { projectDir: options.env.CLAUDE_PROJECT_DIR ?? heard[0]!.cwd, env: options.env };
    return { record: await loadHook(file, { folder, source: path, host: around, prompt, warn }), ran: NEVER_RAN };
  } catch (error) {
    const { brokenHook, loadMessage } = await import("../discover.ts");
    return { record: brokenHook(file, loadMessage(file.name, error), path), ran: NEVER_RAN };
  }
}

/** What a module that was asked did then, and is not to do again. */
function answering(record: HookRecord, asked: ModuleAnswer | undefined): HookRecord {
  if (!asked) return record;
  const run: HookRecord["run"] = (_, given) => {
    const { said, inputs, aborted } = asked.ctx ?? {};
    const ctx = given as Context;
    if (said) ctx.said = said;
    if (inputs) ctx.inputs = inputs;
    ctx.aborted = aborted;
    if ("error" in asked) throw asked.error;
    return asked.answer;
  };
  return { ...record, run };
}

function unchanged({ stdout, stderr, code, signal }: ProcessResult): Served {
  const { signals } = process.getBuiltinModule("node:os").constants;
  return { stdout, stderr, code: code ?? 128 + (signals[signal as NodeJS.Signals] ?? 0) };
}
