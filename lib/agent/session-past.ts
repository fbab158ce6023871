import { invalidConversation, type Message } from "../core/messages.ts";
import type { SessionStore } from "../transcript/memory-store.ts";
import { checkId, resumable, type Transcript } from "../transcript/store.ts";
import type { RunOptions } from "./options.ts";

/** A stored session to continue. */
export interface StoredPast {
  /** The id it was stored under. */
  readonly from: string;
  readonly forked: boolean;
  readonly messages: Message[];
  readonly model: string | undefined;
  readonly transcript: Transcript;
}

/**
 * What a session continues: the one to resume or fork, or the one stored under the given id. A generated id never
 * counts: a recording generates the same ids each time it is recorded or replayed.
 */
export async function pastFor(
  store: SessionStore,
  { id, resume, fork }: Pick<RunOptions, "id" | "resume" | "fork">,
): Promise<StoredPast | undefined> {
  const from = resume ?? id;
  if (from === undefined) return undefined;
  checkId(from);
  const transcript = await store.load(from);
  if (!transcript && resume === undefined) return undefined;
  if (!transcript) {
    throw new TypeError(
      `Cannot resume '${from}' as there is no transcript of that id: 'crochet transcripts ls' lists them`,
    );
  }
  const forked = fork !== undefined;
  const messages = resumable(
    forked ? transcript.full.slice(0, lengthAt(transcript, from, fork)) : transcript.messages,
  );
  const damage = invalidConversation(messages);
  if (damage !== undefined) throw new TypeError(`Cannot resume '${from}' as its transcript is damaged: ${damage}`);
  return { from, forked, messages, model: transcript.model, transcript };
}

function lengthAt({ full, checkpoints }: Transcript, from: string, at: number | string | true): number {
  if (at === true) return full.length;
  if (typeof at === "number") {
    if (Number.isInteger(at) && at > 0 && at <= full.length) return at;
    throw new TypeError(`Cannot fork '${from}' at ${at} as it has ${full.length} messages`);
  }
  const found = checkpoints.find((c) => c.id === at);
  if (found) return found.at;
  const known = checkpoints.map((c) => c.id).join(", ") || "none";
  throw new TypeError(`Cannot fork '${from}' at '${at}' as there is no such checkpoint: its checkpoints are ${known}`);
}
