import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import type { Fixture } from "../replay/fixture.ts";
import { refuseInCi } from "../replay/tape-options.ts";
import { eachOf, ProgressLine } from "./_each-of.ts";
import { allFixtures, expectTrusted, fixturesFor, fixturesLeft, fixturesNamed, noFixtures } from "./_fixtures.ts";
import { type Flags, inLines, refuseTogether, type Usage } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import { type Judge, judgingCommand } from "./_judge.ts";
import type { LoggedFixture } from "./_runs.ts";
import { itemsText, type ReplayedItem, unreachedShared } from "./_replay-table.ts";
import { coloursFor } from "./show/text.ts";
import { judgedFixture, secondsAsked } from "./_replay-one.ts";

const USAGE: Usage = {
  name: "replay",
  words: "[name | dir | run]…",
  about: "Runs recorded agents and programs again without a model and reports what changed. Without a name: all of " +
    "fixtures/; 'last' is the run that was made last, also by its id. Fixtures that came with a checkout run only after 'crochet trust', or with --trust. Exit code 0 if " +
    "all hold, 1 if one is broken, 2 if one cannot run, 3 if one was not measured.",
  flags: [
    ["--wire", "go through the SDK, byte for byte"],
    ["--verify", "run the tools for real and report results that differ; the model gets the recorded ones"],
    ["--update", "record again from the first difference; prints the price first"],
    ["--review", "accept differences one by one, offline: replies are kept and marked as stale"],
    ["--no-stale", "fail if a reply is stale"],
    [
      "--normalise <rule>",
      "a difference to ignore, as in 'crochet record'; with --update the tape keeps it",
    ],
    ["--hooks <dir>", "run the hooks of a folder too"],
    ["--faults [n]", "search n fault schedules (100) for one that an agent does not survive; or a preset"],
    ["--seed <n>", "with --faults: repeat the same search"],
    ["--time <seconds>", "how long one fixture may take before it is broken (120)"],
    ["--on <url>", "replay them on the workers of the durable engine at this ingress"],
    ["--trust", "trust these fixtures for this call: their agents, tools and commands are run"],
  ],
  example: "crochet replay",
  more: async () => {
    const { PRESETS } = await import("../replay/fault/fault.ts");
    return `\nPresets of --faults\n  ${inLines(Object.keys(PRESETS).join(", "), 2)}\n`;
  },
};

export default judgingCommand(USAGE, "fixture", replayed);

async function replayed(asked: Flags, io: Io, judge: Judge): Promise<number | void> {
  secondsAsked(asked.flags);
  const { HookSources } = await import("../hooks/sources.ts");
  await new HookSources({ cwd: io.cwd, env: io.env, trust: asked.flags.trust === true }).expectSettings();
  const { runs, words } = await runsAmong(asked.words, io);
  if (runs.length === 0) return await replayFixtures(asked, [], io, judge);
  const { flags } = asked;
  const renewing = ["update", "review", "on"].find((flag) => flags[flag] !== undefined);
  if (renewing !== undefined) {
    const fix = `crochet fixtures add ${asked.words[0]} NAME, then crochet replay NAME --${renewing}`;
    throw new UsageError(`Cannot replay a run with --${renewing} as only fixtures are kept: ${fix}`);
  }
  const { asFixture } = await import("./_runs.ts");
  const made: Awaited<ReturnType<typeof asFixture>>[] = [];
  try {
    for (const run of runs) made.push(await asFixture(run, flags, io, "replay"));
    return await replayFixtures(
      { words, flags: { ...flags, trust: true } },
      made.map(({ fixture }) => fixture),
      io,
      judge,
    );
  } finally {
    for (const { drop } of made) drop();
  }
}

/** The logs of runs among the words of a command, and the others. */
async function runsAmong(
  given: readonly string[],
  io: Io,
): Promise<{ readonly runs: string[]; readonly words: string[] }> {
  const runs: string[] = [];
  const isFixture = (word: string) =>
    word !== "last" && fixturesNamed(word, io).length + fixturesLeft([word], io).length > 0;
  const words = given.filter(isFixture);
  if (words.length === given.length) return { runs, words };
  const { logMeant } = await import("./_stored.ts");
  for (const word of given.filter((one) => !isFixture(one))) {
    const run = logMeant(word, io.cwd, io);
    if (run === undefined) words.push(word);
    else runs.push(run);
  }
  if (words.includes("last")) throw new UsageError("Cannot replay the last run as there is none here: run one first");
  return { runs, words };
}

