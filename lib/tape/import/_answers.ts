import { errorStatus } from "../../anthropic/api-errors.ts";
import { parsed } from "../../core/json.ts";
import { beginsAsStream, looksLikeBody } from "./_body.ts";
import { type Exchange, type Fields, fieldsOf, type Format, isFields, type Opened } from "./exchange.ts";

/** The text of one stream as the wire had it, maybe with words of its collector above. */
export const rawSse: Format = {
  name: "raw-sse",
  about: "the text of one stream of events",
  recognises: ({ text }) => beginsAsStream(withoutWords(text)),
  read: ({ text }) => [answer(200, withoutWords(text), "text/event-stream")],
};

function withoutWords(text: string): string {
  return text.replace(/^(?:#[^\n]*\n|[^\S\n]*\n)+/, "");
}

/** A stream as one JSON event a line, or all in one list, maybe under a name: no `event:` lines, no blank lines, no request. */
export const vercelChunks: Format = {
  name: "vercel-chunks",
  about: "one event of a stream a line, as JSON",
  recognises: (file) =>
    events(file)?.some((event) => event.type === "message_start" || event.type === "error") ?? false,
  read: (file) => [stream(events(file)!)],
};

function events(file: Opened): readonly Fields[] | undefined {
  const named = Object.values(fieldsOf(file.json)).find((value) => Array.isArray(value) && looksLikeBody(value));
  const list = itemsOf(file) ?? itemsOf({ json: named });
  return list?.every((event) => typeof event.type === "string") ? list : undefined;
}

/** Claude Code's `stream-json`, and logs with a time beside each event: one stream after the other, among other lines. */
export const wrappedEvents: Format = {
  name: "wrapped-events",
  about: "streams, one event a line, each in a wrapping of its own",
  recognises: (file) => wrapped(file).some(({ type }) => type === "message_start"),
  read: (file) => {
    const streams: Fields[][] = [];
    for (const event of wrapped(file)) {
      if (event.type === "message_start" || streams.length === 0) streams.push([]);
      streams.at(-1)!.push(event);
    }
    return streams.map(stream);
  },
};

/** The event is what a line has as that, or its `data`, beside the name. */
function wrapped(file: Opened): Fields[] {
  const inner = (itemsOf(file) ?? []).map(({ event, data }) => typeof event === "string" ? data : event);
  const events = inner.map((value) => fieldsOf(typeof value === "string" ? parsed(value) : value));
  return events.filter(({ type }) => typeof type === "string");
}

function itemsOf({ lines, json }: Pick<Opened, "lines" | "json">): readonly Fields[] | undefined {
  const list = lines ?? (Array.isArray(json) ? json : undefined);
  return list?.every(isFields) ? list as Fields[] : undefined;
}

function stream(list: readonly Fields[]): Exchange {
  return answer(200, list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""), "text/event-stream");
}

/** The results of a batch: a message or an error a line; those that were cancelled or came too late have neither. */
export const batch: Format = {
  name: "batch",
  about: "the results of a batch, one a line",
  recognises: (file) =>
    itemsOf(file)?.every(({ custom_id, result }) => typeof custom_id === "string" && isFields(result)) ?? false,
  read: (file) =>
    itemsOf(file)!.flatMap(({ result }) => {
      const { message, error } = fieldsOf(result);
      if (!isFields(message ?? error)) return [];
      const status = isFields(message) ? 200 : errorStatus(fieldsOf(fieldsOf(error).error).type);
      return [answer(status, JSON.stringify(message ?? error), "application/json")];
    }),
};

/** The body of an answer that was no stream, or of several. */
export const vercelJson: Format = {
  name: "vercel-json",
  about: "the JSON of messages or errors",
  recognises: (file) => {
    const several = itemsOf(file); // of errors alone, each may be an event of a stream
    if (several) return several.some(isMessage) && several.every((body) => isMessage(body) || isError(body));
    return isMessage(fieldsOf(file.json)) || isError(fieldsOf(file.json));
  },
  read: (file) =>
    (itemsOf(file) ?? [fieldsOf(file.json)]).map((body) => {
      const status = isError(body) ? errorStatus(fieldsOf(body.error).type) : 200;
      return answer(status, JSON.stringify(body), "application/json");
    }),
};

function isMessage({ type, content }: Fields): boolean {
  return type === "message" && Array.isArray(content);
}

function isError({ type, error }: Fields): boolean {
  return type === "error" && isFields(error);
}

function answer(status: number, body: string, type: string): Exchange {
  return { method: "POST", requestHeaders: {}, status, headers: { "content-type": type }, body: () => body };
}
