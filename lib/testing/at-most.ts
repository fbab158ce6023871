import { isToolUse } from "../core/messages.ts";
import { checkOptions } from "../input/options.ts";
import { priceOf } from "../replay/drift/drift-report.ts";
import type { Invariant, Observed } from "../replay/invariants.ts";
import { replyOf } from "../log/recorded-reply.ts";
import type { Tape } from "../log/tape.ts";

/** What a run may take, over all its lanes: sub-agents and the models of hooks count. */
export interface Limits {
  /** Model calls. */
  readonly calls?: number;
  /** Tool calls that models asked for. */
  readonly tools?: number;
  /** Tokens, from the cache or not. */
  readonly tokens?: number;
  /** By the price that the server says, else the list price; a run whose price is not known breaks it. */
  readonly dollars?: number;
}

const COUNT: { readonly [limit in keyof Limits]-?: (tape: Tape) => number | undefined } = {
  calls: ({ calls }) => calls.length,
  tools: ({ calls }) => calls.flatMap((call) => replyOf(call)?.message.content.filter(isToolUse) ?? []).length,
  tokens: ({ calls }) => priceOf(calls).tokens,
  dollars: ({ calls }) => priceOf(calls).dollars,
};

/**
 * Invariants that limit a run, for `invariants.ts` beside its tape.
 *
 * @example
 * ```ts
 * import { atMost } from "crochet/testing";
 *
 * export default atMost({ calls: 8, tools: 20, tokens: 20_000, dollars: 0.05 });
 * ```
 */
export function atMost(limits: Limits): Invariant[] {
  const names = Object.keys(COUNT) as (keyof Limits)[];
  checkOptions(limits, Object.fromEntries(names.map((name) => [name, "0 or more"])), "limit a run");
  const given = names.filter((name) => limits[name] !== undefined);
  if (given.length === 0) throw new TypeError(`Cannot limit a run as no limit is given: set ${names.join(", ")}`);
  return given.map((name) => ({
    name: `at most ${amount(name, limits[name]!)}`,
    broken: ({ tape }: Observed) => {
      if (tape.header.source === undefined) return "not known, as the run has no tape";
      const count = COUNT[name](tape);
      if (count === undefined) return `not known, as ${unpriced(tape)} has no price`;
      return count > limits[name]! ? amount(name, count).replace(` ${name}`, "") : undefined;
    },
  }));
}

function amount(name: keyof Limits, count: number): string {
  return name === "dollars" ? `$${Number(count.toFixed(6))}` : `${count} ${name}`;
}

function unpriced({ calls }: Tape): string {
  return calls.find((call) => priceOf([call]).dollars === undefined)!.request.model;
}
