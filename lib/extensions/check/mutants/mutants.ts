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
import { isSmall, type ScratchFolders } from "../scratch-project.ts";
import type { MutantReport, Survivor } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { mutantsOf } from "./mutate.ts";

const EVENTS = 200;

/** What the examples of a hook do not notice; an event that tells it from the hook is an example that is missing. */
export async function tryMutants(
  asker: LaneAsker,
  file: HookFile,
  examples: readonly Example[],
  session: CheckSession,
): Promise<MutantReport> {
  const mutants = mutantsOf(file);
  const path = copied(file, asker.lane.place.kept);
  using own = copyAt(file.at, asker);
  let probes: readonly Probe[] | undefined;
  const found: HookExample[] = [];
  const survived: Survivor[] = [];
  let caught = 0;
  for (const [i, { line, was, is, text }] of mutants.entries()) {
    if (session.signal.aborted || asker.time.isOver) break;
    session.onProgress?.(`${file.name} mutant`, i + 1);
    writeFileSync(path, text);
    using copy = copyAt(path, asker);
    if (await copy.asker.lane.open().catch((error: Error) => error) instanceof Error) continue;
    if (await firstLost(copy, examples) >= 0) {
      caught++;
      continue;
    }
    const example = found[await firstLost(copy, found.map(plainExample))];
    // The same events for every mutant: an example found for one may catch the next.
    probes ??= await probesFor(asker, own, session.seed);
    const telling = example ? { example } : await search(own, copy, probes, session.signal);
    if (!example && telling) found.push(telling.example);
    survived.push({ line, was, is, ...telling });
  }
  return { made: caught + survived.length, caught, survived };
}

/** The hook or a mutant, asked in the scratch place of the hook. */
interface Copy extends Disposable {
  readonly asker: LaneAsker;
  readonly lanes: Lanes;
}

function copyAt(path: string, hook: LaneAsker): Copy {
  const { subject, lane: { options } } = hook;
  const target = { type: "file", path, ...(subject.event !== undefined && { event: subject.event }) } as const;
  const asker = hook.on(new Lane({ ...options, target }), { subject: { ...subject, target, file: path } });
  const lanes = new Lanes(asker.lane);
  const close = () => {
    asker.lane.close();
    lanes[Symbol.dispose]();
  };
  return { asker, lanes, [Symbol.dispose]: close };
}

async function probesFor({ subject: hook }: LaneAsker, { asker }: Copy, seed: number): Promise<readonly Probe[]> {
  const { subject, loaded, lane: { place } } = asker;
  const arbitrary = probeArbitrary(fastCheck(), subject, loaded.moments, place, await exampleTexts(asker));
  return [
    ...withOwn(plainProbes(subject, loaded.moments, place), ownTexts(hook), place),
    ...fastCheck().sample(arbitrary, { seed, numRuns: EVENTS }),
  ];
}

/** Which of some examples is the first that a mutant does not keep; -1 if it keeps all. */
async function firstLost(copy: Copy, examples: readonly Example[]): Promise<number> {
  for (const [i, example] of examples.entries()) if (!await holds(copy, example)) return i;
  return -1;
}

/** Looks for an event that the hook and the mutant answer differently, and makes an example of the smallest. */
async function search(
  own: Copy,
  copy: Copy,
  probes: readonly Probe[],
  signal: AbortSignal,
): Promise<Required<Pick<Survivor, "example" | "hook" | "mutant">> | undefined> {
  const { asker } = own;
  const different: { probe: Probe; is: Probed; was: Probed }[] = [];
  for (const probe of probes) {
    if (signal.aborted || asker.time.isOver) break;
    const [was, is] = [await asker.ask(probe), await copy.asker.ask(probe)];
    if (said(was) !== said(is) && said(await asker.ask(probe)) === said(was)) different.push({ probe, was, is });
    if (different.length >= 5) break;
  }
  const size = ({ probe }: { probe: Probe }) => JSON.stringify(probe.event).length;
  for (const { probe, was, is } of different.toSorted((a, b) => size(a) - size(b))) {
    const expect = expected(was, is);
    if (expect === undefined) continue;
    const example = await smallest({ ...probe, event: fieldsOf(probe.event, asker.lane.place), expect }, own, copy);
    const [hook, mutant] = [whatItDid(was).action, whatItDid(is).action];
    if (example) return { example, hook, mutant: hook === mutant ? "says other words" : mutant };
  }
  return undefined;
}

/** An event as an example says it: paths begin in the project. */
function fieldsOf({ input, ...event }: Probe["event"], { project }: ScratchFolders): JsonObject {
  const own = Object.entries(event).filter(([field]) => !OF_THE_CHECK.includes(field));
  const fields = { ...Object.fromEntries(own), ...(input !== undefined && { tool_input: input }) };
  return JSON.parse(JSON.stringify(fields).replaceAll(`${project}/`, ""));
}

/** An example that the hook keeps and the mutant does not, with as few fields and words as that takes. */
async function smallest(example: HookExample, own: Copy, copy: Copy): Promise<HookExample | undefined> {
  const shows = async (tried: HookExample) => {
    const read = plainExample(tried);
    return await holds(own, read) && !await holds(copy, read);
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
