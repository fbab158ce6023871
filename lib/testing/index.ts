export type { ScriptedReply, ScriptedTool } from "./_reply-events.ts";
export type { ScriptEntry, ScriptOptions, ScriptRoute } from "./_script.ts";
export { redact } from "../tape/redact.ts";
export {
  replay,
  type Replayed,
  type ReplayedCall,
  type ReplayedHook,
  ReplayError,
  type ReplayTestOptions,
} from "./replay.ts";
export { scripted, type ScriptedModel } from "./scripted.ts";
export { type ScriptedServer, scriptedServer, type ScriptedServerOptions, type ServedRequest } from "./server.ts";
export { type ContractCheck, storeContract } from "./store-contract.ts";
