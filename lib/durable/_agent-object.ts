import type * as Sdk from "@restatedev/restate-sdk/fetch";
import type { Agent, AgentSession } from "../agent/options.ts";
import type { Below } from "../agent/spawn.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import type { MinimalStore } from "../transcript/minimal.ts";
import { type Entry, transcriptOf, type TranscriptStore } from "../transcript/store.ts";
import { Feed } from "./_feed.ts";
import { restateEngine } from "./_on-restate.ts";
import { type BelowRequest, type RunRequest, serviceOf } from "./_wire.ts";

/**
 * A step may take as long as both together; one that takes longer is cut and begun again. While it waits for a person
 * an agent is put aside after the first.
 */
const TIMES = {
  inactivityTimeout: { minutes: 10 },
  abortTimeout: { hours: 1 },
};

interface Served {
  readonly sdk: typeof Sdk;
  readonly agent: Agent;
  /** The ingress as this worker reaches it; absent, the one a run was submitted at. */
  readonly ingress: string | undefined;
  /** Where transcripts are copied to when a run has ended. */
  readonly store: TranscriptStore | undefined;
}

/** An agent as an object of the engine's: the key is the agent's id, its state the transcript. */
export function agentObject(served: Served) {
  return served.sdk.object({
    name: serviceOf(served.agent.name),
    handlers: {
      run: (ctx: Sdk.ObjectContext, request: RunRequest): Promise<Result> =>
        attempt(served, ctx, request, (session) => session.prompt(request.prompt)),
      below: (ctx: Sdk.ObjectContext, request: BelowRequest): Promise<Below> =>
        attempt(served, ctx, request, (session) => session.below(request.asked)),
    },
    options: TIMES,
  });
}

/** One attempt at a run: a session on the engine, from the state of the object to its next state. */
async function attempt<T>(
  { sdk, agent, ingress, store }: Served,
  ctx: Sdk.ObjectContext,
  request: RunRequest | BelowRequest,
  work: (session: AgentSession) => Promise<T>,
): Promise<T> {
  const { options, follow } = request;
  const before = await ctx.get<Entry[]>("entries") ?? [];
  const entries = [...before];
  const session_id = "asked" in request ? request.asked.parent.id : ctx.key;
  const feed = new Feed(follow && (ingress ?? follow), session_id);
  const news = new News(feed, ctx.key);
  const service = serviceOf(agent.name);
  const { engine, pump } = restateEngine(sdk, ctx, { service, options, follow, onLive: (after) => news.begin(after) });
  const over = ctx.request().attemptCompletedSignal;
  const giveUp = () => pump.end(new Error("The engine has given up this attempt"));
  over.addEventListener("abort", giveUp, { once: true });
  const session = await agent.open({
    ...options,
    id: session_id,
    step: engine,
    store: entryStore(ctx.key, entries),
    on: (event: RunEvent) => news.tell(event),
    // What an attempt that was given up has begun would otherwise run beside the next one's.
    signal: over,
  });
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await session.close();
  };
  try {
    const result = await pump.run(async () => {
      const end = await work(session);
      await close();
      if (store) await engine.step("keep", () => store.append(ctx.key, entries.slice(before.length)));
      return end;
    });
    ctx.set("entries", entries);
    await feed.flush(!("asked" in request));
    return result;
  } catch (error) {
    giveUp();
    throw error;
  } finally {
    over.removeEventListener("abort", giveUp);
    await close().catch(() => {});
  }
}

/** More events than any run has before its first step. */
const MOST_EARLY = 1000;

/** The events of this attempt, without those that an earlier attempt has reported. */
class News {
  readonly #feed: Feed;
  readonly #agentId: string;
  #live = false;
  /** Told before the first step: news, unless that step is known already. */
  #early: RunEvent[] = [];

  constructor(feed: Feed, agentId: string) {
    this.#feed = feed;
    this.#agentId = agentId;
  }

  tell(event: RunEvent): void {
    if (this.#live) this.#feed.tell(event);
    else if (this.#early.length < MOST_EARLY) this.#early.push(event);
  }

  /** From the first step on that is really run. */
  begin(after: "begin" | "replay"): void {
    this.#live = true;
    const message = "The run continues after an interruption";
    if (after === "replay") this.#feed.tell({ agent_id: this.#agentId, type: "warning", message });
    else for (const event of this.#early) this.#feed.tell(event);
    this.#early = [];
  }
}

/** The transcript that an object's state is, as a store of that one agent. */
function entryStore(key: string, entries: Entry[]): MinimalStore {
  const of = (id: string) => id === key ? entries : [];
  return {
    save: async () => {},
    append: async (id, more) => void of(id).push(...more),
    load: async (id) => of(id).length === 0 ? undefined : transcriptOf(of(id)),
  };
}
