import { checkId, type TranscriptStore } from "./store.ts";

/** A lock that holds within this process. */
export function processLock(): TranscriptStore["lock"] {
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
