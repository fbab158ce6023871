import type { AnyEvent } from "../../core/events.ts";
import type { Context, HookRecord } from "../../core/hook.ts";
import type { Opinion } from "../../core/verdict.ts";
import type { Host } from "./host.ts";
import type { HostEvent } from "./read-event.ts";
import { fitting } from "./write-answer.ts";

/** The hook as a host asks it about one event: its answer is what the host can carry out. */
export function fitted(record: HookRecord, heard: HostEvent, host: Host, isAttended?: () => boolean): HookRecord {
  let own: Context;
  return {
    ...underHostNames(record, heard),
    // A host that does not wait knows that from its own settings.
    mode: record.mode === "gate" ? "gate" : "observe",
    run: (event, ctx) => record.run(event, own = ctx as Context),
    read: (raw, event) => fitting(withContext(record.read(raw, event), own), event, host, isAttended),
  };
}

/** Text that a hook added by its context is part of its answer: the host either can pass on both or neither. */
function withContext(opinion: Opinion, ctx: Context): Opinion {
  const said = [...ctx.said ?? [], ...ctx.inputs ?? []];
  if (said.length === 0) return opinion;
  ctx.said = ctx.inputs = undefined;
  return { ...opinion, contexts: [...said.map(({ text }) => ({ text })), ...opinion.contexts ?? []] };
}

/** No tool has it: a matcher that takes it takes any tool. */
const NO_TOOL = "?";

/** A matcher may name the tool as the host does or as we do: who names it as the host does is asked about its own call. */
export function underHostNames(record: HookRecord, { toolNames, from, isOwn }: HostEvent): HookRecord {
  const { misses } = record;
  if (!from && toolNames.length < 2) return record;
  return {
    ...record,
    misses: (event) => {
      const missed = (tool_name: string) => misses?.({ ...event, tool_name } as AnyEvent);
      const namesTheirs = isOwn !== undefined && missed(from!.tool) === undefined && missed(NO_TOOL) !== undefined;
      if (isOwn) return namesTheirs ? undefined : `it is asked about the calls in ${from!.tool}`;
      if (namesTheirs) return `it is asked about ${from!.tool} as it is`;
      const whys = toolNames.map(missed);
      return whys.includes(undefined) ? undefined : whys[0];
    },
  };
}
