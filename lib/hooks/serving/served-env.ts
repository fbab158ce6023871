import { type Clock, systemClock } from "../../core/clock.ts";
import { Context, type HookEnv } from "../../core/hook.ts";
import type { HostEvent } from "./from-host.ts";

/** The context of a hook that is asked before the rest is loaded. */
export function earlyContext(
  told: { readonly [field: string]: unknown },
  file: string,
): { readonly env: ServedEnv; readonly ctx: Context } {
  const text = (field: string) => typeof told[field] === "string" ? told[field] as string : "";
  const interrupt = new AbortController();
  // What the hook started ends with it.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => interrupt.abort(new Error("Interrupted")));
  const session_id = text("session_id");
  const main = { agent_id: session_id, parent_agent_id: undefined, agent_type: undefined };
  const about = { session_id, ...main, turn_id: "", cwd: text("cwd") };
  const env = new ServedEnv(about, { env: process.env, signal: interrupt.signal });
  return { env, ctx: new Context(env, file.slice(file.lastIndexOf("/") + 1)) };
}

type About = Pick<HostEvent, "session_id" | "agent_id" | "parent_agent_id" | "agent_type" | "turn_id" | "cwd">;

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
  readonly signal: AbortSignal;
  /** What the hook logged: for stderr. */
  readonly logged: string[] = [];
  readonly #state: Environment;
  #values: { readonly map: Map<string, unknown>; readonly before: ReadonlyMap<string, string> } | undefined;

  constructor(heard: About, { env, signal }: { readonly env: Environment; readonly signal: AbortSignal }) {
    this.session_id = heard.session_id;
    this.agent_id = heard.agent_id;
    this.parent_agent_id = heard.parent_agent_id;
    this.agent_type = heard.agent_type;
    this.turn_id = heard.turn_id;
    this.cwd = heard.cwd || process.cwd();
    this.signal = signal;
    this.#state = env;
  }

  readonly exec: NonNullable<HookEnv["exec"]> = async (...args) => (await import("../process/exec.ts")).exec(...args);

  log(hook: string, message: string): void {
    this.logged.push(`${hook}: ${message}\n`);
  }

  /** Shared by all hooks of a session, though each event is a process of its own: what is JSON is kept between them. */
  get values(): Map<string, unknown> {
    if (!this.#values) {
      const texts = readValues(this.#folder());
      const map = new Map([...texts].map(([key, text]) => [key, JSON.parse(text) as unknown]));
      this.#values = { map, before: texts };
    }
    return this.#values.map;
  }

  /**
   * Writes down what has changed, a file a key: hosts run hooks side by side, and none must undo another's. What cannot
   * be kept is told, a line each, and never costs the hook its answer.
   */
  keepValues(): string {
    if (!this.#values) return "";
    const { map, before } = this.#values;
    const folder = this.#folder();
    let complaints = "";
    for (const key of new Set([...map.keys(), ...before.keys()])) {
      try {
        const text = JSON.stringify(map.get(key));
        if (text !== before.get(key)) writeValue(folder, key, text);
      } catch (error) {
        complaints += `Cannot keep the value '${key}' as ${(error as Error).message}\n`;
      }
    }
    return complaints;
  }

  /** As `userState()` has it, without what that loads. */
  #folder(): string {
    const { CROCHET_HOME: given, HOME: home } = this.#state;
    const root = given?.startsWith("/") ? given : `${home || process.getBuiltinModule("node:os").homedir()}/.crochet`;
    return `${root}/values/${encodeURIComponent(this.session_id || "none").replaceAll(".", "%2E")}`;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Sessions nobody has written to for so long are over. */
const KEPT_MS = 7 * 24 * 3600 * 1000;

/** Loaded when a hook looks at its values, and not before: it is most of what starting up would cost. */
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
      // Half a file is being written by another hook just now: its key is not there yet.
    }
  }
  return values;
}

function writeValue(folder: string, key: string, text: string | undefined): void {
  const { mkdirSync, renameSync, rmSync, writeFileSync } = fs();
  const path = `${folder}/${fileNameOf(key)}`;
  if (text === undefined) return rmSync(path, { force: true });
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) sweep(folder);
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, `{"key":${JSON.stringify(key)},"value":${text}}`, { mode: 0o600 });
  renameSync(beside, path);
}

function fileNameOf(key: string): string {
  const { createHash } = process.getBuiltinModule("node:crypto");
  return `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.json`;
}

function sweep(folder: string): void {
  const { readdirSync, rmSync, statSync } = fs();
  const all = folder.slice(0, folder.lastIndexOf("/"));
  for (const name of readdirSync(all)) {
    const path = `${all}/${name}`;
    if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > KEPT_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}
