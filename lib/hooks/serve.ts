import type { EventName, EventOf } from "../core/events.ts";
import { Context, type Hook } from "../core/hook.ts";
import type { Model } from "../core/model.ts";
import { fromHost, type Host, type HostEvent } from "./_from-host.ts";
import { ServedEnv } from "./_served-env.ts";
import type { Served } from "./_to-host.ts";

export type { Host } from "./_from-host.ts";

export interface ServeOptions {
  readonly host: Host;
  /** For a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Whom a prompt hook asks; loaded when there is one. @default nobody */
  readonly model?: () => Promise<Model | undefined>;
}

/** One file and one event of a host. */
export interface Serving {
  readonly path: string;
  readonly stdin: string;
  readonly heard: HostEvent;
  readonly env: ServedEnv;
  readonly options: ServeOptions;
}

/** What a module did when it was asked: an answer, or a throw. */
export interface Tried {
  readonly ctx: Context;
  readonly config: object;
  readonly answer?: unknown;
  readonly error?: unknown;
}

const SILENCE: Served = { stdout: "", stderr: "", code: 0 };

/**
 * Serves one hook file over the command protocol of a host: what that wrote to stdin in, what it reads back out.
 *
 * A process is started for each event, so what is not needed is not loaded. A module that has nothing to say, which
 * is what most say to most events, is asked before anything of the machinery is there; any other answer is then
 * handed to it, so that it means the same here as everywhere.
 */
export async function serve(path: string, stdin: string, options: ServeOptions): Promise<Served> {
  let heard: HostEvent | undefined;
  try {
    const told = JSON.parse(stdin);
    if (typeof told.hook_event_name !== "string") throw new TypeError("Cannot read an event without a name");
    heard = fromHost(told, options.host);
  } catch {
    return { stdout: "", stderr: `Cannot serve '${path}' as stdin holds no event: expected a JSON object\n`, code: 1 };
  }
  if (!heard) return SILENCE;
  const env = new ServedEnv(heard, options);
  const serving: Serving = { path, stdin, heard, env, options };
  try {
    const tried = await tryModule(serving);
    if (!tried) return await (await import("./_serve-whole.ts")).serveWhole(serving);
    return isSilent(tried) ? SILENCE : await (await import("./_serve-answer.ts")).serveAnswer(serving, tried);
  } finally {
    env.keepValues();
  }
}

function isSilent(tried: Tried): boolean {
  const { said, inputs, aborted } = tried.ctx;
  return !("error" in tried) && (tried.answer === undefined || tried.answer === null) && !said && !inputs &&
    aborted === undefined;
}

/** Asks a module whose name alone tells that it listens; undefined where more has to be looked at first. */
async function tryModule(serving: Serving): Promise<Tried | undefined> {
  const { path, env } = serving;
  if (!isPlainCase(serving)) return undefined;
  const ctx = new Context(env, path.slice(path.lastIndexOf("/") + 1));
  let module: { default?: Hook; config?: { timeout?: number } };
  try {
    module = await import(path);
  } catch {
    return undefined; // said better where all files are loaded
  }
  const { default: hook, config = {} } = module;
  if (typeof hook !== "function") return undefined;
  for (const key in config) if (key !== "timeout" && key !== "onError" && key !== "nondeterministic") return undefined;
  try {
    return { ctx, config, answer: await inTime(hook(stamped(serving), ctx), ctx, config.timeout ?? 60) };
  } catch (error) {
    return { ctx, config, error };
  }
}

/** Whether the file is a module of exactly this event. Done by hand: an expression would cost more than the hook. */
function isPlainCase({ path, heard, options }: Serving): boolean {
  const { fired, toolNames, parent_agent_id } = heard;
  if (!path.endsWith(".ts") && !path.endsWith(".js") && !path.endsWith(".mjs")) return false;
  if (path.includes("?") || path.includes("#") || path.includes("%")) return false; // an import reads these otherwise
  if (parent_agent_id !== undefined || (fired.event === "post-tool-use" && fired.failed)) return false;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const head = options.event ?? name.slice(0, name.indexOf("."));
  const at = head.indexOf("@");
  const event = at < 0 ? head : head.slice(0, at);
  if (event !== fired.event) {
    const dash = event.indexOf("-");
    const priority = event.slice(0, dash);
    if (event.slice(dash + 1) !== fired.event || priority.length > 4 || !(Number(priority) >= 0)) return false;
  }
  return at < 0 || head.slice(at + 1).split("+").includes(toolNames[0]!);
}

function stamped({ heard, env }: Serving): EventOf<EventName> {
  const event = {
    ...heard.fired,
    event_id: `${env.session_id}:${env.sequence.next++}`,
    timestamp: new Date().toISOString(),
    session_id: env.session_id,
    agent_id: env.agent_id,
    turn_id: env.turn_id,
  };
  return frozen(event) as unknown as EventOf<EventName>;
}

/** An event is read-only: nothing but its answer speaks for a hook. */
function frozen(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  for (const key in value) frozen((value as Record<string, unknown>)[key]);
  return Object.freeze(value);
}

async function inTime(answer: unknown, ctx: Context, seconds: number): Promise<unknown> {
  if (typeof (answer as Promise<unknown> | undefined)?.then !== "function") return answer;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      ctx.expire();
      reject(new Error(`It took longer than its limit of ${seconds} s`));
    }, seconds * 1000);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
