import type { AnyEvent } from "../core/events.ts";
import type { HookContext, HookRecord } from "../core/hook.ts";
import { thrownWords } from "../core/shown.ts";
import { type HookText, type Opinion, OutOfTime } from "../core/verdict.ts";
import type { KindParts } from "./file/hook-record.ts";
import { asyncLine, FailedCommand } from "./process/read-result.ts";
import { answerOf, type Called, lateAnswer, listeningTo, refusalWords, speakerOf } from "./process/command-answer.ts";
import type { HookHost, HookStart } from "./process/hook-host.ts";
import { hookEnvironment, hookFolder, outputFolder, withPlaceholders } from "./process/hook-host.ts";
import type { GroupOptions, ProcessOptions, ProcessResult, Stream } from "../process/process.ts";
import { runProcess, startedBy } from "../process/process.ts";
import { wireInput } from "./process/wire.ts";

export interface CommandOptions {
  /** The hook's name, for those who watch its output. */
  readonly name: string;
  /** A line for `/bin/sh -c`; with `args`, a program that is started as it is. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** How the command is named to the model. @default command */
  readonly label?: string | undefined;
  /** The name of the event the hook was registered under. */
  readonly registered?: string | undefined;
  /** It runs in the background: only its last words are read. @default false */
  readonly async?: boolean | undefined;
  /** If the hook runs in the background, exit code 2 still passes its stderr to the model. @default false */
  readonly rewake?: boolean | undefined;
  /** Seconds it may go on in the background after it said that it would. @default no limit */
  readonly timeout?: number | undefined;
  /** What makes a failure block, in the words of its front end. @default 'onError is "deny"' */
  readonly blocking?: string | undefined;
}

/** The parts of a record that make it a hook of the host's protocol: a failure that refuses has the host's words too. */
export type HookKindParts = KindParts & Pick<HookRecord, "refusal">;

/** A hook that is a command: an event on its stdin, its answer in its exit code and output, as the host has it. */
export function commandHook(options: CommandOptions, host: HookHost): HookKindParts {
  const { command, label = command, registered } = options;
  const called = { command: label, registered };

  const run = async (event: AnyEvent, ctx: HookContext): Promise<Opinion> => {
    const facts = host.wire?.(event) ?? {};
    const about = listeningTo(event, called, ctx, host);
    const input = `${JSON.stringify(wireInput(event, ctx.cwd, facts, registered))}\n`;
    const { place, ...watched } = await startOf(options, { host, event, ctx, facts });
    const call = { ...place, ...watched, input };
    if (options.async) return { contexts: lateAnswer(await runProcess(call), about, options.rewake) };
    const { ran, gone } = await untilGone(call, options.timeout);
    return gone ? { later: gone.then((end) => lateAnswer(end, about)).catch(() => NOTHING) } : answerOf(ran, about);
  };
  return {
    kind: "command",
    dialect: "claude",
    run,
    read: (raw) => raw as Opinion,
    refusal: (error, event) => failureWords(error, event, called, options.blocking),
  };
}

const NOTHING: readonly HookText[] = [];

/** The refusal that a failure makes, in the host's words. */
export function failureWords(error: unknown, event: AnyEvent, called: Called, blocking = 'onError is "deny"'): string {
  const why = error instanceof OutOfTime
    ? `timed out; blocking because ${blocking}`
    : `failed; blocking because ${blocking}\n${error instanceof FailedCommand ? error.stderr : thrownWords(error)}`;
  return refusalWords(speakerOf(event, called), `[${called.command}]: ${why}`);
}

/** Where and in what the process of a hook runs for one event, in the session's sandbox if there is one, and who hears it. */
export async function startOf(
  { name, command, args }: Pick<CommandOptions, "name" | "command" | "args">,
  start: HookStart,
): Promise<
  { readonly place: GroupOptions } & Pick<ProcessOptions, "onOutput" | "outputDir"> & { signal: AbortSignal }
> {
  const { host, event, ctx: { signal } } = start;
  const { onOutput: heard } = host;
  const wrap = host.confine && await host.confine();
  const cwd = hookFolder(start);
  const env = hookEnvironment(start, cwd);
  const filled = (text: string) => args ? withPlaceholders(text, env) : text;
  const own = { command: filled(command), args: args?.map(filled), cwd, env };
  return {
    place: wrap ? startedBy(wrap, own) : own,
    signal,
    onOutput: heard && ((stream, text) => heard({ hook: name, event, stream, text })),
    outputDir: () => outputFolder(host, event.session_id),
  };
}

/** The end of the process, or the moment it says that it goes on in the background. */
async function untilGone(
  call: ProcessOptions & { readonly input: string; readonly signal: AbortSignal },
  limit: number | undefined,
): Promise<{ ran: ProcessResult; gone?: undefined } | { ran?: undefined; gone: Promise<ProcessResult> }> {
  const over = new AbortController();
  let first: string | undefined = "";
  let leave: (gone: { timeout: number | undefined }) => void;
  const left = new Promise<{ timeout: number | undefined }>((resolve) => leave = resolve);
  const onOutput = (stream: Stream, text: string) => {
    call.onOutput?.(stream, text);
    if (stream === "stderr" || first === undefined) return;
    first += text;
    const end = first.indexOf("\n");
    const gone = end < 0 ? undefined : asyncLine(first.slice(0, end));
    if (end >= 0 || !/^\s*\{/.test(first)) first = undefined;
    if (gone) leave(gone);
  };
  const running = runProcess({ ...call, onOutput, signal: AbortSignal.any([call.signal, over.signal]) });
  const end = await Promise.race([running, left]);
  if ("code" in end) return { ran: end };
  const ms = end.timeout ?? (limit === undefined ? undefined : limit * 1000);
  if (ms === undefined) return { gone: running };
  const timer = setTimeout(() => over.abort(), ms);
  return { gone: running.finally(() => clearTimeout(timer)) };
}
