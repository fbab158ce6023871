import { relative } from "node:path";
import { faultText, PRESETS } from "../replay/fault/fault.ts";
import { FaultTally, invariantsOf } from "../replay/fault/judge-fault.ts";
import { notSurvived, readFaultFile, type SavedFaults, saveFaults, stillBroken } from "../replay/fault/kept-faults.ts";
import type { FaultTrial } from "../replay/fault/under-faults.ts";
import { type Fixture, isAttack } from "../replay/fixture.ts";
import { readTape } from "../replay/read-tape.ts";
import type { Tape } from "../replay/tape.ts";
import { newSeed, search, type SearchResult } from "../testing/search-faults.ts";
import { ProgressLine } from "./_each-of.ts";
import { FreshTrials } from "./_fault-process.ts";
import { isOfOthers, mistyped, nearFixture } from "./_fixtures.ts";
import { type Flags, numberFlag, refuseTogether } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import type { Judge } from "./_judge.ts";
import { wordsOf } from "./_process.ts";
import type { CommandSearch } from "./tape/recorded.ts";
import { wordOf } from "./_replay-one.ts";
import { unreachedShared } from "./_replay-table.ts";
import { table } from "./show/text.ts";
import type { Item, Word } from "./_verdict.ts";

/** What `--faults` asks for: a number of schedules, or a preset. */
interface FaultsAsked {
  readonly runs: number;
  readonly preset?: string;
}

/** How many schedules are tried by default. */
const RUNS = 100;

/** Reads `--faults [n]`; what is neither a number nor a preset is the next word, which the flag has swallowed. */
export function faultsAsked(value: string | boolean): { asked: FaultsAsked; word?: string } {
  if (typeof value !== "string") return { asked: { runs: RUNS } };
  if (/^-?[\d.]+$/.test(value)) {
    if (/^\d+$/.test(value) && Number(value) > 0) return { asked: { runs: Number(value) } };
    throw new UsageError(
      `Cannot search ${value} schedules of faults as that is not a number above 0: --faults ${RUNS}`,
    );
  }
  return Object.hasOwn(PRESETS, value) ? { asked: { runs: 1, preset: value } } : { asked: { runs: RUNS }, word: value };
}

/** What `--faults` was given that is nothing it takes. */
export function noPreset(word: string, { cwd }: Io): UsageError {
  const presets = Object.keys(PRESETS);
  const near = nearFixture(word, cwd) ?? mistyped(word, presets);
  const fix = near === undefined ? presets.join(", ") : `did you mean '${near}'?`;
  return new UsageError(
    `Cannot replay '${word}' as there is no such fixture, and --faults takes a number or a preset: ${fix}`,
  );
}

interface Searched extends SearchResult {
  readonly name: string;
  readonly seconds: number;
  /** Why it did not survive, or could not be searched. */
  readonly error?: string;
  /** What it is with such an error. */
  readonly word?: Word;
  readonly shared?: { readonly [name: string]: boolean };
}

/** How schedules are tried on what a fixture recorded. */
export type TrialOf = (fixture: Fixture, tape: Tape, tally: FaultTally) => FaultTrial;

type Sought = Omit<Searched, "seconds">;

/** Searches fixtures, one after the other, for faults their agents do not survive. */
export async function replayFaults(
  named: readonly Fixture[],
  asked: FaultsAsked,
  flags: Flags["flags"],
  io: Io,
  judge: Judge,
  ofCommand?: CommandSearch,
): Promise<void> {
  const others = ["verify", "update", "normalise", "hooks", "on"];
  refuseTogether(flags, "faults", others, "a search compares and records nothing, and runs here");
  const fixtures = named.filter((one) => !isAttack(one));
  const left = named.filter(isAttack).map(({ name }) => name).join(", ");
  const why = `${left} ${fixtures.length + 1 === named.length ? "is a finding" : "are findings"} of an attack`;
  if (fixtures.length === 0) throw new UsageError(`Cannot search for faults as ${why}: crochet replay`);
  if (left !== "") io.err(`crochet: not searched for faults, as ${why}\n`);
  const seed = numberFlag(flags, "seed") ?? newSeed();
  using trials = new FreshTrials(io);
  const ofAgent: TrialOf = (fixture, tape, tally) =>
    trials.of(fixture, tape, flags.wire === true, (judged) => tally.note(judged));
  const sought = async (fixture: Fixture): Promise<Sought> => {
    const command = ofCommand ??
      (isOfOthers(fixture) ? await (await import("./tape/recorded.ts")).commandSearch(fixture, io) : undefined);
    if (!command) return await searched(fixture, asked, seed, io, ofAgent);
    const search = (copy: Fixture) => searched(copy, asked, seed, io, command.tried);
    return await command.within(search, (line) => io.err(`${line}\n`));
  };
  judge.plan(...fixtures.map(({ name }) => name));
  const results: Searched[] = [];
  const items: Item[] = [];
  const progress = new ProgressLine(io);
  for (const fixture of fixtures) {
    if (io.signal.aborted) break;
    progress.show(`${results.length + 1}/${fixtures.length} ${fixture.name}`);
    const began = performance.now();
    const result = await sought(fixture).catch((error): Sought => {
      return failedSearch(fixture.name, error);
    });
    if (io.signal.aborted && result.error !== undefined) break;
    results.push({ ...result, seconds: (performance.now() - began) / 1000 });
    items.push(itemOf(results.at(-1)!, asked));
    judge.settle(items.at(-1)!);
  }
  progress.end();
  const unreached = unreachedShared(fixtures, results, io.cwd);
  unreached.forEach(judge.settle);
  show(results, [...items, ...unreached], asked, io);
}

