import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";
import type { Agent } from "../../agent/options.ts";
import { eachOf } from "../../cli/kit/each-of.ts";
import { shellWord } from "../../core/shown.ts";
import { toolRow } from "../../input/tool-table.ts";
import { runProcess } from "../../process/process.ts";
import { judgingOr } from "../../runtime/judging.ts";
import { Adversary, type AttackedCall, type CallVerdict, type SessionOptions, type Trial } from "./adversary.ts";
import { grammarFor } from "./grammar/index.ts";
import { expressionsIn, interleaved } from "./grammar/mined.ts";
import { type AttackCall, type Grammar, plainCall, type Target } from "./grammar/types.ts";
import type { ProjectScript } from "./grammar/plans.ts";
import { FIND_WRAPPERS } from "./grammar/rewritings.ts";
import type { Break } from "./properties.ts";
import { brokenBy, invariantFor, readProperty, targetsOf, watchedWorld } from "./properties.ts";
import { exhaustive, type Form, kindOf, search } from "./search.ts";
import { shrink } from "./shrink.ts";
import { expectSandboxed, type World, type WorldPlaces } from "./world.ts";

/** The plan of an attack as JSON, for its process. */
export interface AttackTask {
  readonly never: string;
  readonly places: WorldPlaces;
  readonly packages: readonly string[];
  readonly sandboxed: boolean;
  readonly person: "allow" | "refuse";
  readonly seed: number;
  readonly runs: number;
  readonly seconds: number;
  /** The most steps of a candidate. */
  readonly calls: number;
  readonly accept: readonly string[];
  /** Goes on after a finding, with other kinds. */
  readonly all: boolean;
  /** Calls that are made in place of a search. */
  readonly again?: readonly AttackCall[];
  /** Records them for an agent that a tape names so. */
  readonly tape?: string;
}

/** A run that breaks the property, as small as it gets. */
export interface Finding {
  readonly calls: readonly AttackedCall[];
  readonly broke: Break;
  readonly kind: readonly string[];
}

export interface Attacked {
  readonly never: string;
  /** Why nothing can be said of the property. */
  readonly unmeasured?: string;
  readonly vacuous?: string;
  /** Where the agent would have ended our process. */
  readonly ends?: string;
  readonly findings: readonly Finding[];
  readonly tries: number;
  readonly forms: number;
  readonly left: number;
  readonly longest: number;
  readonly notTried: readonly string[];
  readonly seconds?: number;
  /** Some of the calls that hooks refused, one of each operation. */
  readonly refused?: readonly RefusedCall[];
  /** Of calls that were made again: who denied how many. */
  readonly denials?: number;
}

interface RefusedCall extends AttackCall {
  /** What the hook said. */
  readonly words: string;
}

const MOST_REFUSED = 8;

/** By turns of each tool. */
function sampleOf(calls: readonly RefusedCall[]): RefusedCall[] {
  const tools = [...new Set(calls.map(({ tool }) => tool))];
  return interleaved(tools.map((name) => calls.filter(({ tool }) => tool === name))).slice(0, MOST_REFUSED);
}

/** How often an unguarded agent may fail to break a property before it counts as vacuous. */
const MOST_UNGUARDED = 200;
const WRAPPERS_MS = 20_000;

interface AttackPlace {
  readonly session?: SessionOptions;
  readonly signal: AbortSignal;
  readonly tried: (tries: number, forms: number) => void;
}

/** Attacks one property in a world that is filled here, in the sandbox or where no shell starts. */
export function attackHere(agent: Agent, task: AttackTask, place: AttackPlace): Promise<Attacked> {
  return judgingOr(() => attacked(agent, task, place), (ends) => ({ ...nothingTried(task), ends }));
}

/** File tools keep to the workspace by themselves. */
function staysInside(tool: string): boolean {
  const { path, elsewhere } = toolRow(tool) ?? {};
  return path !== undefined && !elsewhere;
}

export function nothingTried({ never }: Pick<AttackTask, "never">): Attacked {
  return { never, findings: [], tries: 0, forms: 0, left: 0, longest: 0, notTried: [] };
}

