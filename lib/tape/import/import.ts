import { shown } from "../../core/shown.ts";
import { mask } from "../redact/mask.ts";
import { placer, placesHere } from "../redact/places.ts";
import { placeholdersIn, redactor } from "../redact/redact.ts";
import type { Tape } from "../tape.ts";
import { ImportRefused } from "./exchange.ts";
import { difference } from "./proof.ts";
import { readRecording } from "./read.ts";
import { toTape } from "./to-tape.ts";

/** A recording of another tool that became a tape. */
export interface Imported {
  readonly tape: Tape;
  readonly format: string;
  /** What is missing from the tape or was changed, in sentences. */
  readonly notes: readonly string[];
}

/**
 * Converts a recording of another tool to a tape, and proves it: what the SDK reads from the tape equals an
 * independent reading of the original.
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
export async function importRecording(bytes: Uint8Array, name: string): Promise<Imported> {
  if (!(bytes instanceof Uint8Array)) {
    const fix = "pass the result of readFile, or new TextEncoder().encode(text)";
    throw new TypeError(`Cannot import as 'bytes' must be a Uint8Array: ${fix}, not ${shown(bytes)}`);
  }
  if (typeof name !== "string") {
    throw new TypeError(`Cannot import as 'name' must be a string: pass the file's name, not ${shown(name)}`);
  }
  try {
    const recording = await readRecording(bytes);
    const { tape, originals, notes } = toTape(recording, name);
    const found = await difference(tape, originals);
    if (found !== undefined) throw new ImportRefused(found);
    const safe = withoutSecrets(tape);
    const hidden = safe.hidden === 0 ? [] : [`secrets replaced with placeholders: ${safe.hidden}`];
    return { tape: safe.tape, format: recording.format, notes: [...notes, ...hidden] };
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
function withoutSecrets(tape: Tape): { tape: Tape; hidden: number } {
  const { root: _, ...places } = placesHere("");
  const { on, attemptOn } = mask(placer(places), redactor({ seed: tape.header.seed }));
  const safe: Tape = {
    ...tape,
    header: on(tape.header),
    prompts: tape.prompts.map(on),
    calls: tape.calls.map((call) => ({
      ...call,
      request: on(call.request),
      attempts: call.attempts.map((attempt) => ({
        ...attemptOn(attempt),
        ...(attempt.headers && { headers: on(attempt.headers) }),
      })),
      ...(call.error && { error: on(call.error) }),
    })),
  };
  const [before, after] = [tape, safe].map((either) => placeholdersIn(JSON.stringify(either)).size);
  return { tape: safe, hidden: after! - before! };
}
