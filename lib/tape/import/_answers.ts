import { type Exchange, type Fields, fieldsOf, type Format, isFields, type Opened } from "./exchange.ts";

/** The text of one stream as the wire had it. */
export const rawSse: Format = {
  name: "raw-sse",
  about: "the text of one stream of events",
  recognises: ({ text }) => /^(event|data|id|retry)?:/.test(text.trimStart()),
  read: ({ text }) => [answer(200, text, "text/event-stream")],
};

/** A stream as one JSON event a line, or all in one list: no `event:` lines, no blank lines, no request. */
export const vercelChunks: Format = {
  name: "vercel-chunks",
  about: "one event of a stream a line, as JSON",
  recognises: (file) =>
    events(file)?.some((event) => event.type === "message_start" || event.type === "error") ?? false,
  read: (file) => [
    answer(200, events(file)!.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), "text/event-stream"),
  ],
};

function events({ lines, json }: Opened): readonly Fields[] | undefined {
  const list = lines ?? (Array.isArray(json) ? json : undefined);
  return list?.every((event) => isFields(event) && typeof event.type === "string") ? list as Fields[] : undefined;
}

/** The body of one answer that was no stream. */
export const vercelJson: Format = {
  name: "vercel-json",
  about: "the JSON of one message or error",
  recognises: ({ json }) => {
    const { type, content, error } = fieldsOf(json);
    return (type === "message" && Array.isArray(content)) || (type === "error" && isFields(error));
  },
  read: ({ json }) => {
    const { type, error } = fieldsOf(json);
    const status = type === "error" ? STATUS[String(fieldsOf(error).type)] ?? 500 : 200;
    return [answer(status, JSON.stringify(json), "application/json")];
  },
};

/** The API has one status for each class of error. */
const STATUS: { readonly [type: string]: number } = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

function answer(status: number, body: string, type: string): Exchange {
  return { method: "POST", requestHeaders: {}, status, headers: { "content-type": type }, body: () => body };
}
