import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import type { Fixture } from "../replay/fixture.ts";
import type { ReplayedBy } from "../replay/replayed-by.ts";
import { refuseInCi } from "../replay/tape-options.ts";
import { eachOf, ProgressLine } from "./kit/each-of.ts";
import {
  allFixtures,
  expectTrusted,
  fixturesFor,
  fixturesLeft,
  fixturesNamed,
  isBy,
  isNamed,
  isOfTests,
  noFixtures,
  NOT_OF_TESTS,
} from "./kit/known-fixtures.ts";
import { expectGiven } from "./kit/run-gifts.ts";
import { giftOf } from "./kit/extension.ts";
import { commandBehind, refuseOther } from "./kit/behind-dashes.ts";
import { type Flags, inLines, type TypedFlags, type Usage } from "./kit/flags.ts";
import { type Io, UsageError } from "./kit/io.ts";
import { type Judge, judgingCommand } from "./kit/judge.ts";
import type { TypedCommand } from "./kit/programs.ts";
import type { LoggedFixture } from "./kit/runs.ts";
import { itemsText, type ReplayedItem, unreachedShared } from "./kit/replay-table.ts";
import { coloursFor } from "./show/text.ts";
import { judgedFixture, secondsAsked } from "./kit/replay-one.ts";

const USAGE: Usage = {
  name: "replay",
  words: "[name | dir | run]… [-- command…]",
  about: "Runs recorded agents and programs again without a model and reports what changed. Without a name: all of " +
    "fixtures/; 'last' is the run that was made last, also by its id. A command behind '--' is run in place of the one that the " +
    "fixture names, in a copy of this directory. Fixtures that came with a checkout run only after 'crochet trust', or with --trust. Exit code 0 if " +
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
    ["--trust", "trust these fixtures for this call: their agents, tools and commands are run"],
  ],
  excludes: [
    ["verify", ["update"], "one compares and the other records"],
    [
      "faults",
      ["review", "no-stale", "verify", "update", "normalise", "hooks"],
      "a search compares and records nothing",
    ],
    ["review", ["no-stale", "wire", "verify", "update", "normalise", "json"], "a review asks a person"],
  ],
  example: "crochet replay",
  more: async () => {
    const { presets } = await giftOf("faults") ?? {};
    const { RULES } = await import("../replay/requests/compare-rules.ts");
    const rules = Object.entries(RULES).map(([name, { about, client }]) =>
      `  ${name.padEnd(18)}${inLines(client === undefined ? about : `${about} (${client})`, 20)}\n`
    );
    const faults = presets ? `\nPresets of --faults\n  ${inLines(presets.join(", "), 2)}\n` : "";
    return `${faults}\nWhat is not compared of other programs, by rule\n${rules.join("")}`;
  },
};

/** What a typed command does not take: it is not the program that the fixture names. */
const OF_RECORDED = ["wire", "verify", "update", "review", "normalise", "hooks"];

export default judgingCommand(USAGE, "fixture", replayed);

