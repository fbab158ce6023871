import { type EventName, EVENTS, type Scope } from "../../core/events.ts";
import type { Hook, HookRecord, OnError } from "../../core/hook.ts";
import { isObject, present } from "../../core/json.ts";
import type { ResolvedName } from "../../core/names.ts";
import { readNative } from "../../core/verdict.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";
import { runaway } from "../../regex/runaway.ts";
import type { HookFile } from "../discover.ts";
import { compileMatcher, missing } from "../hook-matcher.ts";
import { DEFAULT_PRIORITY, type FileKind, isAboutTool, type Moment, parseMoment } from "./file-name.ts";

/** What a hook's kind decides: how it runs, and how its answer is read. */
export type KindParts = Pick<HookRecord, "kind" | "dialect" | "run" | "read">;

/** All the rest of a record, which its file's name and config decide. */
type RecordBase = Omit<HookRecord, keyof KindParts>;

/** Time limits of files that set none, in seconds. Rules take no time. */
const TIMEOUTS: { readonly [K in FileKind]?: number } = { module: 60, command: 600, prompt: 30 };

/** The fields of a hook record that do not depend on the kind of its file. */
export function recordBase(file: HookFile, config: HookConfig, source: string): RecordBase {
  if (file.tools.length > 0 && config.matcher !== undefined) {
    throw new TypeError(
      `Cannot match by '@${file.tools.join("+")}' and by matcher '${config.matcher}': keep one of them`,
    );
  }
  const named = listener(file, config.matcher);
  const listeners = [named, ...(config.also ?? []).map((text) => listener(parseMoment(text)))];
  const on = listeners.map((l) => config.scope === undefined ? l.on : { ...l.on, scope: config.scope });
  const misses = missesOf(listeners);
  const tools = listeners.flatMap(({ on }) => isAboutTool(on.event) ? listedNames(on.pattern) : []);
  const timeout = config.timeout ?? TIMEOUTS[file.kind];
  return {
    ...{ name: file.name, on, priority: file.priority ?? DEFAULT_PRIORITY, mode: config.mode ?? "gate" },
    ...present({ matcher: named.on.pattern, misses, timeout, onError: config.onError }),
    ...(tools.length > 0 && { namedTools: tools }),
    enabled: true,
    source,
  };
}

/** Whether what a hook listens to must not happen without it. */
export function isGuard({ mode }: Pick<HookRecord, "mode">, event: EventName): boolean {
  return mode === "gate" && EVENTS[event].guards;
}

/** The record of an imported module: its default export is the hook, its `config` what the hook says about itself. */
export function moduleRecord(
  file: HookFile,
  loaded: { readonly default?: unknown; readonly config?: unknown },
  source: string,
  run: (hook: Hook) => HookRecord["run"],
): HookRecord {
  if (typeof loaded.default !== "function") {
    throw new Error("its default export is not a function: write export default (event, ctx) => …");
  }
  return {
    ...recordBase(file, checkedConfig(loaded.config), source),
    kind: "module",
    dialect: "native",
    run: run(loaded.default as Hook),
    read: (raw, event) => readNative(raw, event.event),
  };
}

/** One moment of a hook file, with what it is matched by. */
export interface Listened extends ResolvedName {
  readonly pattern?: string;
  /** The exact names, if the pattern is a list of names. */
  readonly tools?: readonly string[];
}

interface Listener {
  readonly on: Listened;
  readonly misses: HookRecord["misses"];
}

/** As in the host: a post-tool-use hook sees what went well, post-tool-use-failure the rest. */
export function asInHost(on: ResolvedName): ResolvedName {
  return on.event === "post-tool-use" ? { outcome: "success", ...on } : on;
}

function listener({ on, tools }: Moment, matcher?: string): Listener {
  const pattern = matcher ?? (tools.length > 0 ? tools.join("|") : undefined);
  return {
    on: { ...asInHost(on), ...present({ pattern }), ...(matcher === undefined && tools.length > 0 && { tools }) },
    misses: missing(pattern, matcherOf(pattern)),
  };
}

/** A hook of several moments applies if any of them does. */
function missesOf(listeners: readonly Listener[]): HookRecord["misses"] {
  if (listeners.every((l) => l.misses === undefined)) return undefined;
  if (listeners.length === 1) return listeners[0]!.misses;
  return (event) => {
    let why: string | undefined;
    for (const { on, misses } of listeners) {
      if (on.event !== event.event) continue;
      if (event.event === "post-tool-use" && on.outcome !== undefined && on.outcome !== event.outcome) continue;
      const reason = misses?.(event);
      if (reason === undefined) return undefined;
      why ??= reason;
    }
    return why;
  };
}

