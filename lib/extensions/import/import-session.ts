import { basename } from "node:path";
import { isObject, type JsonObject, objectOf } from "../../core/json.ts";
import { hashOf } from "../../runtime/sha256.ts";
import { HOSTS } from "../../hooks/hosts/index.ts";
import type { SessionFiles } from "./sessions/find-session.ts";
import { blocksOf } from "./sessions/claude-log.ts";
import { type HostSession, readSession } from "./sessions/read-session.ts";
import { type LogLine, textIn } from "./sessions/session-kinds.ts";
import { canonical } from "../../log/canonical.ts";
import { placesHere } from "../../log/redact/places.ts";
import { placeholdersIn, redactor } from "../../log/redact/redact.ts";
import { messageEvents, messageIn } from "../../log/recorded-reply.ts";
import { type Exchange, tapeOfRun } from "../tape/tape-of-run.ts";
import { billingBlock } from "../../replay/requests/compare-rules.ts";
import type { Attempt } from "../../log/tape.ts";
import { ImportRefused } from "../../replay/accumulate.ts";
import type { Imported } from "./import.ts";

/** What no log of Claude Code holds, although its requests are whole. */
const MISSING =
  "not in the log: the text of the billing line, metadata, stream chunks, and calls for titles and compaction";

/**
 * Makes a tape of a session log, if it has the requests as they were sent: Claude Code logs them from 2.1.300 on.
 *
 * @throws {ImportRefused} with what is missing to rebuild the requests
 */
export function importSession(files: SessionFiles, name: string): Imported {
  const session = readSession(files);
  const lines = session.logs.flatMap((log) => log.lines);
  const asked = lines.filter(({ value }) => value.type === "api-request");
  if (asked.length === 0) throw new ImportRefused(`Cannot import '${name}' as ${lacks(session, lines)}`);
  const times = asked.map(({ value }) => Date.parse(textIn(value.timestamp))).filter(Number.isFinite);
  const began = times.length > 0 ? Math.min(...times) : 0;
  const bodyOf = bodiesIn(session);
  const answers = repliesIn(lines);
  const notes = [MISSING];
  const exchanges = asked.flatMap(({ value, line }): Exchange[] => {
    const body = bodyOf(value);
    if (!body) {
      notes.push(`left out, as not all of its messages are in the log: the request of line ${line}`);
      return [];
    }
    const { sessionId, agentId, timestamp, params } = value;
    const { betas } = objectOf(params);
    return [{
      sent: {
        ...{ api: "anthropic", method: "POST", path: "/v1/messages", body },
        headers: {
          "user-agent": clientOf(session, lines),
          "anthropic-beta": Array.isArray(betas) ? betas.join(",") : "",
        },
      },
      headers: {
        "x-claude-code-session-id": textIn(sessionId) || session.id,
        ...(textIn(agentId) !== "" && { "x-claude-code-agent-id": textIn(agentId) }),
      },
      at: Date.parse(textIn(timestamp)) - began || 0,
      attempt: answers.get(textIn(value.id)) ?? { ended: "aborted", took: 0 },
    }];
  });
  if (exchanges.length === 0) throw new ImportRefused(`Cannot import '${name}' as ${notes.at(-1)}`);
  const failed = lines.filter(({ value }) => value.subtype === "api_error").length;
  if (failed > 0) notes.push(`left out, as their answers are not in the log: failed attempts (${failed})`);
  for (const { path, line, why } of session.problems) notes.push(`${basename(path)}:${line} was not read: ${why}`);
  const cwd = lines.map(({ value }) => textIn(value.cwd)).find((path) => path !== "") ?? "";
  const seed = hashOf(session.id).slice(0, 16);
  const source = `imported from ${basename(name)} (claude-code)`;
  const { end: _, ...made } = tapeOfRun({
    exchanges: exchanges.sort((a, b) => a.at - b.at),
    places: { ...placesHere(cwd), ...homeIn(lines) },
    redactor: redactor({ seed }),
    header: { source, at: new Date(began).toISOString(), seed },
    end: "",
  });
  const tape = { ...made, header: { ...made.header, source } }; // a log is named by its session's id
  const hidden = placeholdersIn(JSON.stringify(tape)).size;
  if (hidden > 0) notes.push(`secrets replaced with placeholders: ${hidden}`);
  return { tape, format: "claude-code", notes };
}

/** What is missing to rebuild the requests of a log that does not have them. */
function lacks({ host, version }: HostSession, lines: readonly LogLine[]): string {
  const who = `${HOSTS[host].title} ${version}`;
  const hasTools = lines.some(({ value }) => objectOf(value.payload).type === "additional_tools");
  const missing = host === "claude"
    ? "the system prompt, the tools and the parameters (2.1.300 and later log them)"
    : `${hasTools ? "" : "the tools, the base instructions, "}reasoning, text, include and tool_choice`;
  return `${who} did not log its requests, and what is missing cannot be rebuilt: ${missing}. ` +
    "'crochet record --' keeps whole requests, and 'crochet hooks backtest' reads this log";
}

