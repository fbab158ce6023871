import type { Served } from "../hooks/hosts/write-answer.ts";
import type { ServeOptions } from "../hooks/serve-hook.ts";
import { refusedToHook, refuseExits } from "../runtime/judging.ts";
import { keepCompiled, outliveStrays, ownLog, printAside } from "./kit/runtime.ts";
import type { Usage } from "./kit/flags.ts";
import type { Command, Io } from "./kit/io.ts";

const USAGE: Usage = {
  name: "hook",
  words: "<file>",
  about: "Serves a hook file as a command hook of another host: its event on stdin, the answer on stdout.",
  flags: [
    ["--event <name>", "the event, if the file's name does not say it"],
    ["--dialect <host>", "the host whose protocol to speak, as in hooks install --for (claude)"],
  ],
  example: `echo '{"hook_event_name":"Stop"}' | crochet hook hooks/stop.tests-pass.ts`,
};

const hook: Command = async (args, io) => print(await answer(args, io), args, io);
export default Object.assign(hook, { usage: USAGE });

type Surroundings = Pick<ServeOptions, "env" | "signal"> & { readonly cwd: string };

/** What the hook says to the host; undefined for `--help` and unknown flags. */
async function answer(args: readonly string[], around: Surroundings): Promise<Served | undefined> {
  const asked = await readArgs(args);
  if (!asked) return undefined;
  const { file, host, event } = asked;
  const path = file.startsWith("/") ? file : `${around.cwd}/${file}`;
  const { env } = around;
  const { serve } = await import("../hooks/serve-hook.ts");
  return await serve(path, await stdinText(), {
    host,
    event,
    env,
    get signal() {
      return around.signal;
    },
    isAttended: hasTerminal,
    prompt: async () => (await import("../agent/named-model.ts")).promptModel(env),
  });
}

function hasTerminal(): boolean {
  const { closeSync, openSync } = process.getBuiltinModule("node:fs");
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

async function print(served: Served | undefined, args: readonly string[], io: Io): Promise<number> {
  if (!served) {
    const { helpText, readFlags } = await import("./kit/flags.ts");
    await readFlags(USAGE, args);
    io.out(helpText(USAGE));
    return 0;
  }
  if (served.stderr !== "") io.err(served.stderr);
  if (served.stdout !== "") io.out(served.stdout);
  return served.code;
}

interface HookArgs extends Pick<ServeOptions, "host" | "event"> {
  readonly file: string;
}

/** Reads the arguments without loading the parser of all commands; undefined if that has to answer. */
async function readArgs(args: readonly string[]): Promise<HookArgs | undefined> {
  const words: string[] = [];
  const flags: Record<string, string> = {};
  for (let i = 0; i < args.length; i++) {
    const [, flag, joined] = /^--(event|dialect)(?:=(.*))?$/s.exec(args[i]!) ?? [];
    if (flag === undefined && args[i]!.startsWith("-")) return undefined;
    if (flag === undefined) words.push(args[i]!);
    else if ((flags[flag] = joined ?? args[++i] ?? "") === "") throw new TypeError(`Option --${flag} has no value`);
  }
  const [file, ...more] = words;
  if (file === undefined || more.length > 0) {
    throw new TypeError(`Cannot serve ${words.length} files: name one, as in crochet hook hooks/stop.sh`);
  }
  const host = flags.dialect ?? "claude";
  const { HOST_NAMES, isHost } = await import("../hooks/hosts/host.ts");
  if (!isHost(host)) throw new TypeError(`Unknown host '${host}' in --dialect: expected ${HOST_NAMES.join(", ")}`);
  return { file, host, event: flags.event };
}

/** All of stdin, by the runtime's own reader: the streams of node would take longer than everything else. */
export function stdinText(): Promise<string> {
  const { Bun, Deno } = globalThis as unknown as {
    Bun?: { stdin: { text(): Promise<string> } };
    Deno?: { stdin: { readable: ReadableStream<Uint8Array> } };
  };
  if (Bun) return Bun.stdin.text();
  return Deno
    ? new Response(Deno.stdin.readable).text()
    : Array.fromAsync(process.stdin.setEncoding("utf8")).then((chunks) => chunks.join(""));
}

/** A host may start us in a directory that is gone: a hook named by its whole path still has to guard. */
function standSomewhere(): void {
  try {
    process.cwd();
  } catch {
    process.chdir("/");
  }
}

/** As a process: the exit code, once everything is written. */
export async function hookProcess(args: readonly string[]): Promise<number> {
  standSomewhere();
  if (!("Bun" in globalThis)) outliveStrays();
  const guard = refuseExits(refusedToHook);
  try {
    keepCompiled();
    if (args.some((word) => /\.m?[jt]s$/.test(word))) printAside();
    const answered = answer(args, SURROUNDINGS);
    const served = await answered.catch(() => undefined);
    // Most answers are nothing, or a plain line, for which nothing more is loaded.
    if (served && PLAIN_LINES.test(served.stdout) && PLAIN_LINES.test(served.stderr)) {
      if (served.stderr !== "") console.error(served.stderr.slice(0, -1));
      if (served.stdout !== "") ownLog(served.stdout.slice(0, -1));
      return served.code;
    }
    const { drained, guarded, processIo } = await import("./kit/process.ts");
    const io = processIo();
    const code = await guarded(args, io, async () => await print(await answered, args, io));
    await drained();
    return code;
  } finally {
    guard.end();
  }
}

/** Whole lines that every terminal shows as they are. */
const PLAIN_LINES = /^(?:[\t\n -~]*\n)?$/;

let interrupt: AbortController | undefined;

const SURROUNDINGS: Surroundings = {
  env: process.env,
  get cwd() {
    return process.cwd();
  },
  /** What the hook started ends with it; a hook that started nothing simply ends. */
  get signal() {
    if (!interrupt) {
      const { abort } = interrupt = new AbortController();
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => abort.call(interrupt));
    }
    return interrupt.signal;
  },
};
