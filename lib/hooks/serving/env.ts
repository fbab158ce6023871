import { Context, type HookEnv } from "../../core/hook.ts";
import { quietly } from "../../core/json.ts";
import { hookEnv } from "../hook-env.ts";
import type { HostEvent } from "../hosts/read-event.ts";
import type { ServeOptions } from "../serve-hook.ts";

/** What a hook runs in when another host asks it. */
export interface ServedEnv extends HookEnv {
  /** What the hook logged: for stderr. */
  readonly logged: string[];
  /** Writes what has changed of the values; gives a line for each that cannot be kept. */
  keepValues(): string;
}

/** The context of a module, in the environment in which another host asks it. */
export function servedContext(
  { fired: _, wireName: __, toolNames: ___, from: ____, isOwn: _____, transcript, ...ids }: HostEvent,
  options: ServeOptions,
  hook: string,
): { env: ServedEnv; ctx: Context } {
  const logged: string[] = [];
  let values: { readonly map: Map<string, unknown>; readonly before: ReadonlyMap<string, string> } | undefined;
  const env: ServedEnv = {
    ...hookEnv({ ...ids, cwd: ids.cwd || process.cwd() }),
    logged,
    lastError: async () => {
      const { endOf, lastErrorIn } = await import("./last-error.ts");
      return transcript === "" ? undefined : lastErrorIn(endOf(transcript));
    },
    get signal() {
      return options.signal;
    },
    log: (hook, message) => void logged.push(`${hook}: ${message}\n`),
    /** Shared by all hooks of a session, though each event has its own process: what is JSON is kept between them. */
    get values() {
      const before = values?.before ?? readValues(folderOf(ids.session_id, options));
      values ??= { map: new Map([...before].map(([key, text]) => [key, JSON.parse(text) as unknown])), before };
      return values.map;
    },
    /** One file per key: hosts run hooks in parallel, and none must undo the work of another. */
    keepValues() {
      if (!values) return "";
      const { map, before } = values;
      let problems = "";
      for (const key of new Set([...map.keys(), ...before.keys()])) {
        try {
          const text = JSON.stringify(map.get(key));
          if (text !== before.get(key)) writeValue(folderOf(ids.session_id, options), key, text);
        } catch (error) {
          problems += `Cannot keep the value '${key}': ${(error as Error).message}\n`;
        }
      }
      return problems;
    },
  };
  return { env, ctx: new Context(env, hook) };
}

/** As `userState()`, without what that loads. */
function folderOf(session: string, { env: { CROCHET_HOME: given, HOME: home } }: ServeOptions): string {
  const root = given?.startsWith("/") ? given : `${home || process.getBuiltinModule("node:os").homedir()}/.crochet`;
  return `${root}/values/${encodeURIComponent(session || "none").replaceAll(".", "%2E")}`;
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
  for (const name of quietly(() => readdirSync(folder)) ?? []) {
    // While another hook writes it, its key is not there yet.
    const kept = quietly(() =>
      JSON.parse(readFileSync(`${folder}/${name}`, "utf8")) as { key: string; value: unknown }
    );
    if (kept) values.set(kept.key, JSON.stringify(kept.value));
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
