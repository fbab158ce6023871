import type { EventName, EventOf } from "../core/events.ts";
import type { Context, Hook, HookContext } from "../core/hook.ts";
import type { Host, Tried } from "../hooks/serve.ts";
import type { ServedEnv } from "../hooks/serving/served-env.ts";
import { printAside } from "./_aside.ts";
import type { Usage } from "./_flags.ts";
import type { Command } from "./_io.ts";

const USAGE: Usage = {
  name: "hook",
  words: "<file>",
  about: "Serves a hook file as a command hook of another host: its event on stdin, the answer on stdout.",
  flags: [
    ["--event <name>", "the event, where the file's name does not say it"],
    ["--dialect <host>", "whose protocol is spoken: claude, codex or gemini (claude)"],
  ],
  example: `echo '{"hook_event_name":"Stop"}' | crochet hook hooks/stop.tests-pass.ts`,
};

const hook: Command = async (args, io) => {
  const asked = await readArgs(args);
  if (asked === undefined) {
    const { helpText, readFlags } = await import("./_flags.ts");
    await readFlags(USAGE, args);
    io.out(helpText(USAGE));
    return 0;
  }
  const { file, ...options } = asked;
  const { env, signal } = io;
  const path = file.startsWith("/") ? file : `${io.cwd}/${file}`;
  const model = async () => env.ANTHROPIC_API_KEY ? (await import("../anthropic/model.ts")).anthropic() : undefined;
  const { serve } = await import("../hooks/serve.ts");
  const stdin = early?.stdin ?? await stdinText();
  const served = await serve(path, stdin, { ...options, env, signal, model, tried: early?.tried });
  if (served.stderr !== "") io.err(served.stderr);
  if (served.stdout !== "") io.out(served.stdout);
  return served.code;
};
export default Object.assign(hook, { usage: USAGE });

interface Asked {
  readonly file: string;
  readonly host: Host;
  readonly event: string | undefined;
}

/** What is asked; undefined for `--help` and for unknown flags: the parser that all commands share answers those. */
async function readArgs(args: readonly string[]): Promise<Asked | undefined> {
  const words: string[] = [];
  const flags: Record<string, string> = {};
  for (let i = 0; i < args.length; i++) {
    const [, flag, joined] = /^--(event|dialect)(?:=(.*))?$/s.exec(args[i]!) ?? [];
    if (flag === undefined && args[i]!.startsWith("-")) return undefined;
    if (flag === undefined) words.push(args[i]!);
    else if ((flags[flag] = joined ?? args[++i] ?? "") === "") {
      throw new TypeError(`Cannot read --${flag} as its value is missing`);
    }
  }
  const [file, ...more] = words;
  if (file === undefined || more.length > 0) {
    throw new TypeError(`Cannot serve ${words.length} files: name one, as in crochet hook hooks/stop.sh`);
  }
  const host = flags.dialect ?? "claude";
  const { HOSTS, isHost } = await import("../hooks/serving/from-host.ts");
  if (!isHost(host)) {
    throw new TypeError(`Cannot speak dialect '${host}' as there is no such host: expected ${HOSTS.join(", ")}`);
  }
  return { file, host, event: flags.event };
}

/** All of stdin, by the runtime's own reader: the streams of node would be most of what starting costs. */
export function stdinText(): Promise<string> {
  const { Bun, Deno } = globalThis as unknown as {
    Bun?: { stdin: { text(): Promise<string> } };
    Deno?: { stdin: { readable: ReadableStream<Uint8Array> } };
  };
  if (Bun) return Bun.stdin.text();
  return Deno
    ? new Response(Deno.stdin.readable).text()
    : Array.fromAsync(process.stdin.setEncoding("utf8")).then(joined);
}

const joined = (chunks: readonly string[]) => chunks.join("");

/** What was read and answered before the rest was loaded. */
let early: { readonly stdin: string; readonly tried: Tried | undefined } | undefined;

