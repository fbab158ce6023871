import { shown } from "../../core/shown.ts";
import { mask } from "../redact/mask.ts";
import { placer, placesHere } from "../redact/places.ts";
import { placeholdersIn, redactor } from "../redact/redact.ts";
import type { Tape } from "../tape.ts";
import { newerDeltas } from "./_newer.ts";
import { type Beside, ImportRefused } from "./exchange.ts";
import { difference } from "./proof.ts";
import { readRecording } from "./read.ts";
import { toTape } from "./to-tape.ts";

/** A recording of another tool that became a tape. */
export interface Imported {
  readonly tape: Tape;
  readonly format: string;
  /** What is not on the tape, or not as it was, in sentences. */
  readonly notes: readonly string[];
}

/**
 * Makes a tape of a recording of another tool, and proves it: what the SDK makes of the tape is what the original's
 * own events come to.
 *
 * @param beside reads what a recording keeps in other files; without it, one that does is refused
 * @throws {TypeError} where it is given something else than bytes and a name
 * @throws {ImportRefused} with the reason, where it cannot be read or the proof fails
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
export async function importRecording(bytes: Uint8Array, name: string, beside?: Beside): Promise<Imported> {
  if (!(bytes instanceof Uint8Array)) {
    const mend = "give what readFile gives, or new TextEncoder().encode(text)";
    throw new TypeError(`Cannot import as 'bytes' must be a Uint8Array: ${mend}, and not ${shown(bytes)}`);
  }
  if (typeof name !== "string") {
    throw new TypeError(`Cannot import as 'name' must be a text: give the file's name, and not ${shown(name)}`);
  }
  try {
    const recording = await readRecording(bytes, name, beside);
    const { tape, origins, notes } = toTape(recording, name);
    const found = await difference(tape, origins);
    if (found !== undefined) throw new ImportRefused(found);
    const safe = withoutSecrets(tape);
    const hidden = safe.hidden === 0 ? [] : [`secrets that are placeholders now: ${safe.hidden}`];
    const newer = [...new Set(origins.flat().flatMap(newerDeltas))].map((type) =>
      `'${type}' is newer than the SDK, which passes over it: it is on the tape as it came`
    );
    return { tape: safe.tape, format: recording.format, notes: [...notes, ...newer, ...hidden] };
  } catch (error) {
    const why = error instanceof ImportRefused
      ? error.message
      // The stack ran out: no API nests like that.
      : error instanceof RangeError && /call stack/i.test(error.message)
      ? "it is nested too deep: it was made to break what reads it"
      : undefined;
    if (why === undefined) throw error;
    throw new ImportRefused(`Cannot import '${name}' as ${why}`);
  }
}

/**
 * Other people's recordings show their ids and keys: a tape never does. Places of this machine are put as in any tape,
 * else an agent that names one here would not be known again.
 */
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
