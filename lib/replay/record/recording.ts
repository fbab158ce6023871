import { present } from "../../core/json.ts";
import type { Model, ModelRequest } from "../../core/model.ts";
import { crochetVersion, runtimeVersion } from "../../runtime/version.ts";
import { type EntryOf, type Header, kindOf, type LogEntry, TAPE_VERSION } from "../../log/entry.ts";
import { masked } from "./promote.ts";
import { differs } from "../drift/difference.ts";
import { projectOnTape, tapeFile } from "../fixture.ts";
import type { Program } from "../match-call.ts";
import type { SessionRecord } from "../person-answers.ts";
import { TapeError } from "../read-tape.ts";
import type { RunMasks } from "../run-masks.ts";
import { resultsKept, type TapeOptions } from "../tape-options.ts";
import { type Call, type Tape, type TapeLines, tapeOf } from "../../log/tape.ts";
import { writeTape } from "../write-tape.ts";
import { finishedCalls, type LiveCall, recordCall } from "./record-call.ts";
import { SeenWire, sourceOf } from "./seen-wire.ts";

interface RecordedSession extends Pick<SessionRecord, "known"> {
  readonly options: TapeOptions;
  /** The tape that is renewed, as it was given and as it is asked. */
  readonly tape: Tape | undefined;
  readonly program: Program | undefined;
  readonly earlier: Program | undefined;
  readonly masks: RunMasks;
  readonly epoch: number;
  readonly seed: string;
  readonly isInterrupted: boolean;
}

/** What is noted of a run while it happens, and the tape that it becomes. Nothing is masked before the end. */
export class Recording {
  readonly #of: RecordedSession;
  readonly calls: LiveCall[] = [];
  readonly seen: SeenWire;
  readonly #lines: { -readonly [Kind in keyof TapeLines]: EntryOf<Kind>[] } = {};

  constructor(of: RecordedSession) {
    this.#of = of;
    this.seen = new SeenWire(of.masks.learn);
  }

  line(entry: LogEntry): void {
    (this.#lines[kindOf(entry) as keyof TapeLines] ??= []).push(entry as never);
  }

  ask(
    real: Model,
    request: ModelRequest,
    signal: AbortSignal,
    by: { readonly lane: string; readonly at: number; readonly ended: () => void },
  ): ReturnType<Model> {
    return recordCall(real, request, signal, { ...by, seen: this.seen, note: (live) => this.calls.push(live) });
  }

  get header(): Header {
    const { known, seed, epoch, options: { path, agent, project, tools, normalise = [] } } = this.#of;
    const { url, answer, sdk, api } = this.seen;
    return {
      tape: TAPE_VERSION,
      source: url === undefined ? "model" : sourceOf(url, answer?.requestId),
      ...present({ url }),
      at: new Date(epoch).toISOString(),
      seed,
      versions: present({ crochet: crochetVersion(), sdk, api, runtime: runtimeVersion() }),
      ...present({ agent }),
      ...(path !== undefined && project !== undefined && projectOnTape(path, project)),
      ...Object.fromEntries(Object.entries(known).filter(([, value]) => !Array.isArray(value) || value.length > 0)),
      ...resultsKept(tools),
      ...(normalise.length > 0 && { normalise }),
    };
  }

  /** The header of the tape that was; of one that is renewed whole, with what answered now. */
  #nextHeader(kept: readonly Call[]): Header {
    const was = this.#of.program?.tape.header;
    if (!was) {
      const { source, url, versions } = this.#of.earlier?.tape.header ?? this.header;
      return kept.length === 0 ? this.header : { ...this.header, source, ...present({ url }), versions };
    }
    const { source, url, versions, hooks, permissions, own } = this.header;
    const { hooks: _, ...before } = was;
    const same = { ...before, ...(hooks && { hooks }), ...(permissions && { permissions }), ...(own && { own }) };
    if (kept.length > 0 || this.calls.length === 0) return same;
    const { url: __, ...rest } = same;
    return { ...rest, source, ...(url !== undefined && { url }), versions };
  }