/** The matcher of a file: one that could search forever is refused when it is loaded. @throws {TypeError} that says why */
export function matcherOf(pattern: string | undefined): (value: string) => boolean {
  const test = compileMatcher(pattern);
  if (pattern === undefined || !/[*+{]/.test(pattern) || pattern === "*") return test;
  const why = runaway(new RegExp(pattern));
  if (why !== undefined) throw new TypeError(`Cannot use matcher '${pattern}' as ${why}`);
  return test;
}

/** The names a matcher lists; none if it is a regular expression. */
export function listedNames(pattern: string | undefined): string[] {
  if (pattern === undefined || !/^[\w\-, |]+$/.test(pattern)) return [];
  return pattern.split(/[|,]/).map((name) => name.trim()).filter((name) => name !== "");
}

/** What a hook file may say about itself: a module's `config` export, or the header line of any other text hook. */
export interface HookConfig {
  /** Seconds until the hook counts as failed. */
  readonly timeout?: number;
  readonly onError?: OnError;
  /** What the tool name, the source, … must match, if a list of names in the file name is not enough. */
  readonly matcher?: string;
  /** @default "gate" */
  readonly mode?: HookRecord["mode"];
  readonly scope?: Scope;
  /** Further moments, each written as in a file name: `post-tool-use@Read`. */
  readonly also?: readonly string[];
  /** A module that runs in a process of its own, by `crochet hook`: one that loops can then be ended. */
  readonly isolate?: boolean;
  /** The same event may get another answer: checks then do not ask for equal ones. */
  readonly nondeterministic?: boolean;
  /** Files of the project that the hook depends on: `hooks check` copies them into its scratch project. */
  readonly state?: string | readonly string[];
}

const CONFIG: { readonly [K in keyof Required<HookConfig>]: OptionKind } = {
  timeout: "a number of seconds",
  onError: ["continue", "deny", "abort"],
  matcher: "a text",
  mode: ["gate", "observe", "async"],
  scope: ["root", "sub", "all"],
  also: "a list of texts",
  isolate: "true or false",
  nondeterministic: "true or false",
  state: "a text or a list of texts",
};

/** The config if every key is known and every value fits. @throws {TypeError} that names the key and what would fit */
export function checkedConfig(given: unknown = {}): HookConfig {
  if (!isObject(given)) {
    throw new TypeError(`Cannot use the hook's config: it is not an object but ${JSON.stringify(given)}`);
  }
  checkOptions(given, CONFIG, "use the hook's config");
  const config = given as HookConfig;
  const outside = [config.state ?? []].flat().find((path) => path === "" || /^\/|(?:^|\/)\.\.(?:\/|$)/.test(path));
  if (outside === undefined) return config;
  throw new TypeError(`Cannot use the hook's config as its state '${outside}' is not a path inside the project`);
}

/** The header is in the first comment, or in the ten lines after it: a licence or front matter may come first. */
const TOP = /^(?:[ \t]*(?:#[^\n]*|\r)?\n)*(?:[^\n]*\n){0,10}/;

/** Reads `# crochet: timeout=5 matcher="mcp__.*" nondeterministic` of a text hook. @throws {TypeError} for any other word */
export function readHeader(text: string): HookConfig {
  if (!text.includes("crochet:")) return {};
  const [top] = TOP.exec(`${text}\n`)!;
  const [header, second] = [...top.matchAll(/^#[ \t]*crochet:(.*)$/gm)];
  if (!header) return {};
  if (second) throw new TypeError("Cannot use a second '# crochet:' line: join them");
  const config: Record<string, unknown> = {};
  for (
    const [word, key, quoted, bare] of header[1]!.trim().matchAll(
      /([A-Za-z]+)(?:="((?:[^"\\]|\\.)*)"|=(\S*))?(?=\s|$)|\S+/g,
    )
  ) {
    if (key === undefined) throw new TypeError(`Cannot read '${word}' in the '# crochet:' line: write key=value`);
    const value = quoted?.replaceAll('\\"', '"') ?? bare;
    config[key] = value === undefined ? true : fromText(key, value);
  }
  return checkedConfig(config);
}

function fromText(key: string, value: string): unknown {
  if (key === "timeout") return value.trim() === "" || Number.isNaN(Number(value)) ? value : Number(value);
  if (key === "also" || key === "state") return value.split(",");
  return value === "true" ? true : value === "false" ? false : value;
}
