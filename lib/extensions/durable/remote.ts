import type { Result, RunEvent } from "../../core/run-events.ts";
import type { PermissionReply } from "../../permissions/gate.ts";
import { addressOf, DESK, type DeskQuestion, type Page, type RemoteOptions, serviceOf } from "./_wire.ts";

interface RemoteRun {
  readonly agent: string;
  /** The session's id: a new one, or one to continue. */
  readonly id: string;
  readonly prompt: string;
  readonly options?: RemoteOptions;
  /** Called with each event, as it happens. */
  readonly on?: (event: RunEvent) => void;
  /** Ends the following, not the run. */
  readonly signal?: AbortSignal;
  /** Called once the run can be followed again, even if this process ends. */
  readonly onSubmitted?: () => void;
}

/** An engine's ingress, as its users see it. */
interface Remote {
  /** Submits a run and follows it to its Result. The run ends even if this process or a worker dies. */
  run(run: RemoteRun): Promise<Result>;
  /** Follows the last run of a session to its Result, from its beginning; one that is over too. Submits nothing. */
  follow(session: Pick<RemoteRun, "id" | "on" | "signal">): Promise<Result>;
  question(agentId: string): Promise<unknown>;
  /** Answers what an agent asks; whether it asked something. */
  answer(agentId: string, reply: PermissionReply): Promise<boolean>;
  /** Has a worker make a run of an eval, once for each key; undefined if aborted. An engine that had answered is waited for. */
  attempt(request: unknown, key: string, signal: AbortSignal, onAway: () => void): Promise<unknown>;
  /** Says that what has a key was begun; how often it was. */
  began(key: string): Promise<number>;
}

/** What a request is for, and how that is started: for the error if it is not running. */
interface Target {
  readonly what: string;
  readonly start: string;
}

const ANY_AGENT: Target = { what: "any agent", start: "'crochet worker'" };
const FIXTURES: Target = { what: "a checkout with fixtures", start: "'crochet worker --fixtures'" };

/** How often a follower asks for new events. */
const LOOK_MS = 150;

/** How long an engine is left alone that does not answer. */
const AWAY_MS = 1000;

/** No engine answers, now. */
class EngineAway extends Error {}

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
  const base = addressOf(ingress, "http://127.0.0.1:8080");
  const path = (...parts: readonly string[]) => `${base}/${parts.map(encodeURIComponent).join("/")}`;
  let hasAnswered = false;
  const call = async <T>(url: string, body: unknown, target: Target = ANY_AGENT, key?: string): Promise<T> => {
    const headers = { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) }).catch((cause) => {
      const message = `Cannot reach an engine as nothing answers at ${base}: start restate-server, or name its ingress`;
      throw new EngineAway(message, { cause });
    });
    hasAnswered = true;
    const words = await response.text();
    if (response.status === 404) {
      throw new Error(
        words.startsWith("{")
          ? `Cannot reach ${target.what} as no worker serves it at ${base}: start ${target.start}`
          : `Cannot reach an engine as ${base} is not its ingress, which is at port 8080 by default`,
      );
    }
    if (!response.ok) {
      throw new Error(`Cannot ask the engine as ${base} says ${response.status}: ${words.slice(0, 300)}`);
    }
    return (words === "" ? undefined : JSON.parse(words)) as T;
  };
  /** Follows a run to its end: an engine or a connection that is away comes back. */
  const followed = async (
    invocation: string,
    { id, on, signal }: Pick<RemoteRun, "id" | "on" | "signal">,
  ): Promise<Result> => {
    let from: number | undefined;
    const news = async () => {
      const asked = { run: invocation, ...(from !== undefined && { from }) };
      const { next, pages } = await call<Page>(path(DESK, id, "events"), asked);
      from = next;
      for (const page of pages) for (const event of JSON.parse(page) as RunEvent[]) on?.(event);
    };
    let over = false;
    const ended = attach<Result>(`${base}/restate/invocation/${invocation}/attach`, signal).finally(() => over = true);
    ended.catch(() => {}); // the wait below rejects
    while (on && !over) {
      await news().catch(() => {});
      await Promise.race([ended.catch(() => {}), pause(LOOK_MS)]);
    }
    const result = await ended;
    if (on) await news().catch(() => {});
    return result;
  };
  return {
    async run({ agent, prompt, options, onSubmitted, ...run }) {
      const request = { prompt, ...(options && { options }), ...(run.on && { follow: base }) };
      const url = `${path(serviceOf(agent), run.id, "run")}/send`;
      const { invocationId: invocation } = await call<{ invocationId: string }>(url, request, {
        what: `agent '${agent}'`,
        start: "'crochet worker' with its script, or name the script of an agent that is served",
      });
      // A server that dies just now has the run: its result is waited for, though nothing is heard of it before.
      await call(`${path(DESK, run.id, "began")}/send`, { invocation }).then(onSubmitted, () => {});
      return await followed(invocation, run);
    },
    async follow(session) {
      const invocation = await call<string | null>(path(DESK, session.id, "last"), null);
      if (invocation !== null) return await followed(invocation, session);
      throw new Error(`Cannot follow run '${session.id}' as it was not submitted at ${base}: give a prompt`);
    },
    question: async (agentId) => (await call<DeskQuestion | null>(path(DESK, agentId, "question"), null))?.about,
    answer: (agentId, reply) => call<boolean>(path(DESK, agentId, "answer"), reply),
    async attempt(request, key, signal, onAway) {
      for (;;) {
        try {
          const url = `${path(serviceOf("fixtures"), "attempt")}/send`;
          const { invocationId } = await call<{ invocationId: string }>(url, request, FIXTURES, key);
          return await attach(`${base}/restate/invocation/${invocationId}/attach`, signal, onAway);
        } catch (error) {
          if (signal.aborted) return undefined;
          if (!(error instanceof EngineAway) || !hasAnswered) throw error;
          onAway();
          await pause(AWAY_MS);
        }
      }
    },
    began: (key) => call<number>(path(DESK, key, "execution"), null),
  };
}

/** The result of an invocation, whenever it is there: an engine that is away comes back. */
async function attach<T>(url: string, signal: AbortSignal | undefined, onAway = () => {}): Promise<T> {
  for (;;) {
    if (signal?.aborted) throw new Error("Stopped following the run as that was aborted: the run itself continues");
    const response = await fetch(url, signal ? { signal } : {}).catch(() => undefined);
    if (!response && !signal?.aborted) onAway();
    const words = await response?.text().catch(() => undefined);
    if (response?.ok && words !== undefined) return JSON.parse(words) as T;
    if (response?.status === 404) {
      throw new Error("Cannot get the run's result as the engine has it no more: it keeps results for a day");
    }
    if (response && words !== undefined && response.status < 500 && response.status !== 408) {
      throw new Error(`Cannot get the run's result as the engine says ${response.status}: ${words.slice(0, 300)}`);
    }
    if (response?.status === 500) throw new Error(`Cannot end the run: ${words?.slice(0, 300)}`);
    await pause(LOOK_MS);
  }
}
