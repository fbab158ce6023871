import { present } from "../../core/json.ts";
import type { AgentSpec } from "../../core/run.ts";
import { ModelError } from "../../core/model.ts";
import type { EntryOf, Header } from "../../log/entry.ts";
import type { Call, Tape } from "../../log/tape.ts";
import type { TapeMode } from "../policy.ts";
import type { RunMasks } from "../run-masks.ts";
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

/** What a report says besides the drift that was found. */
interface Judged {
  readonly mode: TapeMode;
  /** Whether the run becomes a tape: then its differences are no fault. */
  readonly isRenewed: boolean;
  /** As it was asked. */
  readonly tape: Tape | undefined;
  readonly header: Header;
  /** The calls that were served, and how many a model answered. */
  readonly kept: readonly Call[];
  readonly live: number;
  /** The hooks of the agent as it is now, and their names if they come from the folder beside its script. */
  readonly hooks: AgentSpec["hooks"] | undefined;
  readonly beside: EntryOf<"also">["also"]["hooks"] | undefined;
}

/** Where a run differs from its tape: of each lane the first difference, and tools and hooks that do something else. */
export class FoundDrift {
  readonly #of: string;
  readonly #masks: RunMasks;
  readonly #lanes = new Map<string, Divergence>();
  readonly tools: ToolDrift[] = [];
  /** Rules of the program that let more through than they did. */
  readonly rules: Divergence[] = [];
  /** Why models were asked though a run is continued. */
  readonly anew: Set<string> = new Set();
  /** What was not compared. */
  readonly notes: string[] = [];
  /** In the order in which they were asked. */
  readonly hooks: HookDrift[] = [];

  /** `masks` take secrets out: what is asked now was never scanned. */
  constructor(of: string, masks: RunMasks) {
    this.#of = of;
    this.#masks = masks;
  }

  /** Notes the first difference of a lane. */
  note(lane: string, explain: () => Divergence): void {
    if (this.#lanes.has(lane)) return;
    const { expected, actual, ...found } = explain();
    this.#lanes.set(lane, { ...found, ...this.#masks.search.value(present({ expected, actual })) });
  }

  isIn(lane: string): boolean {
    return this.#lanes.has(lane);
  }

  /** What the agent of a lane is thrown that differs. */
  error(lane: string): Error {
    const { cause, words, expected, actual } = this.#lanes.get(lane)!;
    const was = expected === undefined ? "" : ` recorded: ${shortText(expected)};`;
    const is = actual === undefined ? "" : ` now: ${shortText(actual)};`;
    return new TapeDrift(`${OFF_TAPE}${this.#of} as ${words} (${cause}):${was}${is} record it again with --update`, {
      code: "tape_drift",
    });
  }

  async report({ mode, isRenewed, tape, header, kept, live, hooks, beside }: Judged): Promise<DriftReport> {
    const served = new Set(kept);
    const unused = tape?.calls.filter((call) => !served.has(call)) ?? [];
    const stale = kept.filter((call) => call.stale);
    const found = causesOf([...this.#lanes.values()]);
    const causes = await hookCause(tape?.said ?? [], this.hooks, hooks, this.#masks);
    const [hook] = found.length > 0 ? causes : [];
    // What the model reads of it is the same change once more.
    const after = found.map(({ expected, actual, ...rest }): Divergence =>
      hook && rest.words.includes(hook.path) ? rest : { ...rest, expected, actual }
    );
    const divergences = [...this.rules, ...hook ? [hook, ...after] : found];
    const ok = isRenewed || (divergences.length === 0 && unused.length === 0 && this.tools.length === 0);
    return {
      tape: this.#of,
      ok,
      mode,
      source: header.source,
      divergences,
      tools: this.tools,
      files: [],
      unused: unused.map((call) => call.id),
      calls: { recorded: tape?.calls.length ?? 0, served: kept.length, live },
      ...(stale.length > 0 && { stale: stale.length }),
      ...(!tape && (kept.length > 0 || this.anew.size > 0) && {
        continued: {
          kept: Object.fromEntries(
            [...Map.groupBy(kept, ({ lane }) => lane)].map(([lane, { length }]) => [lane, length]),
          ),
          anew: [...this.anew],
        },
      }),
      normalise: header.normalise ?? [],
      price: {
        update: priceOf([...unused, ...stale], divergences),
        whole: tape ? wholePrice(tape) : priceOf([]),
      },
      notes: [
        ...this.notes,
        ...(ok && found.length === 0 ? causes.map(({ words }) => `${words}, which the model never reads`) : []),
        ...(ok || !beside ? [] : hooksAdded(tape?.header, beside)),
      ],
    };
  }
}
