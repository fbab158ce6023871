import { getOrMake } from "../../core/maps.ts";
import { canonical } from "../../log/canonical.ts";
import { howDiffers, onlyRecorded, type ValueDifference } from "../drift/difference.ts";
import type { Divergence } from "../drift/drift-report.ts";
import { mapParts } from "../../log/redact/redact.ts";
import { type Normalise, normaliserOf } from "../normalise.ts";
import type { Attempt, Call, Sent, Tape } from "../../log/tape.ts";
import type { OnDrift } from "../tape-options.ts";
import { asksModel, leavesOf, mapSent, partsOf, sentDiffers, wireDiffers } from "./api.ts";
import { compared } from "./compare-rules.ts";
import { readable } from "./readable.ts";

export interface MatchOptions {
  /** Whether it runs in another workspace than the recorded one. @default false */
  readonly elsewhere?: boolean;
  /** Serves a request that differs only in what tools said. @default false */
  readonly loose?: boolean;
  /** Gets the request that is explained, and the recorded one that it is compared with. */
  readonly onDrift?: OnDrift | undefined;
}

/** A call of a tape as it is compared, and how many of its attempts were served. */
interface Entry {
  readonly call: Call;
  readonly sent: Sent;
  served: number;
}

/** Finds requests on a tape: an equal one, first recorded first, each attempt once. Never a near one. */
export class SentMatcher {
  readonly #entries: readonly Entry[];
  readonly #queues = new Map<string, Entry[]>();
  readonly #options: MatchOptions;
  readonly #own: Normalise | undefined;
  /** The rules that changed something in a request. */
  readonly by = new Set<string>();

  constructor({ calls, header }: Tape, options: MatchOptions = {}) {
    this.#options = options;
    this.#own = normaliserOf(header.normalise);
    this.#entries = calls.filter(({ sent }) => sent).toSorted((a, b) => a.at - b.at)
      .map((call) => ({ call, sent: this.#compared(call.sent!), served: 0 }));
    for (const entry of this.#entries) {
      for (const key of this.#keys(entry.sent)) getOrMake(this.#queues, key, () => []).push(entry);
    }
  }

  #compared(sent: Sent): Sent {
    const found = compared(sent, this.#options.elsewhere);
    for (const name of found.by) this.by.add(name);
    return this.#own ? mapSent(found.sent, this.#own) : found.sent;
  }

  #keys(sent: Sent): string[] {
    return this.#options.loose ? [keyOf(sent), `loose ${keyOf(withoutResults(sent))}`] : [keyOf(sent)];
  }

  /** The recorded requests that are the same as one. */
  #same(key: string, sent: Sent): Entry[] {
    return (this.#queues.get(key) ?? []).filter((entry) => wireDiffers(entry.sent, sent).length === 0);
  }

  /** The attempt that answers a request, as a tape would have it, and how results of tools differ, if that is let through. */
  find(asked: Sent): { call: Call; attempt: Attempt; tool?: ValueDifference } | undefined {
    const sent = this.#compared(asked);
    for (const key of this.#keys(sent)) {
      const entry = this.#same(key, sent).find(({ call, served }) => served < call.attempts.length);
      if (!entry) continue;
      const attempt = entry.call.attempts[entry.served++]!;
      const tool = key.startsWith("loose") ? sentDiffers(entry.sent, sent) : undefined;
      return { call: entry.call, attempt, ...(tool && { tool }) };
    }
    return undefined;
  }

  /** Why a request was not found: how it differs from the unused call that is most like it. */
  explain(asked: Sent, lane: string): Divergence {
    const sent = this.#compared(asked);
    const times = this.#same(keyOf(sent), sent);
    const nearest = times.at(-1) ?? this.#nearest(sent);
    this.#options.onDrift?.(lane, nearest && readable(nearest.sent), readable(sent));
    if (times.length > 0) {
      const count = times.reduce((sum, { call }) => sum + call.attempts.length, 0);
      return { lane, call: times.at(-1)!.call.id, cause: "order", path: "", words: onlyRecorded(count) };
    }
    if (!nearest) return { lane, cause: "order", path: "", words: "all recorded calls were already served" };
    const found = sentDiffers(nearest.sent, sent)!;
    return { lane, call: nearest.call.id, words: `${found.path} ${howDiffers(found)}`, ...found };
  }

  #nearest(sent: Sent): Entry | undefined {
    const mine = leavesOf(sent.body);
    let best: { entry: Entry; differ: number } | undefined;
    for (const entry of this.#entries) {
      if (entry.served > 0 || !asksModel(entry.sent)) continue;
      const theirs = leavesOf(entry.sent.body);
      let differ = (entry.sent.path === sent.path ? 0 : 1) + wireDiffers(entry.sent, sent).length;
      for (const [path, value] of theirs) if (mine.get(path) !== value) differ++;
      for (const path of mine.keys()) if (!theirs.has(path)) differ++;
      if (!best || differ < best.differ) best = { entry, differ };
    }
    return best?.entry;
  }

  get unused(): Call[] {
    return this.#entries.filter(({ sent, served }) => served === 0 && asksModel(sent)).map(({ call }) => call);
  }

  /** Calls that were asked for, and whose replies answered an earlier form of the request: a review kept them. */
  get stale(): Call[] {
    return this.#entries.filter(({ served, call }) => served > 0 && call.stale).map(({ call }) => call);
  }

  get served(): number {
    return this.#entries.filter(({ sent, served }) => served > 0 && asksModel(sent)).length;
  }
}

/** What makes two requests the same, which are given as a tape has them. */
export function sentKey(sent: Sent): string {
  return keyOf(compared(sent).sent);
}

function keyOf({ method, path, body }: Sent): string {
  return `${method} ${path} ${canonical(body ?? null)}`;
}

/** A request without what tools said: which results there are, for which calls, and whether they failed stays. */
function withoutResults(sent: Sent): Sent {
  const part = partsOf(sent);
  const isSaid = (path: string) =>
    part(path) === "result" && /\.(?:content|output|response)(?:\.|$)/.test(afterItem(path));
  return { ...sent, body: mapParts(sent.body ?? {}, (_, path) => isSaid(path) ? "{result}" : undefined) };
}

/** A path behind the item of the conversation it is in; of a message in blocks behind the block. */
function afterItem(path: string): string {
  return path.replace(/^(?:messages|contents)\.\d+\.(?:content|parts)\.\d+(?=\.)|^\w+\.\d+(?=\.)/, "");
}
