import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { denoFlags, PACKAGE } from "../../runtime/own-copy.ts";
import { type GroupOptions, startedBy, type Wrap } from "../../process/process.ts";
import { openSandbox } from "../../permissions/sandbox.ts";
import type { Timing } from "./check-report.ts";
import { LineProcess } from "./line-process.ts";
import type { Probe } from "./sample-events.ts";
import { KeptTree } from "../../files/kept-tree.ts";
import { checkedEnv, type ScratchFolders } from "./scratch-project.ts";
import type { Answering, Loaded, Probed, Question, Setup, Subject, Target } from "./subject.ts";

interface LaneOptions extends Pick<Setup, "target" | "place" | "host"> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly more: { readonly [name: string]: string };
  readonly sandbox: boolean;
  /** Folders the hook must be able to read, wherever they are. */
  readonly visible: readonly string[];
}

export class Interrupted extends Error {
  override name = "Interrupted";
}

/** A hook that blocks its whole process is given this long after its limit. */
const PATIENCE_MS = 400;
/** The child ends a command itself, which takes as long as a process that ignores SIGTERM. */
const COMMAND_PATIENCE_MS = 6000;
const START_MS = 20_000;

/** One hook in a process of its own, asked one question at a time. A process that does not answer is replaced. */
export class Lane {
  readonly options: LaneOptions;
  readonly place: ScratchFolders;
  readonly #tree: KeptTree;
  readonly #token = crypto.randomUUID();
  readonly #process = new LineProcess(this.#token);
  #loaded: Loaded | undefined;
  #adopted = false;
  #shut = false;

  constructor(options: LaneOptions) {
    this.options = options;
    this.place = options.place;
    this.#tree = new KeptTree(options.place.root);
  }

