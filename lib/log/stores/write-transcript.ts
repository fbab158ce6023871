import type { Clock } from "../../core/clock.ts";
import { type Message, textOf } from "../../core/messages.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import type { Run } from "../../core/run.ts";
import type { SessionStore } from "./memory-store.ts";
import type { About, Entry, Transcript } from "./store.ts";

/** A checkpoint comes by itself after this many messages, or this long after the last one. */
const EVERY_MESSAGES = 20;
const EVERY_MS = 5 * 60_000;

export type TranscriptWriter = ReturnType<typeof transcriptWriter>;

/** Writes every fact of an agent to a store, of which a log is one, in order; a message is acknowledged once it is written. */
export function transcriptWriter({ store, id, about, stored, clock, isRerun, ...begin }: {
  readonly store: SessionStore;
  readonly id: string;
  readonly about: About | undefined;
  readonly stored: Transcript | undefined;
  readonly clock: Clock;
  /** How many messages it begins with. */
  readonly length: number;
  /** Whether a run may be run again from its beginning: nothing in it may depend on the time of day. */
  readonly isRerun: boolean;
}) {
  let compacted = stored ? stored.full.length - stored.messages.length : 0;
  let { length } = begin;
  // How much of what the store has compacted away a run that is run again has still to pass.
  let behind = 0;
  let queue = Promise.resolve();
  let begun = about === undefined;
  let since = { messages: 0, tick: clock.tick() };
  const write = async (entries: readonly Entry[]): Promise<void> => {
    try {
      await store.append(id, begun ? entries : [{ type: "about", about: about! }, ...entries]);
      begun = true;
    } catch (cause) {
      const why = `${(cause as Error).message}: fix that, then resume it; what was saved before is kept`;
      throw new Error(`Cannot save the transcript of '${id}' as ${why}`, { cause });
    }
  };
  const append = (...entries: Entry[]): Promise<void> => {
    if (behind > 0) return Promise.resolve();
    const written = queue.then(() => write(entries));
    queue = written.catch(() => {}); // the wait for the entry rejects; the next entry is still tried
    return written;
  };
  const time = () => new Date(clock.now()).toISOString();
  const checkpoint = async (run: Run, kind: "auto" | "manual" | "periodic"): Promise<string> => {
    const was = since;
    since = { messages: 0, tick: clock.tick() };
    const at = run.state.messages.length;
    const checkpoint_id = `${id}@${at}`;
    await append({ type: "checkpoint", id: checkpoint_id, at, kind, time: time() });
    run.emit({ type: "checkpoint", id: checkpoint_id, at, kind });
    await run.fire({
      event: "checkpoint",
      checkpoint_id,
      checkpoint_type: kind,
      message_count: was.messages,
      duration_since_last_ms: Math.round(since.tick - was.tick),
      storage_path: store.pathOf?.(id) ?? null,
    });
    return checkpoint_id;
  };
  return {
    checkpoint,
    /** Writes a message that another transcript had already: no run, no checkpoint. */
    copy: (message: Message, index: number) => append({ type: "message", index, message }),
    compacted: () => compacted,
    /** Goes back to the start of a run that is run again: what the store has of it already must not replace what came later. */
    rewind({ full, kept }: { readonly full: number; readonly kept: number }): void {
      length = kept;
      behind = compacted - (full - kept);
      compacted = full - kept;
    },
    async save(message: Message, index: number, run: Run): Promise<void> {
      length = index + 1;
      await append({ type: "message", index, message });
      since.messages++;
      if (since.messages >= EVERY_MESSAGES) await checkpoint(run, "auto");
      else if (!isRerun && clock.tick() - since.tick >= EVERY_MS) {
        await checkpoint(run, "periodic");
      }
    },
    /** Writes what is not a message: model changes, compactions. */
    note(event: RunEvent): void {
      const passed = behind > 0;
      if (event.type === "compact") {
        compacted += length;
        behind = Math.max(0, behind - length);
        length = event.messages.length;
      }
      if (passed || !begun) return; // the model a session begins with is part of what it is about
      if (event.type === "model") append({ type: "model", model: event.model }).catch(() => {}); // said by the next save
      else if (event.type === "compact") append({ type: "compact", messages: event.messages }).catch(() => {});
    },
    ended: (
      { stop, usage, cost, text, turns, iterations, modelCalls, denials, error, messages }: Result,
    ): Promise<void> => {
      const isReply = text === textOf(messages.findLast(({ role }) => role === "assistant"));
      const result = { ...(!isReply && { text }), turns, iterations, modelCalls, denials, ...(error && { error }) };
      return append({ type: "end", stop, usage, cost: cost ?? null, time: time(), result });
    },
  };
}
