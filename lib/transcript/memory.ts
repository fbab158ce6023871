import { checkId, entriesOf, type Entry, type TranscriptStore, transcriptOf } from "./store.ts";

/**
 * Keeps transcripts for as long as the process lives. What goes in and comes out are copies.
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
  const logs = new Map<string, string[]>();
  const read = (lines: readonly string[]) => transcriptOf(lines.map((line) => JSON.parse(line) as Entry));
  return {
    async save(id, messages, about) {
      checkId(id);
      logs.set(id, entriesOf(messages, about).map((e) => JSON.stringify(e)));
    },
    async load(id) {
      checkId(id);
      const lines = logs.get(id);
      return lines && read(lines);
    },
    async append(id, entries) {
      checkId(id);
      const lines = logs.get(id) ?? [];
      logs.set(id, lines);
      for (const entry of entries) lines.push(JSON.stringify(entry));
    },
    async list() {
      return [...logs].map(([id, lines]) => {
        const { about, full, endings } = read(lines);
        return { id, about, messages: full.length, ending: endings.at(-1) };
      });
    },
    async delete(id) {
      checkId(id);
      return logs.delete(id);
    },
  };
}