  /**
   * Writes the tape of a session that has ended: what was kept of an old one, and what was recorded after it. One that is
   * still as it was is left alone.
   */
  async write(kept: readonly Call[], stop: string | undefined): Promise<void> {
    const { program, options, masks } = this.#of;
    const mask = masks.mask();
    const filesNow = () => {
      const files = options.files?.((text) => mask.on(text));
      return files && mask.on(files);
    };
    if (program && !this.#isOther(kept, stop, filesNow)) return;
    const why = this.#refusal(stop, kept);
    if (why !== undefined) throw new TapeError(`Cannot ${options.mode} ${options.path} as ${why}`);
    const lines = { ...this.#lines, tool: ordered(this.#lines.tool ?? []) };
    const made = masked(tapeOf(this.#nextHeader(kept), finishedCalls(this.calls, kept), lines), mask);
    const files = filesNow();
    const end = { end: stop!, ...(files && { files }) };
    const header = { ...made.header, ...mask.on(options.workspace?.ready() ?? {}) };
    await writeTape(tapeFile(options.path!), { ...made, header, calls: [...kept, ...made.calls], end }, {
      replace: program !== undefined,
      redactor: options.redact ? masks.ids() : masks.search(),
    });
    options.workspace?.keep();
  }

  /** Whether a run asked for something else than was recorded, came to another end, or left other files. */
  #isOther(kept: readonly Call[], stop: string | undefined, filesNow: () => EntryOf<"end">["files"]): boolean {
    const { program, tape } = this.#of;
    const { calls: recorded, end } = program!.tape;
    const { known: { own } } = this.#of;
    // Differences and rules that the tape does not know of.
    const declares = program!.tape !== tape ||
      (own !== undefined && differs(program!.tape.header.own, own, "") !== undefined);
    if (this.calls.length > 0 || kept.length < recorded.length || declares) return true;
    if (!end) return false;
    const files = filesNow();
    return end.end !== stop || (files && end.files && differs(end.files, files, "")) !== undefined;
  }

  /**
   * Why nothing is written, for a sentence that begins with "Cannot record as": the model was never called, the user ended
   * the run, or a failure would take the place of a run that went well.
   */
  #refusal(stop: string | undefined, kept: readonly Call[]): string | undefined {
    const { calls } = this;
    const was = this.#of.program?.tape;
    const unsent = calls.find(({ attempts, error }) => attempts.length === 0 && error);
    if (stop === undefined) {
      return calls.length === 0 ? "nothing was asked" : "the run has not ended: wait for it, then close";
    }
    // A replay is not interrupted, so it would never reach the next prompt.
    if (this.#of.isInterrupted) return "the run was interrupted: let it finish";
    if (unsent) return `the model could not be called: ${unsent.error!.message}`;
    if (stop === "error" && calls.length + kept.length === 0 && was === undefined) {
      return "the run failed before the model was called";
    }
    if (was && was.calls.length > 0 && calls.length + kept.length === 0) {
      return `the run ended with '${stop}' before the model was called, and the tape was not changed ` +
        "(delete it to record such a run)";
    }
    if (stop !== "error" || was === undefined || was.end?.end === "error") return undefined;
    const { error } = calls.findLast((call) => call.error) ?? {};
    return `the run ended with an error, and the tape was not changed: ${error?.message ?? "try again"}`;
  }
}

/** Numbers the changes of files if several lanes made them: a tape goes lane by lane. */
function ordered(tools: readonly EntryOf<"tool">[]): readonly EntryOf<"tool">[] {
  const lanes = new Set(tools.filter(({ files }) => files).map(({ lane }) => lane));
  return tools.map(({ nth: _, ...fact }, i) => fact.files && lanes.size > 1 ? { ...fact, nth: i + 1 } : fact);
}
