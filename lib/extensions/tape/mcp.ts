import type { ServerResponse } from "node:http";
import { isObject, type JsonObject, parsed } from "../../core/json.ts";
import type { Json } from "../../core/messages.ts";
import type { McpFact } from "../../log/entry.ts";
import type { Redactor } from "../../log/redact/redact.ts";
import type { Incoming } from "../../replay/requests/listen.ts";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A message of JSON-RPC: a request, a notification or an answer. */
export interface McpMessage extends JsonObject {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: JsonObject;
}

/** How the command `crochet mcp` names its connection; without it a client speaks HTTP itself. */
export const SHIM = "x-crochet-shim";
/** Which line of its client `crochet mcp` passes on: requests that are sent at once may overtake each other. */
export const LINE = "x-crochet-line";
/** Where requests of a client go that speaks HTTP. */
export const TO = "x-crochet-to";

/** What `crochet mcp` is answered: it shall run its server unheard, or say what it hears; its server ended here. */
export const STATUS = { notHere: 404, noted: 204, ended: 410 } as const;

export const isQuestion = ({ method, id }: McpMessage) => method !== undefined && id !== undefined;
export const messagesIn = (value: unknown) => [value].flat().filter(isObject) as readonly McpMessage[];

/** What a tape has of a request: the rest is that of the client, or of one run. */
export function keptParams({ method, params = {} }: McpMessage): NonNullable<McpFact["params"]> {
  const { _meta: _, progressToken: __, ...rest } = params;
  return (method === "initialize" ? { protocolVersion: rest.protocolVersion } : rest) as NonNullable<McpFact["params"]>;
}

/** What progress of a request is named by. */
export const tokenOf = ({ params }: McpMessage) => (params?._meta as JsonObject | undefined)?.progressToken;

/** The server's name in a path. */
export const serverIn = ({ sent: { path } }: Incoming) => decodeURIComponent(path.slice(1));

/** Notes what clients and their MCP servers say to each other. */
export class McpRecorder {
  readonly facts: McpFact[] = [];
  /** How many requests have come to models. */
  requests = 0;
  /** Lets servers run unheard. */
  isOff = false;
  /** A server that asks for a login. */
  locked: string | undefined;
  readonly #secret: Redactor["learn"];
  readonly #talks = new Map<string, Talk>();

  constructor(secret: Redactor["learn"]) {
    this.#secret = secret;
  }

  /** Takes what `crochet mcp` has heard; false if a client speaks HTTP itself: then the caller passes its request on. */
  hears(incoming: Incoming, response: ServerResponse): boolean {
    const { headers, bytes } = incoming;
    const shim = headers[SHIM];
    if (shim === undefined) return false;
    if (this.isOff) {
      response.writeHead(STATUS.notHere).end();
      return true;
    }
    const { client, server, ended, env } = parsed(new TextDecoder().decode(bytes) || "{}") as JsonObject;
    const talk = this.#talks.get(shim) ?? new Talk(serverIn(incoming), this);
    this.#talks.set(shim, talk);
    for (const [name, value] of Object.entries((env ?? {}) as Incoming["headers"])) {
      this.#secret("environment", name, value);
    }
    for (const message of messagesIn(client)) talk.asks(message);
    for (const message of messagesIn(server)) talk.says(message);
    if (ended) talk.ends();
    response.writeHead(STATUS.noted).end();
    return true;
  }

  /** What a client sends to an HTTP server, and with which headers. */
  sends(incoming: Incoming): { readonly to: string; readonly headers: Incoming["headers"]; readonly talk: Talk } {
    const { [TO]: to = "", ...headers } = incoming.headers;
    for (const [name, value] of Object.entries(headers)) {
      if (!OF_THE_PROTOCOL.test(name)) this.#secret("key", name, value.replace(/^(?:bearer|basic) /i, ""));
    }
    const talk = new Talk(serverIn(incoming), this);
    for (const message of messagesIn(parsed(new TextDecoder().decode(incoming.bytes)))) talk.asks(message);
    return { to, headers, talk };
  }
}

/** Headers that every client sends: any other is the user's. */
const OF_THE_PROTOCOL =
  /^(?:accept|content|mcp|sec)\b|^(?:host|connection|user-agent|cache-control|last-event-id|origin)$/;

/** One connection of a client with a server, in which ids mean something. */
class Talk {
  readonly server: string;
  readonly #of: McpRecorder;
  readonly #open = new Map<unknown, { fact: Mutable<McpFact>; token: unknown; began: number }>();

  constructor(server: string, of: McpRecorder) {
    this.server = server;
    this.#of = of;
  }

  /** What a server sent, as a text. */
  hears(text: string): void {
    for (const message of messagesIn(parsed(text))) this.says(message);
  }

  asks(message: McpMessage): void {
    if (!isQuestion(message) || message.method === "ping") return;
    const token = tokenOf(message);
    this.#open.set(message.id, { fact: this.#note(message, {}), token, began: performance.now() });
  }

  says(message: McpMessage): void {
    const { id, method, params, result, error } = message;
    if (method === undefined) return this.#settle(id, result === undefined ? { error } : { result });
    if (method === "ping") return;
    const token = params?.progressToken;
    const open = [...this.#open.values()];
    const during = open.find((one) => token !== undefined && one.token === token) ?? open.at(-1);
    if (!during) return void this.#note(message, { own: true });
    const { fact } = during;
    fact.between = [...fact.between ?? [], { method, params: keptParams(message) } as Json];
  }

  /** Nothing more comes from the server. */
  ends(error?: JsonObject): void {
    for (const id of this.#open.keys()) this.#settle(id, error ? { error } : { unanswered: true });
  }

  #settle(id: unknown, how: object): void {
    // An error that a server cannot attribute has no id.
    const key = id === null ? [...this.#open.keys()][0] : id;
    const open = this.#open.get(key);
    if (!open) return;
    this.#open.delete(key);
    Object.assign(open.fact, how, { after: this.#of.requests, ms: Math.round(performance.now() - open.began) });
  }

  #note(message: McpMessage, more: { readonly own?: true }): McpFact {
    const about = { mcp: this.server, method: message.method!, params: keptParams(message) };
    const fact: McpFact = { ...about, ...more, after: this.#of.requests, ms: 0 };
    this.#of.facts.push(fact);
    return fact;
  }
}