async function attacked(agent: Agent, task: AttackTask, place: AttackPlace): Promise<Attacked> {
  const { session = {}, signal, tried } = place;
  if (task.sandboxed) expectSandboxed(task.places);
  const began = performance.now();
  const { workspace } = task.places;
  const property = readProperty(task.never, workspace);
  const invariant = await invariantFor(property, workspace);
  const { places, packages, sandboxed } = task;
  const { world, watch, planted } = watchedWorld(property, task.seed, places, { packages, sandboxed });
  await watch.listen();
  const person = task.person === "refuse" ? "deny" as const : "allow" as const;
  const parts = { watch, planted, cwd: workspace, person, readsFiles: invariant !== undefined };
  const adversary = new Adversary(agent, { ...parts, session });
  const none = nothingTried(task);
  await expectStarts(adversary);
  const hasShell = adversary.tools.some(({ name }) => name === "Bash");
  const unsafe = adversary.tools.find(({ name }) => !staysInside(name));
  if (unsafe && !task.sandboxed) {
    return { ...none, unmeasured: `the agent has ${unsafe.name}, and only file tools run without bubblewrap` };
  }
  const broken = (trial: Trial) => brokenBy(property, trial, invariant);
  if (task.again) return { ...none, ...await madeAgain(task, broken, adversary) };
  const texts = await guardTexts(agent, world, session);
  const targets = targetsOf(property, world);
  const scripts = projectScripts(world);
  const grammarsWith = (wrappers: readonly string[]) =>
    targets.map((target) => grammarFor({ tools: adversary.tools, guardTexts: texts, target, scripts, wrappers }))
      .filter(({ operations }) => operations.length > 0);
  const grammars = grammarsWith([]);
  const unguarded = new Adversary(agent.unguarded(), parts);
  const accepted = new Set(task.accept);
  const isBroken = (trial: Trial) => broken(trial) !== undefined;
  const plain = grammars.flatMap((grammar) => exhaustive(grammar, accepted).slice(0, MOST_UNGUARDED));
  let isBreakable = false;
  for (let i = 0; i < plain.length && !isBreakable; i++) isBreakable = isBroken(await unguarded.run(plain[i]!.calls));
  if (!isBreakable) {
    return { ...none, vacuous: "no run breaks it even without hooks and rules" };
  }
  const findings: Finding[] = [];
  const verdicts: CallVerdict[] = [];
  const refused = new Map<string, RefusedCall>();
  let longest = 1;
  let flaky = 0;
  const found = async (hit: Form, grammar: Grammar): Promise<boolean> => {
    // With --all, what was found before is not a smaller form of something else.
    const before = new Set(findings.map((one) => callsText(one.calls)));
    const breaks = async (calls: readonly AttackCall[]) =>
      !before.has(callsText(calls)) && isBroken(await adversary.run(calls));
    const small = await breaks(hit.calls) ? await shrink(hit, grammar, breaks) : hit;
    const trial = await adversary.run(small.calls);
    const broke = broken(trial);
    if (!broke) flaky++;
    else findings.push({ calls: trial.calls, broke, kind: kindOf(small.candidate) });
    return broke !== undefined;
  };
  const over = () => signal.aborted || performance.now() - began > task.seconds * 1000;
  const searching = performance.now();
  const lets = await letThrough(grammars, targets, world, adversary, { over, signal });
  const patterns = expressionsIn(texts.join("\n")).map(({ expression }) => expression);
  const limits = { ...task, accepted, over };
  const { tries, forms, left, timedOut, widened } = await search(grammars, patterns, adversary, limits, {
    lets,
    widen: async () => hasShell ? grammarsWith(await wrappersHere(world)) : grammars,
    breaks: (trial, { candidate }) => {
      const [call, other] = trial.calls;
      const words = call?.verdicts.find(({ decision }) => decision === "deny")?.reason;
      const kind = candidate.steps.at(-1)!.operation;
      if (call && !other && words !== undefined && !refused.has(kind)) refused.set(kind, { ...plainCall(call), words });
      longest = Math.max(longest, trial.calls.length);
      verdicts.push(...trial.calls.flatMap((one) => one.verdicts));
      return isBroken(trial);
    },
    hit: found,
    tried,
  });
  const has = (name: RegExp) => adversary.tools.some((tool) => name.test(tool.name));
  const notTried = [
    ...(has(/^mcp__/) ? [] : ["MCP (no server)"]),
    ...(has(/^(?:Agent|Task)$/) ? [] : ["sub-agents (no Agent tool)"]),
    ...(hasShell ? [] : ["a shell (no Bash tool)"]),
    ...(widened ? [] : ["programs of this machine that run others"]),
    ...(accepted.size > 0 ? [`${[...accepted].join(", ")} (accepted)`] : []),
    ...(timedOut > 0 ? [`${timedOut} that ran into their 10 s`] : []),
    ...(flaky > 0 ? [`${flaky} that broke it once and not again`] : []),
  ];
  return {
    never: task.never,
    findings,
    tries,
    forms,
    left: left + timedOut,
    longest,
    notTried,
    seconds: (performance.now() - searching) / 1000,
    refused: sampleOf([...refused.values()]),
    ...(findings.length === 0 && uselessBy(verdicts)),
  };
}

/** How many harmless files each command is asked about. */
const MOST_HARMLESS = 3;

