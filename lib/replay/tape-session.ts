import { existsSync } from "node:fs";
import { systemClock } from "../core/clock.ts";
import type { Block } from "../core/messages.ts";
import type { AgentSpec } from "../core/run.ts";
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
} from "./drift/drift-report.ts";
import { type EntryOf, kindOf, type LogEntry, type Resumed } from "../log/entry.ts";
import { TapeDrift, TapeLane } from "./tape-lane.ts";
import { type Mask, mask } from "./redact/mask.ts";
import { type Program, programOf, Served, type ToTape } from "./match-call.ts";
import { isOverWire, type ResultsKept, resultsKept, type TapeMode, type TapeOptions } from "./tape-options.ts";
import { normaliserOf, withNormalisers } from "./normalise.ts";
import { placer, placesHere } from "./redact/places.ts";
import type { Answers, SessionRecord } from "./person-answers.ts";
import { readTape, TapeError } from "./read-tape.ts";
import type { LiveCall } from "./record/record-tape.ts";
import { SeenWire } from "./record/seen-wire.ts";
import { type Redactor, redactor } from "./redact/redact.ts";
import { answerOf, namesPlaces, sharedAnswer, type TapeAnswer } from "./tape-answer.ts";
import { takesOf } from "../log/lane.ts";
import { filesRead } from "../log/step.ts";
import { hookCause, type HookDrift } from "./drift/hook-drift.ts";
import { type Call, MAIN, type Tape, type TapeLines, USER } from "./tape.ts";
import { tapeFile } from "./fixture.ts";

/** One session of an agent on a tape: opened with it, closed with it. */
export class TapeSession implements SessionRecord {
  readonly options: TapeOptions;
  /** As it was given. */
  readonly tape: Tape | undefined;
  readonly mode: TapeMode;
  readonly root: string;
  readonly epoch: number;
  readonly seed: string;
  readonly program: Program | undefined;
  /** Whose reports an agent took at a look. */
  readonly takes: ReturnType<typeof takesOf>;
  readonly parts: Parts;
  readonly wire: boolean;
  readonly faults: TapeOptions["faults"];
  readonly served: Served = new Served();
  /** What is noted of the run while it happens. Nothing is masked before the end, when a tape is made of it. */
  readonly calls: LiveCall[] = [];
  readonly lines: { -readonly [Kind in keyof TapeLines]: EntryOf<Kind>[] } = {};
  readonly known: SessionRecord["known"] = {};
  /** Whether a person ended one of its runs. */
  isInterrupted = false;
  /** Whether the environment names the tape: then the run is as it always is, in its own directory. */
  isOfEnvironment = false;
  /** Adds a value that must not be on the tape. */
  readonly learn: Redactor["learn"] = (...secret) => {
    for (const one of [this.search, this.ids]) one.learn(...secret);
  };
  readonly seen: SeenWire = new SeenWire(this.learn);
  readonly toolDrifts: ToolDrift[] = [];
  /** Hooks that say something else than they said, in the order in which they were asked. */
  readonly hookDrifts: HookDrift[] = [];
  /** The hooks of the agent as it is now. */
  hooks: AgentSpec["hooks"] | undefined;
  /** Settled once a model is asked: the run has left its tape. */
  readonly hasLeft: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Whether rules or a person that are not the agent's own may refuse its calls. */
  isRuled = false;
  switched: string | undefined;
  readonly hasRead: SessionRecord["hasRead"];
  /** Whether a listener sees the reply as it streams: then it comes in its recorded pieces. */
  isWatched = true;
  /** Whether the agent's hook folder is the one beside its script, which it does not name. */
  loadsBeside = false;
  readonly #lanes = new Map<string, TapeLane>();
  readonly #divergences = new Map<string, Divergence>();
  #everySecret: Redactor | undefined;
  #taken: Redactor | undefined;
  #mask: Mask | undefined;

