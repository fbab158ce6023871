import type * as Sdk from "@restatedev/restate-sdk/fetch";
import type { Agent } from "../../agent/options.ts";
import { agentObject } from "./_agent-object.ts";
import { together } from "./_together.ts";
import { addressOf, DESK, type DeskQuestion, type Page, serviceOf, type Submitted } from "./_wire.ts";
import { checkOptions, type OptionKind } from "../../input/options.ts";

export { remote } from "./remote.ts";

interface ServeOptions {
  /** @default 9080 */
  port?: number;
  /** Whether workers of one machine share the port, and so the work. Deno wants `--unstable-net` for it. @default on Bun */
  sharePort?: boolean;
  /** @default "127.0.0.1": anyone who can reach a worker can run its agents */
  host?: string;
  /** The engine's ingress as this worker reaches it. @default the one a run was submitted at */
  ingress?: string;
  /** The public keys of engines that may call; without, every request is taken. */
  identityKeys?: readonly string[];
  /** Makes a run of an eval that goes on elsewhere. */
  attempt?: (request: unknown) => Promise<unknown>;
}

const OPTIONS: { readonly [option in keyof ServeOptions]-?: OptionKind } = {
  port: "0 or more",
  sharePort: "true or false",
  host: "a text",
  ingress: "a text",
  identityKeys: "a list of texts",
  attempt: "a function",
};

interface Worker {
  readonly port: number;
  readonly url: string;
  /** Makes the engine send runs of these agents here; `url` is where it reaches this worker. */
  register(admin: string, url?: string): Promise<void>;
  /** Stops serving. Unfinished runs continue at another worker. */
  close(): Promise<void>;
}

/**
 * Serves agents to a Restate server, on Bun or Deno. Each agent is an object whose key is the agent's id; the agents it
 * starts are invocations of their own; questions wait until `crochet agents answer` answers them. Wherever a worker
 * dies, its agents continue at another one of the same address.
 *
 * @example
 * ```ts no_run
 * import { agent } from "crochet";
 * import { serve } from "crochet/durable/restate";
 *
 * const worker = await serve([agent({ name: "helper", system: "You help." })], { port: 9080 });
 * await worker.register("http://127.0.0.1:9070");
 * ```
 */
export async function serve(agents: readonly Agent[], options: ServeOptions = {}): Promise<Worker> {
  checkOptions(options, OPTIONS, "serve agents");
  const { port = 9080, host = "127.0.0.1", sharePort = "Bun" in globalThis } = options;
  const { ingress, identityKeys, attempt } = options;
  const sdk = await import("@restatedev/restate-sdk/fetch").catch((cause) => {
    throw new Error("Cannot serve agents as their engine's SDK is missing: npm install @restatedev/restate-sdk", {
      cause,
    });
  });
  const handler = sdk.createEndpointHandler({
    services: [
      desk(sdk),
      ...agents.map((agent) => agentObject({ sdk, agent, ingress })),
      ...(attempt ? [fixtureService(sdk, attempt)] : []),
    ],
    // Without, each step costs a request of its own, which carries all steps before it.
    bidirectional: true,
    logger: (meta, ...words) => {
      if (meta.level === "error") console.error(...words);
    },
    ...(identityKeys && { identityKeys: [...identityKeys] }),
  });
  const server = await listen({ hostname: host, port, reusePort: sharePort }, handler).catch((cause) => {
    const { code = cause.message } = cause as { code?: string };
    throw new Error(`Cannot listen at ${host}:${port} as ${REASONS[code] ?? code}: give another port or host`, {
      cause,
    });
  });
  const { http11, ...listening } = server;
  const url = `http://${host}:${server.port}`;
  return { ...listening, url, register: (admin, at = url) => register(admin, at, http11) };
}

function fixtureService(sdk: typeof Sdk, attempt: NonNullable<ServeOptions["attempt"]>) {
  const handlers = { attempt: (_: Sdk.Context, request: unknown) => attempt(request) };
  return sdk.service({ name: serviceOf("fixtures"), handlers });
}

/** Why one cannot listen, by the system's code. */
const REASONS: { readonly [code: string]: string } = {
  EADDRINUSE: "the address is in use",
  EADDRNOTAVAIL: "this machine has no such address",
  EACCES: "that is not allowed",
};

type Handler = (request: Request) => Promise<Response>;

interface Runtimes {
  Bun?: { serve(options: object): { port: number; stop(now: boolean): Promise<void> } };
  Deno?: { serve(options: object, handler: Handler): { addr: { port: number } } };
}

