import { existsSync } from "node:fs";
import { relative } from "node:path";
import type { Attackable } from "../attack/adversary.ts";
import { type Attack, attackProperty, type AttackWork } from "../attack/attack.ts";
import { attackName, keepFinding } from "../attack/keep.ts";
import { PROPERTIES, readProperty } from "../attack/properties.ts";
import { type Outcome, outcomeOf, storyLines, summaryLine } from "../attack/story.ts";
import type { Attacked } from "../attack/attack-worker.ts";
import { shellWord } from "../core/shown.ts";
import { findFixture, isAttack } from "../replay/fixture.ts";
import { newSeed } from "../testing/search-faults.ts";
import { ProgressLine } from "./_each-of.ts";
import { trustRecorded } from "./_fixtures.ts";
import { type Flags, inLines, numberFlag, type Usage } from "./_flags.ts";
import { type Annotation, githubCommand } from "./_github.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import type { Reporter } from "./_report.ts";
import { type Case, writeJunit } from "./_replay-table.ts";
import { rulesHere } from "./_run-options.ts";
import { builtIn, loadAgent, scriptAndWords } from "./_script.ts";
import { coloursFor } from "./show/text.ts";

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
    ["--runs <n>", `runs for each property (${RUNS.toLocaleString("en")})`],
    ["--seconds <n>", `time for each property (${SECONDS})`],
    ["--seed <n>", "the same seed makes the same search"],
    ["--calls <n>", `steps of one run at most (${CALLS})`],
    ["--accept <kind>…", `holes that you know of: ${ACCEPTED.join(", ")}`],
    ["--person <answer>", "what a person answers who is asked: refuse (the default) or allow"],
    ["--all", "go on after a finding, with other kinds"],
    ["--only <n>", "only the try with this number"],
    ["--fixture <name>", "the fixture that a finding is kept in (attack-<property>)"],
    ["--json", "print JSON"],
    ["--junit <file>", "write a JUnit report"],
  ],
  example: "crochet attack agent.ts --never reads:.env --never pushes",
  more: () => Promise.resolve(`\nProperties\n  ${inLines(PROPERTIES.join(", "), 2)}\n`),
};

/** Exit code 1 if a property is broken, 2 if one is vacuous or was not measured, 3 if one was not attacked enough. */
export default githubCommand(USAGE, attacked);

interface Came {
  readonly attacked: Attacked;
  readonly outcome: Outcome;
  readonly lines: readonly string[];
  readonly kept: readonly (string | undefined)[];
  readonly seconds: number;
}

async function attacked(
  { words, flags }: Flags,
  io: Reporter,
  point: (annotation: Annotation) => void,
): Promise<number> {
  const { script, words: rest } = scriptAndWords(words, words, io);
  if (rest.length > 0) throw new UsageError(`Cannot attack '${rest[0]}' as it is not a script: ${USAGE.example}`);
  const asked = askedBy(flags, io);
  const limited = flags.seconds !== undefined || flags.runs !== undefined || flags.only !== undefined;
  // Reports what is not trusted, and so guards nothing.
  if (script === undefined) await rulesHere({ flags: {}, io, script: false }, await builtIn());
  const line = new ProgressLine(io);
  const all: Came[] = [];
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
    const again = (number: number) =>
      [
        "crochet attack",
        ...(script === undefined ? [] : [shellWord(relative(io.cwd, script))]),
        "--never",
        shellWord(never),
      ]
        .concat(asked.typed, ["--seed", String(asked.work.seed), "--only", String(number)]).join(" ");
    const ink = coloursFor(io.tty, io.env);
    const lines = storyLines(result, { limited }, { ink, kept, again });
    const outcome = outcomeOf(result, { limited });
    all.push({ attacked: result, outcome, lines, kept, seconds: (performance.now() - began) / 1000 });
    if (!flags.json) io.out(lines.map((one) => `${one}\n`).join(""));
    if (outcome !== "holds") point({ file: script ?? ".", title: never, message: lines.join("\n") });
  }
  line.end();
  if (flags.json) {
    const data = all.map(({ attacked: { never, ...rest }, outcome, kept }) => ({ never, outcome, kept, ...rest }));
    io.data({ seed: asked.work.seed, properties: data });
  } else {
    io.out(`\n${summaryLine(all.map((one) => one.attacked), { limited }, asked.work.seed)}\n`);
  }
  if (flags.junit !== undefined) writeJunit(all.map(caseOf), flags.junit, io, "crochet attack");
  if (io.signal.aborted) return EXIT.interrupted;
  return codeOf(all.map(({ outcome }) => outcome));
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
  const only = whole("only", 1);
  const work: Omit<AttackWork, "never"> = {
    person,
    accept,
    seed: whole("seed", 0) ?? newSeed(),
    runs: whole("runs", 1) ?? RUNS,
    seconds: numberFlag(flags, "seconds", { least: 1 }) ?? SECONDS,
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
): Promise<Pick<Attacked, "findings"> & Pick<Came, "kept">> {
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

function caseOf({ attacked: { never }, outcome, lines, seconds }: Came): Case {
  const text = lines.join("\n");
  return {
    ...{ name: never, of: "attack", seconds },
    ...(outcome === "broken" ? { failure: text } : outcome !== "holds" && { error: text }),
  };
}

function codeOf(outcomes: readonly Outcome[]): number {
  if (outcomes.includes("broken")) return EXIT.failed;
  if (outcomes.some((one) => one === "vacuous" || one === "not measured")) return EXIT.usage;
  return outcomes.includes("not enough") ? EXIT.notEnough : EXIT.ok;
}
