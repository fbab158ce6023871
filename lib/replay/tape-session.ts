import { existsSync } from "node:fs";
import { type AnthropicOptions, offlineWire, type Wire } from "../anthropic/anthropic-model.ts";
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
  type ToolDrift,
  wholePrice,
} from "./drift/drift.ts";
import type { EntryOf, Header, HookSaid, LogEntry, Resumed, SaidFact } from "../log/entry.ts";
import { TapeDrift, TapeLane } from "./tape-lane.ts";
import { type Mask, mask } from "./redact/mask.ts";
import { type Program, programOf, Served, type ToTape } from "./match-call.ts";
import { isOverWire, type ResultsKept, resultsKept, type TapeMode, type TapeOptions } from "./tape-options.ts";
import { normaliserOf, withNormalisers } from "./normalise.ts";
import { namesPlace, placer, placesHere } from "./redact/places.ts";
import type { Answers, SessionRecord } from "./people.ts";
import { readTape, TapeError } from "./read-tape.ts";
import { Recording, SeenWire } from "./record/recording.ts";
import { type Redactor, redactor } from "./redact/redact.ts";
import { answerOf, inOnePiece, type TapeAnswer } from "./tape-answer.ts";
import { filesRead } from "../log/tool-step.ts";
import { shortText } from "./drift/drift-report.ts";
import { type Call, MAIN, type Tape, tapeOf, USER } from "./tape.ts";
import { tapeFile } from "./fixture.ts";

