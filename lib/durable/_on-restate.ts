import type * as Sdk from "@restatedev/restate-sdk/fetch";
import type { Engine } from "../agent/engine.ts";
import { Pump } from "./_pump.ts";
import { type BelowRequest, DESK, type RemoteOptions } from "./_wire.ts";

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
export function restateEngine(
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
      return pump.wait(
        ctx.genericCall<BelowRequest, R>({
          service,
          method: "below",
          key: agentId,
          parameter,
          inputSerde: json as Sdk.Serde<BelowRequest>,
          outputSerde: json as Sdk.Serde<R>,
        }),
      );
    },
    sleep: (ms) => pump.wait(ctx.sleep(Math.ceil(ms))),
    async wait<T>(name: string, announce: (token: string) => Promise<void>, about: unknown = null): Promise<T> {
      const { id, promise } = ctx.awakeable<T>();
      const { agent_id = ctx.key } = about as { agent_id?: string };
      const parameter = { token: id, about };
      const inputSerde = json as Sdk.Serde<unknown>;
      ctx.genericSend({ service: DESK, method: "ask", key: agent_id, parameter, inputSerde });
      await step(`announce:${name}`, async () => {
        await announce(id);
        return null;
      });
      return await pump.wait(promise);
    },
  };
  return { engine, pump };
}
