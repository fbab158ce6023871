import type * as Sdk from "@restatedev/restate-sdk/fetch";
import { type Asked, DESK, type Page } from "./_wire.ts";

/** How long events are kept for somebody who follows, once the run is over. */
const KEPT = { minutes: 10 };

/** The object beside each session: what its journal must not carry. */
export function desk(sdk: typeof Sdk) {
  const { shared } = sdk.handlers.object;
  return sdk.object({
    name: DESK,
    handlers: {
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
            parameter: null,
            delay: KEPT,
            inputSerde: sdk.serde.json as Sdk.Serde<null>,
          });
        }
      },
      events: shared(async (ctx: Sdk.ObjectSharedContext, { from }: { from: number }): Promise<Page> => {
        const next = await ctx.get<number>("next") ?? 0;
        const pages: string[] = [];
        for (let n = from; n < next; n++) pages.push(await ctx.get<string>(`page ${n}`) ?? "[]");
        return { next, pages };
      }),
      async forget(ctx: Sdk.ObjectContext): Promise<void> {
        const question = await ctx.get<Asked>("question");
        ctx.clearAll();
        if (question) ctx.set("question", question);
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