/** One session of an agent on a tape: opened with it, closed with it. */
export class TapeSession implements SessionRecord {
  readonly mode: TapeMode;
  readonly root: string;
  readonly epoch: number;
  readonly seed: string;
  readonly program: Program | undefined;
  readonly parts: Parts;
  readonly wire: boolean;
  readonly cutAt: TapeOptions["cutAt"];
  readonly project: TapeOptions["project"];
  readonly faults: TapeOptions["faults"];
  readonly served: Served = new Served();
  readonly recording: Recording = new Recording();
  /** Adds a value that must not be on the tape. */
  readonly learn: Redactor["learn"] = (...secret) => {
    for (const one of [this.#search, this.#ids]) one.learn(...secret);
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
  readonly #options: TapeOptions;
  readonly #tape: Tape | undefined;
  readonly #lanes = new Map<string, TapeLane>();
  readonly #divergences = new Map<string, Divergence>();
  #takes: Map<string, readonly string[]> | undefined;
  #everySecret: Redactor | undefined;
  #taken: Redactor | undefined;
  #mask: Mask | undefined;
  #wire: Wire | undefined;

  constructor(options: TapeOptions, tape: Tape | undefined, root: string, parts: Parts = {}) {
    this.#options = options;
    this.parts = parts;
    this.mode = options.mode ?? "replay";
    this.root = root;
    this.hasRead = filesRead(root, (entry) => this.line(entry));
    this.wire = isOverWire(options);
    this.cutAt = options.cutAt;
    this.project = options.project;
    this.faults = options.faults;
    this.seed = tape?.header.seed ?? crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    this.epoch = tape ? Date.parse(tape.header.at) : Date.now();
    normaliserOf(options.normalise); // a wrong one is refused before anything is asked
    this.#tape = tape;
    this.program = tape && programOf(withNormalisers(this.#usable(tape), options.normalise ?? []));
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
  get #search(): Redactor {
    return this.#everySecret ??= redactor({ seed: this.seed, root: this.root });
  }

  /** Takes out what is never asked about, ids and cookies; every secret if `redact` is set or the tape has placeholders. */
  get #ids(): Redactor {
    return this.#taken ??= redactor({
      seed: this.seed,
      root: this.root,
      learns: true,
      ...(this.program && { placeholders: this.program.placeholders }),
      ...(!this.#options.redact && !this.program?.hasSecrets && { kinds: ["cookie", "organisation"] }),
    });
  }

  get mask(): Mask {
    const needsIds = this.mode !== "replay" || this.program?.hasSecrets;
    return this.#mask ??= mask(
      placer(() => placesHere(this.root), this.program?.hasUser),
      needsIds ? this.#ids : undefined,
    );
  }

  /** What persons answered. */
  get answers(): Answers {
    const { program, isOffline, recording } = this;
    // deno-lint-ignore no-this-alias
    const session = this;
    return {
      known: program?.tape.answers ?? [],
      isOffline,
      note: (fact) => recording.line(fact),
      get mask() {
        return session.mask;
      },
    };
  }

  get mainLane(): TapeLane {
    return this.lane(MAIN);
  }

  line(entry: LogEntry): void {
    this.recording.line(entry);
  }

  also(known: EntryOf<"also">["also"]): void {
    this.recording.also(known);
  }

  get known(): EntryOf<"also">["also"] {
    return this.recording.known;
  }

  /** Whose reports an agent took at a look. */
  taken(inbox: string, look: number): readonly string[] {
    this.#takes ??= new Map(this.program!.tape.inboxes?.map((fact) => [`${fact.inbox} ${fact.take}`, fact.from]));
    return this.#takes.get(`${inbox} ${look}`) ?? [];
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
    return resultsKept(this.mode === "record" && this.#options.tools);
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
    const nth = this.recording.lines.prompt?.length ?? 0;
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
      ...(expected !== undefined && { expected: this.#search.value(expected) }),
      ...(actual !== undefined && { actual: this.#search.value(actual) }),
    });
  }

  driftError(lane: string): Error {
    const { cause, words, expected, actual } = this.#divergences.get(lane)!;
    const was = expected === undefined ? "" : ` recorded: ${shortText(expected)};`;
    const is = actual === undefined ? "" : ` now: ${shortText(actual)};`;
    return new TapeDrift(
      `${OFF_TAPE}${this.#name} as ${words} (${cause}):${was}${is} record it again with --update`,
      { code: "tape_drift" },
    );
  }

  get #name(): string {
    return this.#options.path ?? "in memory";
  }

  /** What a call is answered with; shared by all sessions if it does not depend on this machine. */
  answer(call: Call): TapeAnswer {
    if (this.restores(call)) {
      const { attempts, error, ...rest } = call;
      const here = attempts.map((attempt) => this.mask.attemptOff(attempt));
      return answerOf({ ...rest, ...(error && { error: this.mask.off(error) }), attempts: here });
    }
    const known = this.isWatched ? answers : quietAnswers;
    let answer = known.get(call);
    if (!answer) known.set(call, answer = this.isWatched ? answerOf(call) : inOnePiece(answerOf(call)));
    return answer;
  }

  /** Whether places of this machine are put into what a call is answered with. */
  restores(call: Call): boolean {
    let has = hasPlaces.get(call);
    if (has === undefined) hasPlaces.set(call, has = namesPlace(JSON.stringify([call.attempts, call.error])));
    return has;
  }

  wireFor(options: AnthropicOptions): Wire {
    return this.#wire ??= sharedWire(options, this.program?.tape.header.url);
  }

  /** Whether the caller reads the report. */
  get isReported(): boolean {
    return this.#options.onReport !== undefined;
  }

  /** Passes an error to `onError`; false if there is no listener. */
  failed(error: unknown): boolean {
    this.#options.onError?.(error);
    return this.#options.onError !== undefined;
  }

  /** Ends the session: a recording is written, a replay is judged. */
  async close(stop: string | undefined): Promise<DriftReport> {
    const kept = this.program ? this.program.tape.calls.filter((call) => this.served.calls.has(call)) : [];
    try {
      if (this.mode === "record" || (this.mode === "update" && await this.#changes(kept, stop))) {
        await this.#write(kept, stop);
      }
    } finally {
      this.#options.workspace?.drop();
    }
    const report = await this.#report(kept);
    this.#options.onReport?.(report);
    return report;
  }

  async #changes(kept: readonly Call[], stop: string | undefined): Promise<boolean> {
    const { calls, end } = this.program!.tape;
    const declares = this.program!.tape !== this.#tape; // differences that the tape does not know of
    if (this.recording.calls.length > 0 || kept.length < calls.length || declares) return true;
    const { endsOtherwise } = await import("./record/recorded-tape.ts");
    return endsOtherwise(end, { stop, files: this.#files() }, this.mask);
  }

  #files(): { readonly [path: string]: string } | undefined {
    return this.#options.files?.((text) => this.mask.on(text));
  }

  async #write(kept: readonly Call[], stop: string | undefined): Promise<void> {
    const { ordered, refusal } = await import("./record/recorded-tape.ts");
    const { finishedCalls } = this.parts.record!;
    const { masked } = await import("../log/promote.ts");
    const { writeTape } = await import("./write-tape.ts");
    const { lines, calls } = this.recording;
    const why = refusal(this.recording, stop, this.program?.tape, kept);
    if (why !== undefined) throw new TapeError(`Cannot ${this.mode} ${this.#name} as ${why}`);
    const made = masked(
      tapeOf(await this.#header(kept), finishedCalls(calls, kept), {
        ...lines,
        tool: ordered(lines.tool ?? []),
        clock: [...this.#lanes.values()].flatMap((lane) => lane.clock.facts),
      }),
      this.mask,
    );
    const files = this.#files();
    const end = { end: stop!, ...(files && { files: this.mask.on(files) }) };
    const tape = { ...made, calls: [...kept, ...made.calls], end };
    this.#options.workspace?.ready();
    await writeTape(tapeFile(this.#options.path!), tape, {
      replace: this.mode === "update",
      redactor: this.#options.redact ? this.#ids : this.#search,
    });
    this.#options.workspace?.keep();
  }

  /** The header of the tape that was; of one that is renewed whole, with what answered now. */
  async #header(kept: readonly Call[]): Promise<Header> {
    const { headerOf } = await import("./record/recorded-tape.ts");
    const fresh = headerOf(this.recording, this.seen, this.seed, this.epoch, this.#options);
    const was = this.program?.tape.header;
    if (!was) return fresh;
    const { source, url, versions, hooks } = fresh;
    const { hooks: _, ...before } = was;
    const same = { ...before, ...(hooks && { hooks }) };
    if (kept.length > 0 || this.recording.calls.length === 0) return same;
    const { url: __, ...rest } = same;
    return { ...rest, source, ...(url !== undefined && { url }), versions };
  }

  /** The first hook that says something else, or is gone: what differs after it differs for that. */
  async #hookCause(): Promise<Divergence[]> {
    const said = this.program?.tape.said ?? [];
    if (said.length + this.hookDrifts.length === 0) return [];
    // Hooks that do not load have ended the run, and are not gone.
    const now = await (async () => await this.hooks?.())().catch(() => undefined);
    const isGone = (hook: string) => now !== undefined && !now.records.some(({ name }) => name === hook);
    const gone = said.flatMap(({ lane, event, said: all }, nth) =>
      all.filter(({ hook }) => isGone(hook)).map((was): HookDrift & { nth: number } => {
        return { lane, event, hook: was.hook, was, is: undefined, nth };
      })
    );
    // What was never said has no place.
    const placed = this.hookDrifts.map((one) => ({ ...one, nth: one.fact ? said.indexOf(one.fact) : Infinity }));
    const [first] = [...gone, ...placed].sort((a, b) => a.nth - b.nth);
    if (!first) return [];
    const { lane, event, hook, was, is } = first;
    const words = !was
      ? `${hook} says something at ${event}, and did not`
      : isGone(hook)
      ? `${hook} is gone, which said something at ${event}`
      : `${hook} ${is ? "does not say" : "says nothing, and not"} at ${event} what it said`;
    const shown = (said: HookSaid | undefined) => said && this.#search.value(sayingOf(said));
    return [{ cause: "hook", lane, path: hook, words, expected: shown(was), actual: shown(is) }];
  }

  async #report(kept: readonly Call[]): Promise<DriftReport> {
    const tape = this.program?.tape;
    const unused = tape?.calls.filter((call) => !this.served.calls.has(call)) ?? [];
    const header = tape?.header ?? await this.#header(kept);
    const stale = kept.filter((call) => call.stale);
    const found = causesOf([...this.#divergences.values()]);
    const causes = await this.#hookCause();
    const [hook] = found.length > 0 ? causes : [];
    // What the model reads of it is the same change once more.
    const after = found.map(({ expected, actual, ...rest }): Divergence =>
      hook && rest.words.includes(hook.path) ? rest : { ...rest, expected, actual }
    );
    const divergences = hook ? [hook, ...after] : found;
    const ok = this.mode === "update" ||
      (divergences.length === 0 && unused.length === 0 && this.toolDrifts.length === 0);
    return {
      tape: this.#name,
      ok,
      mode: this.mode,
      source: header.source,
      divergences,
      tools: this.toolDrifts,
      files: [],
      unused: unused.map((call) => call.id),
      calls: { recorded: tape?.calls.length ?? 0, served: kept.length, live: this.recording.calls.length },
      ...(stale.length > 0 && { stale: stale.length }),
      normalise: header.normalise ?? [],
      price: {
        update: priceOf([...unused, ...stale], divergences),
        whole: tape ? wholePrice(tape) : priceOf([]),
      },
      notes: [
        ...(ok ? causes.map(({ words }) => `${words}, which the model never reads`) : []),
        ...(ok || !this.loadsBeside ? [] : hooksAdded(tape?.header, this.known.hooks ?? [])),
      ],
    };
  }
}

function isOfUser({ lane }: Call): boolean {
  return lane === USER;
}

/** A hook that says something else than it said. */
interface HookDrift {
  readonly lane: string;
  readonly event: string;
  readonly hook: string;
  /** What the tape has of the event. */
  readonly fact?: SaidFact | undefined;
  readonly was: HookSaid | undefined;
  readonly is: HookSaid | undefined;
}

/** What a hook said, in its words if that is all. */
function sayingOf({ hook: _, ...said }: HookSaid): unknown {
  const { reason, contexts = [] } = said as { reason?: unknown; contexts?: readonly string[] };
  const texts = [...(typeof reason === "string" ? [reason] : []), ...contexts];
  return texts.length === 1 ? texts[0] : said;
}

/** How long to wait for it: the agent may be in a tool that never ends. */
const CATCH_UP_MS = 2000;

const answers = new WeakMap<Call, TapeAnswer>();
const quietAnswers = new WeakMap<Call, TapeAnswer>();
const hasPlaces = new WeakMap<Call, boolean>();

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

const wires = new WeakMap<AnthropicOptions, Map<string, Wire>>();

/** One client for all replays that go to the same place in the same way. */
function sharedWire(options: AnthropicOptions, url = ""): Wire {
  const known = wires.get(options) ?? new Map<string, Wire>();
  wires.set(options, known);
  const wire = known.get(url) ?? offlineWire({ ...options, ...(url !== "" && { baseURL: url }) });
  known.set(url, wire);
  return wire;
}