/** Bun serves HTTP/1.1 only; Deno's two-way streams need HTTP/2. */
async function listen(at: { hostname: string; port: number; reusePort: boolean }, handler: Handler) {
  const { Bun, Deno } = globalThis as Runtimes;
  if (Bun) {
    const server = Bun.serve({ ...at, idleTimeout: 0, fetch: async (r: Request) => together(await handler(r)) });
    return { port: server.port, http11: true, close: () => server.stop(true) };
  }
  if (Deno) {
    const stop = new AbortController();
    const { reusePort, ...rest } = at;
    const options = { ...rest, ...(reusePort && { reusePort }), signal: stop.signal, onListen: () => {} };
    const server = Deno.serve(options, (r) => handler(r));
    return { port: server.addr.port, http11: false, close: async () => stop.abort() };
  }
  throw new Error("Cannot serve agents as this is neither Bun nor Deno");
}

async function register(admin: string, uri: string, use_http_11: boolean): Promise<void> {
  const response = await fetch(`${addressOf(admin, "http://127.0.0.1:9070")}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri, use_http_11, force: true }),
  }).catch((cause) => {
    throw new Error(
      `Cannot register the worker as ${admin} does not answer: start the engine, or name its admin address`,
      { cause },
    );
  });
  const words = await response.text();
  if (!response.ok) {
    throw new Error(`Cannot register the worker as ${admin} says ${response.status}: ${words.slice(0, 300)}`);
  }
}

/** How long events are kept for followers, once the run is over. */
const KEPT = { minutes: 10 };

/** The runs of a session that can be followed again. */
const RUNS = 20;

/** The object beside each session: it has what the session's journal must not carry. */
function desk(sdk: typeof Sdk) {
  const { shared } = sdk.handlers.object;
  return sdk.object({
    name: DESK,
    handlers: {
      /** Remembers a run, so that it can be followed, now and later. */
      async began(ctx: Sdk.ObjectContext, { invocation }: { invocation: string }): Promise<void> {
        const runs = await ctx.get<Submitted[]>("runs") ?? [];
        if (runs.some((run) => run.invocation === invocation)) return;
        const from = await ctx.get<number>("next") ?? 0;
        ctx.set("runs", [...runs.slice(1 - RUNS), { invocation, from }]);
      },
      last: shared(async (ctx: Sdk.ObjectSharedContext): Promise<string | null> =>
        (await ctx.get<Submitted[]>("runs"))?.at(-1)?.invocation ?? null
      ),
      /** Takes events for followers; `last` ends them. */
      async tell(ctx: Sdk.ObjectContext, { events, last }: { events: unknown[]; last?: boolean }): Promise<void> {
        const next = await ctx.get<number>("next") ?? 0;
        ctx.set(`page ${next}`, JSON.stringify(events));
        ctx.set("next", next + 1);
        if (!last) return;
        const parameter = { before: next + 1 };
        const inputSerde = sdk.serde.json as Sdk.Serde<typeof parameter>;
        ctx.genericSend({ service: DESK, method: "forget", key: ctx.key, parameter, delay: KEPT, inputSerde });
      },
      events: shared(
        async (ctx: Sdk.ObjectSharedContext, { run, from }: { run: string; from?: number }): Promise<Page> => {
          const began = from ??
            (await ctx.get<Submitted[]>("runs"))?.find(({ invocation }) => invocation === run)?.from;
          if (began === undefined) return { pages: [] };
          const next = await ctx.get<number>("next") ?? 0;
          const pages: string[] = [];
          const first = await ctx.get<number>("first") ?? 0;
          for (let n = Math.max(began, first); n < next; n++) pages.push(await ctx.get<string>(`page ${n}`) ?? "[]");
          return { next, pages };
        },
      ),
      /** Drops the events of runs that are long over. */
      async forget(ctx: Sdk.ObjectContext, { before }: { before: number }): Promise<void> {
        const first = await ctx.get<number>("first") ?? 0;
        for (let n = first; n < before; n++) ctx.clear(`page ${n}`);
        ctx.set("first", Math.max(first, before));
      },
      /** Counts how often a run of an eval was begun. */
      async execution(ctx: Sdk.ObjectContext): Promise<number> {
        const begun = (await ctx.get<number>("begun") ?? 0) + 1;
        ctx.set("begun", begun);
        return begun;
      },
      async ask(ctx: Sdk.ObjectContext, question: DeskQuestion): Promise<void> {
        ctx.set("question", question);
      },
      question: shared(async (ctx: Sdk.ObjectSharedContext): Promise<DeskQuestion | null> =>
        await ctx.get<DeskQuestion>("question")
      ),
      /** Answers the open question; whether there was one. */
      async answer(ctx: Sdk.ObjectContext, reply: unknown): Promise<boolean> {
        const question = await ctx.get<DeskQuestion>("question");
        if (!question) return false;
        ctx.resolveAwakeable(question.token, reply);
        ctx.clear("question");
        return true;
      },
    },
  });
}
