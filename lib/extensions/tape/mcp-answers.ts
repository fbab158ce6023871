import type { ServerResponse } from "node:http";
import { type JsonObject, parsed } from "../../core/json.ts";
import type { McpFact } from "../../log/entry.ts";
import { canonical } from "../../log/canonical.ts";
import { type McpReport, OFF_TAPE, shortText } from "../../replay/drift/drift-report.ts";
import type { Mask } from "../../log/redact/mask.ts";
import type { Incoming } from "../../replay/requests/listen.ts";
import { isQuestion, keptParams, LINE, type McpMessage, messagesIn, serverIn, SHIM, STATUS, tokenOf } from "./mcp.ts";

/** Calls that are made a number of times; anything else may be asked again. */
const COUNTED: readonly string[] = ["tools/call", "resources/read", "prompts/get"];

interface Entry {
  readonly fact: McpFact;
  isServed: boolean;
}

interface McpReplayOptions {
  /** How the report names the tape. */
  readonly name: string;
  readonly mask: () => Pick<Mask, "on" | "off">;
  /** Texts of the tape as they are named here. */
  readonly named: <T>(value: T) => T;
  readonly note: (line: string) => void;
}

/** How long an answer is held for what came before it then. */
const PATIENCE = 10_000;
const LOOK_MS = 5;

/** Answers clients of MCP servers from a tape: no server is started. */
export class McpReplayer {
  readonly #entries: readonly Entry[];
  readonly #queues = new Map<string, Entry[]>();
  readonly #options: McpReplayOptions;
  readonly #differs: McpReport["differs"][number][] = [];
  /** Questions of servers that were asked again, by the id they have now. */
  readonly #questions = new Set<string>();
  /** How many lines have come of each `crochet mcp`. */
  readonly #lines = new Map<string, number>();
  /** How many requests have come to models. */
  requests = 0;

  constructor(facts: readonly McpFact[], options: McpReplayOptions) {
    this.#options = options;
    this.#entries = facts.map((fact) => ({ fact, isServed: false }));
    for (const entry of this.#entries) {
      const { mcp, method, params = {}, own } = entry.fact;
      const key = keyOf(mcp, method, options.named(params));
      if (!own) this.#queues.set(key, [...this.#queues.get(key) ?? [], entry]);
    }
  }

  async answer(incoming: Incoming, response: ServerResponse): Promise<void> {
    const server = serverIn(incoming);
    if (this.#entries.length === 0 && incoming.headers[SHIM] !== undefined) {
      return void response.writeHead(STATUS.notHere).end();
    }
    if (incoming.sent.method === "GET") return await this.#speak(server, response);
    if (incoming.sent.method !== "POST") return void response.writeHead(405).end();
    const messages = messagesIn(parsed(new TextDecoder().decode(incoming.bytes)));
    const questions = messages.filter(isQuestion);
    await this.#inOrder(incoming.headers, server);
    for (const { id, method } of messages) if (method === undefined) this.#questions.delete(String(id));
    if (questions.length === 0) return void response.writeHead(202).end();
    const found = questions.map((message) => ({ message, fact: this.#find(server, message) }));
    const isStream = found.length > 1 || found.some(({ fact }) => fact.between);
    const say = (message: { readonly error?: McpFact["error"] }) => {
      // An error of HTTP itself is on the tape by its status; those of JSON-RPC are below 0.
      const status = Math.max(200, Number(message.error?.code ?? 0));
      const text = status === 200 ? JSON.stringify({ jsonrpc: "2.0", ...message }) : String(message.error?.message);
      if (!response.headersSent) {
        response.writeHead(status, { "content-type": isStream ? "text/event-stream" : "application/json" });
      }
      response.write(isStream ? frame(text) : text);
    };
    const isAnswered = await Promise.all(found.map(({ message, fact }) => this.#serve(message, fact, say)));
    if (isAnswered.every(Boolean)) response.end();
    // Some runtimes ask once more if a connection breaks.
    else if (incoming.headers[SHIM] !== undefined && !response.headersSent) response.writeHead(STATUS.ended).end();
    else response.destroy();
  }

  /** Waits until all has come that a client said before. */
  async #inOrder({ [SHIM]: shim, [LINE]: line }: Incoming["headers"], server: string): Promise<void> {
    if (shim === undefined || line === undefined) return;
    const isNext = () => (this.#lines.get(shim) ?? 0) === Number(line);
    await this.#until(isNext, `what was said to MCP server '${server}' before line ${line} did not come`);
    this.#lines.set(shim, Number(line) + 1);
  }

  #find(server: string, message: McpMessage): McpFact {
    const { method } = message;
    const fact = { mcp: server, method: method!, after: 0, ms: 0 };
    if (method === "ping") return { ...fact, result: {} };
    const params = this.#options.mask().on(keptParams(message));
    const queue = this.#queues.get(keyOf(server, method!, params)) ?? [];
    const entry = queue.find(({ isServed }) => !isServed) ?? (COUNTED.includes(method!) ? undefined : queue.at(-1));
    if (entry) {
      entry.isServed = true;
      return entry.fact;
    }
    if (COUNTED.includes(method!)) {
      return { ...fact, error: { code: -32603, message: this.#drifts(server, method!, params) } };
    }
    this.#options.note(
      `${method} of MCP server '${server}' is not on the tape: it was answered as by a server that does not know it`,
    );
    return { ...fact, error: { code: -32601, message: "Method not found" } };
  }

  #drifts(server: string, method: string, params: JsonObject): string {
    const call = { mcp: server, method, params } as McpFact;
    const near = this.#entries.find(({ fact, isServed }) => !isServed && toolOf(fact) === toolOf(call))?.fact;
    const words = near
      ? `${callText(call)} is not what was recorded`
      : `${callText(call)} is not on the tape, or fewer times`;
    const sides = near && { expected: shortText(argumentsOf(near)), actual: shortText(argumentsOf(call)) };
    this.#differs.push({ words, ...sides });
    return `${OFF_TAPE}${this.#options.name}: ${words}`;
  }

  /** Says what came while a request was open, then its answer; false if the server ended then. */
  async #serve(message: McpMessage, fact: McpFact, say: (message: object) => void): Promise<boolean> {
    const { result, error, unanswered } = fact;
    const { off } = this.#options.mask();
    const token = tokenOf(message);
    for (const one of (fact.between ?? []) as readonly McpMessage[]) {
      const isProgress = one.method === "notifications/progress";
      if (isProgress && token === undefined) continue;
      await this.#ask(
        { ...off(one), ...(isProgress && { params: { ...off(one.params), progressToken: token } }) },
        say,
      );
    }
    if (result === undefined && !error && !unanswered) await new Promise(() => {}); // it was open to the end
    const group = this.#entries.filter((one) =>
      unanswered && one.fact.unanswered && one.fact.mcp === fact.mcp && one.fact.after === fact.after
    );
    await this.#until(
      () => this.requests >= fact.after && group.every(({ isServed }) => isServed),
      `MCP server '${fact.mcp}' answered ${fact.method} after request ${fact.after} to a model, which did not come`,
    );
    if (!unanswered) say({ id: message.id, ...off(error ? { error } : { result }) });
    return !unanswered;
  }

