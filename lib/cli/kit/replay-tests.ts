import { existsSync, readFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { parsed, quietly } from "../../core/json.ts";
import { getOrMake } from "../../core/maps.ts";
import { shellWord } from "../../core/shown.ts";
import { realOr } from "../../hooks/file/user-places.ts";
import { placer, placesHere } from "../../log/redact/places.ts";
import { howEnded, runProcess } from "../../process/process.ts";
import { onPath } from "../../process/programs.ts";
import { type DriftReport, renewalText } from "../../replay/drift/drift-report.ts";
import { type Fixture, fixtureProject, FIXTURES, inScratch } from "../../replay/fixture.ts";
import { type OnDrift, refuseInCi } from "../../replay/tape-options.ts";
import type { Flags } from "./flags.ts";
import { type Io, UsageError } from "./io.ts";
import { commandOf, expectTrusted, NOT_OF_TESTS } from "./known-fixtures.ts";
import { wordsOf } from "../../files/drafts.ts";
import { itemOf, pointOf, secondsAsked, wordOf } from "./replay-one.ts";
import type { ReplayedItem } from "./replay-table.ts";

/** What a test command replays. */
interface Tests {
  readonly project: string;
  readonly command: readonly string[];
  /** The command as it is typed. */
  readonly words: string;
  readonly fixtures: Fixture[];
}

/** The command that replays a fixture, with all others that it records. */
function testsOf(fixture: Fixture): Omit<Tests, "fixtures"> {
  const project = fixtureProject(fixture.folder);
  const { restore } = placer(placesHere(project));
  const command = commandOf(fixture).map((word) => restore(word));
  return { project, command, words: command.map(shellWord).join(" ") };
}

/** Replays fixtures of `recorded()`: each test command runs once, and says what came of all its fixtures. */
export async function replayTests(
  fixtures: readonly Fixture[],
  flags: Flags["flags"],
  io: Io,
  settled: (item: ReplayedItem) => void,
  onDrift?: OnDrift,
): Promise<ReplayedItem[]> {
  const all = new Map<string, Tests>();
  for (const fixture of fixtures) {
    const tests = testsOf(fixture);
    getOrMake(all, JSON.stringify(tests), () => ({ ...tests, fixtures: [] })).fixtures.push(fixture);
  }
  const items: ReplayedItem[] = [];
  // They are at home in their project: one at a time, as they would be in each other's way.
  for (const tests of all.values()) if (!io.signal.aborted) items.push(...await judged(tests, flags, io, onDrift));
  items.forEach(settled);
  return items;
}

async function judged(tests: Tests, flags: Flags["flags"], io: Io, onDrift?: OnDrift): Promise<ReplayedItem[]> {
  const { fixtures, words } = tests;
  const began = performance.now();
  const placed = (item: ReplayedItem, fixture: Fixture): ReplayedItem => ({
    ...{ ...item, of: FIXTURES, seconds: (performance.now() - began) / 1000 / fixtures.length },
    points: item.word === "held" ? [] : [pointOf(item, fixture)],
  });
  try {
    const given = NOT_OF_TESTS.find((name) => flags[name] !== undefined);
    if (given !== undefined) throw new UsageError(`Cannot replay with --${given} what a test asks: leave it out`);
    expectTrusted(fixtures, flags, io);
    // A test that replays what tests record starts itself without end.
    if (process.env.CROCHET_REPORTS) throw new UsageError(`Cannot run ${words} as a replay runs this test already`);
    let { reports, failed } = await run(tests, flags, io, false, onDrift);
    const drifts = fixtures.filter((one) => {
      const report = reports.get(realOr(one.tape));
      return report && (!report.ok || report.stale !== undefined);
    });
    if (flags.update && drifts.length > 0 && !io.signal.aborted) {
      refuseInCi("update", drifts[0]!.name, io.env);
      for (const { name, tape } of drifts) {
        io.err(`recording ${name} again: ${renewalText(reports.get(realOr(tape))!)}\n`);
      }
      ({ reports, failed } = await run(tests, flags, io, true));
    }
    if (io.signal.aborted) return [];
    const items = fixtures.map((fixture) => {
      const report = reports.get(realOr(fixture.tape));
      if (report) return placed(itemOf(fixture.name, report, flags), fixture);
      const why = `Its test did not replay it, as it is skipped or named otherwise: ${words}`;
      return placed({ name: fixture.name, word: "not measured", why }, fixture);
    });
    const explained = items.some(({ word }) => word === "broken");
    if (failed === undefined || explained) return items;
    const title = `${words} fails`;
    const points = [{ file: fixtures[0]!.tape, title, message: failed }];
    return [...items, { name: words, word: "broken", why: failed, of: FIXTURES, points }];
  } catch (error) {
    if (io.signal.aborted) return [];
    const why = wordsOf(error);
    return fixtures.map((fixture) => placed({ name: fixture.name, word: wordOf(error), why }, fixture));
  }
}

const LAST_LINES = 12;

/** Runs a test command; `failed` says how it ended if it did not succeed. */
async function run(
  { project, command, words, fixtures }: Tests,
  flags: Flags["flags"],
  io: Io,
  records: boolean,
  onDrift?: OnDrift,
): Promise<{ readonly reports: ReadonlyMap<string, DriftReport>; readonly failed: string | undefined }> {
  // It must not take itself for a part of the runner that we may run in, nor record unasked.
  const { NODE_TEST_CONTEXT: _, CROCHET_RECORD: __, CROCHET_REVIEWED: ___, ...rest } = io.env;
  const path = [rest.PATH ?? "", join(project, "node_modules/.bin")].join(delimiter);
  const seconds = secondsAsked(flags) * fixtures.length;
  const [program = "", ...args] = command;
  return await inScratch(undefined, async (folder) => {
    const file = join(folder, "reports.jsonl");
    const env = { ...rest, PATH: path, CROCHET_REPORTS: file, ...records && { CROCHET_RECORD: "1" } };
    if (program.includes("/") ? !existsSync(resolve(project, program)) : onPath(program, env) === undefined) {
      throw new UsageError(`Cannot run ${words} as there is no command '${program}': install it`);
    }
    const options = { command: program, args, cwd: project, env, signal: io.signal, timeout: seconds * 1000 };
    const done = await runProcess(options);
    const lines = (quietly(() => readFileSync(file, "utf8")) ?? "").split("\n").filter((line) => line !== "");
    const all = lines.map((line) =>
      parsed(line) as { tape: string; report: DriftReport; drifts: Parameters<OnDrift>[] }
    );
    const named = new Set(fixtures.map(({ tape }) => realOr(tape)));
    for (const { tape, drifts } of all) if (named.has(tape)) { for (const drift of drifts) onDrift?.(...drift); }
    const reports = new Map(all.map(({ tape, report }) => [tape, report]));
    const said = process.getBuiltinModule("node:util").stripVTControlCharacters(`${done.stdout}\n${done.stderr}`).split(
      "\n",
    ).filter((line) => line.trim() !== "").slice(-LAST_LINES);
    const why = done.ended === "timeout" ? `did not end within ${seconds} s: --time allows more` : howEnded(done);
    return { reports, failed: done.code === 0 ? undefined : [`It ${why}`, ...said].join("\n") };
  });
}
