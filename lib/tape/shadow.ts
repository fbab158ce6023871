import { failurePolicy } from "../core/fold.ts";
import { type AnyEvent, type EventName, EVENTS } from "../core/events.ts";
import type { Context, HookContext, HookRecord } from "../core/hook.ts";
import type { Model } from "../core/model.ts";
import { thrownWords } from "../core/thrown.ts";
import { NO_OPINION, type Opinion, OutOfTime } from "../core/verdict.ts";
import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ifReadable, removeScratch } from "./workspace.ts";
import { mapTexts } from "./redact/redact.ts";

/** What a hook would have done, had it been allowed to. */
export interface ShadowVerdict {
  readonly hook: string;
  readonly event: EventName;
  /** The tool of a tool event. */
  readonly tool?: string;
  readonly would: "deny" | "ask" | "allow" | "modify" | "halt" | "abort" | "send back" | "say" | "fail";
  readonly reason?: string;
}

type Would = readonly [would: ShadowVerdict["would"], reason: string | undefined];
type Say = (...would: Would) => void;

/**
 * Hooks that are asked about everything and change nothing: what they would have done is reported, and they
 * change files in a copy only. They are asked first, so they see what the agent wanted and not what other hooks made of it.
 */
export function shadows(
  records: readonly HookRecord[],
  mirror: Mirror,
  report: (verdict: ShadowVerdict) => void,
): HookRecord[] {
  return records.map((record): HookRecord => {
    const run = async (event: AnyEvent, ctx: HookContext) => {
      const say: Say = (would, reason) =>
        report({
          hook: record.name,
          event: event.event,
          ...("tool_name" in event && { tool: event.tool_name }),
          would,
          ...(reason !== undefined && { reason: mirror.unplaced(reason) }),
        });
      const { signal } = ctx;
      try {
        if (record.kind === "command" || record.kind === "module") mirror.follow();
        const copied = mirror.there(event);
        const answer = async () => record.read(await record.run(copied, harmless(ctx, mirror, say)), copied);
        const opinion = await Promise.race([answer(), endOf(signal)]);
        for (const would of verdictsOf(opinion, event, record)) say(...would);
      } catch (error) {
        // If a person interrupted the replay, the hook did not fail.
        if (!signal.aborted || isOutOfTime(signal.reason)) say(...failed(record, event, thrownWords(error)));
      }
    };
    // By another name, as what a hook draws by chance hangs on its name: its older self, which is asked too, keeps its own.
    return {
      ...record,
      name: `${record.name} (shadow)`,
      mode: "gate",
      priority: Number.NEGATIVE_INFINITY,
      onError: "continue",
      run,
      read: () => NO_OPINION,
    };
  });
}

/** By its name: the agent may use another copy of this package. */
function isOutOfTime(reason: unknown): boolean {
  return reason instanceof Error && reason.name === OutOfTime.name;
}

/** Fails when a hook's time is over: one that ignores the signal keeps running, and its late answer is dropped, as in a run. */
function endOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

