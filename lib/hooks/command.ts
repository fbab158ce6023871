import type { AnyEvent } from "../core/events.ts";
import type { HookContext, HookRecord } from "../core/hook.ts";
import { thrownWords } from "../core/thrown.ts";
import { type Opinion, OutOfTime, type Said } from "../core/verdict.ts";
import type { KindParts } from "./file/record.ts";
import { asyncLine } from "./hosts/claude-answer.ts";
import { answerOf, lateAnswer, listeningTo, refusalWords, speakerOf } from "./process/answer.ts";
import {
  hookEnvironment,
  hookFolder,
  type HookHost,
  type HookStart,
  outputFolder,
  withPlaceholders,
} from "./process/host.ts";
import {
  type Group,
  type GroupOptions,
  type ProcessOptions,
  type Ran,
  runProcess,
  startedBy,
  startGroup,
  type Stream,
} from "../process/process.ts";
import { FailedCommand } from "./process/read-ran.ts";
import { type WireFacts, wireInput } from "./process/wire.ts";

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
  /** `hook-input`: what it writes to stderr is input for the agent (U11), and nothing else counts. @default "verdict" */
  readonly protocol?: "verdict" | "hook-input" | undefined;
  /** Kept alive for the session: a line in, a line out. @default false */
  readonly warm?: boolean | undefined;
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
  const { command, label = command, registered, protocol = "verdict" } = options;
  const called = { command: label, registered };
  const sessions = new Map<string, WarmProcess>();

  const run = async (event: AnyEvent, ctx: HookContext): Promise<Opinion> => {
    const facts = host.wire?.(event) ?? {};
    const about = listeningTo(event, called, ctx, host);
    const { signal } = ctx;
    const input = lineOf(options, event, ctx, facts);
    const wrap = host.confine && await host.confine();
    const place = () => {
      const own = placeOf(options, { host, event, ctx, facts });
      return wrap ? startedBy(wrap, own) : own;
    };
    const { onOutput: heard } = host;
    const onOutput = heard &&
      ((stream: Stream, text: string) => heard({ hook: options.name, event, stream, text }));
    if (options.warm) {
      const question = { line: input, start: place, signal, onOutput };
      return answerOf(await askWarm(sessions, question, event), about);
    }
    const call: Call = { ...place(), input, signal, onOutput, outputDir: () => outputFolder(host, event.session_id) };
    if (protocol === "hook-input") {
      ctx.hookInput((await runProcess(call)).stderr);
      return {};
    }
    if (options.async) return { contexts: lateAnswer(await runProcess(call), about, options.rewake) };
    const { ran, gone } = await untilGone(call, options.timeout);
    return gone ? { later: gone.then((end) => lateAnswer(end, about)).catch(() => NOTHING) } : answerOf(ran, about);
  };
  return {
    kind: "command",
    dialect: "claude",
    run,
    read: (raw) => raw as Opinion,
    refusal: (error, event) =>
      refusalWords(speakerOf(event, called), `[${label}]: ${failureWords(error, options.blocking)}`),
  };
}

const NOTHING: readonly Said[] = [];

/** Why a failure blocks, in the host's words. */
export function failureWords(error: unknown, blocking = 'onError is "deny"'): string {
  if (error instanceof OutOfTime) return `timed out; blocking because ${blocking}`;
  const said = error instanceof FailedCommand ? error.stderr : thrownWords(error);
  return `failed; blocking because ${blocking}\n${said}`;
}

type Call = ProcessOptions & { readonly input: string; readonly signal: AbortSignal };

/** What a hook of one event reads on its stdin. */
function lineOf({ registered }: CommandOptions, event: AnyEvent, ctx: HookContext, facts: WireFacts): string {
  return `${JSON.stringify(wireInput(event, ctx.cwd, facts, registered))}\n`;
}

/** Where and in what the process of a hook runs. */
function placeOf({ command, args }: CommandOptions, start: HookStart): GroupOptions {
  const cwd = hookFolder(start);
  const env = hookEnvironment(start, cwd);
  return {
    command: args ? withPlaceholders(command, env) : command,
    args: args?.map((arg) => withPlaceholders(arg, env)),
    cwd,
    env,
  };
}

