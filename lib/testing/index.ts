export {
  scripted,
  type ScriptedModel,
  type ScriptedReply,
  type ScriptEntry,
  type ScriptRoute,
} from "../models/scripted.ts";
export type { DriftReport } from "../replay/drift/drift-report.ts";
export type { Invariant } from "../replay/invariants.ts";
export { readTape } from "../replay/read-tape.ts";
export { redact } from "../log/redact/redact.ts";
export type { Tape } from "../log/tape.ts";
export { atMost } from "./at-most.ts";
export * from "../extensions/testing.ts";
export type { CallMatchers } from "./call-matchers.ts";
export { type HookMatchers, matchers } from "./matchers.ts";
export { replay, type Replayed, ReplayError } from "./replay-fixture.ts";
export { type ScriptedServer, scriptedServer } from "./server.ts";
