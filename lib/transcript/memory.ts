import { frozen } from "../core/frozen.ts";
import { processLock } from "./claims.ts";
import { checkId, entriesOf, type Entry, listed, transcriptOf, type TranscriptStore } from "./store.ts";

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
      let log = logs.get(id);
      if (!log) {
        checkId(id);
        logs.set(id, log = []);
      }
      for (const entry of entries) log.push(frozen(entry));
    },
    async list() {
      return [...logs].map(([id, entries]) => listed(id, () => transcriptOf(entries)));
    },
    async delete(id) {
      checkId(id);
      return logs.delete(id);
    },
    lock: processLock(),
  };
}
