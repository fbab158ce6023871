import { Buffer } from "node:buffer";
import { headersOf } from "./_body.ts";
import { exchangeOf } from "./_written.ts";
import { type Exchange, type Format, ImportRefused } from "./exchange.ts";

const FIRST_LINE = /^httprr trace v1\r?\n/;

/** Go's httprr: requests and answers as the wire has them, with the lengths of both before each pair. */
export const httprr: Format = {
  name: "httprr",
  about: "Go's httprr, messages of HTTP with their lengths",
  recognises: ({ text }) => FIRST_LINE.test(text),
  read: ({ text }) => {
    const [start] = FIRST_LINE.exec(text)!;
    const exchanges: Exchange[] = [];
    for (let rest: Buffer = Buffer.from(text.slice(start.length)); rest.toString("latin1", 0, 64).trim() !== "";) {
      const [line, asks, answers] = /^\s*(\d+) (\d+)\r?\n/.exec(rest.toString("latin1", 0, 64)) ?? [];
      if (line === undefined) throw new ImportRefused(`no lengths stand before pair ${exchanges.length + 1} of it`);
      const request = message(rest.subarray(line.length), Number(asks));
      const response = message(request.rest, Number(answers));
      exchanges.push(exchange(request, response));
      rest = response.rest;
    }
    return exchanges;
  },
};

/** One answer with its head, as `curl -i` prints it. */
export const httpAnswer: Format = {
  name: "http",
  about: "an answer with its head, as the wire has it",
  recognises: ({ text }) => ANSWER.test(text),
  read: ({ text }) => {
    const bytes = withoutHeads(Buffer.from(text), MOST_HEADS);
    const { at, first, headers } = headOf(bytes);
    return [exchangeOf(answered({ first, headers, body: bytes.subarray(at) }))];
  },
};

/** Of a proxy, and that a request may go on: nobody answers with more. */
const MOST_HEADS = 8;

/** An answer without the heads in front that were none of its own, each followed by another. */
function withoutHeads(bytes: Buffer, most: number): Buffer {
  const { at } = headOf(bytes);
  const isNext = most > 1 && ANSWER.test(bytes.toString("latin1", at, at + 16));
  return isNext ? withoutHeads(bytes.subarray(at), most - 1) : bytes;
}

const ANSWER = /^HTTP\/[\d.]+ \d{3}\b/;

interface Message {
  readonly first: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: Buffer;
}

/** Its own length counts, but where line breaks were changed on the way, as version control does: then that of its body does. */
function message(bytes: Buffer, length: number): Message & { rest: Buffer } {
  const { first, headers, at, isChanged } = headOf(bytes);
  const body = bytes.subarray(at, isChanged ? at + Number(headers["content-length"] ?? 0) : length);
  return { first, headers, body, rest: bytes.subarray(at + body.length) };
}

/** More than any head has: the rest may be long, and there may be many. */
const LONGEST_HEAD = 64 * 1024;

/** The head of a message, where what follows it begins, and whether its line breaks are others than the wire has. */
function headOf(bytes: Buffer): Pick<Message, "first" | "headers"> & { at: number; isChanged: boolean } {
  const text = bytes.toString("latin1", 0, LONGEST_HEAD);
  const end = /\r?\n\r?\n/.exec(text);
  if (!end) throw new ImportRefused("a message of it ends before its body");
  const [first = "", ...lines] = text.slice(0, end.index).split(/\r?\n/);
  return { first, headers: headersIn(lines), at: end.index + end[0].length, isChanged: end[0] !== "\r\n\r\n" };
}

function headersIn(lines: readonly string[]): Message["headers"] {
  return headersOf(lines.map((line) => {
    const [, name = line, value = ""] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    return { name, value };
  }));
}

function exchange(request: Message, response: Message): Exchange {
  const [method, url = ""] = request.first.split(" ");
  return exchangeOf({ method, url, requestHeaders: request.headers, request: request.body, ...answered(response) });
}

function answered(response: Message) {
  const { first, headers } = response;
  return { status: /^HTTP\/[\d.]+ (\d{3})/.exec(first)?.[1], headers, body: () => unchunked(response) };
}

/** An answer of unknown length is written in chunks, each with its length before it. */
function unchunked({ body, headers }: Message): Uint8Array {
  if (!/chunked/i.test(headers["transfer-encoding"] ?? "")) return body;
  const chunks: Buffer[] = [];
  for (let rest: Buffer = body; rest.length > 0;) {
    const [line, size = "0"] = /^([0-9a-f]+)[^\n]*\n/i.exec(rest.subarray(0, 100).toString("latin1")) ?? [];
    const length = Number.parseInt(size, 16);
    if (line === undefined || length === 0) break;
    chunks.push(rest.subarray(line.length, line.length + length));
    rest = rest.subarray(line.length + length + 2);
  }
  return Buffer.concat(chunks);
}
