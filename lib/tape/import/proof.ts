import { frameOf } from "../frames.ts";
import type { Attempt, Tape } from "../tape.ts";
import { isObject } from "../../core/json.ts";
import { accumulate, type Accumulated, UNTYPED } from "./accumulate.ts";
import { type Exchange, type JsonObject, objectOf } from "./exchange.ts";

/**
 * The proof of an import: the real SDK reads each attempt on the tape, and the result must equal an independent
 * reading of the original. Returns the first difference in words, or undefined.
 */
export async function difference(tape: Tape, originals: readonly (readonly Exchange[])[]): Promise<string | undefined> {
  const ask = await sdkReader();
  for (const [i, call] of tape.calls.entries()) {
    for (const [n, attempt] of call.attempts.entries()) {
      const found = differs(accumulate(originals[i]![n]!), await ask(attempt));
      const where = call.attempts.length > 1 ? `call ${i + 1}, attempt ${n + 1}` : `call ${i + 1}`;
      if (found !== undefined) return `the SDK reads ${where} differently than it was recorded: ${found}`;
    }
  }
  return undefined;
}

/** What the SDK reads from an attempt. */
type SdkReading = { readonly message: JsonObject; readonly json: ReadonlyMap<number, string> } | {
  readonly error: JsonObject;
};

type Ask = (attempt: Attempt) => Promise<SdkReading>;

/** Any request will do: the response is on the tape. */
const QUESTION = { model: "proof", max_tokens: 1, messages: [{ role: "user" as const, content: "?" }] };

async function sdkReader(): Promise<Ask> {
  const { BaseAnthropic } = await import("@anthropic-ai/sdk/client");
  const { Messages } = await import("@anthropic-ai/sdk/resources/beta/messages");
  let answer: Attempt | undefined;
  const client = new BaseAnthropic({
    apiKey: "proof",
    baseURL: "http://127.0.0.1:9",
    maxRetries: 0,
    middleware: [() => Promise.resolve(responseOf(answer!))],
    logLevel: "off",
  });
  // The stable client drops the inputs of MCP tools and the content of compaction.
  const messages = new Messages(client);
  return async (attempt) => {
    answer = attempt;
    const json = new Map<number, string>();
    try {
      if (!attempt.events) {
        return { message: await messages.create(QUESTION) as unknown as JsonObject, json };
      }
      const stream = messages.stream(QUESTION);
      stream.on("streamEvent", (event) => {
        if (event.type !== "content_block_delta" || event.delta.type !== "input_json_delta") return;
        json.set(event.index, (json.get(event.index) ?? "") + event.delta.partial_json);
      });
      return { message: await stream.finalMessage() as unknown as JsonObject, json };
    } catch (error) {
      const { message, error: body } = error as { message: string; error?: unknown };
      return { error: { message, ...objectOf(objectOf(body).error) } };
    }
  };
}

function responseOf({ status = 200, headers = {}, events, body }: Attempt): Response {
  return new Response(events ? events.map(frameOf).join("") : body ?? "", { status, headers });
}

/** The compared fields; the SDK keeps other counts only if it knows them. */
const COMPARED = ["id", "role", "model", "stop_reason", "stop_sequence"];
const COUNTS = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

function differs(expected: Accumulated, made: SdkReading): string | undefined {
  if (expected.kind === "cut") return "error" in made ? undefined : "the message is complete";
  if (expected.kind === "error") {
    if (!("error" in made)) return "it is not an error";
    const { type = UNTYPED } = made.error;
    return type === expected.type ? undefined : `it is ${type}, not ${expected.type}`;
  }
  const { message, unparsed } = expected;
  if ("error" in made) {
    const refused = unparsed.size > 0 && /tool parameter JSON/.test(String(made.error.message));
    return refused ? undefined : `the SDK throws: ${made.error.message}`;
  }
  for (const key of COMPARED) {
    const path = differsAt(message[key] ?? null, made.message[key] ?? null, key);
    if (path !== undefined) return `it differs at ${path}`;
  }
  for (const key of COUNTS) {
    const [a, b] = [objectOf(message.usage)[key] ?? null, objectOf(made.message.usage)[key] ?? null];
    if (a !== b) return `it differs at usage.${key}`;
  }
  return contentDiffers(message.content as JsonObject[], made, unparsed);
}

function contentDiffers(
  content: readonly JsonObject[],
  { message, json }: Extract<SdkReading, { message: JsonObject }>,
  unparsed: ReadonlyMap<number, string>,
): string | undefined {
  const theirs = message.content as JsonObject[];
  if (theirs.length !== content.length) return `the message has ${theirs.length} blocks, not ${content.length}`;
  for (const [i, block] of content.entries()) {
    const raw = unparsed.get(i);
    // Input that is not JSON is compared as text.
    const [mine, other] = raw === undefined ? [block, theirs[i]] : [
      { ...block, input: raw },
      { ...theirs[i], input: json.get(i) },
    ];
    const path = differsAt(mine, other, `content.${i}`);
    if (path !== undefined) return `it differs at ${path}`;
  }
  return undefined;
}

/** The path of the first difference of two values. */
function differsAt(a: unknown, b: unknown, path: string): string | undefined {
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return `${path}.length`;
    return a.map((part, i) => differsAt(part, b[i], `${path}.${i}`)).find((found) => found !== undefined);
  }
  if (!isObject(a) || !isObject(b)) return Object.is(a, b) ? undefined : path;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) {
    const found = differsAt(a[key], b[key], `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
