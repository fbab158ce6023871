import type { AnyEvent } from "../../core/events.ts";
import { narrowestName } from "../../core/names.ts";
import { claude } from "../hosts/claude.ts";
import { hostEvent } from "../hosts/index.ts";
import { readEvent } from "../hosts/read-event.ts";
import { fitting, writeAnswer } from "../hosts/write-answer.ts";
import { hooksOf } from "./load.ts";

type Callback = (
  input: object,
  toolUseId: string | undefined,
  options: { readonly signal: AbortSignal },
) => Promise<{ [key: string]: unknown }>;

/** The `hooks` option of `query()`. */
export type ClaudeAgentSdkHooks = {
  [event: string]: { hooks: Callback[]; timeout: number; onFailure?: "block" }[];
};

/** What refuses if its hooks cannot be asked. */
const GUARDED = ["PreToolUse", "PermissionRequest", "UserPromptSubmit"];

/** One callback for each event asks all its hooks, in their order: the SDK would ask several at once. */
export async function claudeAgentSdk(folder: string): Promise<ClaudeAgentSdkHooks> {
  const has = (event: string) => hostEvent("claude", event) !== undefined;
  const hooks = await hooksOf(folder, "claude-agent-sdk", has, (record) => ({
    ...record,
    read: (raw, event) => fitting(record.read(raw, event), event, claude),
  }));
  const callback: Callback = async (input, _, { signal }) => {
    const heard = readEvent(input as { readonly [field: string]: unknown }, claude);
    if (!heard) return {};
    const { fired, wireName, toolNames: _names, name: _name, ...ids } = heard;
    const folded = await hooks.fire(fired, { ...ids, signal });
    const { stdout, stderr } = writeAnswer(folded, fired as AnyEvent, claude, wireName);
    if (stderr !== "") hooks.warn(stderr.trimEnd());
    return stdout === "" ? {} : JSON.parse(stdout);
  };
  const seconds = hooks.records.reduce((sum, { timeout = 60 }) => sum + timeout, 5);
  const events = hooks.records.flatMap(({ on }) => on.map((moment) => hostEvent("claude", narrowestName(moment))!));
  return Object.fromEntries([...new Set(events)].map((event) => {
    const guard = GUARDED.includes(event) && { onFailure: "block" as const };
    return [event, [{ hooks: [callback], timeout: seconds, ...guard }]];
  }));
}
