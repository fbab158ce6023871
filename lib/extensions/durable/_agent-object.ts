import type * as Sdk from "@restatedev/restate-sdk/fetch";
import type { Engine } from "../../agent/engine.ts";
import type { Agent, AgentSession } from "../../agent/options.ts";
import type { Below } from "../../agent/spawn.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import type { MinimalStore } from "../../log/stores/memory-store.ts";
import { type Entry, transcriptOf } from "../../log/stores/store.ts";
import { Pump } from "./_pump.ts";
import { type BelowRequest, DESK, type RemoteOptions, type RunRequest, serviceOf } from "./_wire.ts";

/**
 * A step may take as long as both together; one that takes longer is cut and begun again. While it waits for a person
 * an agent is put aside after the first.
 */
const TIMES = { inactivityTimeout: { minutes: 10 }, abortTimeout: { hours: 1 } };

interface Served {
  readonly sdk: typeof Sdk;
  readonly agent: Agent;
  /** The ingress as this worker reaches it; absent, the one a run was submitted at. */
  readonly ingress: string | undefined;
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
  { sdk, agent, ingress }: Served,
  ctx: Sdk.ObjectContext,
  request: RunRequest | BelowRequest,
  work: (session: AgentSession) => Promise<T>,
): Promise<T> {
  const { options, follow } = request;
  const entries = [...await ctx.get<Entry[]>("entries") ?? []];
  const session_id = "asked" in request ? request.asked.parent.id : ctx.key;
  const feed = feedTo(follow && (ingress ?? follow), session_id);
  const news = newsFor(feed, ctx.key);
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
function newsFor(feed: ReturnType<typeof feedTo>, agent_id: string) {
  /** Reported before the first step: news, unless that step is known already. */
  let early: RunEvent[] | undefined = [];
  return {
    tell(event: RunEvent): void {
      if (!early) feed.tell(event);
      else if (early.length < MOST_EARLY) early.push(event);
    },
    /** From the first step on that is really run. */
    begin(after: "begin" | "replay"): void {
      const message = "The run continues after an interruption";
      const first: readonly RunEvent[] = after === "replay" ? [{ agent_id, type: "warning", message }] : early ?? [];
      for (const event of first) feed.tell(event);
      early = undefined;
    },
  };
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

/** How long events are gathered before they are sent. */
const EVERY_MS = 100;

/** Sends the events of a session to its followers, outside its journal: an event that is late or lost changes nothing. */
export function feedTo(ingress: string | undefined, session: string) {
  const url = ingress && `${ingress.replace(/\/$/, "")}/${DESK}/${encodeURIComponent(session)}/tell`;
  const events: RunEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sent: Promise<void> = Promise.resolve();
  /** Sends what is there; with `last`, nothing more will come. */
  const flush = (last = false): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (!url || (events.length === 0 && !last)) return sent;
    const body = JSON.stringify({ events: events.splice(0), last });
    const headers = { "content-type": "application/json" };
    return sent = sent.then(async () => {
      await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) })
        .then((response) => response.body?.cancel())
        .catch(() => {}); // a run whose ingress is gone has no followers
    });
  };
  const tell = (event: RunEvent): void => {
    if (!url) return;
    const last = events.at(-1);
    if (event.type === "text" && last?.type === "text" && last.agent_id === event.agent_id) {
      events[events.length - 1] = { ...last, text: last.text + event.text };
    } else events.push(event);
    timer ??= setTimeout(() => void flush(), EVERY_MS);
  };
  return { tell, flush };
}

/** A step that fails for the engine's own reasons is tried this often; failures of tools and models are results. */
const RETRIES = { maxRetryAttempts: 3, initialRetryInterval: 200 };

interface OnRestate {
  readonly service: string;
  readonly options: RemoteOptions | undefined;
  readonly follow: string | undefined;
  /** Called when the first step is really run: what happened before was reported by an earlier attempt. */
  readonly onLive: (after: "begin" | "replay") => void;
}

/** One attempt at one invocation, as an engine. */
function restateEngine(
  sdk: typeof Sdk,
  ctx: Sdk.ObjectContext,
  { service, options, follow, onLive }: OnRestate,
): { readonly engine: Engine; readonly pump: Pump } {
  const pump = new Pump(
    (promises) => sdk.RestatePromise.race(promises) as Sdk.RestatePromise<never>,
    (error) => error instanceof sdk.CancelledError,
  );
  const json = sdk.serde.json;
  let steps = 0;
  let live = false;
  const step = <T>(name: string, work: () => Promise<T>): Promise<T> => {
    // What a run begins with is its input and its object's state, which the engine gives it again.
    if (name.startsWith("begin:")) return work();
    const isFirst = steps++ === 0;
    return pump.wait(
      ctx.run(name, async () => {
        if (!live) onLive(isFirst ? "begin" : "replay");
        live = true;
        return (await work() ?? null) as T;
      }, RETRIES as Sdk.RunOptions<T>),
    );
  };
  const engine: Engine = {
    step,
    spawn: <R>(agentId: string, asked: unknown) => {
      const parameter = { asked, options, follow } as BelowRequest;
      const serdes = { inputSerde: json as Sdk.Serde<BelowRequest>, outputSerde: json as Sdk.Serde<R> };
      return pump.wait(ctx.genericCall({ service, method: "below", key: agentId, parameter, ...serdes }));
    },
    sleep: (ms) => pump.wait(ctx.sleep(Math.ceil(ms))),
    async wait<T>(name: string, announce: (token: string) => Promise<void>, about: unknown = null): Promise<T> {
      const { id, promise } = ctx.awakeable<T>();
      const { agent_id = ctx.key } = about as { agent_id?: string };
      const parameter = { token: id, about };
      const inputSerde = json as Sdk.Serde<unknown>;
      ctx.genericSend({ service: DESK, method: "ask", key: agent_id, parameter, inputSerde });
      await step(`announce:${name}`, () => announce(id));
      return await pump.wait(promise);
    },
  };
  return { engine, pump };
}