/** A context through which nothing can be done. */
function harmless(ctx: HookContext, mirror: Mirror, say: Say): HookContext {
  const instead: Partial<HookContext & Pick<Context, "taped" | "calling">> = {
    cwd: mirror.there(ctx.cwd),
    $: (command, args = []) =>
      ctx.$("/bin/sh", ["-c", 'cd "$0" && exec "$@"', mirror.there(ctx.cwd), command, ...args]),
    addContext: (text) => say("say", text),
    hookInput: (text) => say("say", text),
    abort: (reason) => say("abort", reason),
    values: ownValues(ctx.values),
    taped: () => noModel,
    calling: (_, call) => call(),
  };
  return new Proxy(ctx, {
    get: (target, key) => {
      if (Object.hasOwn(instead, key)) return instead[key as keyof HookContext];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const copies = new WeakMap<Map<string, unknown>, Map<string, unknown>>();

/** What hooks of a backtest remember from event to event: their own, which begins with what was there. */
function ownValues(values: Map<string, unknown>): Map<string, unknown> {
  const own = copies.get(values) ?? new Map(values);
  copies.set(values, own);
  return own;
}

/** The model of prompt hooks here: the tape has no answers for them, and that is not drift. */
const noModel: Model = () => {
  throw new Error("Cannot judge as it asks a model, and a replay has no model");
};

/** The verdicts of an answer; one without effect is not reported. */
export function verdictsOf(opinion: Opinion, { event }: Pick<AnyEvent, "event">, { mode }: HookRecord): Would[] {
  const { decision, reason, value, halt, abort, contexts = [] } = opinion;
  const found: Would[] = [];
  if (mode === "gate") {
    if (decision === "deny") found.push(...denial(event, reason));
    else if (decision !== undefined) found.push([decision, reason]);
    if (value) found.push(["modify", JSON.stringify(value.to)]);
    if (halt !== undefined) found.push(["halt", halt]);
  }
  if (abort !== undefined) found.push(["abort", abort]);
  for (const { text } of contexts) found.push(["say", text]);
  return found;
}

function denial(event: EventName, reason: string | undefined): Would[] {
  if (EVENTS[event].deny === "ignored") return [];
  return [[event === "stop" ? "send back" : "deny", reason]];
}

/** A failure is not a verdict, but it may refuse or end the run (U7). */
export function failed(record: HookRecord, { event }: Pick<AnyEvent, "event">, words: string): Would {
  const policy = record.mode === "gate" ? failurePolicy(record, event) : "continue";
  const [refused] = policy === "deny" ? denial(event, `it failed: ${words}`) : [];
  return refused ?? [policy === "abort" ? "abort" : "fail", policy === "abort" ? `it failed: ${words}` : words];
}

/**
 * A copy of a workspace for those who may look at it and must not change it. It follows the workspace; what is changed
 * in the copy stays there until the workspace itself changes the same file.
 */
export class Mirror {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "crochet-shadow-")));
  readonly #of: string;
  /** What the workspace looked like when it was last followed, by path. */
  #seen = new Map<string, string>();

  constructor(workspace: string) {
    this.#of = workspace;
  }

  /** Brings over what has changed in the workspace since the last time. */
  follow(): void {
    const now = new Map<string, string>();
    this.#walk("", now);
    for (const path of this.#seen.keys()) if (!now.has(path)) remove(join(this.root, path));
    this.#seen = now;
  }

  #walk(folder: string, now: Map<string, string>): void {
    for (const { name } of ifReadable(() => readdirSync(join(this.#of, folder), { withFileTypes: true })) ?? []) {
      const path = join(folder, name);
      const stat = ifReadable(() => lstatSync(join(this.#of, path)));
      if (!stat) continue;
      const isFolder = stat.isDirectory() && name !== "node_modules";
      const sign = isFolder ? "folder" : `${stat.mode} ${stat.size} ${stat.mtimeMs} ${stat.ino}`;
      now.set(path, sign);
      if (this.#seen.get(path) !== sign) ifReadable(() => this.#bring(path, stat));
      if (isFolder) this.#walk(path, now);
    }
  }

  /** Packages are many and hooks do not change them: the copy links to them. */
  #bring(path: string, stat: ReturnType<typeof lstatSync> & object): void {
    const [from, to] = [join(this.#of, path), join(this.root, path)];
    remove(to);
    mkdirSync(dirname(to), { recursive: true });
    if (stat.isFile()) copyFileSync(from, to);
    else if (stat.isSymbolicLink()) symlinkSync(this.there(readlinkSync(from)), to);
    else if (stat.isDirectory() && path.endsWith("node_modules")) symlinkSync(from, to, "dir");
    else if (stat.isDirectory()) mkdirSync(to);
  }

  /** A value in which every path of the workspace is one of the copy. */
  there<T>(value: T): T {
    return mapTexts(value, (text) => text.replaceAll(this.#of, this.root));
  }

  /** A text without the names of either, which are others in every run. */
  unplaced(text: string): string {
    return text.replaceAll(this.root, "{ROOT}").replaceAll(this.#of, "{ROOT}");
  }

  end(): void {
    removeScratch(this.root);
  }
}

function remove(path: string): void {
  ifReadable(() => rmSync(path, { recursive: true, force: true }));
}
