import { type Clock, systemClock } from "../core/clock.ts";
import type { AnyEvent } from "../core/events.ts";
import { Context, type Hook, type HookEnv } from "../core/hook.ts";
import type { Model } from "../core/model.ts";
import type { HostName } from "./hosts/index.ts";
import { type HostEvent, readEvent } from "./hosts/read-event.ts";
import type { Served } from "./hosts/write-answer.ts";

type Variables = Readonly<Record<string, string | undefined>>;

export interface ServeOptions {
  readonly host: HostName;
  /** For a file whose name does not say it: `stop`, `pre-tool-use@Bash`. */
  readonly event?: string | undefined;
  readonly env: Variables;
  /** Read only when needed: asking for it may be what starts listening for signals. */
  readonly signal: AbortSignal;
  /** Makes the model for prompt hooks. They are off if absent. */
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

/** A module that was imported, and what it did when it was asked. */
export interface AskedModule {
  readonly loaded: { readonly default?: unknown; readonly config?: unknown };
  /** Absent if it was not asked, as its config may rule out the event. */
  readonly asked?: { readonly ctx: Context; readonly answer?: unknown; readonly error?: unknown };
}

const SILENCE: Served = { stdout: "", stderr: "", code: 0 };

/**
 * Serves one hook file in the protocol of a host: takes what the host wrote to stdin, gives what it reads back. A
 * process is started for each event, and most of its time is loading: a module is asked first, and the rest is loaded
 * only if it has something to say.
 */
export async function serve(path: string, stdin: string, options: ServeOptions): Promise<Served> {
  let heard: HostEvent | undefined;
  try {
    const input = JSON.parse(stdin);
    if (typeof input.hook_event_name !== "string") throw new TypeError("it has no hook_event_name");
    heard = readEvent(input, options.host);
  } catch (error) {
    const stderr = `Cannot serve ${path}: stdin is not an event: ${(error as Error).message}\n`;
    return { stdout: "", stderr, code: 1 };
  }
  if (!heard) return SILENCE;
  const env = new ServedEnv(heard, options);
  const module = await askModule(path, heard, env, options.event);
  const served = isSilent(module, env)
    ? SILENCE
    : await (await import("./serving/answer.ts")).answered({ path, stdin, heard, env, options }, module);
  const lost = env.keepValues();
  return lost === "" ? served : { ...served, stderr: served.stderr + lost };
}

/** Imports a module and asks it, if its file name says that it listens; undefined for any other hook file. */
async function askModule(
  path: string,
  heard: HostEvent,
  env: ServedEnv,
  moment: string | undefined,
): Promise<AskedModule | undefined> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  // An import would read the characters ? # % as parts of a URL.
  if (!isModule(name) || path.includes("?") || path.includes("#") || path.includes("%")) return undefined;
  if (!listens(moment ?? name, heard)) return undefined;
  let loaded: AskedModule["loaded"];
  try {
    loaded = await import(path);
  } catch {
    return undefined; // loading it again gives the error a place
  }
  const { default: hook, config = {} } = loaded;
  if (typeof hook !== "function" || !isPlain(config)) return { loaded };
  const ctx = new Context(env, name);
  try {
    const answer = (hook as Hook)(stamped(heard, env), ctx) as unknown;
    const later = typeof (answer as Promise<unknown> | undefined)?.then === "function";
    return { loaded, asked: { ctx, answer: later ? await inTime(answer, ctx, env, config.timeout ?? 60) : answer } };
  } catch (error) {
    return { loaded, asked: { ctx, error } };
  }
}

function isModule(file: string): boolean {
  return file.endsWith(".ts") || file.endsWith(".js") || file.endsWith(".mjs");
}

