import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Agent } from "../../agent/options.ts";
import { type Attack, attackProperty, type AttackWork, USUAL, workOf } from "./attack.ts";
import { attackName, keepFinding } from "./keep.ts";
import { PROPERTIES, readProperty } from "./properties.ts";
import { storyLines, wordOf } from "./story.ts";
import type { Attacked } from "./attack-worker.ts";
import { quietly } from "../../core/json.ts";
import { shellWord } from "../../core/shown.ts";
import { discover } from "../../hooks/discover.ts";
import { nearest } from "../../input/nearest.ts";
import { findFixture, isFinding } from "../../replay/fixture.ts";
import { ProgressLine } from "../../cli/kit/each-of.ts";
import { trustRecorded } from "../../cli/kit/known-fixtures.ts";
import { type Flags, inLines, numberFlag, type Usage } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { judgingCommand } from "../../cli/kit/judge.ts";
import { rulesHere } from "../../cli/kit/run-options.ts";
import { builtIn, isHooks, loadAgent, scriptAndWords } from "../../cli/kit/script.ts";
import { type Colours, coloursFor } from "../../cli/show/text.ts";

const ACCEPTED = ["interpreters", "build-tools", "copies"];

const USAGE: Usage = {
  name: "attack",
  words: "[agent.ts | hooks]",
  about: "Replaces the model by an adversary, and searches for a run that breaks what must never happen, through the " +
    "agent's real hooks, rules and tools, in a scratch copy of this directory. Of a folder of hooks: an agent that nothing " +
    "else guards. Without a script: the built-in agent with the trusted hooks and rules of the project.",
  flags: [
    ["--never <property>…", "what must never happen; may be given several times"],
    ["--runs <n>", "the first n forms alone, on every machine the same, without a limit in time"],
    [
      "--seconds <n>",
      `time for each property (${USUAL.seconds}); if it is over before all forms are tried, nothing is said of it`,
    ],
    ["--seed <n>", "the same seed makes the same search"],
    ["--calls <n>", `steps of one run at most (${USUAL.calls})`],
    ["--accept <kind>…", `holes that you know of: ${ACCEPTED.join(", ")}`],
    ["--person <answer>", "what a person answers who is asked: refuse (the default) or allow"],
    ["--all", "go on after a finding, with other kinds"],
    [
      "--in <hosts>",
      "of a folder of hooks: make findings, and calls that were refused, in these hosts too: claude,codex@0.169.0",
    ],
    ["--install", "let npm install versions of hosts that are not in the cache"],
    ["--fixture <name>", "the fixture that a finding is kept in (attack-<property>)"],
  ],
  example: "crochet attack agent.ts --never reads:.env --never pushes",
  more: () => Promise.resolve(`\nProperties\n  ${inLines(PROPERTIES.join(", "), 2)}\n`),
};

export default judgingCommand(USAGE, "property", async ({ words, flags }, io, judge) => {
  const folder = words.length === 1 ? hooksIn(resolve(io.cwd, words[0]!)) : undefined;
  const { script = folder, words: rest } = scriptAndWords(folder === undefined ? words : [], words, io);
  if (rest.length > 0) throw new UsageError(`Cannot attack '${rest[0]}' as ${noSubject(rest[0]!, io)}`);
  const asked = askedBy(flags, io);
  const hosts = await hostsIn(flags, folder, asked.never, io);
  judge.plan(...asked.never.flatMap((never) => [never, ...hosts.map(({ name }) => `${never} in ${name}`)]));
  // Reports what is not trusted, and so guards nothing.
  const agent = script === undefined ? await builtIn() : await loadAgent(script, io);
  if (folder === undefined) await rulesHere({ flags: {}, io, script: script !== undefined }, agent);
  const line = new ProgressLine(io);
  for (const never of asked.never) {
    if (io.signal.aborted) break;
    const began = performance.now();
    const attack: Attack = {
      script,
      project: io.cwd,
      load: async (copy) => (copy === undefined ? await builtIn() : await loadAgent(copy, io)) as Agent,
      env: io.env,
      signal: io.signal,
      tried: (tries, forms) => line.show(`${never}  ${tries} tries, ${Math.max(0, forms - tries)} forms left`),
    };
    const work = { ...asked.work, never };
    const found = await attackProperty(attack, work);
    const { findings, kept } = await keptAll(attack, work, found, flags, io);
    const lost = found.findings.length - findings.length;
    const notTried = [...found.notTried, ...(lost > 0 ? [`${lost} that did not break it in a new world`] : [])];
    const result = { ...found, findings, notTried };
    line.end();
    if (io.signal.aborted && wordOf(result) === "not measured") break;
    const start = ["crochet attack", ...(script === undefined ? [] : [shellWord(relative(io.cwd, script))])];
    const again = (...more: string[]) =>
      [...start, "--never", shellWord(never), ...asked.typed, "--seed", work.seed, ...more].join(" ");
    const story = (ink?: Colours) => storyLines(result, { kept, again, runs: work.runs, ...(ink && { ink }) });
    io.out(story(coloursFor(io.tty, io.env)).map((one) => `${one}\n`).join(""));
    const word = wordOf(result);
    const why = story().join("\n");
    const { never: name, ...data } = result;
    judge.settle({
      ...{ name, word, seconds: (performance.now() - began) / 1000, data: { kept, ...data } },
      ...(word !== "held" && { why, points: [{ file: script ?? ".", title: never, message: why }] }),
    });
    for (const { name: host, play } of hosts) {
      const { lines, ...item } = await play(result, asked.work.seed, (text) => line.show(text));
      line.end();
      io.out(lines.map((one) => `${one}\n`).join(""));
      judge.settle({ name: `${never} in ${host}`, why: item.word === "held" ? undefined : lines.join("\n"), ...item });
    }
  }
  return { seed: asked.work.seed };
});

