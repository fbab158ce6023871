import { isObject, present } from "../../core/json.ts";
import { getOrMake, makeOnce } from "../../core/maps.ts";
import type { Message } from "../../core/messages.ts";
import {
  checkId,
  entriesOf,
  type Entry,
  listed,
  type Transcript,
  transcriptOf,
  type TranscriptStore,
} from "./store.ts";

/**
 * Keeps transcripts until the process ends. Stored values are frozen, so that callers cannot change them.
 *
 * @example
 * ```ts
 * import { memoryStore } from "crochet";
 *
 * const store = memoryStore();
 * await store.save("a1", [{ role: "user", content: [{ type: "text", text: "hi" }] }]);
 * console.log((await store.load("a1"))?.messages.length); // 1
 * ```
 */
export function memoryStore(): TranscriptStore {
  const logs = new Map<string, Entry[]>();
  return {
    async save(id, messages, about) {
      checkId(id);
      logs.set(id, entriesOf(messages, about).map(frozen));
    },
    async load(id) {
      checkId(id);
      const entries = logs.get(id);
      return entries && transcriptOf(entries);
    },
    async append(id, entries) {
      checkId(id);
      getOrMake(logs, id, () => []).push(...entries.map(frozen));
    },
    async list() {
      return await Promise.all([...logs].map(([id, entries]) => listed(id, () => transcriptOf(entries))));
    },
    async delete(id) {
      checkId(id);
      return logs.delete(id);
    },
    lock: processLock(),
  };
}

/** The smallest store that an agent takes: `save` and `load`. Other functions are used if present. */
export interface MinimalStore extends Partial<Omit<TranscriptStore, "save" | "load">> {
  save: TranscriptStore["save"];
  /** The messages of an id, or its whole transcript; an unknown id is undefined or null. */
  load(id: string): Promise<Transcript | readonly Message[] | undefined | null>;
}

export type SessionStore = Pick<TranscriptStore, "load" | "append" | "lock" | "pathOf">;

/**
 * A store as sessions use it: missing functions are built from `save` and `load`. The same store gives the same result
 * every time, so agents that share it share its lock.
 *
 * @throws {TypeError} if it cannot save or load
 */
export function sessionStore(given: MinimalStore): SessionStore {
  for (const need of ["save", "load"] as const) {
    if (isObject(given) && typeof given[need] === "function") continue;
    throw new TypeError(
      `Cannot use 'store' as it has no function '${need}': give memoryStore(), jsonlStore(dir), sqliteStore(file) or { save, load }`,
    );
  }
  return completed(given);
}

const completed = makeOnce((given: MinimalStore): SessionStore => {
  const load = async (id: string): Promise<Transcript | undefined> => {
    const found = await given.load(id);
    return found && !("messages" in found) ? transcriptOf(entriesOf(found, undefined)) : found ?? undefined;
  };
  return {
    load,
    append: given.append?.bind(given) ?? (async (id, entries) => {
      const past = await load(id);
      const { messages, about } = transcriptOf([...past ? entriesOf(past.messages, past.about) : [], ...entries]);
      await given.save(id, messages, about);
    }),
    lock: given.lock?.bind(given) ?? processLock(),
    ...present({ pathOf: given.pathOf?.bind(given) }),
  };
});

function processLock(): TranscriptStore["lock"] {
  const held = new Set<string>();
  return async (id) => {
    checkId(id);
    if (held.has(id)) {
      throw new Error(`Cannot run '${id}' as this process is already running it: wait for its result`);
    }
    held.add(id);
    return async () => void held.delete(id);
  };
}

/**
 * The store of one session. It remembers what the session and its sub-agents have claimed and releases it all at the
 * end: a sub-agent that never ends must not keep its id.
 */
export function claiming<S extends Pick<TranscriptStore, "lock">>(store: S): S & { releaseAll(): Promise<void> } {
  const held = new Set<() => Promise<void>>();
  return {
    ...store,
    async lock(id) {
      const unlock = await store.lock(id);
      const release = async () => {
        if (held.delete(release)) await unlock();
      };
      held.add(release);
      return release;
    },
    async releaseAll() {
      for (const release of [...held]) await release();
    },
  };
}

/** Data that cannot be changed: itself if it is frozen, otherwise a frozen copy. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as T & object;
  for (const key in copy) {
    const part = copy[key];
    if (typeof part === "object" && part !== null) copy[key] = frozen(part);
  }
  return Object.freeze(copy);
}
