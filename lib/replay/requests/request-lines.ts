import { isObject, type JsonObject, present } from "../../core/json.ts";
import { canonical } from "../../log/canonical.ts";
import type { WholeHead } from "../../log/call-lines.ts";
import type { HeadFact } from "../../log/entry.ts";
import { ITEMS, itemsOf } from "./api.ts";
import { modelOf, readable } from "./readable.ts";
import type { Sent } from "../../log/tape.ts";

export { readable };

/** A request as a tape's lines have it, without the items of its conversation, each of which is written once. */
export function splitSent(sent: Sent): WholeHead {
  const { api, method, path, query, headers, body = {} } = sent;
  const { model, system, tools, [ITEMS[api]]: items, ...rest } = body;
  const isSystem = typeof system === "string" || isBlocks(system);
  const params = {
    ...rest,
    ...(items !== undefined && itemsOf(sent).length === 0 && { [ITEMS[api]]: items }),
    ...(model !== undefined && (typeof model !== "string" || api === "gemini") && { model }),
    ...(system !== undefined && !isSystem && { system }),
    ...(tools !== undefined && !isBlocks(tools) && { tools }),
  };
  return present({
    ...{ api, method, path, query, model: modelOf(sent), wire: headers },
    params: params as HeadFact["params"],
    system: isSystem ? system as HeadFact["system"] : undefined,
    tools: isBlocks(tools) ? tools : undefined,
  });
}

function isBlocks(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}

/** What `splitSent` took apart, as one request again. */
export function joinSent(
  { api, method = "POST", path = "", query, model, params, system, wire = {} }: HeadFact,
  tools: readonly JsonObject[],
  items: readonly unknown[],
): Sent {
  const sent = present({ api: api!, method, path, query, headers: wire });
  if (method !== "POST") return sent;
  return {
    ...sent,
    body: {
      ...(api !== "gemini" && model !== "" && { model }),
      ...(system !== undefined && { system }),
      ...(items.length > 0 && { [ITEMS[api!]]: items }),
      ...(tools.length > 0 && { tools }),
      ...params,
    },
  };
}

/** All of a request but its conversation, as a text. */
export function sentHead(sent: Sent): string {
  return canonical(splitSent(sent));
}