/**
 * Asks a module before anything else is loaded: a process is started for each event, and loading is nearly all it does.
 * True where the module had nothing to say, which is what most say to most events: then all is done. Any other answer
 * is kept in `early` for the command to tell, so that it means the same as everywhere.
 */
async function isQuiet(args: readonly string[]): Promise<boolean> {
  const [file = "", flag, host] = args;
  const plain = args.length === 1 ||
    (args.length === 3 && flag === "--dialect" && (host === "claude" || host === "codex"));
  // An import reads these characters otherwise.
  if (!isModule(file) || !plain || file.includes("?") || file.includes("#") || file.includes("%")) return false;
  const stdin = await stdinText();
  early = { stdin, tried: undefined };
  let told: Told;
  try {
    told = JSON.parse(stdin);
  } catch {
    return false;
  }
  const event = plainEvent(file, told);
  if (!event) return false;
  let found: { default?: Hook; config?: unknown };
  try {
    found = await import(file.startsWith("/") ? file : `${process.cwd()}/${file}`);
  } catch {
    return false; // said better where all files are loaded
  }
  const { default: ask, config = {} } = found;
  if (typeof ask !== "function") return false;
  if (!isPlain(config)) return false;
  const ctx = new EarlyContext(told, file);
  let tried: Tried;
  try {
    const answer = ask(event, ctx) as unknown;
    const later = typeof (answer as Promise<unknown> | undefined)?.then === "function";
    tried = { config, answer: later ? await inTime(answer, ctx, config.timeout ?? 60) : answer };
  } catch (error) {
    tried = { config, error };
  }
  const { env, real } = ctx;
  // Last of all it keeps its values: what cannot be kept is something to say too.
  const silent = !("error" in tried) && (tried.answer === undefined || tried.answer === null) &&
    !real?.said && !real?.inputs && real?.aborted === undefined && !env?.logged.length && !env?.keepValues();
  if (!silent) early = { stdin, tried: { ...tried, ...(env && { env }), ...(real && { ctx: real }) } };
  return silent;
}

/** By plain words, as an expression takes longer the first time than all of them. */
function isModule(file: string): boolean {
  return file.endsWith(".ts") || file.endsWith(".js") || file.endsWith(".mjs");
}

/** What a config may say that leaves the file's name the last word on whether the hook listens to what that names. */
const PLAIN_CONFIG: { readonly [key: string]: (value: unknown) => boolean } = {
  timeout: (value) => typeof value === "number" && value > 0 && value < Infinity,
  onError: (value) => value === "continue" || value === "deny" || value === "abort",
  nondeterministic: (value) => typeof value === "boolean",
  isolate: (value) => typeof value === "boolean",
  also: Array.isArray,
};

/** Whether it is such a config; one that is wrong is told where all files are loaded. */
function isPlain(config: unknown): config is { readonly timeout?: number } {
  return typeof config === "object" && config !== null && !Array.isArray(config) &&
    Object.entries(config).every(([key, value]) => PLAIN_CONFIG[key]?.(value));
}

interface Told {
  readonly [field: string]: unknown;
}

/** The event, where the file's name alone tells that the hook listens to it; the same event the rest would make of it. */
export function plainEvent(file: string, told: Told): EventOf<EventName> | undefined {
  const { hook_event_name, session_id, prompt_id, turn_id, agent_id, tool_name, tool_input, tool_use_id } = told;
  if (hook_event_name !== "PreToolUse" || agent_id !== undefined || typeof session_id !== "string") return undefined;
  const name = file.slice(file.lastIndexOf("/") + 1);
  const head = name.slice(0, name.indexOf("."));
  const tools = head === "pre-tool-use" ? undefined : head.startsWith("pre-tool-use@") ? `+${head.slice(13)}+` : "";
  if (tools !== undefined && !tools.includes(`+${tool_name}+`)) return undefined;
  const input = tool_input ?? {};
  return frozen({
    event: "pre-tool-use",
    tool_name,
    input,
    original_input: input,
    tool_use_id: tool_use_id ?? "",
    event_id: `${session_id}:0`,
    timestamp: new Date().toISOString(),
    session_id,
    agent_id: session_id,
    turn_id: turn_id ?? prompt_id ?? "",
  });
}

