import { statSync, watch } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { reportLines, withoutStale } from "../replay/drift/drift-report.ts";
import { ownArgv } from "../hooks/own-command.ts";
import { runProcess } from "../process/process.ts";
import { type Fixture, FIXTURES } from "../replay/fixture.ts";
import { refuseInCi } from "../replay/tape-options.ts";
import { readHeader } from "../replay/read-tape.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import { eachOf, ProgressLine, reportLeft } from "./_each-of.ts";
import { allFixtures, expectTrusted, fixturesFor, fixturesNamed, noFixtures } from "./_fixtures.ts";
import { type Flags, inLines, kebab, refuseTogether, type Usage } from "./_flags.ts";
import { type Annotation, githubCommand } from "./_github.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import type { Reporter } from "./_report.ts";
import type { LoggedFixture } from "./_runs.ts";
import { type Outcome, showOutcomes, unreachedShared, writeJunit } from "./_replay-table.ts";
import { coloursFor } from "./show/text.ts";
import { outcomeOf } from "./_replay-one.ts";

const USAGE: Usage = {
  name: "replay",
  words: "[name | dir | run]…",
  about: "Runs recorded agents and programs again without a model and reports what changed. Without a name: all of " +
    "fixtures/; 'last' is the run that was made last, also by its id. Fixtures that came with a checkout run only after 'crochet trust', or with --trust. Exit code 1 if one " +
    "of them differs or was not replayed, or if there is none.",
  flags: [
    ["--wire", "go through the SDK, byte for byte"],
    ["--verify", "run the tools for real and report results that differ; the model gets the recorded ones"],
    ["--update", "record again from the first difference; prints the price first"],
    ["--review", "accept differences one by one, offline: replies are kept and marked as stale"],
    ["--no-stale", "fail if a reply is stale"],
    ["--bisect <good>", "find the commit after <good> that made these fixtures differ"],
    ["--watch", "replay again when a file changes"],
    [
      "--normalise <rule>",
      "a difference to ignore, as in 'crochet record'; with --update the tape keeps it",
    ],
    ["--hooks <dir>", "run the hooks of a folder too"],
    ["--faults [n]", "search n fault schedules (100) for one that an agent does not survive; or a preset"],
    ["--seed <n>", "with --faults: repeat the same search"],
    ["--junit <file>", "write a JUnit report"],
    ["--on <url>", "replay them on the workers of the durable engine at this ingress"],
    ["--trust", "trust these fixtures for this call: their agents, tools and commands are run"],
    ["--json", "print JSON"],
  ],
  example: "crochet replay",
  more: async () => {
    const { PRESETS } = await import("../replay/fault/fault.ts");
    return `\nPresets of --faults\n  ${inLines(Object.keys(PRESETS).join(", "), 2)}\n`;
  },
};

export default githubCommand(USAGE, replayed);

async function replayed(asked: Flags, io: Reporter, point: (annotation: Annotation) => void): Promise<number> {
  const { runs, words } = await runsAmong(asked.words, io);
  if (runs.length === 0) return await replayFixtures(asked, [], io, point);
  const { flags } = asked;
  const renewing = ["update", "review", "bisect", "watch", "on"].find((flag) => flags[flag] !== undefined);
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
      point,
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
  const isFixture = (word: string) => word !== "last" && fixturesNamed(word, io).length > 0;
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
  io: Reporter,
  point: (annotation: Annotation) => void,
): Promise<number> {
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
    return await replayFaults(fixtures, asked, flags, io);
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
  if (flags.watch) {
    refuseTogether(flags, "watch", ["update", "bisect", "json", "on"], "it replays again and again");
    return await watchFixtures(words, flags, io);
  }
  if (flags.bisect !== undefined) {
    refuseTogether(
      flags,
      "bisect",
      ["noStale", "update", "normalise", "on", "json"],
      "it replays other commits",
    );
    const fixtures = fixturesFor(words, io);
    expectTrusted(fixtures, flags, io);
    return await (await import("./_replay-bisect.ts")).bisectFixtures(fixtures, String(flags.bisect), io);
  }
  const normalise = flags.normalise === undefined ? {} : (await import("./record.ts")).normaliserAsked(flags.normalise);
  const named = words.length > 0 ? fixturesFor(words, io) : logged.length > 0 ? [] : allFixtures(io);
  const fixtures = [...logged, ...named];
  const outcomes = flags.on === undefined
    ? await replayHere(fixtures, io, (fixture) => outcomeOf(fixture, normalise, flags, io))
    : await (await import("./_durable.ts")).replayOn<Outcome>(fixtures, flags, io);
  // Nothing that ran is nothing that holds.
  if (fixtures.length === 0) outcomes.push({ name: FIXTURES, seconds: 0, error: noFixtures("replay") });
  if (outcomes.some(({ shared }) => shared)) {
    outcomes.push(...unreachedShared(fixtures, outcomes, io.cwd));
  }
  if (flags.noStale) {
    for (const [i, one] of outcomes.entries()) {
      if (one.report) outcomes[i] = { ...one, report: withoutStale(one.report) };
    }
  }
  if (flags.json) io.data(outcomes);
  else showOutcomes(outcomes, { words, flags }, io, coloursFor(io.tty, io.env));
  if (flags.junit !== undefined) writeJunit(outcomes, flags.junit, io);
  for (const outcome of outcomes.filter((one) => !isGood(one))) {
    point(annotationOf(outcome, fixtures.find(({ name }) => name === outcome.name)));
  }
  if (io.signal.aborted) {
    reportLeft(fixtures.length - outcomes.length, fixtures.length, "replayed", io);
    return EXIT.interrupted;
  }
  return outcomes.every(isGood) ? EXIT.ok : EXIT.failed;
}

