import { Buffer } from "node:buffer";
import { type Exchange, isFields } from "./exchange.ts";

/** Where clouds take the same questions: the model is a part of the address, and the version a part of the body. */
const CLOUDS: readonly RegExp[] = [
  /\/model\/(.+)\/invoke(?:-with-response-stream)?(?:\?|$)/, // Bedrock
  /\/publishers\/anthropic\/models\/([^/:]+):(?:streamR|r)awPredict(?:\?|$)/, // Vertex
];

/** A call of the Messages API as it is, one that was asked of a cloud as if it had been; undefined for any other. */
export function asMessagesCall(exchange: Exchange): Exchange | undefined {
  const { method, url, request } = exchange;
  if (method.toUpperCase() !== "POST") return undefined;
  // Gateways put a path of their own in front, and the AI SDK leaves out the version where it goes to one.
  if (url === undefined || /(?:^|\/)(?:v1|anthropic)\/messages\/?(?:[?#]|$)/.test(url)) return exchange;
  const model = CLOUDS.map((cloud) => cloud.exec(url)?.[1]).find((found) => found !== undefined);
  if (model === undefined || !isForClaude(url, request)) return undefined;
  return {
    ...exchange,
    body: () => fromFrames(exchange.body()),
    ...(isFields(request) && { request: { model: decoded(model), ...withoutVersion(request) } }),
  };
}

/** Other models are asked there too, and older ones of Claude for the end of a text; a profile may have any name. */
function isForClaude(url: string, request: unknown): boolean {
  if (!isFields(request)) return /anthropic/.test(url);
  return Array.isArray(request.messages) && (/anthropic/.test(url) || "anthropic_version" in request);
}

/** As it stands where it is no part of an address. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function withoutVersion({ anthropic_version: _, ...rest }: { readonly [key: string]: unknown }): object {
  return rest;
}

/** Bedrock frames each event in binary, and has it there in base64: the digits outlive a reading as text. */
function fromFrames(body: string): string {
  if (!body.startsWith("\0") || !body.slice(0, 200).includes(":event-type")) return body;
  const events = [...body.matchAll(/\{"bytes":"([\w+/=]+)"/g)].map(([, bytes]) => Buffer.from(bytes!, "base64"));
  return events.map((event) => `data: ${event.toString("utf8")}\n\n`).join("");
}
