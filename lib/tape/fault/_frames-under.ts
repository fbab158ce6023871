import { dataOf, piecesOf } from "../server/answers.ts";
import { type Api, errorBody } from "../server/api.ts";
import type { Attempt, Call, TapeEvent } from "../tape.ts";
import { type Fault, kindOf } from "./fault.ts";

/** What a fault makes of an answer of another API, whose frames are cut and dropped as they are; undefined if it does nothing. */
export function answerUnder(api: Api, { attempts }: Call, fault: Fault): Attempt | undefined {
  const good = attempts.at(-1)!;
  const { kind, argument } = kindOf(fault);
  const events = good.events ?? [];
  const at = placeIn(api, events, fault);
  const before = good.events
    ? { ...good, events: events.slice(0, at) }
    : { ...good, body: (good.body ?? "").slice(0, (good.body ?? "").length / 2) };
  switch (kind) {
    case "http":
      return {
        status: Number(argument.slice(0, 3)),
        headers: { "content-type": "application/json" },
        body: errorBody(api, Number(argument.slice(0, 3)), "A fault of the schedule"),
        took: 10,
      };
    case "cut": // as if it were complete
      return before;
    case "reset":
      return { ...before, ended: "cut", why: "The connection was reset" };
    case "stall":
      return { ...before, ended: "stall" };
    case "error":
      return {
        ...before,
        events: [...before.events ?? [], { ms: 0, raw: `data: ${errorBody(api, 500, argument)}\n\n` }],
      };
    case "json drop":
      return { ...good, events: events.filter((event, i) => i !== at || !hasInput(api, event)) };
    case "json truncate":
      return { ...good, events: events.filter((event, i) => i < at || !hasInput(api, event)) };
    default:
      return undefined;
  }
}

/** The frame that a fault hits: the one with the delta it names, of its kind of block. */
function placeIn(api: Api, events: readonly TapeEvent[], { block, delta = 0 }: Fault): number {
  if (block === undefined) return 0;
  if (block === "end") return Math.max(0, events.length - 1);
  const form = block.startsWith("tool_use") ? "json" : "plain";
  const frames = events.flatMap((event, i) => formsIn(api, event).includes(form) ? [i] : []);
  return frames[Math.min(delta, frames.length - 1)] ?? Math.min(1, events.length);
}

function formsIn(api: Api, event: TapeEvent): string[] {
  const data = dataOf(event);
  return data ? piecesOf(api, data).map(({ form }) => form) : [];
}

function hasInput(api: Api, event: TapeEvent): boolean {
  return formsIn(api, event).includes("json");
}
