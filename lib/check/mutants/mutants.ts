import { chmodSync, cpSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { HookFile } from "../../hooks/discover.ts";
import { fastCheck } from "../../testing/arbitraries/texts.ts";
import type { Example, HookExample } from "../examples/example.ts";
import { type Expected, whatItDid } from "../examples/expectation.ts";
import type { CheckSession } from "../check.ts";
import { ownTexts } from "../constants.ts";
import { plainProbes, type Probe, probeArbitrary, withOwn } from "../sample-events.ts";
import { exampleTexts, played } from "../examples/of-hook.ts";
import { Lane, LaneAsker, Lanes } from "../hook-lane.ts";
import { isSmall } from "../scratch-project.ts";
import type { MutantReport, Survivor } from "../check-report.ts";
import type { Probed, Subject } from "../subject.ts";
import { type Mutant, mutantsOf } from "./mutate.ts";

/** Generated events that a survivor is asked about. */
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
      if (!await bench.loads(copy)) return;
      if (await bench.isCaught(copy, examples)) return void caught++;
      const known = await bench.tells(copy, found);
      const telling = known === undefined ? await bench.search(copy) : undefined;
      if (telling) found.push(telling.example);
      const by = telling ?? (known && { example: known });
      survived.push({ line, was, is, ...by });
    });
  }
  return { made: caught + survived.length, caught, survived };
}

/** A mutant that is asked as the hook itself is, in the same scratch place. */
interface Copy {
  readonly asker: LaneAsker;
  readonly lanes: Lanes;
}

type Telling = Required<Pick<Survivor, "example" | "hook" | "mutant">>;

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
    const { subject, loaded, lane: { options }, limit, time } = this.#hook;
    const event = subject.event === undefined ? {} : { event: subject.event };
    const target = { type: "file", path, ...event } as const;
    const own: Subject = { ...subject, target, file: path };
    return new LaneAsker(own, loaded, new Lane({ ...options, target }), limit, time);
  }

  async loads({ asker }: Copy): Promise<boolean> {
    return await asker.lane.open().then(() => true, () => false);
  }

  async isCaught(copy: Copy, examples: readonly Example[]): Promise<boolean> {
    for (const example of examples) if (!await holds(copy, example)) return true;
    return false;
  }

  /** The first of some examples that the mutant does not keep. */
  async tells(copy: Copy, examples: readonly HookExample[]): Promise<HookExample | undefined> {
    for (const example of examples) if (!await holds(copy, plainExample(example))) return example;
    return undefined;
  }

  /** Looks for an event that the hook and the mutant answer differently, and makes an example of the smallest. */
  async search(copy: Copy): Promise<Telling | undefined> {
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
    let small = example;
    for (let tries = 0, again = true; again && tries < 60;) {
      again = false;
      for (const event of smaller(small.event ?? {})) {
        if (++tries > 60) break;
        const tried = { ...small, event };
        if (!await shows(tried)) continue;
        small = tried;
        again = true;
        break;
      }
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
  const packages = upwards(folder).map((up) => join(up, "node_modules")).find((modules) => existsSync(modules));
  const link = join(kept, "mutants", "node_modules");
  if (packages !== undefined && !existsSync(link)) symlinkSync(packages, link);
  const file = join(copy, basename(at));
  cpSync(path, file);
  chmodSync(file, statSync(path).mode | 0o200);
  return file;
}

function upwards(folder: string): string[] {
  const up = dirname(folder);
  return up === folder ? [folder] : [folder, ...upwards(up)];
}

/** What an answer says to an agent and a person. */
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