  constructor(options: TapeOptions, tape: Tape | undefined, root: string, parts: Parts = {}) {
    this.options = options;
    this.parts = parts;
    this.mode = options.mode ?? "replay";
    this.root = root;
    this.hasRead = filesRead(root, (entry) => this.line(entry));
    this.wire = isOverWire(options);
    this.faults = options.faults;
    this.seed = tape?.header.seed ?? crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    this.epoch = tape ? Date.parse(tape.header.at) : Date.now();
    normaliserOf(options.normalise); // a wrong one is refused before anything is asked
    this.tape = tape;
    this.program = tape && programOf(withNormalisers(this.#usable(tape), options.normalise ?? []));
    this.takes = takesOf(tape?.inboxes);
  }

  /** A replay has the prompts, and never asks the simulated user. An update asks again what was answered before the question changed, and all that follows. */
  #usable(given: Tape): Tape {
    const tape = this.isOffline && given.calls.some(isOfUser)
      ? { ...given, calls: given.calls.filter((call) => !isOfUser(call)) }
      : given;
    const stale = this.mode === "update" ? tape.calls.filter((call) => call.stale) : [];
    if (stale.length === 0) return tape;
    const first = Math.min(...stale.map(({ at }) => at));
    return { ...tape, calls: tape.calls.filter((call) => call.at < first && !call.stale) };
  }

  /** Finds every secret: what it finds is not written, and not shown in a report. */
  get search(): Redactor {
    return this.#everySecret ??= redactor({ seed: this.seed, root: this.root });
  }

  /** Takes out what is never asked about, ids and cookies; every secret if `redact` is set or the tape has placeholders. */
  get ids(): Redactor {
    return this.#taken ??= redactor({
      seed: this.seed,
      root: this.root,
      learns: true,
      ...(this.program && { placeholders: this.program.placeholders }),
      ...(!this.options.redact && !this.program?.hasSecrets && { kinds: ["cookie", "organisation"] }),
    });
  }

  get mask(): Mask {
    const needsIds = this.mode !== "replay" || this.program?.hasSecrets;
    return this.#mask ??= mask(
      placer(() => placesHere(this.root), this.program?.hasUser),
      needsIds ? this.ids : undefined,
    );
  }

  /** What persons answered. */
  get answers(): Answers {
    const { program, isOffline, mask } = this;
    return { known: program?.tape.answers ?? [], isOffline, note: (fact) => this.line(fact), mask };
  }

  get mainLane(): TapeLane {
    return this.lane(MAIN);
  }

  line(entry: LogEntry): void {
    (this.lines[kindOf(entry) as keyof TapeLines] ??= []).push(entry as never);
  }

  also(known: SessionRecord["known"]): void {
    Object.assign(this.known, known);
  }

  /** Whether answers come from a tape. */
  get replays(): boolean {
    return this.program !== undefined;
  }

  /** Whether no model is ever called. */
  get isOffline(): boolean {
    return this.mode === "replay" || this.mode === "verify";
  }

  /** Whose results are recorded. */
  get records(): ResultsKept {
    if (this.mode === "update") return this.program!.tape.header;
    return resultsKept(this.mode === "record" && this.options.tools);
  }

  get recordsTools(): boolean {
    return this.records.tools;
  }

  /** How a request is written on the tape; undefined if nothing changes. */
  get toTape(): ToTape | undefined {
    return this.program && (this.program.hasPlaces || this.program.hasSecrets || this.mode === "update")
      ? this.mask.on
      : undefined;
  }

  /** The model the recorded agent was asked to use. */
  get model(): string | undefined {
    return this.program?.tape.calls.find((call) => call.lane === MAIN)?.request.model;
  }

  lane(name: string, above?: TapeLane, isLeft?: boolean): TapeLane {
    let lane = this.#lanes.get(name);
    if (!lane) this.#lanes.set(name, lane = new TapeLane(this, name, above, isLeft));
    return lane;
  }

  /** Lets the agents below one, which end with it, come as far as they did when they were recorded. */
  async catchUp(above: string): Promise<void> {
    const until = performance.now() + CATCH_UP_MS;
    const below = () => [...this.#lanes.values()].filter(({ name }) => name.startsWith(`${above}/`));
    const isBehind = (lane: TapeLane) => !lane.hasCaughtUp && !this.#divergences.has(lane.name);
    while (below().some(isBehind) && performance.now() < until) await systemClock.sleep(1);
  }

  /** A person's next prompt: it begins a step, for time has passed since the run before. Whether a session was resumed for it. */
  prompted(words: string | readonly Block[]): Resumed | undefined {
    const nth = this.lines.prompt?.length ?? 0;
    if (nth > 0) this.lane(MAIN).clock.nextStep();
    this.line({ prompt: words as string, ...(this.switched !== undefined && { model: this.switched }) });
    this.switched = undefined;
    return this.program?.tape.resumed?.[nth] ?? undefined;
  }

  /** Notes the first difference of a lane. */
  diverged(lane: string, explain: () => Divergence): void {
    if (this.#divergences.has(lane)) return;
    // The current request was never scanned.
    const { expected, actual, ...found } = explain();
    this.#divergences.set(lane, {
      ...found,
      ...(expected !== undefined && { expected: this.search.value(expected) }),
      ...(actual !== undefined && { actual: this.search.value(actual) }),
    });
  }

  driftError(lane: string): Error {
    const { cause, words, expected, actual } = this.#divergences.get(lane)!;
    const was = expected === undefined ? "" : ` recorded: ${shortText(expected)};`;
    const is = actual === undefined ? "" : ` now: ${shortText(actual)};`;
    return new TapeDrift(
      `${OFF_TAPE}${this.name} as ${words} (${cause}):${was}${is} record it again with --update`,
      { code: "tape_drift" },
    );
  }

  get name(): string {
    return this.options.path ?? "in memory";
  }

  /** What a call is answered with. */
  answer(call: Call): TapeAnswer {
    if (!namesPlaces(call)) return sharedAnswer(call, this.isWatched);
    const { attempts, error, ...rest } = call;
    const here = attempts.map((attempt) => this.mask.attemptOff(attempt));
    return answerOf({ ...rest, ...(error && { error: this.mask.off(error) }), attempts: here });
  }

  /** Ends the session: a recording is written, a replay is judged. */
  async close(stop: string | undefined): Promise<DriftReport> {
    const kept = this.program ? this.program.tape.calls.filter((call) => this.served.calls.has(call)) : [];
    try {
      if (!this.isOffline) await (await import("./record/recorded-tape.ts")).writeRecorded(this, kept, stop);
    } finally {
      this.options.workspace?.drop();
    }
    const report = await this.#report(kept);
    this.options.onReport?.(report);
    return report;
  }

  async #report(kept: readonly Call[]): Promise<DriftReport> {
    const tape = this.program?.tape;
    const unused = tape?.calls.filter((call) => !this.served.calls.has(call)) ?? [];
    const header = tape?.header ?? (await import("./record/recorded-tape.ts")).headerOf(this);
    const stale = kept.filter((call) => call.stale);
    const found = causesOf([...this.#divergences.values()]);
    const causes = await hookCause(tape?.said ?? [], this.hookDrifts, this.hooks, (said) => this.search.value(said));
    const [hook] = found.length > 0 ? causes : [];
    // What the model reads of it is the same change once more.
    const after = found.map(({ expected, actual, ...rest }): Divergence =>
      hook && rest.words.includes(hook.path) ? rest : { ...rest, expected, actual }
    );
    const divergences = hook ? [hook, ...after] : found;
    const ok = this.mode === "update" ||
      (divergences.length === 0 && unused.length === 0 && this.toolDrifts.length === 0);
    return {
      tape: this.name,
      ok,
      mode: this.mode,
      source: header.source,
      divergences,
      tools: this.toolDrifts,
      files: [],
      unused: unused.map((call) => call.id),
      calls: { recorded: tape?.calls.length ?? 0, served: kept.length, live: this.calls.length },
      ...(stale.length > 0 && { stale: stale.length }),
      normalise: header.normalise ?? [],
      price: {
        update: priceOf([...unused, ...stale], divergences),
        whole: tape ? wholePrice(tape) : priceOf([]),
      },
      notes: [
        ...(ok && found.length === 0 ? causes.map(({ words }) => `${words}, which the model never reads`) : []),
        ...(ok || !this.loadsBeside ? [] : hooksAdded(tape?.header, this.known.hooks ?? [])),
      ],
    };
  }
}

