import type { AnyEvent } from "../core/events.ts";
import type { Context, Hook, HookContext } from "../core/hook.ts";
import { freeze } from "../core/json.ts";
import { askingHost, type Host, type HostName, loadHost } from "./hosts/host.ts";
import { type HostEvent, ourEvents } from "./hosts/read-event.ts";
import type { Served } from "./hosts/write-answer.ts";
import type { PromptModel } from "./prompt-hook.ts";
import { offerOwnCopy } from "../runtime/own-copy.ts";
import type { ServedEnv } from "./serving/env.ts";

export interface ServeOptions {
  readonly host: HostName;
  /** For a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Read only when needed: asking for it may be what starts listening for signals. */
  readonly signal: AbortSignal;
  /** Whether the host has a terminal, so that a person can be asked. @default true */
  readonly isAttended?: () => boolean;
  /** Gives the model for prompt hooks. They are off if absent. */
  readonly prompt?: () => Promise<PromptModel>;
}

export interface Serving {
  readonly path: string;
  readonly stdin: string;
  /** The event, or each call of ours in the host's call, and that itself. */
  readonly heard: readonly HostEvent[];
  readonly host: Host;
  readonly env: ServedEnv;
  readonly options: ServeOptions;
}

/** A module that was imported, and what it did when it was asked. */
export interface AskedModule {
  readonly loaded: { readonly default?: unknown; readonly config?: unknown };
  /** By what it was asked about. Absent if it was not asked, as its config may rule out the event. */
  readonly asked?: ReadonlyMap<HostEvent, ModuleAnswer>;
}

export interface ModuleAnswer {
  readonly ctx: Context | undefined;
  readonly answer?: unknown;
  readonly error?: unknown;
}

/** Bun has it in every module, and finds what to bundle by it. */
declare function require(path: "./serving/env.ts"): typeof import("./serving/env.ts");

const SILENCE: Served = { stdout: "", stderr: "", code: 0 };

/** Serves one hook file in the protocol of a host. Loading is most of its time: what has nothing to say loads no more. */
export async function serve(path: string, stdin: string, asked: ServeOptions): Promise<Served> {
  let options = asked;
  let host: Host;
  let heard: readonly HostEvent[];
  try {
    const input = JSON.parse(stdin);
    const speaker = askingHost(asked.host, input, asked.env);
    // Not a copy: that would read `signal`.
    if (speaker !== asked.host) options = Object.create(asked, { host: { value: speaker } }) as ServeOptions;
    host = await loadHost(options.host);
    const given = host.read ? host.read(input) : input;
    if (!given) return SILENCE;
    if (typeof given.hook_event_name !== "string") throw new TypeError("it has no hook_event_name");
    const isListed = Object.hasOwn(host.events, given.hook_event_name);
    heard = ourEvents(given, host, isListed ? undefined : (await import("../core/names.ts")).ownEvent);
    if (heard.length === 0 && !isListed) {
      throw new TypeError(`${options.host} has no event '${given.hook_event_name}'`);
    }
  } catch (error) {
    const stderr = `Cannot serve ${path}: stdin is not an event: ${(error as Error).message}\n`;
    // A guard that cannot understand what it is asked refuses it.
    return { stdout: "", stderr, code: await namesGuard(asked.event ?? path) ? 2 : 1 };
  }
  const [first] = heard;
  if (!first) return SILENCE;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const about = heardBy(options.event ?? name, heard);
  if (about?.length === 0 && !mayListenElse(path)) return SILENCE;
  const context = new LazyContext(first, options, name);
  const module = about?.length ? await askModule(path, about, context, options) : undefined;
  const silent = isSilent(module) && !context.made?.env.logged.length;
  const served = silent ? SILENCE : await (await import("./serving/serve-answer.ts"))
    .answered({ path, stdin, heard, host, options, env: await context.env() }, module);
  const lost = context.made?.env.keepValues() ?? "";
  return lost === "" ? served : { ...served, stderr: served.stderr + lost };
}

/** Whether the name of a file is that of a guard: its config is not read. */
async function namesGuard(path: string): Promise<boolean> {
  const { EVENTS } = await import("../core/events.ts");
  const { EVENT_NAMES, resolveEvent } = await import("../core/names.ts");
  const guarded = EVENT_NAMES.filter((name) => EVENTS[resolveEvent(name)!.event].guards);
  return new RegExp(`(^|/|\\d-)(${guarded.join("|")})(?=[@.]|$)[^/]*$`).test(path);
}

/** The context of a hook, loaded when the hook first uses it: most do not. */
class LazyContext {
  readonly #make: (from: typeof import("./serving/env.ts")) => { readonly env: ServedEnv; readonly ctx: Context };
  made: { readonly env: ServedEnv; readonly ctx: Context } | undefined;

  constructor(heard: HostEvent, options: ServeOptions, hook: string) {
    this.#make = ({ servedContext }) => this.made ??= servedContext(heard, options, hook);
  }

  async env(): Promise<ServedEnv> {
    return this.#make(await import("./serving/env.ts")).env;
  }

