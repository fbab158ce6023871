import { EVENTS } from "../../core/events.ts";
import { type Folded, NOTHING } from "../../core/fold.ts";
import { type JsonObject, present } from "../../core/json.ts";
import { channelOf } from "./channel.ts";
import type { Host } from "./host.ts";
import type { HostEvent } from "./read-event.ts";

type Ask = (one: HostEvent) => Promise<Folded>;
type CallAnswer = readonly [one: HostEvent, folded: Folded];

/** Asks hooks about each call of ours in an event. The first refusal is the answer; a new input that the host cannot take is one. */
export async function askEach(heard: readonly HostEvent[], host: Host, ask: Ask): Promise<Folded> {
  const said: CallAnswer[] = [];
  for (const one of heard) {
    const folded = await ask(one);
    said.push([one, folded]);
    if (folded.abort || folded.decision === "deny" && EVENTS[one.fired.event].deny === "prevents") break;
  }
  const all = said.length === 1 ? said[0]![1] : together(said);
  const event = heard[0]?.fired.event;
  const isInput = event === "pre-tool-use" || event === "permission-request";
  return all.modified && isInput && heard[0]!.from ? written(all, said, host) : all;
}

function together(said: readonly CallAnswer[]): Folded {
  const all = said.map(([, folded]) => folded);
  const own = said.find(([one]) => one.isOwn)?.[1];
  const ours = said.flatMap(([one, folded]) => one.isOwn ? [] : [folded]);
  const allows = own?.decision === "allow" || ours.every(({ decision }) => decision === "allow");
  const by = ["deny", "ask"].map((what) => all.find(({ decision }) => decision === what)).find((one) => one) ??
    (allows ? all.find(({ decision }) => decision === "allow") : undefined);
  const denials = all.flatMap((one) => one.denials);
  return {
    ...NOTHING,
    ...present({ decision: by?.decision, deniedBy: by?.deniedBy, asked: by?.asked }),
    ...present({ reason: by?.decision === "deny" ? denials.map(({ reason }) => reason).join("\n") : by?.reason }),
    ...present({ halt: all.find(({ halt }) => halt)?.halt, abort: all.find(({ abort }) => abort)?.abort }),
    ...by?.decision !== "deny" && all.findLast(({ modified }) => modified) && { modified: true },
    ...present({ value: all.findLast(({ modified }) => modified)?.value }),
    denials,
    contexts: all.flatMap((one) => one.contexts),
    inputs: all.flatMap((one) => one.inputs),
    systemMessages: all.flatMap((one) => one.systemMessages),
    warnings: all.flatMap((one) => one.warnings),
    runs: all.flatMap((one) => one.runs),
  };
}

/** With the new input as the host's tool takes it. */
function written(all: Folded, said: readonly CallAnswer[], { channels }: Host): Folded {
  const [{ from, cwd }] = said[0]!;
  const ours = said.filter(([one]) => !one.isOwn);
  const own = said.find(([one, { modified }]) => one.isOwn && modified)?.[1];
  const calls = ours.map(([{ fired }, { modified, value }]) => {
    const { tool_name, input } = fired as unknown as { readonly tool_name: string; readonly input: JsonObject };
    return { tool: tool_name, input: modified ? value as JsonObject : input };
  });
  const isOursNew = ours.some(([, { modified }]) => modified);
  const value = !own
    ? channelOf(channels, from!.tool)?.write?.(calls, from!.input, cwd)
    : isOursNew
    ? undefined
    : own.value;
  if (value !== undefined) return { ...all, value };
  const hook = all.runs.find(({ opinion }) => opinion?.value)?.hook ?? "a hook";
  const reason = `${hook} changes a part of ${from!.tool} that cannot be written back, as a file has several changes ` +
    "there or is moved: make one change of each file";
  const { value: _, ...rest } = all;
  return { ...rest, decision: "deny", modified: false, reason, deniedBy: hook, denials: [{ hook, reason }] };
}
