import type * as Sdk from "@restatedev/restate-sdk/fetch";
import { type Asked, DESK, type Page, type Submitted } from "./_wire.ts";

/** How long events are kept for followers, once the run is over. */
const KEPT = { minutes: 10 };

/** The runs of a session that can be followed again. */
const RUNS = 20;

/** The object beside each session: it has what the session's journal must not carry. */
export function desk(sdk: typeof Sdk) {
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
      /** The run that was submitted last. */
      last: shared(async (ctx: Sdk.ObjectSharedContext): Promise<string | null> =>
        (await ctx.get<Submitted[]>("runs"))?.at(-1)?.invocation ?? null
      ),
      /** Takes events for followers; `last` ends them. */
      async tell(ctx: Sdk.ObjectContext, { events, last }: { events: unknown[]; last?: boolean }): Promise<void> {
        const next = await ctx.get<number>("next") ?? 0;
        ctx.set(`page ${next}`, JSON.stringify(events));
        ctx.set("next", next + 1);
        if (last) {
          ctx.genericSend({
            service: DESK,
            method: "forget",
            key: ctx.key,
            parameter: { before: next + 1 },
            delay: KEPT,
            inputSerde: sdk.serde.json as Sdk.Serde<{ before: number }>,
          });
        }
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
      async ask(ctx: Sdk.ObjectContext, question: Asked): Promise<void> {
        ctx.set("question", question);
      },
      question: shared(async (ctx: Sdk.ObjectSharedContext): Promise<Asked | null> => await ctx.get<Asked>("question")),
      /** Answers the open question; whether there was one. */
      async answer(ctx: Sdk.ObjectContext, reply: unknown): Promise<boolean> {
        const question = await ctx.get<Asked>("question");
        if (!question) return false;
        ctx.resolveAwakeable(question.token, reply);
        ctx.clear("question");
        return true;
      },
    },
  });
}