  get ctx(): HookContext {
    return new Proxy({} as HookContext, { get: (_, key) => Reflect.get(this.#now().ctx, key) });
  }

  /** A hook does not wait for its context, so it is not imported. */
  #now(): { readonly ctx: Context } {
    if (this.made) return this.made;
    if ("Bun" in globalThis) return this.#make(require("./serving/env.ts"));
    return this.#make(process.getBuiltinModule("node:module").createRequire(import.meta.url)("./serving/env.ts"));
  }
}

/** Imports a module and asks it about the events that its file name says; undefined for any other hook file. */
async function askModule(
  path: string,
  about: readonly HostEvent[],
  context: LazyContext,
  options: ServeOptions,
): Promise<AskedModule | undefined> {
  // An import would read the characters ? # % as parts of a URL.
  if (!/\.m?js$|\.ts$/.test(path) || /[?#%]/.test(path)) return undefined;
  let loaded: AskedModule["loaded"];
  try {
    offerOwnCopy(path);
    loaded = await import(path);
  } catch {
    return undefined; // loading it again gives the error a place
  }
  const { default: hook, config = {} } = loaded;
  if (typeof hook !== "function" || !isPlain(config)) return { loaded };
  const asked = new Map<HostEvent, ModuleAnswer>();
  for (const one of about) {
    asked.set(one, await askOnce(hook as Hook, one, context, options, config.timeout));
    // What says something decides with all that is loaded then.
    if (!isSilent({ loaded, asked })) break;
  }
  return { loaded, asked };
}

async function askOnce(
  hook: Hook,
  one: HostEvent,
  context: LazyContext,
  { signal }: ServeOptions,
  seconds = 60,
): Promise<ModuleAnswer> {
  try {
    const given = hook(stamped(one), context.ctx) as unknown;
    const later = typeof (given as Promise<unknown> | undefined)?.then === "function";
    const answer = later ? await inTime(given, context, signal, seconds) : given;
    return { ctx: context.made?.ctx, answer };
  } catch (error) {
    return { ctx: context.made?.ctx, error };
  }
}

/** What a file of this name listens to: its own call for who names the host's tool. Undefined: another event; none: other tools. */
function heardBy(file: string, heard: readonly HostEvent[]): readonly HostEvent[] | undefined {
  const dot = file.indexOf(".");
  const stem = dot < 0 ? file : file.slice(0, dot);
  const dash = stem.indexOf("-");
  const head = dash > 0 && dash <= 4 && Number(stem.slice(0, dash)) >= 0 ? stem.slice(dash + 1) : stem;
  const at = head.indexOf("@");
  const event = at < 0 ? head : head.slice(0, at);
  const tools = at < 0 ? undefined : head.slice(at + 1).split("+");
  const names = (one: HostEvent) => !tools || one.toolNames.some((tool) => tools.includes(tool));
  const isOwn = tools !== undefined && heard.some((one) => one.isOwn && names(one));
  if (!isAt(event, heard[0]!)) return undefined;
  return heard.filter((one) => (one.isOwn === true) === isOwn && names(one));
}

/** Whether a file may listen to more than its name says: few do, and the others cost nothing. */
function mayListenElse(path: string): boolean {
  try {
    const text = process.getBuiltinModule("node:fs").readFileSync(path, "utf8");
    return /\balso\b|\bexport\s*[*{]|\bconfig\b[^=\n]*=\s*(?:[^\s{]|\{[^}]*\.\.\.)/.test(text);
  } catch {
    return true; // what reads it again says why it cannot
  }
}

function isAt(event: string, { fired, name, parent_agent_id }: HostEvent): boolean {
  const sub = parent_agent_id !== undefined;
  switch (fired.event) {
    case "pre-tool-use":
    case "permission-request":
      return event === fired.event;
    case "post-tool-use":
      return event === ((fired as { failed?: boolean }).failed ? "post-tool-use-failure" : "post-tool-use");
    case "stop":
      return event === (sub ? "subagent-stop" : "stop");
    case "agent-start":
      return sub && event === "subagent-start";
    default:
      return !sub && (event === fired.event || event === name);
  }
}

/** Config keys that do not change whether a hook listens, with what they may hold. */
const PLAIN_CONFIG: { readonly [key: string]: (value: unknown) => boolean } = {
  timeout: (value) => typeof value === "number" && value > 0 && value < Infinity,
  onError: (value) => value === "continue" || value === "deny" || value === "abort",
  nondeterministic: (value) => typeof value === "boolean",
  isolate: (value) => typeof value === "boolean",
  also: Array.isArray,
};

function isPlain(config: unknown): config is { readonly timeout?: number } {
  return typeof config === "object" && config !== null && !Array.isArray(config) &&
    Object.entries(config).every(([key, value]) => PLAIN_CONFIG[key]?.(value));
}

/** The event with what every event has, frozen: only its answer speaks for a hook. */
function stamped({ fired, session_id, agent_id, parent_agent_id, agent_type, turn_id }: HostEvent): AnyEvent {
  return freeze({
    ...fired,
    event_id: `${agent_id}:0`,
    timestamp: new Date().toISOString(),
    ...{ session_id, agent_id },
    ...(parent_agent_id !== undefined && { parent_agent_id, agent_type }),
    turn_id,
  }) as AnyEvent;
}

async function inTime(answer: unknown, context: LazyContext, signal: AbortSignal, seconds: number): Promise<unknown> {
  const over = new AbortController();
  const end = new Promise<never>((_, reject) => {
    const giveUp = (why: string) => {
      const error = new Error(why);
      context.made?.ctx.expire(error);
      reject(error);
    };
    const timer = setTimeout(() => giveUp(`it took longer than its limit of ${seconds} s`), seconds * 1000);
    over.signal.addEventListener("abort", () => clearTimeout(timer));
    signal.addEventListener("abort", () => giveUp("it was interrupted"), { signal: over.signal });
  });
  try {
    return await Promise.race([answer, end]);
  } finally {
    over.abort();
  }
}

function isSilent(module: AskedModule | undefined): boolean {
  return module?.asked !== undefined && [...module.asked.values()].every(({ ctx, answer, error }) => {
    const { said, inputs, aborted } = ctx ?? {};
    return error === undefined && (answer ?? null) === null && !said && !inputs && aborted === undefined;
  });
}