/** The program as it names itself to the API, as far as its log says. */
function clientOf({ version }: HostSession, lines: readonly LogLine[]): string {
  const { userType, entrypoint } = lines.find(({ value }) => value.entrypoint !== undefined)?.value ?? {};
  return `claude-cli/${version} (${userType}, ${entrypoint})`;
}

/** The home of who was at work, if the system prompt names the client's folder in it: the log may be from another machine. */
function homeIn(lines: readonly LogLine[]): { home?: string } {
  const shapes = lines.flatMap(({ value }) => value.type === "api-request-shape" ? [JSON.stringify(value)] : []);
  const [, home] = /(\/[^\s"'`\\]+)\/\.claude\/projects\//.exec(shapes.join("\n")) ?? [];
  return home === undefined ? {} : { home };
}

/**
 * Puts requests together: each has its messages as hashes, after a part of an earlier one, which was logged before it.
 * Gives the body of a request, undefined if a part of it is not in the log.
 */
function bodiesIn({ logs }: HostSession): (request: JsonObject) => JsonObject | undefined {
  const shapes = new Map<string, JsonObject>();
  const known = new Map<string, JsonObject>();
  const hashes = new Map<string, readonly string[]>();
  for (const { lines } of logs) {
    for (const message of transcript(lines)) known.set(hashOf(canonical(message)), message);
  }
  for (const { value } of logs.flatMap((log) => log.lines)) {
    if (value.type === "api-request-shape") shapes.set(textIn(value.shapeHash), objectOf(value.shape));
    if (value.type === "api-request-blob") known.set(textIn(value.hash), objectOf(value.message));
    if (value.type !== "api-request") continue;
    const { id, base, keep, tail } = value;
    const before = base === undefined ? [] : hashes.get(textIn(base));
    if (!before || before.length < Number(keep ?? 0)) continue;
    hashes.set(textIn(id), [...before.slice(0, Number(keep ?? 0)), ...Array.isArray(tail) ? tail.map(textIn) : []]);
  }
  return (request) => {
    const { betas: _, ...params } = objectOf(request.params);
    const shape = shapes.get(textIn(request.shapeHash));
    const messages = hashes.get(textIn(request.id))?.map((hash) => known.get(hash));
    if (!shape || !messages || messages.includes(undefined)) return undefined;
    const { system, ...rest } = shape;
    const body = structuredClone({ ...params, ...rest, system: Array.isArray(system) ? system : [], messages });
    for (const { path, value } of Array.isArray(request.cacheControl) ? request.cacheControl : []) {
      const marked = (Array.isArray(path) ? path : []).reduce<any>((part, key) => part?.[key], body);
      if (isObject(marked)) Object.assign(marked, { cache_control: value });
    }
    return { ...body, system: [billingBlock(), ...body.system] };
  };
}

/** The messages of a conversation as they are sent: a reply's blocks together, and results that follow each other. */
function* transcript(lines: readonly LogLine[]): Generator<JsonObject> {
  const replies = new Map<unknown, unknown[]>();
  let results: unknown[] = [];
  for (const { value } of lines) {
    const message = objectOf(value.message);
    const blocks = blocksOf(message);
    if (value.type === "assistant") replies.set(message.id, [...replies.get(message.id) ?? [], ...blocks]);
    if (value.type !== "assistant" && value.type !== "user") continue;
    const areResults = value.type === "user" && blocks.every((block) => block.type === "tool_result");
    results = areResults ? [...results, ...blocks] : [];
    if (value.type === "user") yield { role: "user", content: blocks };
    if (areResults) yield { role: "user", content: results };
  }
  for (const content of replies.values()) yield { role: "assistant", content };
}

/** The answer to each request, by its id: one message, as its stream is not in the log. */
function repliesIn(lines: readonly LogLine[]): Map<string, Attempt> {
  const found = new Map<string, { message: JsonObject; content: unknown[]; requestId: string }>();
  for (const { value } of lines) {
    if (value.type !== "assistant" || typeof value.requestRef !== "string") continue;
    const message = objectOf(value.message);
    const { content: before = [] } = found.get(value.requestRef) ?? {};
    const content = [...before, ...Array.isArray(message.content) ? message.content : []];
    found.set(value.requestRef, { message, content, requestId: textIn(value.requestId) });
  }
  return new Map([...found].map(([id, { message, content, requestId }]): [string, Attempt] => {
    const body = JSON.stringify({ ...message, content });
    const head = { status: 200, ...(requestId !== "" && { headers: { "request-id": requestId } }), took: 0 };
    const headed = (type: string) => ({ ...head, headers: { ...head.headers, "content-type": type } });
    if (typeof message.stop_reason === "string") return [id, { ...headed("application/json"), body }];
    // A person interrupted it: what had come by then is all there is.
    const events = messageEvents(messageIn(body)!).slice(0, -2).map((event) => ({ ms: 0, event }));
    return [id, { ...headed("text/event-stream"), events, ended: "aborted" }];
  }));
}
