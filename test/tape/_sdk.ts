import Anthropic from "@anthropic-ai/sdk";
import { LaneClock } from "../../lib/tape/clock.ts";
import type { Call } from "../../lib/tape/tape.ts";
import { serveAttempts } from "../../lib/tape/wire.ts";

/** The SDK on a wire that answers one call, from its tape. */
export function sdkOn(call: Call): Anthropic {
  const middleware = serveAttempts(call, {
    mask: undefined,
    normalise: undefined,
    clock: new LaneClock({ lane: "main", epoch: 0, seed: "s", live: false }),
    diverged: (difference) => new Error(`It diverged: ${JSON.stringify(difference)}`),
  });
  return new Anthropic({ apiKey: "test", baseURL: "http://127.0.0.1:9", maxRetries: 0, middleware: [middleware] });
}
