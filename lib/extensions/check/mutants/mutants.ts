import { chmodSync, cpSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isObject, type JsonObject } from "../../../core/json.ts";
import type { HookFile } from "../../../hooks/discover.ts";
import { fastCheck } from "../../../testing/fast-check.ts";
import type { Example, HookExample } from "../examples/example.ts";
import { type Expected, whatItDid } from "../../../testing/expectation.ts";
import type { CheckSession } from "../check.ts";
import { ownTexts } from "../constants.ts";
import { plainProbes, type Probe, probeArbitrary, withOwn } from "../sample-events.ts";
import { exampleTexts, played } from "../examples/of-hook.ts";
import { upwards } from "../find-subjects.ts";
import { Lane, LaneAsker, Lanes } from "../hook-lane.ts";
import { isSmall } from "../scratch-project.ts";
import type { MutantReport, Survivor } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { type Mutant, mutantsOf } from "./mutate.ts";

const EVENTS = 200;

/**
 * Changes a hook a little at a time, and looks whether its examples notice. Survivors are asked generated events: if
 * one tells them apart from the hook, it is an example that is missing.
 */
export async function tryMutants(
  asker: LaneAsker,
  file: HookFile,
  examples: readonly Example[],
  session: CheckSession,
): Promise<MutantReport> {
  const mutants = mutantsOf(file);
  using bench = new Bench(asker, file, session);
  const found: HookExample[] = [];
  const survived: Survivor[] = [];
  let caught = 0;
  for (const [i, mutant] of mutants.entries()) {
    if (session.signal.aborted || asker.time.isOver) break;
    session.onProgress?.(`${file.name} mutant`, i + 1);
    const { line, was, is } = mutant;
    await bench.with(mutant, async (copy) => {
      if (await copy.asker.lane.open().catch((error: Error) => error) instanceof Error) return;
      if (await bench.tells(copy, examples) >= 0) return void caught++;
      const example = found[await bench.tells(copy, found.map(plainExample))];
      const telling = example ? { example } : await bench.search(copy);
      if (!example && telling) found.push(telling.example);
      survived.push({ line, was, is, ...telling });
    });
  }
  return { made: caught + survived.length, caught, survived };
}

/** A mutant that is asked as the hook itself is, in the same scratch place. */
interface Copy {
  readonly asker: LaneAsker;
  readonly lanes: Lanes;
}

class Bench implements Disposable {
  readonly #hook: LaneAsker;
  readonly #file: HookFile;
  readonly #session: CheckSession;
  readonly #path: string;
  readonly #own: Copy;
  #probes: readonly Probe[] | undefined;

  constructor(hook: LaneAsker, file: HookFile, session: CheckSession) {
    this.#hook = hook;
    this.#file = file;
    this.#session = session;
    this.#path = copied(file, hook.lane.place.kept);
    const own = this.#askerAt(file.at);
    this.#own = { asker: own, lanes: new Lanes(own.lane) };
  }

  async with(mutant: Mutant, work: (copy: Copy) => Promise<void>): Promise<void> {
    writeFileSync(this.#path, mutant.text);
    const asker = this.#askerAt(this.#path);
    using lanes = new Lanes(asker.lane);
    try {
      await work({ asker, lanes });
    } finally {
      asker.lane.close();
    }
  }

  [Symbol.dispose](): void {
    this.#own.asker.lane.close();
    this.#own.lanes[Symbol.dispose]();
  }

  #askerAt(path: string): LaneAsker {
    const { subject, lane: { options } } = this.#hook;
    const target = { type: "file", path, ...(subject.event !== undefined && { event: subject.event }) } as const;
    return this.#hook.on(new Lane({ ...options, target }), { subject: { ...subject, target, file: path } });
  }

  /** Which of some examples is the first that the mutant does not keep; -1 if it keeps all. */
  async tells(copy: Copy, examples: readonly Example[]): Promise<number> {
    for (const [i, example] of examples.entries()) if (!await holds(copy, example)) return i;
    return -1;
  }

