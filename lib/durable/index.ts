/** Runs that outlive their process: a journal for one machine, and what engines for many are made of. */
export type { Engine, Step } from "../agent/engine.ts";
export { type OpenQuestion, type SqliteSteps, sqliteSteps } from "./sqlite.ts";