  /** Loads the hook. @throws {Error} if it cannot be loaded, in the words of its front end */
  async open(): Promise<Loaded | undefined> {
    this.#refuseShut();
    if (this.#process.isUp) return this.#loaded;
    this.#process.start(this.#started(await sandboxFor(this.options)));
    const answer = await this.#sent(this.#setup(), START_MS);
    const wrong = answer === "late"
      ? "it did not load in time"
      : typeof answer === "string"
      ? `it ended while it was loading: ${answer}`
      : answer.broken;
    if (wrong !== undefined) {
      this.close();
      throw new Error(wrong);
    }
    this.#loaded = (answer as Answering).loaded;
    // Only now: the sandbox leaves empty folders where it mounts something.
    if (!this.#adopted) this.adopt();
    return this.#loaded;
  }

  async ask(question: Question): Promise<Probed> {
    await this.open();
    const isCommand = this.options.target.type === "command";
    const start = performance.now();
    const answer = await this.#sent(question, question.limit + (isCommand ? COMMAND_PATIENCE_MS : PATIENCE_MS));
    const ms = performance.now() - start;
    const probed: Probed | undefined = answer === "late"
      ? { ms, timedOut: true }
      : typeof answer === "string"
      ? { ms, failure: { at: "exit", message: answer } }
      : answer.probed;
    if (!probed) throw new Error(`The process of the check failed: ${(answer as Answering).broken}`);
    // A module that took too long may still be running.
    if (probed.timedOut && !isCommand) this.close();
    const changed = this.#tree.changes();
    if (changed.length === 0) return probed;
    if (!question.keep) this.#tree.restore();
    return { ...probed, changed };
  }

  /** What the process answers to a line; or that it is late, or how it ended. */
  async #sent(value: Setup | Question, ms: number): Promise<Answering | string> {
    const came = await this.#process.ask(`${JSON.stringify(value)}\n`, ms);
    this.#refuseShut();
    return "line" in came ? JSON.parse(came.line) : came.ended;
  }

  #setup(): Setup {
    const { target, place, host, env, more, sandbox } = this.options;
    const own = checkedEnv(place, env, { ...more, CROCHET_CHECK: this.#token });
    return { token: this.#token, target, place, host, env: own, alone: sandbox };
  }

  #started(wrap: Wrap | undefined): GroupOptions {
    const { target, place, env } = this.options;
    const [command, ...args] = childArgv(target);
    const started = {
      command: command!,
      args,
      cwd: place.project,
      env: { ...env, CROCHET_CHECK: undefined, DENO_DIR: process.env.DENO_DIR ?? join(homedir(), ".cache", "deno") },
    };
    return wrap ? startedBy(wrap, started) : started;
  }

  #refuseShut(): void {
    if (this.#shut) throw new Interrupted("The check was interrupted");
  }

  /** Takes the place as it is now for the one to go back to. */
  adopt(): void {
    this.#adopted = true;
    this.#tree.adopt();
  }

  restore(): void {
    if (this.#adopted) this.#tree.restore();
  }

  /** Puts the place back and replaces the process: the hook remembers nothing. */
  restart(): void {
    this.close();
    this.restore();
  }

  close(): void {
    this.#process.end();
  }

  /** Closes it for good: later questions throw. */
  shut(): void {
    this.#shut = true;
    this.close();
  }
}

/** Processes of one hook in one place, one for each environment that its examples need. */
export class Lanes implements Disposable {
  readonly #first: Lane;
  readonly #others = new Map<string, Lane>();

  constructor(first: Lane) {
    this.#first = first;
  }

  with(env: LaneOptions["more"], target = this.#first.options.target): Lane {
    const { options } = this.#first;
    if (target === options.target && Object.keys(env).length === 0) return this.#first;
    const key = JSON.stringify([target, env]);
    const lane = this.#others.get(key) ?? new Lane({ ...options, target, more: { ...options.more, ...env } });
    this.#others.set(key, lane);
    return lane;
  }

  [Symbol.dispose](): void {
    for (const lane of this.#others.values()) lane.close();
  }
}

/** How long one hook may be asked. A check that still had a question when it was over has not seen enough. */
export class Time {
  readonly #end: number;
  readonly ms: number;
  wasOver = false;

  constructor(ms: number) {
    this.ms = ms;
    this.#end = performance.now() + ms;
  }

  /** Asked before each question, so that nothing is cut in silence. */
  get isOver(): boolean {
    return this.wasOver ||= performance.now() > this.#end;
  }
}

/** Asks one hook, and keeps count of how long it took. */
export class LaneAsker {
  readonly subject: Subject;
  readonly loaded: Loaded;
  readonly lane: Lane;
  /** Milliseconds the hook has for one answer. */
  readonly limit: number;
  readonly time: Time;
  /** Milliseconds of each call that came back. */
  readonly #times: number[] = [];

  constructor(subject: Subject, loaded: Loaded, lane: Lane, limit: number, time: Time) {
    [this.subject, this.loaded, this.lane, this.limit, this.time] = [subject, loaded, lane, limit, time];
  }

  on(
    lane: Lane,
    { subject = this.subject, limit = this.limit }: { subject?: Subject; limit?: number } = {},
  ): LaneAsker {
    return new LaneAsker(subject, this.loaded, lane, limit, this.time);
  }

  /** The hook remembers nothing of what it was asked so far. */
  forget(): void {
    if (this.subject.kind === "module") this.lane.restart();
    else this.lane.restore();
  }

  /** The answer, with what a host makes of it. */
  async ask({ event, says }: Probe, { keep = false, beside }: Pick<Question, "keep" | "beside"> = {}): Promise<Probed> {
    const question = { event, keep, ...(says !== undefined && { says }), ...(beside && { beside }) };
    let probed = await this.lane.ask({ ...question, limit: this.limit });
    // The machine may have been busy, or out of memory: what happened once is asked again.
    if (!keep && (probed.timedOut || probed.ran?.signal === "SIGKILL")) {
      const patient = Math.min(2 * this.limit, (this.loaded.timeout ?? Infinity) * 1000);
      probed = await this.lane.ask({ ...question, limit: patient });
    }
    if (probed.timedOut) return probed;
    this.#times.push(probed.ms);
    const { opinionOf } = await import("./laws/printed.ts");
    const read = (one: Probed): Probed => {
      const opinion = one.ran ? opinionOf(one.ran, event, this.subject) : one.opinion;
      return opinion === undefined ? one : { ...one, opinion: opinion instanceof Error ? {} : opinion };
    };
    return { ...read(probed), ...(probed.beside && { beside: probed.beside.map(read) }) };
  }

  timing(): Timing | undefined {
    if (this.#times.length === 0) return undefined;
    const sorted = this.#times.toSorted((a, b) => a - b);
    const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]!;
    return { calls: sorted.length, p50: at(0.5), p95: at(0.95) };
  }

  async *askAll(probes: readonly Probe[]): AsyncGenerator<readonly [Probe, Probed]> {
    for (const probe of probes) {
      if (this.time.isOver) return;
      yield [probe, await this.ask(probe)];
    }
  }
}

/** Whether the answer prevents something, or keeps an agent from ending. */
export function refuses({ opinion, inputs }: Probed): boolean {
  return opinion?.decision === "deny" || opinion?.decision === "ask" || (inputs?.length ?? 0) > 0;
}

/** How the process that asks the hook is started, on the runtime of this process. */
function childArgv({ type }: Target): string[] {
  const script = [fileURLToPath(new URL("./_child.ts", import.meta.url)), type];
  if (!("Deno" in globalThis)) return [process.execPath, ...script];
  return [process.execPath, "run", "-A", "--quiet", "--no-lock", "--no-code-cache", ...denoFlags(), ...script];
}

let works: Promise<boolean> | undefined;

/** Whether bubblewrap works here; tried once. */
export function sandboxWorks(): Promise<boolean> {
  return works ??= openSandbox({ mode: "workspace", roots: [process.cwd()] }).then(() => true, () => false);
}

async function sandboxFor({ sandbox, place, visible, target }: LaneOptions): Promise<Wrap | undefined> {
  if (!sandbox) return undefined;
  // The machine's /tmp is hidden, but the hook or crochet itself may be there.
  // The top folder in /tmp that holds a path: scripts load what is beside and above them.
  const shown = [
    ...new Set([...OWN, ...visible, ...childArgv(target)].flatMap((path) => /^\/tmp\/[^/]+/.exec(path) ?? [])),
  ];
  const mounts = ["--bind", place.outside, "/tmp", ...shown.flatMap((path) => ["--ro-bind-try", path, path])];
  return await openSandbox({ mode: "workspace", roots: [place.root, place.kept], mounts });
}

/** Crochet itself and the packages beside it. */
const OWN = [PACKAGE, join(PACKAGE, "../../node_modules")].filter((path, i) =>
  i === 0 || existsSync(join(path, "crochet"))
);
