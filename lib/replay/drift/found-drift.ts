import { present } from "../../core/json.ts";
import { ModelError } from "../../core/model.ts";
import type { Call } from "../../log/tape.ts";
import type { TapedSession } from "../taped-session.ts";
import {
  causesOf,
  type Divergence,
  type DriftReport,
  hooksAdded,
  OFF_TAPE,
  priceOf,
  shortText,
  type ToolDrift,
  wholePrice,
} from "./drift-report.ts";
import { hookCause, type HookDrift } from "./hook-drift.ts";

/** What an agent is thrown that asks for something a tape does not have. */
class TapeDrift extends ModelError {
  override name = "TapeDrift";
}

/** Where a run differs from its tape: of each lane the first difference, and tools and hooks that do something else. */
export class FoundDrift {
  readonly #of: TapedSession;
  readonly lanes = new Map<string, Divergence>();
  readonly tools: ToolDrift[] = [];
  /** Rules of the program that let more through than they did. */
  readonly rules: Divergence[] = [];
  /** Why models were asked though a run is continued. */
  readonly anew: Set<string> = new Set();
  /** What was not compared. */
  readonly notes: string[] = [];
  /** In the order in which they were asked. */
  readonly hooks: HookDrift[] = [];

  constructor(of: TapedSession) {
    this.#of = of;
  }

  /** Notes the first difference of a lane. */
  note(lane: string, explain: () => Divergence): void {
    if (this.lanes.has(lane)) return;
    const { expected, actual, ...found } = explain();
    // What is asked now was never scanned for secrets.
    this.lanes.set(lane, { ...found, ...this.#of.masks.search().value(present({ expected, actual })) });
  }

  /** What the agent of a lane is thrown that differs. */
  error(lane: string): Error {
    const { cause, words, expected, actual } = this.lanes.get(lane)!;
    const was = expected === undefined ? "" : ` recorded: ${shortText(expected)};`;
    const is = actual === undefined ? "" : ` now: ${shortText(actual)};`;
    const what = `${OFF_TAPE}${this.#of.name} as ${words} (${cause}):${was}${is}`;
    return new TapeDrift(`${what} record it again with --update`, { code: "tape_drift" });
  }

  /** `kept`: the calls that were served. */
  async report(kept: readonly Call[]): Promise<DriftReport> {
    const { name, mode, policy, program, recording, hooks, masks, loadsBeside, known } = this.#of;
    const tape = program?.tape;
    const { source, normalise = [] } = tape?.header ?? recording!.header;
    const served = new Set(kept);
    const unused = tape?.calls.filter((call) => !served.has(call)) ?? [];
    const stale = kept.filter((call) => call.stale);
    const found = causesOf([...this.lanes.values()]);
    const causes = await hookCause(tape?.said ?? [], this.hooks, hooks, masks);
    const [hook] = found.length > 0 ? causes : [];
    // What the model reads of it is the same change once more.
    const after = found.map(({ expected, actual, ...rest }): Divergence =>
      hook && rest.words.includes(hook.path) ? rest : { ...rest, expected, actual }
    );
    const divergences = [...this.rules, ...hook ? [hook, ...after] : found];
    const ok = policy.writes || (divergences.length === 0 && unused.length === 0 && this.tools.length === 0);
    return {
      tape: name,
      ok,
      mode,
      source,
      divergences,
      tools: this.tools,
      files: [],
      unused: unused.map((call) => call.id),
      calls: { recorded: tape?.calls.length ?? 0, served: kept.length, live: recording?.calls.length ?? 0 },
      ...(stale.length > 0 && { stale: stale.length }),
      ...(!tape && (kept.length > 0 || this.anew.size > 0) && {
        continued: {
          kept: Object.fromEntries(
            [...Map.groupBy(kept, ({ lane }) => lane)].map(([lane, { length }]) => [lane, length]),
          ),
          anew: [...this.anew],
        },
      }),
      normalise,
      price: {
        update: priceOf([...unused, ...stale], divergences),
        whole: tape ? wholePrice(tape) : priceOf([]),
      },
      notes: [
        ...this.notes,
        ...(ok && found.length === 0 ? causes.map(({ words }) => `${words}, which the model never reads`) : []),
        ...(ok || !loadsBeside ? [] : hooksAdded(tape?.header, known.hooks ?? [])),
      ],
    };
  }
}
