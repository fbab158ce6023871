import { relative } from "node:path";
import type { Case } from "../replay/drift/drift-report.ts";
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
import { EXIT, type Io, UsageError } from "./_io.ts";
import type { Reporter } from "./_report.ts";
import { wordsOf } from "./_process.ts";
import type { CommandSearch } from "./tape/recorded.ts";
import { unreachedShared, writeJunit } from "./_replay-table.ts";
import { table } from "./show/text.ts";

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
  readonly error?: string;
  readonly shared?: { readonly [name: string]: boolean };
}

/** How schedules are tried on what a fixture recorded. */
export type TrialOf = (fixture: Fixture, tape: Tape, tally: FaultTally) => FaultTrial;

type Sought = Omit<Searched, "seconds">;

/** Searches fixtures, one after the other, for faults their agents do not survive. Exit code 1 if one was found. */
export async function replayFaults(
  named: readonly Fixture[],
  asked: FaultsAsked,
  flags: Flags["flags"],
  io: Reporter,
  ofCommand?: CommandSearch,
): Promise<number> {
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
  const results: Searched[] = [];
  const progress = new ProgressLine(io);
  for (const fixture of fixtures) {
    if (io.signal.aborted) break;
    progress.show(`${results.length + 1}/${fixtures.length} ${fixture.name}`);
    const began = performance.now();
    const result = await sought(fixture).catch((error): Sought => {
      return { name: fixture.name, runs: 0, seed: 0, error: wordsOf(error) };
    });
    results.push({ ...result, seconds: (performance.now() - began) / 1000 });
  }
  progress.end();
  results.push(...unreachedShared(fixtures, results, io.cwd).map((one) => ({ ...one, runs: 0, seed: 0 })));
  if (flags.json) io.data(results.map(asData));
  else show(results, asked, io);
  if (flags.junit !== undefined) writeJunit(results.map((one) => asCase(one, asked)), flags.junit, io);
  if (io.signal.aborted) return EXIT.interrupted;
  return results.every(({ found, error }) => !found && error === undefined) ? EXIT.ok : EXIT.failed;
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
      return { name, runs: 0, seed: 0, error: `Not measured: its tape has no place for the faults of '${preset}'` };
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
    return { name, runs: 0, seed: 0, error: wordsOf(error) };
  }
}

function asData({ found, seconds: _, shared: __, ...rest }: Searched): object {
  return found ? { ...rest, broke: found.broke, faults: found.faults.map(faultText) } : rest;
}

function asCase({ name, seconds, found, file, error, runs }: Searched, asked: FaultsAsked): Case {
  const ended = asked.preset === undefined && runs < asked.runs ? `Interrupted after ${runs} schedules` : undefined;
  const why = !found ? error ?? ended : file === undefined ? brokenAlone(name, found) : notSurvived(name, found, file);
  return { name, seconds, ...(why !== undefined && { error: why }) };
}

/** What breaks where nothing goes wrong, in a sentence. */
function brokenAlone(name: string, { broke }: SavedFaults): string {
  return `Cannot search for faults that break '${name}' as its run breaks without any: ${broke}`;
}

function show(results: readonly Searched[], { runs: asked, preset }: FaultsAsked, io: Io): void {
  const rows = results.map(({ name, runs, singles, found, error }) => [
    name,
    String(runs),
    error !== undefined ? "error" : found ? "broke" : runs === asked ? "survived" : "interrupted",
    singles === undefined ? "" : `${Math.min(runs, singles)} of ${singles}`,
  ]);
  io.out(table(["fixture", "schedules", "result", "single faults"], rows));
  for (const { name, found, file, seed, error, runs } of results) {
    if (error !== undefined) io.out(`\n✗ ${name}\n  ${error}\n`);
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
}