function isGood({ error, failure, report, held }: Outcome): boolean {
  return error === undefined && failure === undefined && (held !== undefined || report?.ok === true);
}

/** What is wrong with a fixture, at the words of its agent's script that changed, if they stand there. */
function annotationOf({ name, error, failure, report }: Outcome, fixture: Fixture | undefined): Annotation {
  const tape = fixture?.tape ?? name;
  if (failure !== undefined) return { file: tape, title: `${name} is broken again`, message: failure };
  if (error !== undefined || !report) return { file: tape, title: `${name} cannot be replayed`, message: error ?? "" };
  const [{ expected, actual } = {}] = report.divergences as readonly { expected?: unknown; actual?: unknown }[];
  const known = String(expected ?? "").split("\n");
  const at = typeof actual === "string" ? actual.split("\n").find((line) => !known.includes(line)) : undefined;
  const { agent } = fixture ? readHeader(fixture.tape) : {};
  const script = fixture && agent !== undefined && agent !== BUILT_IN ? resolve(fixture.folder, agent) : tape;
  return { file: script, at, title: `${name} is not as recorded`, message: reportLines(report).join("\n") };
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
  replayed: (fixture: Fixture) => Promise<Outcome>,
): Promise<Outcome[]> {
  const progress = new ProgressLine(io);
  let done = 0;
  const pace = { atOnce: 2 * availableParallelism(), signal: io.signal };
  const outcomes = await eachOf(fixtures, pace, async (fixture) => {
    const outcome = await replayed(fixture);
    progress.show(`${++done}/${fixtures.length} ${fixture.name}`);
    return outcome;
  });
  progress.end();
  return outcomes;
}

/** Changes that no agent and no tape depends on, and those that a replay itself makes. */
const UNWATCHED = /(?:^|\/)(?:node_modules|\.git|\.crochet|dist)(?:\/|$)|~$|\.sw[px]$|\.tmp$/;

/** Editors write a file in several steps. */
const SETTLES_MS = 100;

/** Replays in a process of its own, as code is loaded once per process, and again when a file of the project changes. */
async function watchFixtures(words: readonly string[], flags: Flags["flags"], io: Io): Promise<number> {
  const given = Object.entries(flags).filter(([name]) => name !== "watch")
    .flatMap(([name, value]) =>
      value === true ? [`--${kebab(name)}`] : value === undefined ? [] : [`--${kebab(name)}`, String(value)]
    );
  const [command, ...args] = ownArgv("cli/main", "replay", ...words, ...given);
  let changed = Promise.withResolvers<void>();
  const watcher = watch(io.cwd, { recursive: true }, (_, path) => {
    if (path === null || !UNWATCHED.test(path)) changed.resolve();
  });
  io.signal.addEventListener("abort", () => changed.resolve(), { once: true });
  try {
    while (!io.signal.aborted) {
      changed = Promise.withResolvers<void>();
      const { stdout, stderr } = await runProcess({ command, args, cwd: io.cwd, env: io.env, signal: io.signal });
      if (io.signal.aborted) break;
      io.out(stdout);
      io.err(stderr);
      io.out("\nwaiting for a change, Ctrl-C ends\n");
      await changed.promise;
      await new Promise((resolve) => setTimeout(resolve, SETTLES_MS));
    }
    return EXIT.interrupted;
  } finally {
    watcher.close();
  }
}
