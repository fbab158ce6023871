import { createRequire } from "node:module";
import type { DatabaseSync } from "node:sqlite";
import { claim } from "../../files/lock.ts";
import { appendStateFile } from "../../files/state.ts";
import { checkId, entriesOf, type Entry, listed, transcriptOf, type TranscriptStore } from "./store.ts";

/** A store in one SQLite file that many processes can share. */
export interface SqliteStore extends TranscriptStore {
  close(): void;
}

const SCHEMA = `
  PRAGMA busy_timeout = 10000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS entry (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    transcript TEXT NOT NULL,
    body TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS entry_of ON entry (transcript, n);
`;

/** Keeps transcripts in one SQLite file; exported through on-demand.ts. */
export function sqliteStore(path: string): SqliteStore {
  let opened: DatabaseSync | undefined;
  const db = (): DatabaseSync => opened ??= open(path);
  const rows = (sql: string, ...values: string[]) => db().prepare(sql).all(...values) as Record<string, unknown>[];
  const inOne = (work: () => void): void => {
    db().exec("BEGIN IMMEDIATE");
    try {
      work();
      db().exec("COMMIT");
    } catch (error) {
      db().exec("ROLLBACK");
      throw error;
    }
  };
  const insert = (id: string, entries: readonly Entry[]) => {
    const statement = db().prepare("INSERT INTO entry (transcript, body) VALUES (?, ?)");
    for (const entry of entries) statement.run(id, JSON.stringify(entry));
  };
  const load = (id: string) => {
    const found = rows("SELECT body FROM entry WHERE transcript = ? ORDER BY n", id);
    return found.length === 0
      ? undefined
      : transcriptOf(JSON.parse(`[${found.map((r) => r.body).join(",")}]`) as Entry[], `${id} in ${path}`);
  };
  return {
    async save(id, messages, about) {
      checkId(id);
      inOne(() => {
        db().prepare("DELETE FROM entry WHERE transcript = ?").run(id);
        insert(id, entriesOf(messages, about));
      });
    },
    async load(id) {
      checkId(id);
      return load(id);
    },
    async append(id, entries) {
      checkId(id);
      inOne(() => insert(id, entries));
    },
    async list() {
      const ids = rows("SELECT DISTINCT transcript FROM entry ORDER BY transcript").map((r) => r.transcript as string);
      return await Promise.all(ids.map((id) => listed(id, () => load(id))));
    },
    async delete(id) {
      checkId(id);
      return Number(db().prepare("DELETE FROM entry WHERE transcript = ?").run(id).changes) > 0;
    },
    lock: (id) => {
      checkId(id);
      db();
      return claim(`${path}.${id}.claim`, id);
    },
    close() {
      opened?.close();
      opened = undefined;
    },
  };
}

function open(path: string): DatabaseSync {
  // What SQLite puts beside its file gets the same rights.
  if (path !== ":memory:") appendStateFile(path, "");
  // Loaded at first use: importing the library must open nothing and print no warning.
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const db = new DatabaseSync(path);
  db.exec(SCHEMA);
  return db;
}