/** An event is read-only: nothing but its answer speaks for a hook. */
function frozen(value: object): EventOf<EventName> {
  for (const key in value) {
    const part = (value as Told)[key];
    if (typeof part === "object" && part !== null) frozen(part);
  }
  return Object.freeze(value) as EventOf<EventName>;
}

async function inTime(answer: unknown, ctx: EarlyContext, seconds: number): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const why = new Error(`It took longer than its limit of ${seconds} s`);
      ctx.real?.expire(why);
      reject(why);
    }, seconds * 1000);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A context that is loaded when the hook looks at it: most do not. */
class EarlyContext implements HookContext {
  readonly #told: Told;
  readonly #file: string;
  real: Context | undefined;
  env: ServedEnv | undefined;

  constructor(told: Told, file: string) {
    this.#told = told;
    this.#file = file;
  }
  get #loaded(): Context {
    if (this.real) return this.real;
    const load = process.getBuiltinModule("node:module").createRequire(import.meta.url);
    const { earlyContext } = load("../hooks/serving/served-env.ts") as typeof import("../hooks/serving/served-env.ts");
    const { env, ctx } = earlyContext(this.#told, this.#file);
    this.env = env;
    return this.real = ctx;
  }
  get signal(): AbortSignal {
    return this.#loaded.signal;
  }
  get cwd(): string {
    return this.#loaded.cwd;
  }
  get log(): HookContext["log"] {
    return this.#loaded.log;
  }
  get now(): HookContext["now"] {
    return this.#loaded.now;
  }
  get uuid(): HookContext["uuid"] {
    return this.#loaded.uuid;
  }
  get random(): HookContext["random"] {
    return this.#loaded.random;
  }
  get sleep(): HookContext["sleep"] {
    return this.#loaded.sleep;
  }
  get $(): HookContext["$"] {
    return this.#loaded.$;
  }
  get addContext(): HookContext["addContext"] {
    return this.#loaded.addContext;
  }
  get hookInput(): HookContext["hookInput"] {
    return this.#loaded.hookInput;
  }
  get abort(): HookContext["abort"] {
    return this.#loaded.abort;
  }
  get values(): HookContext["values"] {
    return this.#loaded.values;
  }
}

/** A host may start us where the directory is gone: a hook that is named by its whole path guards there too. */
function standSomewhere(): void {
  try {
    process.cwd();
  } catch {
    process.chdir("/");
  }
}

/** As a process: the exit code, once all is written. */
export async function hookProcess(args: readonly string[]): Promise<number> {
  standSomewhere();
  if (!("Bun" in globalThis)) (await import("./_aside.ts")).outliveStrays();
  const allowExit = refuseExit();
  try {
    return await answered(args);
  } finally {
    allowExit();
  }
}

/** What `file/no-exit.ts` does for a run, without the time that it takes to load: here there is nothing but the hook. */
function refuseExit(): () => void {
  const { Deno } = globalThis as unknown as { Deno?: { exit: typeof process.exit } };
  const { exit } = process;
  const denos = Deno?.exit;
  const refused = (code?: unknown): never => {
    throw new Error(`Cannot call process.exit(${code ?? ""}) in a hook as that ends the run: return a verdict`);
  };
  process.exit = refused;
  if (Deno) Deno.exit = refused;
  return () => {
    process.exit = exit;
    if (Deno) Deno.exit = denos!;
  };
}

async function answered(args: readonly string[]): Promise<number> {
  if (args.some(isModule)) printAside();
  if (await isQuiet(args)) return 0;
  const { drained, guarded, keepCompiled, processIo } = await import("./_process.ts");
  keepCompiled();
  const io = processIo();
  const code = await guarded(args, io, () => hook(args, io));
  await drained();
  return code;
}

// What is installed for other hosts starts here: no table of commands, no word to look up in it.
if (import.meta.main) process.exit(await hookProcess(process.argv.slice(2)));
