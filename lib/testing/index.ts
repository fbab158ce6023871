export type { ScriptedReply, ScriptedTool } from "./scripted.ts";
export type { ScriptEntry, ScriptOptions, ScriptRoute } from "./scripted.ts";
export type { Cuts } from "../replay/frames.ts";
export type { Divergence, DriftReport } from "../replay/drift/drift-report.ts";
export { type Fault, faultText, readFault } from "../replay/fault/fault.ts";
export { type Imported, importRecording } from "../replay/import/import.ts";
export { type Invariant, INVARIANTS, type Observed } from "../replay/fault/invariants.ts";
export { readTape } from "../replay/read-tape.ts";
export { redact } from "../replay/redact/redact.ts";
export type { ReplayedCall, ReplayedHook, RunSeen } from "../replay/seen.ts";
export type { Tape } from "../replay/tape.ts";
export {
  type Faultable,
  type UnderFaults,
  underFaults,
  type UnderFaultsOptions,
} from "../replay/fault/under-faults.ts";
export { atMost, type Limits } from "./at-most.ts";
export { attack, AttackError, type AttackOptions } from "./attack-agent.ts";
export type { CallMatchers, CallPattern } from "./call-matchers.ts";
export { conversationArbitrary, type ConversationOptions } from "./arbitraries/conversation.ts";
export { eventArbitrary, type EventArbitraryOptions } from "./arbitraries/event.ts";
export type { WireEvent } from "../hooks/hosts/host.ts";
export { modelArbitrary, type ModelArbitraryOptions } from "./arbitraries/models.ts";
export { BrokenLaw, checkHook, type HookLaw, laws } from "./check-hook.ts";
export type { CheckOptions } from "../check/check.ts";
export type {
  CheckReport,
  Finding,
  HookReport,
  Law,
  LettingGo,
  Severity,
  Termination,
  Timing,
} from "../check/check-report.ts";
export type { Example, ExampleFiles, HookExample } from "../check/examples/example.ts";
export type { Answered, Expected } from "../check/examples/expectation.ts";
export type { ExampleResult } from "../check/examples/play.ts";
export {
  askHook,
  type AskOptions,
  type ExampleOptions,
  type RegisterTest,
  runExamples,
  testExamples,
} from "../check/examples/run-examples.ts";
export { faults, rechunk } from "./server-faults.ts";
export { type HookMatchers, matchers } from "./matchers.ts";
export { recorded } from "./recorded.ts";
export { replay, type Replayed, ReplayError, type ReplayTestOptions } from "./replay-fixture.ts";
export { scripted, type ScriptedModel } from "./scripted.ts";
export { searchFaults, type SearchOptions, type SearchResult } from "./search-faults.ts";
export { type ScriptedServer, scriptedServer, type ScriptedServerOptions, type ServedRequest } from "./server.ts";
export { type ContractCheck, storeContract } from "./store-contract.ts";
export { type TapeServer, tapeServer, type TapeServerOptions } from "./tape-server.ts";