/** The end of the process, or the moment it says that it goes on in the background. */
async function untilGone(
  call: Call,
  limit: number | undefined,
): Promise<{ ran: Ran; gone?: undefined } | { ran?: undefined; gone: Promise<Ran> }> {
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

/** One process a session, ended with the session. */
async function askWarm(sessions: Map<string, WarmProcess>, question: Question, event: AnyEvent): Promise<Ran> {
  const id = event.session_id;
  let warm = sessions.get(id);
  if (!warm) {
    const fresh = warm = new WarmProcess();
    sessions.set(id, fresh);
    question.signal.addEventListener("abort", () => {
      fresh.end();
      if (sessions.get(id) === fresh) sessions.delete(id);
    }, { once: true });
  }
  if (event.event !== "session-end") return await warm.ask(question);
  try {
    return await warm.ask(question);
  } finally {
    warm.end();
    sessions.delete(id);
  }
}

/** The longest answer, in bytes. */
const LINE_BYTES = 8 * 1024 * 1024;
/** What is kept of stderr of one question. */
const STDERR_BYTES = 64 * 1024;
/** How long the pipes of one that has ended may still speak. */
const QUIET_MS = 100;

interface Question {
  readonly line: string;
  /** What to start if nothing runs. */
  readonly start: () => GroupOptions;
  readonly signal: AbortSignal;
  readonly onOutput?: ((stream: Stream, text: string) => void) | undefined;
}

/** The question a process is at, and what it has said so far. */
interface Asked {
  readonly group: Group;
  readonly onOutput: Question["onOutput"];
  readonly stdout: Uint8Array[];
  readonly stderr: Uint8Array[];
  size: number;
  readonly give: (end: Pick<Ran, "code" | "signal" | "ended">) => void;
  readonly fail: (why: string) => void;
}

/**
 * A command that is kept alive: a line in, a line out, one question at a time. One that ends is read like any other
 * command, by its exit code and output, and is started again by the next question. One that says more than a line
 * is ended, as the rest could be taken for the next answer.
 */
class WarmProcess {
  #group: Group | undefined;
  #asked: Asked | undefined;
  #queue: Promise<unknown> | undefined;

  ask(question: Question): Promise<Ran> {
    const answer = this.#queue ? this.#queue.then(() => this.#ask(question)) : this.#ask(question);
    const done = answer.then(() => {}, () => {}).then(() => {
      if (this.#queue === done) this.#queue = undefined;
    });
    this.#queue = done;
    return answer;
  }

  end(): void {
    if (this.#group) this.#drop(this.#group);
  }

  #ask({ line, start, signal, onOutput }: Question): Promise<Ran> {
    const aborted = { code: null, signal: null, ended: "aborted" } as const;
    if (signal.aborted) return Promise.resolve({ ...aborted, stdout: "", stderr: "" });
    const group = this.#group ??= this.#start(start());
    return new Promise<Ran>((resolve, reject) => {
      const abort = () => {
        this.#drop(group);
        asked.give(aborted);
      };
      const close = () => {
        this.#asked = undefined;
        signal.removeEventListener("abort", abort);
        group.child.unref();
      };
      const asked: Asked = this.#asked = {
        group,
        onOutput,
        stdout: [],
        stderr: [],
        size: 0,
        give: (end) => {
          if (this.#asked !== asked) return;
          close();
          resolve({ ...end, stdout: text(asked.stdout), stderr: text(asked.stderr) });
        },
        fail: (why) => {
          if (this.#asked !== asked) return;
          close();
          reject(new Error(why));
        },
      };
      signal.addEventListener("abort", abort);
      // The process is waited for while it owes an answer, and at no other time.
      group.child.ref();
      group.child.stdin.write(line);
    });
  }

  #start(options: GroupOptions): Group {
    const group = startGroup(options);
    const { child } = group;
    child.stdout.on("data", (chunk: Uint8Array) => this.#hear(group, chunk));
    child.stderr.on("data", (chunk: Uint8Array) => {
      const asked = this.#askedOf(group);
      if (!asked) return;
      asked.onOutput?.("stderr", text([chunk]));
      const kept = asked.stderr.reduce((sum, { length }) => sum + length, 0);
      if (kept < STDERR_BYTES) asked.stderr.push(chunk.subarray(0, STDERR_BYTES - kept));
    });
    child.once("error", (error) => {
      this.#forget(group);
      this.#askedOf(group)?.fail(`Cannot start '${options.command}' as ${error.message}`);
    });
    child.once("exit", (code, signal) => {
      this.#forget(group);
      const asked = this.#askedOf(group);
      if (!asked) return;
      // The rest of what it wrote comes before its pipes close, which another process may hold open.
      const give = () => asked.give({ code, signal });
      child.once("close", give);
      setTimeout(() => setImmediate(() => setImmediate(give)), QUIET_MS);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr] as { unref?: () => void }[]) stream.unref?.();
    return group;
  }

  #hear(group: Group, chunk: Uint8Array): void {
    const asked = this.#askedOf(group);
    if (!asked) return this.#drop(group);
    asked.onOutput?.("stdout", text([chunk]));
    const end = chunk.indexOf(10);
    asked.stdout.push(end < 0 ? chunk : chunk.subarray(0, end));
    asked.size += chunk.length;
    if (end < 0 && asked.size <= LINE_BYTES) return;
    if (end < chunk.length - 1) this.#drop(group);
    if (end >= 0) asked.give({ code: 0, signal: null });
    else asked.fail(`Cannot use the hook's answer as its line is longer than ${LINE_BYTES} bytes`);
  }

  #askedOf(group: Group): Asked | undefined {
    return this.#asked?.group === group ? this.#asked : undefined;
  }

  #forget(group: Group): void {
    if (this.#group === group) this.#group = undefined;
  }

  #drop(group: Group): void {
    this.#forget(group);
    group.end();
  }
}

function text(chunks: readonly Uint8Array[]): string {
  if (chunks.length === 0) return "";
  const decoder = new TextDecoder();
  if (chunks.length === 1) return decoder.decode(chunks[0]);
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}
