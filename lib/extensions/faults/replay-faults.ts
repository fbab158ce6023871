import { relative } from "node:path";
import { faultText, PRESETS } from "./fault.ts";
import { type Invariant, invariantsOf, InvariantTally } from "../../replay/invariants.ts";
import { brokenAgain, notSurvived, stillBroken } from "./kept-faults.ts";
import { type Fixture, isFinding } from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";
import { search as searchTape, type SearchResult } from "./search-faults.ts";
import { ProgressLine } from "../../cli/kit/each-of.ts";
import { apart, faultProcesses, type TrialOf } from "./fault-process.ts";
import { isBy, mistyped, nearFixture, noAgent } from "../../cli/kit/known-fixtures.ts";
import { numberFlag } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { wordsOf } from "../../files/drafts.ts";
import { type Faults, giftFor } from "../../cli/kit/extension.ts";
import { INVARIANTS } from "./invariants.ts";
import { type Faultable, underFaults, type UnderFaultsOptions } from "./under-faults.ts";
import { wordOf } from "../../cli/kit/replay-one.ts";
import { unreachedShared } from "../../cli/kit/replay-table.ts";
import { newSeed } from "../../testing/fast-check.ts";
import { table } from "../../cli/show/text.ts";
import type { Item, Word } from "../../cli/kit/verdict.ts";

/** What `--faults` asks for: a number of schedules, or a preset. */
interface FaultsAsked {
  readonly runs: number;
  readonly preset?: string;
}

/** How many schedules are tried by default. */
const RUNS = 100;

/** Reads `--faults [n]`; what is neither a number nor a preset is the next word, which the flag has swallowed. */
function faultsAsked(value: string | boolean): { asked: FaultsAsked; word?: string } {
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
function noPreset(word: string, { cwd }: Io): UsageError {
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

type SearchOutcome = Omit<Searched, "seconds">;

/** Searches fixtures, one after the other, for faults their agents do not survive. */
const search: Faults["search"] = async (find, flags, io, judge, typed) => {
  const { asked, word } = faultsAsked(flags.faults!);
  const named = find(word);
  if (!named) throw noPreset(word!, io);
  const fixtures = named.filter((one) => !isFinding(one));
  const left = named.filter(isFinding).map(({ name }) => name).join(", ");
  const why = `${left} ${fixtures.length + 1 === named.length ? "is a finding" : "are findings"}`;
  if (fixtures.length === 0) throw new UsageError(`Cannot search for faults as ${why}: crochet replay`);
  if (left !== "") io.err(`crochet: not searched for faults, as ${why}\n`);
  const seed = numberFlag(flags, "seed") ?? newSeed();
  using processes = faultProcesses(io);
  const ofAgent = apart(processes, io.cwd, flags.wire === true);
  const sought = async (fixture: Fixture): Promise<SearchOutcome> => {
    if (!typed && (isBy(fixture, "test") || isBy(fixture, "none"))) throw noAgent(fixture);
    const command = typed || isBy(fixture, "program")
      ? await (await giftFor("programs", fixture)).search(fixture, io, typed)
      : undefined;
    if (!command) return await searched(fixture, asked, seed, io, ofAgent);
    const { agent, invariants, within } = command;
    const trialOf = here(agent, { signal: io.signal });
    const work = (copy: Fixture) => searched(copy, asked, seed, io, trialOf, invariants);
    return await within(work, (line) => io.err(`${line}\n`));
  };
  judge.plan(...fixtures.map(({ name }) => name));
  const results: Searched[] = [];
  const items: Item[] = [];
  const progress = new ProgressLine(io);
  for (const fixture of fixtures) {
    if (io.signal.aborted) break;
    progress.show(`${results.length + 1}/${fixtures.length} ${fixture.name}`);
    const began = performance.now();
    const result = await sought(fixture).catch((error): SearchOutcome => (
      { name: fixture.name, runs: 0, seed: 0, error: wordsOf(error), word: wordOf(error) }
    ));
    if (io.signal.aborted && result.error !== undefined) break;
    results.push({ ...result, seconds: (performance.now() - began) / 1000 });
    items.push(itemOf(results.at(-1)!, asked));
    judge.settle(items.at(-1)!);
  }
  progress.end();
  const unreached = unreachedShared(fixtures, results, io.cwd);
  unreached.forEach(judge.settle);
  show(results, [...items, ...unreached], asked, io);
};

async function searched(
  fixture: Fixture,
  { runs, preset }: FaultsAsked,
  seed: number,
  io: Io,
  trialOf: TrialOf,
  more: readonly Invariant[] = [],
): Promise<SearchOutcome> {
  const { name } = fixture;
  const tape = await readTape(fixture.tape);
  const { own, shared } = await invariantsOf(fixture);
  const tally = new InvariantTally({ own: [...more, ...own], shared });
  const tried = trialOf(fixture, tape, tally);
  const survived = () => ({
    name,
    ...(!io.signal.aborted && tally.unreached !== undefined && { error: tally.unreached }),
    ...(!io.signal.aborted && { shared: tally.sharedReached }),
  });
  const only = preset === undefined ? undefined : PRESETS[preset]!(tape);
  if (only?.length === 0) {
    const error = `Its tape has no place for the faults of '${preset}'`;
    return { name, runs: 0, seed, error, word: "not measured" };
  }
  const begins = only ? { only } : { first: () => stillBroken(fixture, tape, tried) };
  const found = await searchTape(tried, tape, { runs, seed, file: fixture.faults, signal: io.signal, ...begins });
  return { ...(found.found ? { name } : survived()), ...found };
}

/** Tries schedules in this process. */
function here(agent: Faultable, given: Pick<UnderFaultsOptions, "wire" | "signal">): TrialOf {
  return ({ files }, tape, tally) => async (faults) => {
    const tried = await underFaults(agent, tape, faults, {
      ...given,
      files,
      invariants: [...INVARIANTS, ...tally.all],
    });
    tally.note(tried.judged);
    return tried;
  };
}

function itemOf(result: Searched, asked: FaultsAsked): Item {
  const { name, seconds, found, file, error, word = "broken", runs, shared: _, ...rest } = result;
  const alone = `Cannot search for faults that break '${name}' as its run breaks without any: ${found?.broke}`;
  const why = !found ? error : file === undefined ? alone : notSurvived(name, found, file);
  const data = { runs, ...rest, ...found && { broke: found.broke, faults: found.faults.map(faultText), file } };
  if (why !== undefined) return { name, word: found ? "broken" : word, why, seconds, data };
  if (runs >= asked.runs) return { name, word: "held", seconds, data };
  return { name, word: "not measured", why: `${runs} of ${asked.runs} schedules were tried`, seconds, data };
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

export default {
  presets: Object.keys(PRESETS),
  search,
  again: (fixture, agent, { tally, ...given }) => brokenAgain(fixture, tally, here(agent, given)),
  againApart: (io) => async (fixture, _agent, { tally, wire = false }) => {
    using processes = faultProcesses(io);
    return await brokenAgain(fixture, tally, apart(processes, io.cwd, wire));
  },
} satisfies Faults;