  /** Looks for an event that the hook and the mutant answer differently, and makes an example of the smallest. */
  async search(copy: Copy): Promise<Required<Pick<Survivor, "example" | "hook" | "mutant">> | undefined> {
    const { asker } = this.#own;
    const different: { probe: Probe; is: Probed; was: Probed }[] = [];
    for (const probe of await this.#events()) {
      if (this.#session.signal.aborted || asker.time.isOver) break;
      const [was, is] = [await asker.ask(probe), await copy.asker.ask(probe)];
      if (said(was) !== said(is) && said(await asker.ask(probe)) === said(was)) different.push({ probe, was, is });
      if (different.length >= 5) break;
    }
    const size = ({ probe }: { probe: Probe }) => JSON.stringify(probe.event).length;
    for (const { probe, was, is } of different.toSorted((a, b) => size(a) - size(b))) {
      const expect = expected(was, is);
      if (expect === undefined) continue;
      const example = await this.#smallest({ ...probe, event: this.#fields(probe.event), expect }, copy);
      const [hook, mutant] = [whatItDid(was).action, whatItDid(is).action];
      if (example) return { example, hook, mutant: hook === mutant ? "says other words" : mutant };
    }
    return undefined;
  }

  /** The same for every mutant: an example found for one may catch the next. */
  async #events(): Promise<readonly Probe[]> {
    const { asker } = this.#own;
    const { subject, loaded, lane: { place } } = asker;
    const arbitrary = probeArbitrary(fastCheck(), subject, loaded.moments, place, await exampleTexts(asker));
    return this.#probes ??= [
      ...withOwn(plainProbes(subject, loaded.moments, place), ownTexts(this.#hook.subject), place),
      ...fastCheck().sample(arbitrary, { seed: this.#session.seed, numRuns: EVENTS }),
    ];
  }

  /** An event as an example says it: paths begin in the project. */
  #fields({ input, ...event }: Probe["event"]): JsonObject {
    const own = Object.entries(event).filter(([field]) => !OF_THE_CHECK.includes(field));
    const fields = { ...Object.fromEntries(own), ...(input !== undefined && { tool_input: input }) };
    return JSON.parse(JSON.stringify(fields).replaceAll(`${this.#own.asker.lane.place.project}/`, ""));
  }

  /** An example that the hook keeps and the mutant does not, with as few fields and words as that takes. */
  async #smallest(example: HookExample, copy: Copy): Promise<HookExample | undefined> {
    const shows = async (tried: HookExample) => {
      const read = plainExample(tried);
      return await holds(this.#own, read) && !await holds(copy, read);
    };
    if (!await shows(example)) return undefined;
    let [small, left] = [example, smaller(example.event ?? {})];
    for (let tries = 0; tries < 60; tries++) {
      const { value: event, done } = left.next();
      if (done) break;
      const tried = { ...small, event };
      if (await shows(tried)) [small, left] = [tried, smaller(event)];
    }
    return small;
  }
}

async function holds({ asker, lanes }: Copy, example: Example): Promise<boolean> {
  return (await played(example, asker, lanes)).ok;
}

/** Fields that no hook decides by. */
const OF_THE_CHECK = "event_id timestamp session_id agent_id turn_id tool_use_id original_input messages".split(" ");

/** The same fields with one left out, or with fewer words in one. */
function* smaller(fields: JsonObject): Generator<JsonObject> {
  for (const [field, value] of Object.entries(fields)) {
    const { [field]: _, ...rest } = fields;
    yield rest;
    if (isObject(value)) { for (const inner of smaller(value)) yield { ...fields, [field]: inner }; }
    if (typeof value !== "string" || value.length > 2000) continue;
    const words = value.split(/\s+/);
    for (let i = 0; words.length > 1 && i < words.length && i < 12; i++) {
      yield { ...fields, [field]: words.toSpliced(i, 1).join(" ") };
    }
  }
}

/** A copy of the hook's folder that may be changed; packages are found as beside the hook. */
function copied({ at, path }: HookFile, kept: string): string {
  const folder = dirname(path);
  const copy = join(kept, "mutants", basename(folder));
  mkdirSync(copy, { recursive: true });
  if (isSmall(folder)) cpSync(folder, copy, { recursive: true, dereference: true });
  const packages = [...upwards(folder), "/"].map((up) => join(up, "node_modules")).find((modules) =>
    existsSync(modules)
  );
  const link = join(kept, "mutants", "node_modules");
  if (packages !== undefined && !existsSync(link)) symlinkSync(packages, link);
  const file = join(copy, basename(at));
  cpSync(path, file);
  chmodSync(file, statSync(path).mode | 0o200);
  return file;
}

function said(probed: Probed): string {
  return JSON.stringify([whatItDid(probed).action, ...wordsOf(probed)]);
}

function wordsOf(probed: Probed): readonly string[] {
  const contexts = probed.opinion?.contexts?.map(({ text }) => text) ?? [];
  return [...whatItDid(probed).reasons, ...contexts];
}

/** The hook's own answer, as far as the mutant's is another; undefined if it cannot be written down. */
function expected(was: Probed, is: Probed): HookExample["expect"] | undefined {
  const { action, reasons } = whatItDid(was);
  if (action === "fail" || action === "modify") return undefined;
  if (action !== whatItDid(is).action) return action;
  const others = wordsOf(is).join("\n");
  const line = wordsOf(was).flatMap((text) => text.split("\n"))
    .find((line) => line.trim() !== "" && !others.includes(line) && !line.includes("crochet-check-"));
  if (line === undefined || /^\/.*\/[a-z]*$/.test(line)) return undefined;
  return reasons.some((reason) => reason.includes(line)) ? { action, reason: line } : { action, context: line };
}

/** An example that was found, as it is read from a file. */
export function plainExample({ event = {}, expect, ...more }: Pick<HookExample, "event" | "expect" | "says">): Example {
  const read = typeof expect === "string" ? { action: expect } : expect;
  return { name: "found", where: "found", event, after: [], expect: read as Expected, env: {}, ...more };
}
