import { frameOf } from "../frames.ts";
import type { Attempt, Tape } from "../tape.ts";
import { accumulate, type Accumulated, isStream, streamed, UNTYPED } from "./accumulate.ts";
import { withoutNewer } from "./_newer.ts";
import { type Exchange, type Fields, fieldsOf, isFields } from "./exchange.ts";

/**
 * The proof that a tape says what its original says: each attempt is answered to the real SDK, and what the SDK makes
 * of it must be what the original's own events come to. The first difference in words, or undefined.
 */
export async function difference(tape: Tape, origins: readonly (readonly Exchange[])[]): Promise<string | undefined> {
  const ask = await sdkReader();
  for (const [i, call] of tape.calls.entries()) {
    for (const [n, attempt] of call.attempts.entries()) {
      const origin = withoutNewer(origins[i]![n]!);
      const found = differs(accumulate(origin), await ask(attempt), () => lacking(origin));
      const where = call.attempts.length > 1 ? `call ${i + 1}, attempt ${n + 1}` : `call ${i + 1}`;
      if (found !== undefined) return `what the SDK makes of ${where} is not what was recorded: ${found}`;
    }
  }
  return undefined;
}

/** What the SDK made of an attempt. */
type Made = { readonly message: Fields; readonly json: ReadonlyMap<number, string> } | { readonly error: Fields };

type Ask = (attempt: Attempt) => Promise<Made>;

/** Any question: what is answered is on the tape, and the SDK warns of old models and long answers. */
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
  // Of the beta: the stable one drops the inputs of MCP tools and what compaction says.
  const messages = new Messages(client);
  return async (attempt) => {
    answer = attempt;
    const json = new Map<number, string>();
    try {
      if (!attempt.events) {
        return { message: await messages.create(QUESTION) as unknown as Fields, json };
      }
      const stream = messages.stream(QUESTION);
      stream.on("streamEvent", (event) => {
        if (event.type !== "content_block_delta" || event.delta.type !== "input_json_delta") return;
        json.set(event.index, (json.get(event.index) ?? "") + event.delta.partial_json);
      });
      return { message: await stream.finalMessage() as unknown as Fields, json };
    } catch (error) {
      const { message, error: body } = error as { message: string; error?: unknown };
      return { error: { message, ...fieldsOf(fieldsOf(body).error) } };
    }
  };
}

function responseOf({ status = 200, headers = {}, events, body }: Attempt): Response {
  return new Response(events ? events.map(frameOf).join("") : body ?? "", { status, headers });
}

/** What is compared of two messages; the SDK takes over other counts and marks only as it knows them. */
const COMPARED = ["id", "role", "model", "stop_reason", "stop_sequence"];
const COUNTS = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/** What every stream of the API has and this one has not: the SDK stumbles over that in the words of the runtime. */
function lacking(exchange: Exchange): string | undefined {
  if (!isStream(exchange)) return undefined;
  for (const { type, message, usage } of streamed(exchange.body())) {
    const begun = fieldsOf(message);
    if (type === "message_start" && !Array.isArray(begun.content)) {
      return "its 'message_start' has no list of 'content'";
    }
    if (type === "message_start" && !isFields(begun.usage)) return "its 'message_start' has no 'usage'";
    if (type === "message_delta" && !isFields(usage)) return "its 'message_delta' has no 'usage'";
  }
  return undefined;
}

function differs(expected: Accumulated, made: Made, why: () => string | undefined): string | undefined {
  if (expected.kind === "cut") return "error" in made ? undefined : "it is whole";
  if (expected.kind === "error") {
    if (!("error" in made)) return "it is no error";
    const { type = UNTYPED } = made.error;
    return type === expected.type ? undefined : `it is ${type}, not ${expected.type}`;
  }
  const { message, unparsed } = expected;
  if ("error" in made) {
    const refused = unparsed.size > 0 && /tool parameter JSON/.test(String(made.error.message));
    return refused ? undefined : `it throws: ${why() ?? made.error.message}`;
  }
  for (const key of COMPARED) {
    const path = differsAt(message[key] ?? null, made.message[key] ?? null, key);
    if (path !== undefined) return `it differs at ${path}`;
  }
  for (const key of COUNTS) {
    const [a, b] = [fieldsOf(message.usage)[key] ?? null, fieldsOf(made.message.usage)[key] ?? null];
    if (a !== b) return `it differs at usage.${key}`;
  }
  return contentDiffers(message.content as Fields[], made, unparsed);
}

function contentDiffers(
  content: readonly Fields[],
  { message, json }: Extract<Made, { message: Fields }>,
  unparsed: ReadonlyMap<number, string>,
): string | undefined {
  const theirs = message.content as Fields[];
  if (theirs.length !== content.length) return `it has ${theirs.length} blocks, not ${content.length}`;
  for (const [i, block] of content.entries()) {
    const raw = unparsed.get(i);
    // What is no JSON has no value to compare: its text is.
    const [mine, other] = raw === undefined ? [block, theirs[i]] : [
      { ...block, input: raw },
      { ...theirs[i], input: json.get(i) },
    ];
    const path = differsAt(mine, other, `content.${i}`);
    if (path !== undefined) return `it differs at ${path}`;
  }
  return undefined;
}

/** Where two values differ first; undefined where they do not. */
function differsAt(a: unknown, b: unknown, path: string): string | undefined {
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return `${path}.length`;
    return a.map((part, i) => differsAt(part, b[i], `${path}.${i}`)).find((found) => found !== undefined);
  }
  if (!isFields(a) || !isFields(b)) return Object.is(a, b) ? undefined : path;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const key of keys) {
    const found = differsAt(a[key], b[key], `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
