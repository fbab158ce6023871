import type { Result, RunEvent } from "../core/run-events.ts";
import type { PermissionReply } from "../permissions/gate.ts";
import { type Asked, DESK, FIXTURES_SERVICE, type Page, type RemoteOptions, serviceOf } from "./_wire.ts";

export type { RemoteOptions } from "./_wire.ts";

export interface RemoteRun {
  /** The agent's name. */
  readonly agent: string;
  /** The session's id: a new one, or one that is to go on. */
  readonly id: string;
  readonly prompt: string;
  readonly options?: RemoteOptions;
  /** Is told what happens, while it happens. */
  readonly on?: (event: RunEvent) => void;
  /** Ends the following, not the run. */
  readonly signal?: AbortSignal;
}

/** An engine's ingress, as its users see it. */
export interface Remote {
  /** Submits a run and follows it to its Result. Whoever dies meanwhile, the run ends. */
  run(run: RemoteRun): Promise<Result>;
  /** What an agent asks. */
  question(agentId: string): Promise<unknown>;
  /** Answers what an agent asks; whether it asked something. */
  answer(agentId: string, reply: PermissionReply): Promise<boolean>;
  /** Has a worker replay a fixture of its own checkout. */
  replay(request: unknown): Promise<unknown>;
}

/** How often somebody who follows looks for news. */
const LOOK_MS = 150;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Talks to agents that workers serve on an engine.
 *
 * @example
 * ```ts no_run
 * import { remote } from "crochet/durable/restate";
 *
 * const { text } = await remote("http://127.0.0.1:8080").run({ agent: "helper", id: "h-1", prompt: "Say hello" });
 * ```
 */
export function remote(ingress: string): Remote {
  const base = ingress.replace(/\/$/, "");
  const path = (...parts: readonly string[]) => `${base}/${parts.map(encodeURIComponent).join("/")}`;
  const call = async <T>(url: string, body: unknown, who = "an engine"): Promise<T> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) }).catch((cause) => {
      throw new Error(`Cannot reach ${base}: is ${who} there?`, { cause });
    });
    const words = await response.text();
    if (response.status === 404) throw new Error(`Cannot reach ${who} as no worker serves it: start 'crochet worker'`);
    if (!response.ok) throw new Error(`Cannot do that as ${base} says ${response.status}: ${words.slice(0, 300)}`);
    return (words === "" ? undefined : JSON.parse(words)) as T;
  };
  const news = async (id: string, from: number, on: (event: RunEvent) => void): Promise<number> => {
    const { next, pages } = await call<Page>(path(DESK, id, "events"), { from });
    for (const page of pages) for (const event of JSON.parse(page) as RunEvent[]) on(event);
    return next;
  };
  return {
    async run({ agent, id, prompt, options, on, signal }) {
      // What was told of earlier runs of the session is not told again.
      let read = on ? await news(id, 0, () => {}).catch(() => 0) : 0;
      const request = { prompt, ...(options && { options }), ...(on && { follow: base }) };
      const sent = await call<{ invocationId: string }>(
        `${path(serviceOf(agent), id, "run")}/send`,
        request,
        `agent '${agent}'`,
      );
      let result: Result | undefined;
      let failed: Error | undefined;
      const ended = attach<Result>(`${base}/restate/invocation/${sent.invocationId}/attach`, signal)
        .then((value) => result = value, (error) => failed = error);
      while (on && !result && !failed) {
        read = await news(id, read, on).catch(() => read); // the engine may be starting again
        await Promise.race([ended, pause(LOOK_MS)]);
      }
      await ended;
      if (on) await news(id, read, on).catch(() => read);
      if (failed) throw failed;
      return result!;
    },
    question: async (agentId) => (await call<Asked | null>(path(DESK, agentId, "question"), null))?.about,
    answer: (agentId, reply) => call<boolean>(path(DESK, agentId, "answer"), reply),
    replay: (request) => call(path(FIXTURES_SERVICE, "replay"), request, "a worker with --fixtures"),
  };
}

/** The result of an invocation, whenever it is there: an engine that is away comes back. */
async function attach<T>(url: string, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    if (signal?.aborted) throw new Error("Nobody follows the run any more; it goes on");
    const response = await fetch(url, signal ? { signal } : {}).catch(() => undefined);
    const words = await response?.text().catch(() => undefined);
    if (response?.ok && words !== undefined) return JSON.parse(words) as T;
    if (response && words !== undefined && response.status < 500 && response.status !== 408) {
      throw new Error(`Cannot get the run's result as the engine says ${response.status}: ${words.slice(0, 300)}`);
    }
    if (response?.status === 500) throw new Error(`Cannot end the run: ${words?.slice(0, 300)}`);
    await pause(LOOK_MS);
  }
}