function isOfUser({ lane }: Call): boolean {
  return lane === USER;
}

/** How long to wait for it: the agent may be in a tool that never ends. */
const CATCH_UP_MS = 2000;

/** What only some sessions need, loaded for those. */
interface Parts {
  readonly record?: typeof import("./record/record-tape.ts");
  readonly wire?: typeof import("./serve-attempts.ts");
}

/** Opens a tape for a session that works in `root`. */
export async function openTape(options: TapeOptions, root: string): Promise<TapeSession> {
  const { mode = "replay", path } = options;
  const tape = options.tape ?? (mode === "record" ? noTape(path!) : await tapeAt(path!, mode));
  const writes = mode === "record" || mode === "update";
  if (writes) (await import("./write-tape.ts")).checkWritable(tapeFile(path!));
  const session = new TapeSession(options, tape, root, {
    ...(writes && { record: await import("./record/record-tape.ts") }),
    ...(isOverWire(options) && { wire: await import("./serve-attempts.ts") }),
  });
  options.onOpen?.(session);
  return session;
}

function noTape(path: string): undefined {
  const file = tapeFile(path);
  if (!existsSync(file)) return undefined;
  throw new TapeError(`Cannot record ${path} as a tape exists: replay it with --update, or delete ${file}`);
}

async function tapeAt(path: string, mode: TapeMode): Promise<Tape> {
  const file = tapeFile(path);
  if (existsSync(file)) return await readTape(file);
  throw new TapeError(
    `Cannot ${mode} ${path} as there is no tape: record it with 'crochet record', or CROCHET_TAPE_MODE=record`,
  );
}