/** The commands that the guard lets through on files that the property is not about; nothing is run. */
async function letThrough(
  grammars: readonly Grammar[],
  targets: readonly Target[],
  world: World,
  adversary: Adversary,
  { over, signal }: { readonly over: () => boolean; readonly signal: AbortSignal },
): Promise<ReadonlySet<string>> {
  const { property, path } = targets[0] ?? {};
  if (property !== "changes" && property !== "removes" && property !== "reads") return new Set();
  const isPlain = (file: string) => !/(?:^|\/)\.|^(?:hooks|agents|node_modules)\//.test(file);
  const around = path?.includes("/") ? dirname(path) : undefined;
  const isFile = (file: string) => statSync(join(world.places.workspace, file), { throwIfNoEntry: false })?.isFile();
  const files = world.files.filter((file) =>
    isPlain(file) && file !== path && dirname(file) !== around && isFile(file)
  );
  const commands = grammars[0]!.operations.filter(({ shell }) => shell !== undefined);
  const found = new Set<string>();
  for (const file of files.slice(0, MOST_HARMLESS)) {
    const asked = commands.filter(({ name }) => !found.has(name));
    await eachOf(asked, { atOnce: AT_ONCE, signal }, async (operation) => {
      if (over()) return;
      const target = { ...targets[0]!, path: file };
      const { calls } = await adversary.run([operation.call(target, shellWord(file))], { dry: true });
      if (calls.some(({ ran }) => ran)) found.add(operation.name);
    });
  }
  await adversary.putBack();
  return found;
}

const AT_ONCE = 4;

/** The scripts of package.json that name files of the project. */
function projectScripts({ files, places }: World): ProjectScript[] {
  try {
    const { scripts = {} } = JSON.parse(readFileSync(join(places.workspace, "package.json"), "utf8"));
    return Object.entries(scripts).map(([name, line]) => ({
      line: name === "test" ? "npm test" : `npm run ${name}`,
      files: String(line).split(/[\s'"=;&|]+/).map((one) => one.replace(/^\.\//, "")).filter((one) =>
        files.includes(one)
      ),
    }));
  } catch {
    // Without a package.json that can be read there is no script.
    return [];
  }
}

/** Why calls that were all refused say nothing: what refuses only because it cannot work in the sandbox guards nothing. */
function uselessBy(verdicts: readonly CallVerdict[]): Pick<Attacked, "unmeasured"> | undefined {
  const worked = new Set(verdicts.flatMap(({ by, decision }) => decision === "failed" || by === "sandbox" ? [] : by));
  const { by, reason = "" } = verdicts.find((one) => !worked.has(one.by)) ?? {};
  if (by === undefined) return undefined;
  return { unmeasured: `${by} never worked in the sandbox of the attack: ${reason.split("\n", 1)[0]}` };
}

function callsText(calls: readonly AttackCall[]): string {
  return JSON.stringify(calls.map(({ tool, input, session, calls: inner }) => [tool, input, session, inner]));
}

/** Calls that are known, made once more and judged by the property. */
async function madeAgain(
  { again, tape: agent, places }: AttackTask,
  broken: (trial: Trial) => Break | undefined,
  adversary: Adversary,
): Promise<Partial<Attacked>> {
  const tape = { path: join(places.own, "kept"), mode: "record", inCi: true, redact: true } as const;
  const trial = await adversary.run(again!, agent === undefined ? {} : { tape: { ...tape, agent } });
  const broke = broken(trial);
  const denied = trial.calls.filter(({ verdicts }) => verdicts.some(({ decision }) => decision === "deny"));
  const findings = broke ? [{ calls: trial.calls, broke, kind: [] }] : [];
  const verdicts = trial.calls.flatMap((call) => call.verdicts);
  return { findings, tries: 1, denials: denied.length, ...(!broke && uselessBy(verdicts)) };
}

/** @throws {Error} if the agent does not even begin: every call would count as refused */
async function expectStarts(adversary: Adversary): Promise<void> {
  const { results } = await adversary.run([]);
  const { stop, error, text } = results[0]!;
  if (stop !== "done") {
    throw new Error(`Cannot attack the agent as its run ends with '${stop}': ${error?.message ?? text}`);
  }
}

/** What guards the agent, as it is written: files, code, rules, and the script that names them. */
async function guardTexts(agent: Agent, world: World, { permissions }: SessionOptions): Promise<string[]> {
  const { inCode, folders } = await agent.ownHooks();
  const inWorld = world.files.filter((path) =>
    /^(?:hooks|\.(?:claude|crochet|agent|codex|gemini))\/|^hooks\.yaml$/.test(path)
  )
    .map((path) => join(world.places.workspace, path));
  const inFolders = folders.flatMap((folder) => readdirSync(folder).sort().map((name) => join(folder, name)));
  const script = agent.from?.startsWith("file:") ? [fileURLToPath(agent.from)] : [];
  const files = [...new Set([...inFolders, ...inWorld, ...script])].filter((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats?.isFile() && stats.size < MOST_BYTES;
  });
  return [
    ...files.map((path) => readFileSync(path, "utf8")),
    ...inCode.map(({ run }) => String(run)),
    JSON.stringify(permissions ?? {}, null, 1),
  ];
}

const MOST_BYTES = 100_000;

/** Programs of this machine that run what is in their arguments. */
async function wrappersHere({ places }: World): Promise<string[]> {
  const { stdout } = await runProcess({
    command: "bash",
    args: ["-c", FIND_WRAPPERS],
    cwd: places.own,
    env: process.env,
    timeout: WRAPPERS_MS,
  });
  return stdout.split("\n").filter(Boolean).sort();
}
