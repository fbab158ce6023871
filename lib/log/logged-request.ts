import type { ModelRequest } from "../core/model.ts";
import type { TapeRequest } from "../replay/tape.ts";

export type RequestFields = { readonly [key: string]: unknown };

/** The first three change nothing about the question; the others have a place of their own. */
const NO_PARAMS = new Set(["stream", "metadata", "cache_control", "model", "system", "messages", "tools"]);

/** What the core asks, as a tape has it. The messages stay the same objects. */
export function fromModel(request: ModelRequest): TapeRequest {
  const { model, system, messages, tools, max_tokens, effort, params } = request;
  return {
    model,
    params: paramsOf({ ...params, effort, max_tokens }),
    system: system === "" ? [] : [{ type: "text", text: system }],
    tools: tools as unknown as readonly RequestFields[],
    messages,
  };
}

export function paramsOf(given: RequestFields): RequestFields {
  return Object.fromEntries(
    Object.entries(given).filter(([key, value]) => !NO_PARAMS.has(key) && value !== undefined),
  );
}

/** Whether two requests differ in their messages alone. By identity: within a run the rest stays the same objects. */
export function isSameHead(a: ModelRequest, b: ModelRequest): boolean {
  return a.model === b.model && a.system === b.system && a.tools === b.tools && a.max_tokens === b.max_tokens &&
    a.effort === b.effort && a.params === b.params;
}
