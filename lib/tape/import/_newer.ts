import { KNOWN } from "../census.ts";
import { isStream, streamed } from "./accumulate.ts";
import { type Exchange, type Fields, fieldsOf } from "./exchange.ts";

/** The kinds of deltas that the SDK puts into a message; others it passes over, as it does with new events. */
const OF_THE_SDK: ReadonlySet<string> = new Set(KNOWN.deltas);

/** The deltas of an answer that are newer than the SDK: a tape has them as they came. */
export function newerDeltas(exchange: Exchange): string[] {
  if (!isStream(exchange)) return [];
  return [...new Set(streamed(exchange.body()).filter(isNewer).map(({ delta }) => String(fieldsOf(delta).type)))];
}

/** An answer without them, which is what the SDK can make of it. */
export function withoutNewer(exchange: Exchange): Exchange {
  if (newerDeltas(exchange).length === 0) return exchange;
  const known = streamed(exchange.body()).filter((event) => !isNewer(event));
  const body = known.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  return { ...exchange, body: () => body };
}

function isNewer({ type, delta }: Fields): boolean {
  return type === "content_block_delta" && !OF_THE_SDK.has(String(fieldsOf(delta).type));
}
