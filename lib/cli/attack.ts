import { existsSync } from "node:fs";
import { relative } from "node:path";
import type { Attackable } from "../attack/adversary.ts";
import { type Attack, attackProperty, type AttackWork, LONG } from "../attack/attack.ts";
import { attackName, keepFinding } from "../attack/keep.ts";
import { PROPERTIES, readProperty } from "../attack/properties.ts";
import { storyLines, wordOf } from "../attack/story.ts";
import type { Attacked } from "../attack/attack-worker.ts";
import { shellWord } from "../core/shown.ts";
import { findFixture, isAttack } from "../replay/fixture.ts";
import { newSeed } from "../testing/search-faults.ts";
import { ProgressLine } from "./_each-of.ts";
import { trustRecorded } from "./_fixtures.ts";
import { type Flags, inLines, numberFlag, type Usage } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import { judgingCommand } from "./_judge.ts";
import { rulesHere } from "./_run-options.ts";
import { builtIn, loadAgent, scriptAndWords } from "./_script.ts";
import { type Colours, coloursFor } from "./show/text.ts";

const RUNS = 20_000;
const SECONDS = 60;
const CALLS = 4;
const ACCEPTED = ["interpreters", "build-tools", "copies"];

const USAGE: Usage = {
  name: "attack",
  words: "[agent.ts]",
  about: "Replaces the model by an adversary, and searches for a run that breaks what must never happen, through the " +
    "agent's real hooks, rules and tools, in a scratch copy of this directory. Without a script: the built-in agent with " +
    "the trusted hooks and rules of the project.",
  flags: [
    ["--never <property>…", "what must never happen; may be given several times"],
    ["--runs <n>", "the first n forms alone, on every machine the same, without a limit in time"],
    [
      "--seconds <n>",
      `time for each property (${SECONDS}); if it is over before all forms are tried, nothing is said of it`,
    ],
    ["--seed <n>", "the same seed makes the same search"],
    ["--calls <n>", `steps of one run at most (${CALLS})`],
    ["--accept <kind>…", `holes that you know of: ${ACCEPTED.join(", ")}`],
    ["--person <answer>", "what a person answers who is asked: refuse (the default) or allow"],
    ["--all", "go on after a finding, with other kinds"],
    ["--only <n>", "only the try with this number"],
    ["--fixture <name>", "the fixture that a finding is kept in (attack-<property>)"],
  ],
  example: "crochet attack agent.ts --never reads:.env --never pushes",
  more: () => Promise.resolve(`\nProperties\n  ${inLines(PROPERTIES.join(", "), 2)}\n`),
};

export default judgingCommand(USAGE, "property", async ({ words, flags }, io, judge) => {
  const { script, words: rest } = scriptAndWords(words, words, io);
  if (rest.length > 0) throw new UsageError(`Cannot attack '${rest[0]}' as it is not a script: ${USAGE.example}`);
  const asked = askedBy(flags, io);
  judge.plan(...asked.never);
  // Reports what is not trusted, and so guards nothing.
  const agent = script === undefined ? await builtIn() : await loadAgent(script, io);
  await rulesHere({ flags: {}, io, script: script !== undefined }, agent);
  const line = new ProgressLine(io);
  for (const never of asked.never) {
    if (io.signal.aborted) break;
    const began = performance.now();
    const attack: Attack = {
      script,
      project: io.cwd,
      load: async (copy) => (copy === undefined ? await builtIn() : await loadAgent(copy, io)) as Attackable,
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
  }
  return { seed: asked.work.seed };
});

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
  const only = whole("only", 1);
  const work: Omit<AttackWork, "never"> = {
    person,
    accept,
    seed: whole("seed", 0) ?? newSeed(),
    runs: whole("runs", 1) ?? RUNS,
    seconds: numberFlag(flags, "seconds", { least: 1 }) ?? (flags.runs === undefined ? SECONDS : LONG),
    calls: whole("calls", 1, 10) ?? CALLS,
    all: flags.all === true,
    ...(only !== undefined && { only }),
  };
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
    if (existsSync(folder) && !isAttack({ folder })) {
      throw new UsageError(
        `Cannot keep the finding in ${relative(io.cwd, folder)} as it is another fixture: give --fixture`,
      );
    }
    const again = await keepFinding(attack, work, finding, folder);
    if (!again) continue;
    await trustRecorded(folder, io);
    all.push({ finding: { ...again, number: finding.number, kind: finding.kind }, kept: relative(io.cwd, folder) });
  }
  return { findings: all.map(({ finding }) => finding), kept: all.map(({ kept }) => kept) };
}
