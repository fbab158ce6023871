import { answerText, headersOf, requestBody } from "./_body.ts";
import type { Exchange } from "./exchange.ts";

/** An exchange as a recorder wrote it down, each part in whichever form it has there. */
interface Written {
  /** @default "POST" */
  readonly method?: unknown;
  /** Absent where the file holds answers only. */
  readonly url?: string;
  readonly requestHeaders?: unknown;
  /** The body of the request. */
  readonly request?: unknown;
  readonly status: unknown;
  readonly headers?: unknown;
  /** The body of the answer; asked for when it is wanted. */
  readonly body: () => unknown;
  /** When it was recorded: a text, or a number of seconds or milliseconds. @default the answer's `date` */
  readonly at?: unknown;
  /** In milliseconds. @default what the API says of itself */
  readonly took?: unknown;
}

/** What every format comes to: the same exchange, however its recorder wrote it. */
export function exchangeOf(written: Written): Exchange {
  const { method, url, requestHeaders, request, status, body } = written;
  const headers = headersOf(written.headers);
  const at = milliseconds(written.at ?? headers.date);
  const took = Number(written.took ?? headers["x-envoy-upstream-service-time"]);
  return {
    method: String(method ?? "POST").replace(/^:/, "").toUpperCase(), // a symbol of Ruby's begins with a colon
    ...(url !== undefined && { url }),
    requestHeaders: headersOf(requestHeaders),
    request: requestBody(request),
    status: Number(status),
    headers,
    body: answerText(body, headers["content-encoding"]),
    ...(!Number.isNaN(at) && { at }),
    ...(took >= 0 && { took: Math.round(took) }),
  };
}

/** NaN where it is no time. */
function milliseconds(time: unknown): number {
  if (typeof time !== "number") return Date.parse(String(time));
  return new Date(time < 1e11 ? time * 1000 : time).getTime(); // a small one is in seconds
}