  /** A notification, or a question, whose answer is waited for and not compared. */
  async #ask(message: McpMessage, say: (message: object) => void): Promise<void> {
    if (message.method!.startsWith("notifications/")) return say(message);
    const id = `crochet-${crypto.randomUUID()}`;
    this.#questions.add(id);
    say({ ...message, id });
    await this.#until(() => !this.#questions.has(id), `no answer came to ${message.method}`);
  }

  /** What a server said by itself. */
  async #speak(server: string, response: ServerResponse): Promise<void> {
    const all = this.#entries.filter(({ fact }) => fact.mcp === server);
    if (!all.some(({ fact, isServed }) => fact.own && !isServed)) return void response.writeHead(405).end();
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    for (const [i, entry] of all.entries()) {
      if (!entry.fact.own || entry.isServed) continue;
      const { method, params = {}, after } = entry.fact;
      const before = all.slice(0, i).findLast(({ fact }) => !fact.own);
      await this.#until(
        () => this.requests >= after && before?.isServed !== false,
        `${method} of MCP server '${server}' came early`,
      );
      entry.isServed = true;
      await this.#ask(
        { method, params: this.#options.mask().off(params) },
        (message) => void response.write(frame(JSON.stringify({ jsonrpc: "2.0", ...message }))),
      );
    }
  }

  /** Waits for what is due, for some seconds at most. */
  async #until(isDue: () => boolean, otherwise: string): Promise<void> {
    const until = performance.now() + PATIENCE;
    while (!isDue()) {
      if (performance.now() > until) return this.#options.note(`${otherwise} within ${PATIENCE / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS).unref());
    }
  }

  /** Undefined if no server is on the tape. */
  get report(): McpReport | undefined {
    if (this.#entries.length === 0 && this.#differs.length === 0) return undefined;
    const calls = this.#entries.filter(({ fact }) => COUNTED.includes(fact.method) && !fact.own);
    const served: { [server: string]: number } = {};
    for (const { fact, isServed } of calls) served[fact.mcp] = (served[fact.mcp] ?? 0) + (isServed ? 1 : 0);
    const unused = calls.filter(({ isServed }) => !isServed).map(({ fact }) => callText(fact).replace(": ", " "));
    return { served, differs: this.#differs, unused };
  }
}

const frame = (text: string) => `data: ${text}\n\n`;

const keyOf = (server: string, method: string, params: object) => `${server} ${method} ${canonical(params)}`;

const toolOf = ({ mcp, method, params = {} }: McpFact) =>
  `${mcp} ${method} ${method === "tools/call" ? params.name : ""}`;

const argumentsOf = ({ method, params = {} }: McpFact) => method === "tools/call" ? params.arguments ?? {} : params;

function callText(fact: McpFact): string {
  const { mcp, method, params = {} } = fact;
  return `${mcp}: ${method === "tools/call" ? params.name : method} ${shortText(argumentsOf(fact))}`;
}