/** Whether a file of this name listens to the event, as far as the name alone decides it. */
function listens(file: string, { fired, parent_agent_id, toolNames }: HostEvent): boolean {
  const dot = file.indexOf(".");
  const stem = dot < 0 ? file : file.slice(0, dot);
  const dash = stem.indexOf("-");
  const head = dash <= 4 && Number(stem.slice(0, dash)) >= 0 ? stem.slice(dash + 1) : stem;
  const at = head.indexOf("@");
  const event = at < 0 ? head : head.slice(0, at);
  if (at >= 0 && !head.slice(at + 1).split("+").some((tool) => toolNames.includes(tool))) return false;
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
      return !sub && event === fired.event;
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
function stamped({ fired }: HostEvent, env: ServedEnv): AnyEvent {
  const { session_id, agent_id, parent_agent_id, agent_type, turn_id } = env;
  return frozen({
    ...fired,
    event_id: `${agent_id}:0`,
    timestamp: new Date().toISOString(),
    ...{ session_id, agent_id },
    ...(parent_agent_id !== undefined && { parent_agent_id, agent_type }),
    turn_id,
  }) as AnyEvent;
}

function frozen(value: object): object {
  for (const part of Object.values(value)) if (typeof part === "object" && part !== null) frozen(part);
  return Object.freeze(value);
}

async function inTime(answer: unknown, ctx: Context, env: ServedEnv, seconds: number): Promise<unknown> {
  const over = new AbortController();
  const end = new Promise<never>((_, reject) => {
    const giveUp = (why: string) => {
      const error = new Error(why);
      ctx.expire(error);
      reject(error);
    };
    const timer = setTimeout(() => giveUp(`it took longer than its limit of ${seconds} s`), seconds * 1000);
    over.signal.addEventListener("abort", () => clearTimeout(timer));
    env.signal.addEventListener("abort", () => giveUp("it was interrupted"), { signal: over.signal });
  });
  try {
    return await Promise.race([answer, end]);
  } finally {
    over.abort();
  }
}

function isSilent(module: AskedModule | undefined, env: ServedEnv): boolean {
  const { asked } = module ?? {};
  if (!asked || "error" in asked || (asked.answer !== undefined && asked.answer !== null)) return false;
  const { said, inputs, aborted } = asked.ctx;
  return !said && !inputs && aborted === undefined && env.logged.length === 0;
}

/** What a hook runs in when another host asks it. */
export class ServedEnv implements HookEnv {
  readonly session_id: string;
  readonly agent_id: string;
  readonly parent_agent_id: string | undefined;
  readonly agent_type: string | undefined;
  readonly turn_id: string;
  readonly cwd: string;
  readonly clock: Clock = systemClock;
  readonly sequence: { next: number } = { next: 0 };
  /** What the hook logged: for stderr. */
  readonly logged: string[] = [];
  readonly #options: Pick<ServeOptions, "env" | "signal">;
  #values: { readonly map: Map<string, unknown>; readonly before: ReadonlyMap<string, string> } | undefined;

  constructor(heard: HostEvent, options: Pick<ServeOptions, "env" | "signal">) {
    this.session_id = heard.session_id;
    this.agent_id = heard.agent_id;
    this.parent_agent_id = heard.parent_agent_id;
    this.agent_type = heard.agent_type;
    this.turn_id = heard.turn_id;
    this.cwd = heard.cwd || process.cwd();
    this.#options = options;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  readonly exec: NonNullable<HookEnv["exec"]> = async (...args) => (await import("./process/process.ts")).exec(...args);

  log(hook: string, message: string): void {
    this.logged.push(`${hook}: ${message}\n`);
  }

  /** Shared by all hooks of a session, though each event has its own process: what is JSON is kept between them. */
  get values(): Map<string, unknown> {
    if (!this.#values) {
      const texts = readValues(this.#folder());
      const map = new Map([...texts].map(([key, text]) => [key, JSON.parse(text) as unknown]));
      this.#values = { map, before: texts };
    }
    return this.#values.map;
  }

  /**
   * Writes what has changed, one file per key: hosts run hooks in parallel, and none must undo the work of another.
   * Gives a line for each value that cannot be kept; the hook's answer still counts.
   */
  keepValues(): string {
    if (!this.#values) return "";
    const { map, before } = this.#values;
    const folder = this.#folder();
    let problems = "";
    for (const key of new Set([...map.keys(), ...before.keys()])) {
      try {
        const text = JSON.stringify(map.get(key));
        if (text !== before.get(key)) writeValue(folder, key, text);
      } catch (error) {
        problems += `Cannot keep the value '${key}': ${(error as Error).message}\n`;
      }
    }
    return problems;
  }

  /** As `userState()`, without what that loads. */
  #folder(): string {
    const { CROCHET_HOME: given, HOME: home } = this.#options.env;
    const root = given?.startsWith("/") ? given : `${home || process.getBuiltinModule("node:os").homedir()}/.crochet`;
    return `${root}/values/${encodeURIComponent(this.session_id || "none").replaceAll(".", "%2E")}`;
  }
}

/** A session that no hook has written to for this long is over. */
const KEPT_MS = 7 * 24 * 3600 * 1000;

/** Loaded when a hook uses its values: it would be most of what starting costs. */
function fs(): typeof import("node:fs") {
  return process.getBuiltinModule("node:fs");
}

function readValues(folder: string): Map<string, string> {
  const { readdirSync, readFileSync } = fs();
  const values = new Map<string, string>();
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return values;
  }
  for (const name of names) {
    try {
      const { key, value } = JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as { key: string; value: unknown };
      values.set(key, JSON.stringify(value));
    } catch {
      // Another hook is writing it: its key is not there yet.
    }
  }
  return values;
}

function writeValue(folder: string, key: string, text: string | undefined): void {
  const { mkdirSync, renameSync, rmSync, writeFileSync } = fs();
  const { createHash } = process.getBuiltinModule("node:crypto");
  const path = `${folder}/${createHash("sha256").update(key).digest("hex").slice(0, 32)}.json`;
  if (text === undefined) return rmSync(path, { force: true });
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) removeOld(folder);
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, `{"key":${JSON.stringify(key)},"value":${text}}`, { mode: 0o600 });
  renameSync(beside, path);
}

/** Removes the values of sessions that are over. */
function removeOld(folder: string): void {
  const { readdirSync, rmSync, statSync } = fs();
  const all = folder.slice(0, folder.lastIndexOf("/"));
  for (const name of readdirSync(all)) {
    const path = `${all}/${name}`;
    if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > KEPT_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}
