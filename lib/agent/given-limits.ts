import type { Stop } from "../core/events.ts";
import type { Schema } from "../input/options.ts";
import { type AtLimit, DEFAULT_LIMITS, type Limits } from "../core/limits.ts";

const NAMES = ["iterations", "continuations", "stalls", "tokens", "dollars", "seconds", "calls", "depth"] as const;

/** The same for editors; those that must be whole may also be infinite, which JSON cannot say. */
export const LIMITS_SCHEMA: Schema = {
  type: "object",
  properties: Object.fromEntries(NAMES.map((name) => [name, { type: "number", minimum: 0 }])),
  additionalProperties: false,
};

/** Completes and checks the limits a user gave. */
export function limitsOf(given: Partial<Limits> = {}): Limits {
  for (const [name, value] of Object.entries(given)) {
    if (!(NAMES as readonly string[]).includes(name)) {
      throw new TypeError(`Cannot set limit '${name}' as there is no such limit: expected one of ${NAMES.join(", ")}`);
    }
    if (value === undefined) continue;
    const whole = name !== "dollars" && name !== "seconds";
    if (typeof value !== "number" || !(value >= 0) || (whole && value !== Infinity && !Number.isInteger(value))) {
      throw new TypeError(
        `Cannot set limit '${name}' as it must be a ${whole ? "whole " : ""}number of 0 or more: current value is ${
          JSON.stringify(value)
        }`,
      );
    }
  }
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(Object.entries(given).filter(([, v]) => v !== undefined)) };
}

/** What a person reads when a limit ended a run: which one, who kept it going, and what to do. */
export function limitWarning(stop: Stop, { limits, spent, keepers, byInput }: AtLimit): string | undefined {
  const hooks = [...keepers];
  const who = hooks.length > 0 ? ` (kept going by ${hooks.join(", ")})` : "";
  switch (stop) {
    case "max_iterations":
      return spent.calls >= limits.calls
        ? `The run ended at its limit of ${limits.calls} model calls over all its agents${who}: raise limits.calls if the work needs more`
        : `The run ended at its limit of ${limits.iterations} model calls${who}: raise limits.iterations if the work needs more`;
    case "max_continuations":
      return `The run ended at its limit of ${limits.continuations} continuations${who}: raise limits.continuations or let the hook let go`;
    case "stop_hook_stalled":
      return `The run ended after ${limits.stalls} continuations without a tool between them${who}: ` +
        (byInput
          ? "let the hook give no HookInput (a command: write nothing to stderr) when nothing is left to do, "
          : "let the hook look at 'stop_hook_active' or 'remaining', ") +
        "or raise limits.stalls";
    case "budget":
      if (limits.dollars !== undefined && spent.dollars === undefined) {
        return `The run ended as the price of model '${spent.unpriced}' is unknown, so limits.dollars cannot be kept${who}: set it in the option prices`;
      }
      return `The run ended at its budget${who}: raise limits.tokens or limits.dollars`;
    case "deadline":
      return `The run ended at its limit of ${limits.seconds} seconds${who}: raise limits.seconds`;
  }
}