/** Why a word names nothing to attack, and what does. */
function noSubject(word: string, { cwd }: Io): string {
  const path = resolve(cwd, word);
  if (existsSync(path)) return `it is not a script: ${USAGE.example}`;
  const beside = (quietly(() => readdirSync(dirname(path))) ?? []).map((name) => join(dirname(path), name));
  const near = nearest(path, beside.filter(isHooks), 2);
  const fix = near === undefined ? "name a script or a folder of hooks" : `did you mean '${relative(cwd, near)}'?`;
  return `there is no such file or folder: ${fix}`;
}

/** The hosts in which what was found is tried. @throws {UsageError} before anything runs */
async function hostsIn(flags: Flags["flags"], folder: string | undefined, never: readonly string[], io: Io) {
  if (flags.in === undefined) {
    if (flags.install) throw new UsageError("Cannot use --install without --in: name hosts, as in --in claude,codex");
    return [];
  }
  const [{ readWish }, { hostsPlayed }] = await Promise.all([import("../lab/test-in.ts"), import("./in-hosts.ts")]);
  const wishes = String(flags.in).split(",").map((typed) => ({ typed: typed.trim(), wish: readWish(typed) }));
  if (folder === undefined) {
    throw new UsageError("Cannot attack in hosts without a folder of hooks: crochet attack hooks --in codex");
  }
  return await hostsPlayed(wishes, folder, never, io, flags.install === true);
}

/** A folder of hooks that was typed. @throws {UsageError} if it is empty, or has another file */
function hooksIn(path: string): string | undefined {
  if (!isHooks(path)) return undefined;
  const { files, problems: [problem] } = discover(path);
  if (files.length > 0 && problem === undefined) return path;
  throw new UsageError(
    `Cannot attack ${path} as ${problem?.message ?? "there is no hook in it: name a folder of hooks"}`,
  );
}

/** What was typed, checked before anything runs. */
function askedBy(flags: Flags["flags"], io: Io) {
  const list = (value: string | boolean | undefined) => typeof value === "string" ? value.split("\n") : [];
  const never = [...new Set(list(flags.never))];
  if (never.length === 0) {
    throw new UsageError(`Cannot attack as nothing is named that must never happen: --never ${PROPERTIES[1]}`);
  }
  for (const word of never) readProperty(word, io.cwd);
  const accept = list(flags.accept);
  const unknown = accept.find((kind) => !ACCEPTED.includes(kind));
  if (unknown !== undefined) {
    throw new UsageError(`Cannot accept '${unknown}' as there is no such kind: expected ${ACCEPTED.join(", ")}`);
  }
  const { person = "refuse" } = flags;
  if (person !== "refuse" && person !== "allow") {
    throw new UsageError(`Cannot let a person answer '${person}': expected refuse or allow`);
  }
  const whole = (name: string, least: number, most = Infinity) => numberFlag(flags, name, { least, most, whole: true });
  const work = workOf({
    ...{ person, accept, all: flags.all === true },
    ...{ seed: whole("seed", 0), runs: whole("runs", 1), calls: whole("calls", 1, 10) },
    seconds: numberFlag(flags, "seconds", { least: 1 }),
  });
  const typed = [
    ...accept.flatMap((kind) => ["--accept", kind]),
    ...(person === "allow" ? ["--person", "allow"] : []),
    ...(flags.calls === undefined ? [] : ["--calls", String(flags.calls)]),
  ];
  return { never, work, typed };
}

/** Keeps each finding that breaks the property in a world of its own, too. */
async function keptAll(
  attack: Attack,
  work: AttackWork,
  { findings }: Attacked,
  flags: Flags["flags"],
  io: Io,
): Promise<Pick<Attacked, "findings"> & { readonly kept: readonly string[] }> {
  const name = typeof flags.fixture === "string" ? flags.fixture : attackName(work.never);
  const all = [];
  for (const [i, finding] of findings.entries()) {
    const { folder } = findFixture(i === 0 ? name : `${name}-${i + 1}`, io.cwd);
    if (existsSync(folder) && !isFinding({ folder })) {
      throw new UsageError(
        `Cannot keep the finding in ${relative(io.cwd, folder)} as it is another fixture: give --fixture`,
      );
    }
    const again = await keepFinding(attack, work, finding, folder);
    if (!again) continue;
    await trustRecorded(folder, io);
    all.push({ finding: { ...again, kind: finding.kind }, kept: relative(io.cwd, folder) });
  }
  return { findings: all.map(({ finding }) => finding), kept: all.map(({ kept }) => kept) };
}
