import { shown } from "../../core/shown.ts";
import { differs } from "../../replay/drift/difference.ts";
import { frameOf } from "../../log/frames.ts";
import { masked } from "../../replay/record/promote.ts";
import { mask } from "../../log/redact/mask.ts";
import { placer, placesHere } from "../../log/redact/places.ts";
import { placeholdersIn, redactor } from "../../log/redact/redact.ts";
import type { Attempt, Tape } from "../../log/tape.ts";
import { type Accumulated, ImportRefused, UNTYPED } from "../../replay/accumulate.ts";
import { accumulate } from "./accumulate.ts";
import type { Exchange, ReadBeside } from "./exchange.ts";
import { readRecording } from "./read-recording.ts";
import { toTape } from "./to-tape.ts";
import { type JsonObject, objectOf } from "../../core/json.ts";

/** A recording of another tool that became a tape. */
export interface Imported {
  readonly tape: Tape;
  readonly format: string;
  /** What is missing from the tape or was changed, in sentences. */
  readonly notes: readonly string[];
}

/**
 * Converts a recording of another tool to a tape, and proves it: what the SDK reads from the tape equals an
 * independent reading of the original. `beside` reads files that the recording refers to, by their path beside it.
 *
 * @throws {TypeError} if the arguments are not bytes and a name
 * @throws {ImportRefused} with the reason, if it cannot be read or the proof fails
 *
 * @example
 * ```ts
 * import { importRecording } from "crochet/testing";
 *
 * const events = [
 *   '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{}}}',
 *   '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}',
 *   '{"type":"content_block_stop","index":0}',
 *   '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
 *   '{"type":"message_stop"}',
 * ];
 * const { format, tape } = await importRecording(new TextEncoder().encode(events.join("\n")), "hi.txt");
 * console.log(format, tape.calls.length);
 * ```
 */
export async function importRecording(bytes: Uint8Array, name: string, beside?: ReadBeside): Promise<Imported> {
  if (!(bytes instanceof Uint8Array)) {
    const fix = "pass the result of readFile, or new TextEncoder().encode(text)";
    throw new TypeError(`Cannot import as 'bytes' must be a Uint8Array: ${fix}, not ${shown(bytes)}`);
  }
  if (typeof name !== "string") {
    throw new TypeError(`Cannot import as 'name' must be a string: pass the file's name, not ${shown(name)}`);
  }
  try {
    const recording = await readRecording(bytes, beside);
    const { tape, originals, notes } = toTape(recording, name);
    const found = await difference(tape, originals);
    if (found !== undefined) throw new ImportRefused(found);
    const safe = withoutSecrets(tape);
    const [before, after] = [tape, safe].map((either) => placeholdersIn(JSON.stringify(either)).size);
    const hidden = after === before ? [] : [`secrets replaced with placeholders: ${after! - before!}`];
    return { tape: safe, format: recording.format, notes: [...notes, ...hidden] };
  } catch (error) {
    const why = error instanceof ImportRefused
      ? error.message
      : error instanceof RangeError && /call stack/i.test(error.message)
      ? "it is nested too deeply"
      : undefined;
    if (why === undefined) throw error;
    throw new ImportRefused(`Cannot import '${name}' as ${why}`);
  }
}

/** Paths of this machine become placeholders too: otherwise an agent that names one would not match the tape. */
function withoutSecrets(tape: Tape): Tape {
  const { root: _, ...places } = placesHere("");
  const { on, attemptOn } = mask(placer(places), redactor({ seed: tape.header.seed }));
  return masked({ ...tape, header: on(tape.header) }, {
    on,
    attemptOn: (attempt) => ({ ...attemptOn(attempt), ...(attempt.headers && { headers: on(attempt.headers) }) }),
  });
}

/**
 * The proof of an import: the real SDK reads each attempt on the tape, and the result must equal an independent
 * reading of the original. Returns the first difference in words, or undefined.
 */
async function difference(tape: Tape, originals: readonly (readonly Exchange[])[]): Promise<string | undefined> {
  const ask = await sdkReader();
  for (const [i, call] of tape.calls.entries()) {
    for (const [n, attempt] of call.attempts.entries()) {
      if (attempt.status === undefined) continue; // not of the SDK's API
      const found = readingDiffers(accumulate(originals[i]![n]!), await ask(attempt));
      const where = call.attempts.length > 1 ? `call ${i + 1}, attempt ${n + 1}` : `call ${i + 1}`;
      if (found !== undefined) return `the SDK reads ${where} differently than it was recorded: ${found}`;
    }
  }
  return undefined;
}

type SdkReading = { readonly message: JsonObject; readonly json: ReadonlyMap<number, string> } | {
  readonly error: JsonObject;
};

/** Any request will do: the response is on the tape. */
const QUESTION = { model: "proof", max_tokens: 1, messages: [{ role: "user" as const, content: "?" }] };

async function sdkReader(): Promise<(attempt: Attempt) => Promise<SdkReading>> {
  const { BaseAnthropic } = await import("@anthropic-ai/sdk/client");
  const { Messages } = await import("@anthropic-ai/sdk/resources/beta/messages");
  let answer: Response | undefined;
  const client = new BaseAnthropic({
    apiKey: "proof",
    baseURL: "http://127.0.0.1:9",
    maxRetries: 0,
    middleware: [() => Promise.resolve(answer!)],
    logLevel: "off",
  });
  // The stable client drops the inputs of MCP tools and the content of compaction.
  const messages = new Messages(client);
  return async (attempt) => {
    const { status = 200, headers = {}, events, body = "" } = attempt;
    answer = new Response(events ? events.map(frameOf).join("") : body, { status, headers });
    const json = new Map<number, string>();
    try {
      if (!events) return { message: await messages.create(QUESTION) as unknown as JsonObject, json };
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

/** The compared fields; the SDK keeps other counts only if it knows them. */
const COMPARED = ["id", "role", "model", "stop_reason", "stop_sequence"];
const COUNTS = ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

function readingDiffers(expected: Accumulated, made: SdkReading): string | undefined {
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
  const [ours, theirs] = [message.content, made.message.content] as JsonObject[][];
  if (theirs!.length !== ours!.length) return `the message has ${theirs!.length} blocks, not ${ours!.length}`;
  const compared = ({ content, usage, ...rest }: JsonObject, json: ReadonlyMap<number, string>) => ({
    ...Object.fromEntries(COMPARED.map((key) => [key, rest[key] ?? null])),
    usage: Object.fromEntries(COUNTS.map((key) => [key, objectOf(usage)[key] ?? null])),
    // Input that is not JSON is compared as text.
    content: (content as JsonObject[]).map((block, i) => unparsed.has(i) ? { ...block, input: json.get(i) } : block),
  });
  const found = differs(compared(message, unparsed), compared(made.message, made.json), "");
  return found && `it differs at ${found.path.slice(1)}`;
}
