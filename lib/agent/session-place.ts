import type { AgentOptions, RunOptions } from "./options.ts";
import { systemClock } from "../core/clock.ts";
import type { HookList } from "../core/hook.ts";
import type { Limits } from "../core/limits.ts";
import type { Prompt } from "../core/messages.ts";
import type { ApiTool } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";
import type { TapedSession } from "../replay/taped-session.ts";
import { claiming, memoryStore, type SessionStore, sessionStore } from "../log/stores/memory-store.ts";
import { engineOf } from "./engine.ts";
import type { SessionLog } from "./session-log.ts";
import type { SessionRecord } from "../replay/person-answers.ts";
import type { Output } from "./typed-output.ts";
import { tapeFor } from "./session-tape.ts";

export interface CheckedOptions {
  readonly options: AgentOptions;
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly apiTools: readonly ApiTool[];
  readonly output?: Output;
  readonly limits: Limits;
  readonly cwd: string;
  /** In the order given: the paths of folders, and what is in code. */
  readonly hooks: readonly (string | HookList)[];
  /** The script, if the hooks beside it load by themselves; absent if the agent names its own. */
  readonly script: string | undefined;
  readonly store: SessionStore;
  /** Resolves a path of an option against the agent's script. */
  readonly resolve: (path: string) => string;
}

export type SessionPlace = Awaited<ReturnType<typeof openPlace>>;

/** Where a session works and what it is kept in: a tape, an engine, a log, a store. */
export async function openPlace(parts: CheckedOptions, own: RunOptions, prompt: Prompt | undefined) {
  const { options } = parts;
  const cwd = own.cwd ?? parts.cwd;
  /** What the log of the session has to say, in sentences. */
  const warnings: string[] = [];
  const tape = await tapeFor(options.tape, own.tape, cwd, parts.resolve, options.from);
  const engine = engineOf(own.step ?? options.step);
  const logged = tape || engine ? undefined : await sessionLogFor({
    ...{ options, own, cwd, prompt, resolve: parts.resolve },
    warn: (words) => void warnings.push(words),
  });
  const record: SessionRecord | undefined = tape ?? logged;
  const lane = record?.mainLane;
  const clock = lane?.clock ?? systemClock;
  const store = claiming(await storeFor(parts, own, tape, logged));
  // A fork has no place in the recording of what it forks from.
  const id = logged?.id ?? (own.fork === undefined ? own.resume ?? own.id ?? clock.uuid() : systemClock.uuid());
  const steps = engine && await import("./steps.ts");
  const signals = [options.signal, own.signal].filter((signal) => signal !== undefined);
  return { parts, options, own, cwd, tape, engine, steps, logged, warnings, record, lane, clock, store, id, signals };
}

/**
 * A replay has the ids of its recording: kept, it would write into the transcript of the one before. A run under faults
 * brings a store of its own to be killed with.
 */
async function storeFor(
  parts: CheckedOptions,
  own: RunOptions,
  tape: TapedSession | undefined,
  logged: SessionLog | undefined,
): Promise<SessionStore> {
  if (logged && !own.store && !parts.options.store) return logged.store;
  // What is on a tape or an engine has its own record: only its transcript is kept where logs are.
  const isBeside = typeof own.log === "string" && !own.store && !parts.options.store;
  const kept = own.store
    ? sessionStore(own.store)
    : isBeside
    ? (await import("../log/stores/jsonl.ts")).jsonlStore(own.log as string)
    : parts.store;
  const given = own.store ?? parts.options.store;
  // An engine knows a run by how many the store has of it, which messages alone do not say.
  if (engineOf(own.step ?? parts.options.step) && given && !given.append) {
    throw new TypeError("Cannot run on an engine with a store that has no 'append': use jsonlStore or sqliteStore");
  }
  if (!tape?.policy.isOffline || (tape.policy.mutate && own.store)) return kept;
  return own.resume === undefined ? sessionStore(memoryStore()) : kept;
}

/** Why a session is logged: it was asked for, or it is not; by default where a person works, not in tests and not on a server. */
function whyLogged({ log, durable, from }: RunOptions): "asked" | "default" | undefined {
  const { CROCHET_LOG: named, NODE_ENV: env, VITEST, NODE_TEST_CONTEXT } = process.env;
  if (durable || from !== undefined || log) return "asked";
  if (log === false || named === "off") return undefined;
  if (named) return "asked";
  const isTest = env === "test" || VITEST || NODE_TEST_CONTEXT || /(?:^|[/._])test\.\w+$/.test(process.argv[1] ?? "");
  return isTest || env === "production" ? undefined : "default";
}

let logs: Promise<typeof import("./session-log.ts")> | undefined;

/** The log of a session, if it has one: without, nothing of it is loaded. */
async function sessionLogFor(given: Omit<Parameters<typeof import("./session-log.ts").logFor>[0], "isAsked">) {
  const why = whyLogged(given.own);
  return why && await (await (logs ??= import("./session-log.ts"))).logFor({ ...given, isAsked: why === "asked" });
}
