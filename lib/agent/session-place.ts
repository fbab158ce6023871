import type { AgentOptions, RunOptions } from "./options.ts";
import { systemClock } from "../core/clock.ts";
import type { HookList } from "../core/hook.ts";
import type { Limits } from "../core/limits.ts";
import type { Prompt } from "../core/messages.ts";
import type { ApiTool } from "../core/model.ts";
import type { Tool } from "../core/tool.ts";
import type { TapedSession } from "../replay/taped-session.ts";
import { claiming, memoryStore, type SessionStore, sessionStore } from "../transcript/memory-store.ts";
import { engineOf } from "./engine.ts";
import type { SessionLog } from "./session-log.ts";
import type { SessionRecord } from "../replay/person-answers.ts";
import type { Output } from "./typed-output.ts";
import { tapeFor } from "./session-tape.ts";

/** An agent's options, checked. */
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
  const logged = tape || engine
    ? undefined
    : await sessionLogFor(options, own, cwd, prompt, parts.resolve, (words) => warnings.push(words));
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
 * A replay has the ids of its recording: kept, it would write into the transcript of the one before. A script that is
 * replayed by the environment may continue what it began; a run under faults brings a store of its own to be killed with.
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
    ? (await import("../transcript/jsonl.ts")).jsonlStore(own.log as string)
    : parts.store;
  const given = own.store ?? parts.options.store;
  // An engine knows a run by how many the store has of it, which messages alone do not say.
  if (engineOf(own.step ?? parts.options.step) && given && !given.append) {
    throw new TypeError("Cannot run on an engine with a store that has no 'append': use jsonlStore or sqliteStore");
  }
  if (!tape?.policy.isOffline || (tape.policy.mutate && own.store)) return kept;
  if (!tape.isOfEnvironment) return own.resume === undefined ? sessionStore(memoryStore()) : kept;
  return own.resume === undefined || await replayed.load(own.resume) ? replayed : kept;
}

let logs: Promise<typeof import("./session-log.ts")> | undefined;

/** The log of a session, if it has one: without, nothing of it is loaded. */
async function sessionLogFor(...given: Parameters<typeof import("./session-log.ts").logFor>) {
  const [options, own] = given;
  const isWanted = own.durable || (own.from ?? own.log ?? process.env.CROCHET_LOG ?? options.from);
  if (!isWanted) return undefined;
  return await (await (logs ??= import("./session-log.ts"))).logFor(...given);
}

/** What scripts began in this process on tapes of the environment. */
const replayed = sessionStore(memoryStore());
