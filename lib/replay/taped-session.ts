import { existsSync } from "node:fs";
import { systemClock } from "../core/clock.ts";
import { getOrMake } from "../core/maps.ts";
import type { Block } from "../core/messages.ts";
import type { AgentSpec } from "../core/run.ts";
import type { LogEntry, Resumed } from "../log/entry.ts";
import { takesOf } from "../log/lane.ts";
import { filesRead } from "../log/step.ts";
import type { DriftReport } from "./drift/drift-report.ts";
import { continuable } from "./continue-run.ts";
import { FoundDrift } from "./drift/found-drift.ts";
import { tapeFile } from "./fixture.ts";
import { type Program, programOf, Served, type ToTape } from "./match-call.ts";
import { normaliserOf, withNormalisers } from "./normalise.ts";
import type { Answers, SessionRecord } from "./person-answers.ts";
import { policyOf, type TapeMode, type TapePolicy } from "./policy.ts";
import { readTape, TapeError } from "./read-tape.ts";
import type { Recording } from "./record/recording.ts";
import type { Mask } from "../log/redact/mask.ts";
import { type RunMasks, runMasks } from "./run-masks.ts";
import { answerOf, namesPlaces, sharedAnswer, type TapeAnswer } from "../log/tape-answer.ts";
import { TapeLane } from "./tape-lane.ts";
import { isOverWire, type ResultsKept, resultsKept, type TapeOptions } from "./tape-options.ts";
import { type Call, MAIN, type Tape, USER } from "../log/tape.ts";

/** What the lanes of one session on a tape share: opened with it, closed with it. */
export class TapedSession implements SessionRecord {
  readonly options: TapeOptions;
  readonly policy: TapePolicy;
  /** As it was given. */
  readonly tape: Tape | undefined;
  readonly root: string;
  readonly epoch: number;
  readonly seed: string;
  /** The run that is replayed or renewed. */
  readonly program: Program | undefined;
  /** That, or the run that is continued: what replies are taken from. */
  readonly earlier: Program | undefined;
  /** Whose reports an agent took at a look. */
  readonly takes: ReturnType<typeof takesOf>;
  readonly served: Served = new Served();
  readonly masks: RunMasks;
  readonly drift: FoundDrift;
  /** What the run becomes a tape of, if it does. */
  readonly recording: Recording | undefined;
  /** What serves replies through the SDK, if they are. */
  readonly wire: typeof import("./serve-attempts.ts") | undefined;
  readonly known: SessionRecord["known"] = {};
  /** Whether a person ended one of its runs. */
  isInterrupted = false;
  hooks: AgentSpec["hooks"] | undefined;
  /** Aborted once a model is asked: the run has left its tape. */
  readonly hasLeft: AbortController = new AbortController();
  /** Whether rules or a person that are not the agent's own may refuse its calls. */
  isRuled = false;
  switched: string | undefined;
  readonly hasRead: SessionRecord["hasRead"];
  /** Whether a listener sees the reply as it streams: then it comes in its recorded pieces. */
  isWatched = true;
  /** Whether the agent's hook folder is the one beside its script, which it does not name. */
  loadsBeside = false;
  readonly #lanes = new Map<string, TapeLane>();
  #prompts = 0;

