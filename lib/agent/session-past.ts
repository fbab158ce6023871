import { isObject } from "../core/json.ts";
import { invalidConversation, type Message } from "../core/messages.ts";
import type { SessionStore } from "../log/stores/memory-store.ts";
import { checkId, resumable, type Transcript } from "../log/stores/store.ts";
import type { RunOptions } from "./options.ts";

export interface StoredPast {
  /** The id it was stored under. */
  readonly from: string;
  readonly forked: boolean;
  /** Whether its messages are not in the transcript that this session writes. */
  readonly isCopied: boolean;
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
  { id, resume, fork, messages: held }: Pick<RunOptions, "id" | "resume" | "fork" | "messages">,
): Promise<StoredPast | undefined> {
  const from = resume ?? id;
  if (held) {
    if (resume !== undefined) throw new TypeError("Cannot resume both an id and messages: leave one of them out");
    if (id !== undefined && await store.load(id)) {
      throw new TypeError(`Cannot resume messages as '${id}', which is stored already: leave the id out, or resume it`);
    }
    return pastOf("the messages", heldTranscript(held), fork);
  }
  if (from === undefined) return undefined;
  checkId(from);
  const transcript = await store.load(from);
  if (!transcript && resume === undefined) return undefined;
  if (!transcript) {
    throw new TypeError(
      `Cannot resume '${from}' as there is no run of that id: 'crochet runs' lists them`,
    );
  }
  return pastOf(from, transcript, fork);
}

function pastOf(from: string, transcript: Transcript, fork: RunOptions["fork"]): StoredPast {
  const forked = fork !== undefined;
  const messages = resumable(
    forked ? transcript.full.slice(0, lengthAt(transcript, from, fork)) : transcript.messages,
  );
  const damage = invalidConversation(messages);
  if (damage !== undefined) throw new TypeError(`Cannot resume '${from}' as its log is damaged: ${damage}`);
  const isCopied = forked || transcript.isElsewhere === true;
  return { from, forked, isCopied, messages, model: transcript.model, transcript };
}

/** Messages that a caller holds, as if they were stored elsewhere. */
function heldTranscript(messages: readonly Message[]): Transcript {
  const wrong = messages.findIndex((message) => !isObject(message) || !Array.isArray(message.content));
  if (wrong >= 0) {
    throw new TypeError(`Cannot resume messages as messages.${wrong} is not a message: { role, content: [blocks] }`);
  }
  const nothing = { about: undefined, model: undefined, checkpoints: [], endings: [] };
  return { ...nothing, messages, full: messages, isElsewhere: true };
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
  throw new TypeError(`Cannot fork '${from}' at '${at}' as it has no such point: it has ${known}`);
}
