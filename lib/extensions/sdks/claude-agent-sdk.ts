import { type AnyEvent, EVENTS } from "../../core/events.ts";
import { narrowestName } from "../../core/names.ts";
import { askEach } from "../../hooks/hosts/ask-each.ts";
import { claude } from "../../hooks/hosts/claude.ts";
import { underHostNames } from "../../hooks/hosts/fit-record.ts";
import { hostEvent } from "../../hooks/hosts/index.ts";
import { ourEvents } from "../../hooks/hosts/read-event.ts";
import { fitting, writeAnswer } from "../../hooks/hosts/write-answer.ts";
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

/** One callback for each event asks all its hooks, in their order: the SDK would ask several at once. */
export async function claudeAgentSdk(folder: string): Promise<ClaudeAgentSdkHooks> {
  const has = (event: string) => hostEvent("claude", event) !== undefined;
  const hooks = await hooksOf(folder, "claude-agent-sdk", has, (record) => ({
    ...record,
    read: (raw, event) => fitting(record.read(raw, event), event, claude),
  }));
  const callback: Callback = async (input, _, { signal }) => {
    const heard = ourEvents(input as { readonly [field: string]: unknown }, claude);
    const [first] = heard;
    if (!first) return {};
    const folded = await askEach(heard, claude, (one) => {
      const { fired, wireName: _wireName, toolNames: _names, name: _name, from: _from, isOwn: _isOwn, ...ids } = one;
      return hooks.fire(fired, { ...ids, signal }, (record) => underHostNames(record, one));
    });
    const { stdout, stderr } = writeAnswer(folded, first.fired as AnyEvent, claude, first.wireName);
    if (stderr !== "") hooks.warn(stderr.trimEnd());
    return stdout === "" ? {} : JSON.parse(stdout);
  };
  const seconds = hooks.records.reduce((sum, { timeout = 60 }) => sum + timeout, 5);
  const moments = hooks.records.flatMap(({ on }) => on);
  return Object.fromEntries(moments.map((moment) => {
    const guard = EVENTS[moment.event].guards && { onFailure: "block" as const };
    return [hostEvent("claude", narrowestName(moment))!, [{ hooks: [callback], timeout: seconds, ...guard }]];
  }));
}