  constructor(options: TapeOptions, tape: Tape | undefined, root: string, parts: Parts = {}) {
    this.options = options;
    this.policy = policyOf(options);
    this.root = root;
    const from = tape ?? (options.continues && continuable(options.continues));
    this.seed = from?.header.seed ?? crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    this.epoch = from ? Date.parse(from.header.at) : Date.now();
    normaliserOf(options.normalise); // a wrong one is refused before anything is asked
    this.tape = tape;
    const program = from && programOf(withNormalisers(this.#usable(from), options.normalise ?? []));
    this.earlier = program;
    this.program = tape && program;
    this.takes = takesOf(tape?.inboxes);
    const { seed, policy, options: { redact } } = this;
    this.masks = runMasks({ root, seed, program, redact, isOpen: policy.calls !== "serve" });
    this.drift = new FoundDrift(this);
    this.hasRead = filesRead(root, (entry) => this.line(entry));
    this.recording = parts.record && new parts.record.Recording(this);
    this.wire = parts.wire;
  }

  /** A replay has the prompts, and never asks the simulated user. An update asks again what was answered before the question changed, and all that follows. */
  #usable(given: Tape): Tape {
    const { isOffline, writes } = this.policy;
    const tape = isOffline && given.calls.some(isOfUser)
      ? { ...given, calls: given.calls.filter((call) => !isOfUser(call)) }
      : given;
    const stale = writes ? tape.calls.filter((call) => call.stale) : [];
    if (stale.length === 0) return tape;
    const first = Math.min(...stale.map(({ at }) => at));
    return { ...tape, calls: tape.calls.filter((call) => call.at < first && !call.stale) };
  }

  get mask(): Mask {
    return this.masks.mask();
  }

  get mode(): TapeMode {
    return this.options.mode ?? "replay";
  }

  get name(): string {
    return this.options.path ?? "in memory";
  }

  get answers(): Answers {
    const { program, policy: { isOffline }, mask } = this;
    return { known: program?.tape.answers ?? [], isOffline, note: (fact) => this.line(fact), mask };
  }

  get mainLane(): TapeLane {
    return this.lane(MAIN);
  }

  line(entry: LogEntry): void {
    this.recording?.line(entry);
  }

  also(known: SessionRecord["known"]): void {
    Object.assign(this.known, known);
  }

  /** Whether answers come from a tape. */
  get replays(): boolean {
    return this.program !== undefined;
  }

  get records(): ResultsKept {
    if (!this.policy.writes) return resultsKept(false);
    return this.program?.tape.header ?? resultsKept(this.options.tools);
  }

  /** How a request is written on the tape; undefined if nothing changes. */
  get toTape(): ToTape | undefined {
    return this.earlier && (this.earlier.hasPlaces || this.earlier.hasSecrets || this.policy.writes)
      ? this.mask.on
      : undefined;
  }

  /** The model the recorded agent was asked to use. */
  get model(): string | undefined {
    return this.program?.tape.calls.find((call) => call.lane === MAIN)?.request.model;
  }

  lane(name: string, above?: TapeLane, isLeft?: boolean): TapeLane {
    return getOrMake(this.#lanes, name, () => new TapeLane(this, name, above, isLeft));
  }

  /** Lets the agents below one, which end with it, come as far as they did when they were recorded. */
  async catchUp(above: string): Promise<void> {
    const until = performance.now() + CATCH_UP_MS;
    const below = () => [...this.#lanes.values()].filter(({ name }) => name.startsWith(`${above}/`));
    const isBehind = (lane: TapeLane) => !lane.hasCaughtUp && !this.drift.lanes.has(lane.name);
    while (below().some(isBehind) && performance.now() < until) await systemClock.sleep(1);
  }

  /** A person's next prompt: it begins a step, for time has passed since the run before. Whether a session was resumed for it. */
  prompted(words: string | readonly Block[]): Resumed | undefined {
    const nth = this.#prompts++;
    if (nth > 0) this.lane(MAIN).clock.nextStep();
    this.line({ prompt: words as string, ...(this.switched !== undefined && { model: this.switched }) });
    this.switched = undefined;
    return this.program?.tape.resumed?.[nth] ?? undefined;
  }

  answer(call: Call): TapeAnswer {
    if (!namesPlaces(call)) return sharedAnswer(call, this.isWatched);
    const { attempts, error, ...rest } = call;
    const here = attempts.map((attempt) => this.mask.attemptOff(attempt));
    return answerOf({ ...rest, ...(error && { error: this.mask.off(error) }), attempts: here });
  }

  /** Ends the session: a recording is written, a replay is judged. */
  async close(stop: string | undefined): Promise<DriftReport> {
    const kept = this.earlier?.tape.calls.filter((call) => this.served.calls.has(call)) ?? [];
    try {
      await this.recording?.write(kept, stop);
    } finally {
      this.options.workspace?.drop();
    }
    const report = await this.drift.report(kept);
    this.options.onReport?.(report);
    return report;
  }
}

function isOfUser({ lane }: Call): boolean {
  return lane === USER;
}

/** How long to wait for it: the agent may be in a tool that never ends. */
const CATCH_UP_MS = 2000;

/** What only some sessions need, loaded for those. */
interface Parts {
  readonly record?: typeof import("./record/recording.ts");
  readonly wire?: typeof import("./serve-attempts.ts");
}

/** Opens a tape for a session that works in `root`. */
export async function openTape(options: TapeOptions, root: string): Promise<TapedSession> {
  const { mode = "replay", path } = options;
  const tape = options.tape ?? await tapeAt(path!, mode);
  const { writes } = policyOf(options);
  if (writes) (await import("./write-tape.ts")).checkWritable(tapeFile(path!));
  const session = new TapedSession(options, tape, root, {
    ...(writes && { record: await import("./record/recording.ts") }),
    ...(isOverWire(options) && { wire: await import("./serve-attempts.ts") }),
  });
  options.onOpen?.(session);
  return session;
}

async function tapeAt(path: string, mode: TapeMode): Promise<Tape | undefined> {
  const file = tapeFile(path);
  const isThere = existsSync(file);
  if (mode === "record" && !isThere) return undefined;
  if (mode !== "record" && isThere) return await readTape(file);
  const why = isThere
    ? `a tape exists: replay it with --update, or delete ${file}`
    : "there is no tape: record it with 'crochet record'";
  throw new TapeError(`Cannot ${mode} ${path} as ${why}`);
}