async function replayed(asked: TypedFlags, io: Io, judge: Judge): Promise<object | number | void> {
  secondsAsked(asked.flags);
  const { command, words: named } = commandBehind(asked, "crochet replay NAME -- COMMAND");
  if (command) {
    refuseOther(asked.flags, OF_RECORDED, "with a command as only what a fixture names is run so: leave it out");
    if (named.length === 1) {
      const given = { words: named, flags: asked.flags };
      return await replayFixtures(given, [], io, judge, { command, cwd: io.cwd });
    }
    throw new UsageError(`Cannot run a command on ${named.length} fixtures: crochet replay NAME -- COMMAND`);
  }
  const { HookSources } = await import("../hooks/sources.ts");
  await new HookSources({ cwd: io.cwd, env: io.env, trust: asked.flags.trust === true }).expectSettings();
  const { runs, words } = await runsAmong(asked.words, io);
  if (runs.length === 0) return await replayFixtures(asked, [], io, judge);
  const { flags } = asked;
  const renewing = ["update", "review", "faults"].find((flag) => flags[flag] !== undefined);
  if (renewing !== undefined) {
    const fix = `crochet fixtures add ${asked.words[0]} NAME, then crochet replay NAME --${renewing}`;
    throw new UsageError(`Cannot replay a run with --${renewing} as only fixtures are kept: ${fix}`);
  }
  const { asFixture } = await import("./kit/runs.ts");
  const logged = runs.map((run) => asFixture(run, flags, "replay"));
  return await replayFixtures({ words, flags: { ...flags, trust: true } }, logged, io, judge);
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
  const { logMeant } = await import("./kit/project.ts");
  for (const word of given.filter((one) => !isFixture(one))) {
    const run = logMeant(word, io.cwd, io.env);
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
  typed?: TypedCommand,
): Promise<object | number | void> {
  if (flags.hooks !== undefined) await expectHooks(String(flags.hooks), io);
  if (flags.faults) {
    const { search } = expectGiven(await giftOf("faults"), "--faults");
    const named = (word?: string) => {
      if (word !== undefined && (typed || fixturesNamed(word, io).length === 0)) return undefined;
      const all = word === undefined ? words : [word, ...words];
      const fixtures = askedOf(["test", "none"], fixturesFor(all, io), all, "faults", io);
      expectTrusted(fixtures, flags, io);
      return fixtures;
    };
    return await search(named, flags, io, judge, typed);
  }
  if (flags.seed !== undefined) {
    throw new UsageError("Cannot replay with --seed as nothing is searched: add --faults");
  }
  if (flags.review) {
    refuseInCi("review", words[0], io.env);
    const fixtures = fixturesFor(words, io, { attacks: false, doing: "review" });
    expectTrusted(fixtures, flags, io, "review");
    return await (await import("./_replay-review.ts")).reviewFixtures(fixtures, io);
  }
  const normalise = flags.normalise === undefined ? {} : (await import("./record.ts")).normaliserAsked(flags.normalise);
  const left = logged.length > 0 && words.length === 0 ? [] : fixturesLeft(words, io);
  const there = words.filter((word) => fixturesLeft([word], io).length === 0);
  const found = there.length > 0 ? fixturesFor(there, io) : words.length + logged.length > 0 ? [] : allFixtures(io);
  const ofAgents = NOT_OF_TESTS.find((flag) => flags[flag] !== undefined);
  const named = ofAgents && !typed ? askedOf(["test"], found, words, ofAgents, io) : found;
  const served = named.filter((one) => !isNamed(one, words, io) && isBy(one, "none")).map(({ name }) => name);
  const fixtures = [...logged, ...named.filter(({ name }) => !served.includes(name)), ...left];
  // Nothing that ran is nothing that holds.
  if (fixtures.length === 0) {
    throw new UsageError(
      served.length === 0
        ? noFixtures("replay")
        : `Cannot replay as what is here is served only (${served.join(", ")}): crochet replay ${served[0]} -- COMMAND`,
    );
  }
  judge.plan(...fixtures.map(({ name }) => name));
  const items: ReplayedItem[] = await replayHere(
    fixtures,
    io,
    judge,
    flags,
    (fixture) => judgedFixture(fixture, normalise, flags, io, typed),
    typed,
  );
  const unreached = items.some(({ data }) => data?.shared)
    ? unreachedShared(fixtures, items.map(({ name, data }) => ({ name, shared: data?.shared })), io.cwd)
    : [];
  unreached.forEach(judge.settle);
  io.out(itemsText([...items, ...unreached], flags, coloursFor(io.tty, io.env), served, typed !== undefined));
  return served.length > 0 ? { served } : undefined;
}

/** Leaves out, and says, what no word names and a flag does not work on, by who replays it. @throws {UsageError} if that is all */
function askedOf(
  kinds: readonly ReplayedBy["by"][],
  found: readonly Fixture[],
  words: readonly string[],
  flag: string,
  io: Io,
): readonly Fixture[] {
  const left = found.filter((one) => !isNamed(one, words, io) && kinds.some((by) => isBy(one, by)));
  if (left.length === 0) return found;
  const names = left.map(({ name }) => name).join(", ");
  const why = `with --${flag} as neither an agent nor a program here asks what is on it: ${names}`;
  if (left.length === found.length) throw new UsageError(`Cannot replay ${why}`);
  io.err(`crochet: not replayed ${why}\n`);
  return found.filter((one) => !left.includes(one));
}

/** @throws {UsageError} if there is no hook to load: that would look like hooks that allow everything */
async function expectHooks(given: string, io: Io): Promise<void> {
  const folder = resolve(io.cwd, given);
  (await import("./kit/find-hooks.ts")).expectHooksFolder(folder, given);
  const { files, problems } = (await import("../hooks/discover.ts")).discover(folder);
  if (files.length + problems.length > 0) return;
  throw new UsageError(`Cannot take hooks from '${given}' as it has no hooks: name the folder that has the files`);
}

/** Replays fixtures side by side: agents wait for processes, and a fixture's files are copied. Tests replay their own. */
async function replayHere(
  fixtures: readonly Fixture[],
  io: Io,
  judge: Judge,
  flags: Flags["flags"],
  replayed: (fixture: Fixture) => Promise<ReplayedItem | undefined>,
  typed: TypedCommand,
): Promise<ReplayedItem[]> {
  const progress = new ProgressLine(io);
  const tested = typed ? [] : fixtures.filter(isOfTests);
  let done = 0;
  const show = (item: ReplayedItem) => {
    judge.settle(item);
    progress.show(`${++done}/${fixtures.length} ${item.name}`);
  };
  const pace = { atOnce: 2 * availableParallelism(), signal: io.signal };
  const all = await Promise.all([
    eachOf(fixtures.filter((one) => !tested.includes(one)), pace, async (fixture) => {
      const item = await replayed(fixture);
      if (item) show(item);
      return item;
    }),
    tested.length === 0
      ? []
      : import("./kit/replay-tests.ts").then(({ replayTests }) => replayTests(tested, flags, io, show)),
  ]);
  progress.end();
  const place = new Map(fixtures.map(({ name }, i) => [name, i]));
  const of = ({ name }: ReplayedItem) => place.get(name) ?? fixtures.length;
  return all.flat().filter((item) => item !== undefined).sort((a, b) => of(a) - of(b));
}