function failedSearch(name: string, error: unknown): Sought {
  return { name, runs: 0, seed: 0, error: wordsOf(error), word: wordOf(error) };
}

async function searched(
  fixture: Fixture,
  { runs, preset }: FaultsAsked,
  seed: number,
  io: Io,
  trialOf: TrialOf,
): Promise<Sought> {
  const { name } = fixture;
  try {
    const tape = await readTape(fixture.tape);
    const tally = new FaultTally(await invariantsOf(fixture));
    const tried = trialOf(fixture, tape, tally);
    const survived = () => ({
      name,
      ...(!io.signal.aborted && tally.unreached !== undefined && { error: tally.unreached }),
      ...(!io.signal.aborted && { shared: tally.sharedReached }),
    });
    if (preset === undefined) {
      const first = () => stillBroken(fixture, tape, tried);
      const found = await search(tried, tape, { runs, seed, file: fixture.faults, first, signal: io.signal });
      return { ...(found.found ? { name } : survived()), ...found };
    }
    readFaultFile(fixture.faults);
    const faults = PRESETS[preset]!.faults(tape);
    if (faults.length === 0) {
      const error = `Its tape has no place for the faults of '${preset}'`;
      return { name, runs: 0, seed: 0, error, word: "not measured" };
    }
    for (const schedule of [[], faults]) {
      const { broken: [first] } = await tried(schedule);
      if (!first) continue;
      const found = { broke: `${first.invariant}: ${first.seen}`, faults: schedule };
      if (schedule.length === 0) return { name, runs: 0, seed: 0, found };
      await saveFaults(fixture.faults, found);
      return { name, runs: 1, seed: 0, found, file: fixture.faults };
    }
    return { ...survived(), runs: 1, seed: 0 };
  } catch (error) {
    return failedSearch(name, error);
  }
}

function itemOf(result: Searched, asked: FaultsAsked): Item {
  const { name, seconds, found, file, error, word = "broken", runs, shared: _, ...rest } = result;
  const isWhole = asked.preset !== undefined || runs >= asked.runs;
  const why = !found ? error : file === undefined ? brokenAlone(name, found) : notSurvived(name, found, file);
  const data = { runs, ...rest, ...found && { broke: found.broke, faults: found.faults.map(faultText), file } };
  if (why !== undefined) return { name, word: found ? "broken" : word, why, seconds, data };
  if (isWhole) return { name, word: "held", seconds, data };
  return { name, word: "not measured", why: `${runs} of ${asked.runs} schedules were tried`, seconds, data };
}

/** What breaks where nothing goes wrong, in a sentence. */
function brokenAlone(name: string, { broke }: SavedFaults): string {
  return `Cannot search for faults that break '${name}' as its run breaks without any: ${broke}`;
}

function show(results: readonly Searched[], items: readonly Item[], { preset }: FaultsAsked, io: Io): void {
  const rows = items.map(({ name, word }, i) => {
    const { runs = 0, singles } = results[i] ?? {};
    return [name, String(runs), word, singles === undefined ? "" : `${Math.min(runs, singles)} of ${singles}`];
  });
  io.out(table(["fixture", "schedules", "result", "single faults"], rows));
  for (const [i, { name, why }] of items.entries()) {
    const { found, file, seed, runs } = results[i] ?? {};
    if (why !== undefined && !found) io.out(`\n✗ ${name}\n  ${why}\n`);
    if (!found) continue;
    if (file === undefined) {
      io.out(`\n✗ ${name}: ${found.broke}\n  without any fault: no schedule was tried\n`);
      continue;
    }
    const faults = found.faults.map((fault) => `  ${faultText(fault)}\n`).join("");
    const kept = `  kept in ${relative(io.cwd, file)}: every replay tries it again\n`;
    const again = preset !== undefined
      ? ""
      : runs === 0
      ? "  no further search was made, as an earlier search found this\n"
      : `  to repeat this search: --seed ${seed}\n`;
    io.out(`\n✗ ${name}: ${found.broke}\n${faults}${kept}${again}`);
  }
  io.out("\n");
}
