import Anthropic from "@anthropic-ai/sdk";
import type { Middleware } from "../../lib/http/middleware.ts";
import { LaneClock } from "../../lib/log/tape-clock.ts";
import type { Call } from "../../lib/log/tape.ts";
import { serveAttempts } from "../../lib/replay/serve-attempts.ts";

/** What answers the attempts at one call, from its tape. */
export function wireOf(call: Call): Middleware {
  return serveAttempts(call, {
    mask: undefined,
    normalise: undefined,
    clock: new LaneClock({ lane: "main", epoch: 0, seed: "s", live: false }),
    diverged: (difference) => new Error(`It diverged: ${JSON.stringify(difference)}`),
  });
}

/** The SDK on a wire that answers one call, from its tape. */
export function sdkOn(call: Call): Anthropic {
  return new Anthropic({ apiKey: "test", baseURL: "http://127.0.0.1:9", maxRetries: 0, middleware: [wireOf(call)] });
}
