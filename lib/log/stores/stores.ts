import type { JsonlStoreOptions } from "./jsonl.ts";
import type { SqliteStore } from "./sqlite.ts";
import type { TranscriptStore } from "./store.ts";

/**
 * Keeps each transcript as a file of JSON lines. A message is one append, on the disk when it returns.
 *
 * @example
 * ```ts
 * import { jsonlStore } from "crochet";
 *
 * const store = jsonlStore("runs");
 * await store.save("a1", [{ role: "user", content: [{ type: "text", text: "hi" }] }]);
 * console.log((await store.list()).map((t) => t.id)); // [ "a1" ]
 * ```
 */
export function jsonlStore(dir: string, options?: JsonlStoreOptions): TranscriptStore {
  return {
    ...opened(async () => (await import("./jsonl.ts")).jsonlStore(dir, options)),
    pathOf: (id) => `${dir}/${id}.jsonl`,
  };
}

/**
 * Keeps transcripts in one SQLite file that many processes can share.
 *
 * @example
 * ```ts
 * import { sqliteStore } from "crochet";
 *
 * const store = sqliteStore("runs.db");
 * await store.save("a1", [{ role: "user", content: [{ type: "text", text: "hi" }] }]);
 * console.log((await store.list()).map((t) => t.id)); // [ "a1" ]
 * await store.close();
 * ```
 */
export function sqliteStore(path: string): Omit<SqliteStore, "close"> & { close(): Promise<void> } {
  let made: Promise<SqliteStore> | undefined;
  const open = () => made ??= import("./sqlite.ts").then((m) => m.sqliteStore(path));
  return {
    ...opened(open),
    close: async () => (await made)?.close(),
  };
}

/** A store whose code is loaded at first use: importing the library must not touch the file system. */
function opened(make: () => Promise<TranscriptStore>): TranscriptStore {
  let made: Promise<TranscriptStore> | undefined;
  const store = () => made ??= make();
  return {
    save: async (...args) => (await store()).save(...args),
    load: async (...args) => (await store()).load(...args),
    append: async (...args) => (await store()).append(...args),
    list: async () => (await store()).list(),
    delete: async (...args) => (await store()).delete(...args),
    lock: async (...args) => (await store()).lock(...args),
  };
}
