import { messageText } from "../canonical.ts";
import { type Difference, firstDifference } from "./difference.ts";
import type { Divergence } from "./drift.ts";
import type { Match, Program, Served } from "../match.ts";
import { comparedText } from "../normalise.ts";
import type { Call, TapeRequest } from "../tape.ts";
import { isToolUse } from "../../core/messages.ts";

/** Says why a request was not found: how it differs from the recorded call that is most like it. Never to serve that. */
export function explain(
  program: Program,
  lane: string,
  request: TapeRequest,
  served: Served,
  match: Match,
): Divergence {
  const mine = program.tape.calls.filter((call) => call.lane === lane);
  if (match && "spent" in match) return spent(lane, request, match.spent);
  const nearest = mostAlike(program, mine.filter((call) => !served.calls.has(call)), request);
  if (!nearest) return beyond(lane, request, mine);
  const found = firstDifference(nearest.request, request, program.normalise);
  if (!found) {
    return { lane, call: nearest.id, cause: "order", path: "", words: `${nearest.id} was recorded for another lane` };
  }
  return { lane, call: nearest.id, words: wordsFor(found, nearest.request, request), ...found };
}

function wordsFor({ path, ...found }: Difference, was: TapeRequest, is: TapeRequest): string {
  const place = `${path}${whoseIs(path, "expected" in found ? was : is)}`;
  if (!("expected" in found)) return `${place} is new`;
  return "actual" in found ? `${place} is not what was recorded` : `${place} is missing`;
}

function spent(lane: string, { messages }: TapeRequest, calls: readonly Call[]): Divergence {
  const here = calls.filter((call) => call.lane === lane);
  const path = `messages.${messages.length - 1}`;
  if (here.length === 0) {
    const words = `the same request was recorded in lane ${calls[0]!.lane}, not in this one`;
    return { lane, call: calls[0]!.id, cause: "order", path, words };
  }
  const times = here.length === 1 ? "once" : `${here.length} times`;
  return { lane, call: here.at(-1)!.id, cause: "order", path, words: `the same request was recorded only ${times}` };
}

function beyond(lane: string, { messages }: TapeRequest, mine: readonly Call[]): Divergence {
  const path = `messages.${messages.length - 1}`;
  const last = mine.at(-1);
  if (!last) return { lane, cause: "order", path, words: "nothing was recorded in this lane" };
  return {
    lane,
    call: last.id,
    cause: "order",
    path,
    words: `the run continues after its last recorded call, ${last.id}`,
  };
}

/** The call with the longest common beginning; of several the one that was recorded first. */
function mostAlike(program: Program, calls: readonly Call[], request: TapeRequest): Call | undefined {
  let best: { call: Call; common: number } | undefined;
  for (const call of calls) {
    const common = commonMessages(program, call.request, request);
    if (!best || common > best.common) best = { call, common };
  }
  return best?.call;
}

function commonMessages({ normalise }: Program, a: TapeRequest, b: TapeRequest): number {
  const text = (request: TapeRequest, i: number) =>
    comparedText(request, i, normalise) ?? messageText(request.messages[i]!);
  const most = Math.min(a.messages.length, b.messages.length);
  let i = 0;
  while (i < most && (a.messages[i] === b.messages[i] || text(a, i) === text(b, i))) i++;
  return i;
}

/**
 * Whose a place of a request is, for a person: a tool's by its name, a result's by the tool that gave it, a text's by the
 * hook that said it; else "".
 */
function whoseIs(path: string, request: TapeRequest): string {
  const [list, at, field, block] = path.split(".");
  if (list === "tools") {
    const { name } = request.tools[Number(at)] ?? {};
    return typeof name === "string" ? `, ${field === undefined ? "the" : "of"} tool ${name},` : "";
  }
  if (list !== "messages") return "";
  const { tool_use_id, text } = (request.messages[Number(at)]?.content[Number(block)] ?? {}) as {
    tool_use_id?: unknown;
    text?: unknown;
  };
  if (tool_use_id === undefined) {
    const [, hook] = /^<system-reminder>\nContext from hook (.+?): /.exec(String(text)) ?? [];
    return hook === undefined ? "" : `, from hook ${hook},`;
  }
  const asked = request.messages.flatMap(({ content }) => content).find((b) => isToolUse(b) && b.id === tool_use_id);
  return asked && isToolUse(asked) ? `, a result of ${asked.name},` : "";
}