async function replayFixtures(
  { words, flags }: Pick<Flags, "words" | "flags">,
  logged: readonly LoggedFixture[],
  io: Io,
  judge: Judge,
): Promise<number | void> {
  if (flags.verify) refuseTogether(flags, "verify", ["update"], "one compares and the other records");
  if (flags.hooks !== undefined) await expectHooks(String(flags.hooks), io);
  if (flags.faults) {
    refuseTogether(flags, "faults", ["noStale"], "a search changes the replies");
    const { faultsAsked, noPreset, replayFaults } = await import("./_replay-faults.ts");
    const { asked, word } = faultsAsked(flags.faults);
    if (word !== undefined && fixturesNamed(word, io).length === 0) throw noPreset(word, io);
    const named = word === undefined ? words : [word, ...words];
    const fixtures = [...logged, ...logged.length > 0 && named.length === 0 ? [] : fixturesFor(named, io)];
    expectTrusted(fixtures, flags, io);
    return await replayFaults(fixtures, asked, flags, io, judge);
  }
  if (flags.seed !== undefined) {
    throw new UsageError("Cannot replay with --seed as nothing is searched: add --faults");
  }
  if (flags.review) {
    refuseTogether(
      flags,
      "review",
      ["noStale", "wire", "verify", "update", "normalise", "on", "json"],
      "a review asks a person",
    );
    refuseInCi("review", words[0], io.env);
    const fixtures = fixturesFor(words, io, "review");
    expectTrusted(fixtures, flags, io, "review");
    return await (await import("./_replay-review.ts")).reviewFixtures(fixtures, io);
  }
  const normalise = flags.normalise === undefined ? {} : (await import("./record.ts")).normaliserAsked(flags.normalise);
  const left = logged.length > 0 && words.length === 0 ? [] : fixturesLeft(words, io);
  const there = words.filter((word) => !left.some(({ name }) => fixturesLeft([word], io)[0]?.name === name));
  const named = there.length > 0 ? fixturesFor(there, io) : words.length + logged.length > 0 ? [] : allFixtures(io);
  const fixtures = [...logged, ...named, ...left];
  // Nothing that ran is nothing that holds.
  if (fixtures.length === 0) throw new UsageError(noFixtures("replay"));
  judge.plan(...fixtures.map(({ name }) => name));
  const items: ReplayedItem[] = flags.on === undefined
    ? await replayHere(fixtures, io, judge, (fixture) => judgedFixture(fixture, normalise, flags, io))
    : await (await import("./_durable.ts")).replayOn(fixtures, flags, io);
  if (flags.on !== undefined) items.forEach(judge.settle);
  const unreached = items.some(({ data }) => data?.shared)
    ? unreachedShared(fixtures, items.map(({ name, data }) => ({ name, shared: data?.shared })), io.cwd)
    : [];
  unreached.forEach(judge.settle);
  io.out(itemsText([...items, ...unreached], flags, coloursFor(io.tty, io.env)));
}

/** @throws {UsageError} if there is no hook to load: that would look like hooks that allow everything */
async function expectHooks(given: string, io: Io): Promise<void> {
  const refuse = (why: string) => new UsageError(`Cannot load hooks of '${given}' as ${why}`);
  const folder = resolve(io.cwd, given);
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found) throw refuse("there is no such folder");
  if (!found.isDirectory()) throw refuse("it is a file: name the folder it is in");
  const { files, problems } = (await import("../hooks/discover.ts")).discover(folder);
  if (files.length + problems.length === 0) throw refuse("it has no hooks: name the folder that has the files");
}

/** Replays fixtures side by side: agents wait for processes, and a fixture's files are copied. */
async function replayHere(
  fixtures: readonly Fixture[],
  io: Io,
  judge: Judge,
  replayed: (fixture: Fixture) => Promise<ReplayedItem | undefined>,
): Promise<ReplayedItem[]> {
  const progress = new ProgressLine(io);
  let done = 0;
  const pace = { atOnce: 2 * availableParallelism(), signal: io.signal };
  const items = await eachOf(fixtures, pace, async (fixture) => {
    const item = await replayed(fixture);
    if (item) judge.settle(item);
    progress.show(`${++done}/${fixtures.length} ${fixture.name}`);
    return item;
  });
  progress.end();
  return items.filter((item) => item !== undefined);
}
