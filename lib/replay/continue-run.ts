import type { Model } from "../core/model.ts";
import { PUBLIC_API, wireOf } from "../models/anthropic/anthropic-model.ts";
import type { Tape } from "../log/tape.ts";

/** What another run may continue of one: replies that came to their end, found by requests that are equal as they are. */
export function continuable({ header: { normalise: _, ...header }, calls, ...rest }: Tape): Tape {
  const whole = calls.filter(({ attempts, error, stale }) => {
    const isEnded = attempts.length > 0 && attempts.at(-1)!.ended === undefined;
    // What the agent itself asked wrongly was answered; any other failure says nothing about the next time.
    return isEnded && !stale && (!error || error.code === "invalid_request_error");
  });
  return { ...rest, header, calls: whole };
}

/** Why a model is always asked, whatever it answered before; undefined if its replies may be kept. */
export function whyAsked(model: Model): string | undefined {
  const wire = wireOf(model);
  if (!wire) return "the model is code, or of another API";
  return wire.options.middleware?.length ? "the model has middleware" : undefined;
}

/** The same of a model in a run that continues one whose replies came from `url`. */
export function whyAskedAfter(url: string | undefined, model: Model): string | undefined {
  const why = whyAsked(model);
  if (why !== undefined) return why;
  const { client, baseURL } = wireOf(model)?.options ?? {};
  const { origin } = new URL(client?.baseURL ?? baseURL ?? (process.env.ANTHROPIC_BASE_URL || PUBLIC_API));
  return origin === url ? undefined : `another server is asked, ${origin} in place of ${url ?? "code"}`;
}
