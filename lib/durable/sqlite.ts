import { createRequire } from "node:module";
import type { DatabaseSync } from "node:sqlite";
import type { Engine } from "../agent/engine.ts";
import { makePrivate } from "../files/state-dir.ts";

/** A question that waits for a person. */
export interface OpenQuestion {
  /** By which it is answered. */
  readonly token: string;
  /** What is asked. */
  readonly about: unknown;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A journal of steps in one SQLite file. */
export interface SqliteSteps extends Engine {
  wait<T>(name: string, announce: (token: string) => Promise<void>, about?: unknown): Promise<T>;
  /** The result of a step that ended. */
  result(name: string): unknown;
  /** The open questions of one agent or of all, oldest first. */
  questions(agentId?: string): OpenQuestion[];
  /** Answers a question; whether there was one. */
  answer(token: string, answer: unknown): boolean;
  close(): void;
}

/** An older step is deleted when the journal is opened: its run cannot be continued after that. */
const KEPT_MS = 30 * 24 * 3600_000;

/** How often a waiting run looks for an answer, which another process writes. */
const LOOK_MS = 200;

const SCHEMA = `
  PRAGMA busy_timeout = 10000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS step (name TEXT PRIMARY KEY, result TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS question (token TEXT PRIMARY KEY, about TEXT NOT NULL, answer TEXT, at INTEGER NOT NULL);
`;

/**
 * The journal of one machine: a step that has ended is never run again, whatever happens to the process.
 *
 * Each result is on the disk before the run goes on. Run the agent again under the same session id and it goes on where
 * it was; only what was in flight runs again, under the idempotency key it had.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { sqliteSteps } from "crochet/durable";
 * import { scripted } from "crochet/testing";
 *
 * const steps = sqliteSteps("steps.sqlite");
 * const greeter = agent({ model: scripted([{ text: "Hello" }]), step: steps });
 * const { text } = await greeter.run("Say hello", { id: "greeting-1" });
 * console.log(text, steps.result("llm:greeting-1:0.1:1")); // Hello { reply: … }
 * steps.close();
 * ```
 */
export function sqliteSteps(path: string): SqliteSteps {
  let opened: ReturnType<typeof open> | undefined;
  let closed = false;
  const using = <T>(work: (db: ReturnType<typeof open>) => T): T => {
    if (closed) throw new Error(`Cannot use the journal ${path} as it is closed: open another`);
    try {
      return work(opened ??= open(path));
    } catch (cause) {
      throw new Error(`Cannot use the journal ${path} as ${reasonOf(cause as Error)}`, { cause });
    }
  };
  const running = new Set<string>();
  const known = (name: string): { value: unknown } | undefined => {
    const row = using((db) => db.known.get(name)) as { result: string } | undefined;
    return row && { value: JSON.parse(row.result) };
  };
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const before = known(name);
    if (before) return before.value as T;
    if (running.has(name)) {
      throw new Error(`Cannot run step '${name}' as it is running already: names of steps must be unique`);
    }
    running.add(name);
    try {
      const result = JSON.stringify(await work() ?? null);
      using((db) => db.write.run(name, result, Date.now()));
      // As a continued run will read it: what cannot be stored is missing now, not only after a crash.
      return JSON.parse(result) as T;
    } finally {
      running.delete(name);
    }
  };
  const answered = (token: string) =>
    (using((db) => db.answerOf.get(token)) as { answer: string | null } | undefined)?.answer;
  return {
    step,
    async wait<T>(name: string, announce: (token: string) => Promise<void>, about: unknown = null): Promise<T> {
      const before = known(name);
      if (before) return before.value as T;
      using((db) => db.put.run(name, JSON.stringify(about), Date.now()));
      if (answered(name) == null) await announce(name);
      for (;;) {
        const answer = closed ? undefined : answered(name);
        if (answer != null) return await step(name, async () => JSON.parse(answer) as T);
        if (closed) throw new Error(`Cannot wait for an answer as the journal ${path} is closed`);
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    },
    result: (name) => known(name)?.value,
    questions: (agentId) => {
      const rows = using((db) => db.open.all()) as { token: string; about: string; at: number }[];
      return rows
        .filter(({ token }) => agentId === undefined || token.startsWith(`ask:${agentId}:`))
        .map(({ token, about, at }) => ({ token, about: JSON.parse(about), at }));
    },
    answer: (token, answer) => Number(using((db) => db.answer.run(JSON.stringify(answer), token)).changes) > 0,
    close() {
      closed = true;
      opened?.db.close();
      opened = undefined;
    },
  };
}

/** What is wrong with the file, and what to do about it. */
function reasonOf({ message }: Error): string {
  if (/locked|busy/.test(message)) return "another process keeps it locked: end that one, or wait for it";
  if (/UNIQUE constraint/.test(message)) {
    return "another process has run the same step meanwhile: let one process at a time run a session";
  }
  if (/not a database|no such column|no such table|malformed/.test(message)) {
    return `it is damaged or of another version (${message}): move it away; the runs in it are then lost`;
  }
  return message;
}

function open(path: string) {
  makePrivate(path);
  // Asked for at the first use: a library that is only imported opens nothing and warns of nothing.
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const db: DatabaseSync = new DatabaseSync(path);
  try {
    db.exec(SCHEMA);
    return { db, ...statements(db) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function statements(db: DatabaseSync) {
  const old = Date.now() - KEPT_MS;
  db.prepare("DELETE FROM step WHERE at < ?").run(old);
  db.prepare("DELETE FROM question WHERE at < ?").run(old);
  return {
    known: db.prepare("SELECT result FROM step WHERE name = ?"),
    write: db.prepare("INSERT INTO step (name, result, at) VALUES (?, ?, ?)"),
    put: db.prepare("INSERT OR IGNORE INTO question (token, about, at) VALUES (?, ?, ?)"),
    open: db.prepare("SELECT token, about, at FROM question WHERE answer IS NULL ORDER BY at, token"),
    answerOf: db.prepare("SELECT answer FROM question WHERE token = ?"),
    answer: db.prepare("UPDATE question SET answer = ? WHERE token = ? AND answer IS NULL"),
  };
}
