import { accessSync, constants, existsSync, lstatSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { Agent } from "../agent/options.ts";
import { isInside } from "../files/confine.ts";
import { realOr } from "../hooks/file/user-places.ts";
import { priceOf } from "../replay/drift/drift.ts";
import { priceText } from "../replay/drift/drift-report.ts";
import { fixtureAt, FIXTURES, inScratch, nameFor, scriptOnTape } from "../replay/fixture.ts";
import { type Normaliser, normaliserOf } from "../replay/normalise.ts";
import { isCi } from "../replay/tape-options.ts";
import { readTape } from "../replay/read-tape.ts";
import { besideTape, keepFiles } from "../replay/record/keep-files.ts";
import { redactor } from "../replay/redact/redact.ts";
import { type FixtureRun, type ReplayOptions, runFixture } from "../replay/run-fixture.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import { checkWritable } from "../replay/write-tape.ts";
import { trustRecorded } from "./_fixtures.ts";
import { command, type Usage } from "./_flags.ts";
import { EXIT, type Io, UsageError } from "./_io.ts";
import { projectOf } from "./_project.ts";
import { withAttached } from "./_attach.ts";
import { promptOf, rulesHere, RUN_FLAGS } from "./_run-options.ts";
import { builtIn, loadAgent, scriptAndWords } from "./_script.ts";
import { RefusedCalls } from "./run-agent.ts";
import { plainText } from "./show/text.ts";

/** `--normalise`, as the usage of a command has it. */
export const NORMALISE =
  "a difference to ignore, in texts at a path: 'day=messages.**=\\d+ days ago'; the tape keeps it";

/** Reads `--normalise <name=path=pattern>`. */
export function normaliserAsked(value: string | boolean): { normalise: readonly Normaliser[] } {
  const [, name = "", path = "", pattern = ""] = /^([^=]*)=([^=]*)=(.*)$/s.exec(String(value)) ?? [];
  if (pattern === "") {
    throw new UsageError(`Cannot read --normalise '${value}' as it is not <name=path=pattern>: 'day=messages.**=\\d+'`);
  }
  const normalise = [{ name, path, pattern }];
  normaliserOf(normalise);
  return { normalise };
}

const USAGE: Usage = {
  name: "record",
  words: "[agent.ts] <prompt…>",
  about: "Runs an agent in a copy of this directory and records the run as a fixture that replays without a model. " +
    "Permissions work as in 'crochet run'; the tape keeps mode, rules and answers, and a replay uses them.",
  flags: [
    ["--fixture <name>", "its name in fixtures/; default: made from the prompt"],
    ["--tools", "record tool results too, in this directory itself: a replay then runs no tool that reads or writes"],
    ["--redact", "write placeholders for secrets; without it, a run that shows one is not kept"],
    ["--normalise <rule>", NORMALISE],
    ...RUN_FLAGS.filter(([flag]) => /^--(model|cwd|settings|trust|permission-mode)\b/.test(flag)),
    ["--json", "print JSON"],
  ],
  example: `crochet record agent.ts "fix the typo" && crochet replay`,
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const { script, words: said } = scriptAndWords(words, args, io);
  const prompt = await promptOf(said, io);
  if (prompt.trim() === "") throw new UsageError(`Cannot record a run as there is no prompt: ${USAGE.example}`);
  if (script !== undefined && !isInside(realOr(script), realOr(io.cwd))) {
    throw new UsageError(`Cannot record ${script}: a replay runs only scripts of the project, so record inside it`);
  }
  const workspace = projectOf(flags, io);
  const folder = folderFor(String(flags.fixture ?? nameFor(redactor().text(prompt))), io);
  const normalise = flags.normalise === undefined ? {} : normaliserAsked(flags.normalise);
  const agent = script === undefined ? await builtIn() : await loadAgent(script, io);
  const tools = flags.tools === true;
  const refused = new RefusedCalls(io.cwd);
  const { permissions, model } = await rulesHere({ flags, io, script: script !== undefined }, agent);
  const options: ReplayOptions = {
    prompts: [await withAttached(prompt, io.cwd)],
    redact: flags.redact === true,
    permissions,
    ...normalise,
    ...(model !== undefined && { model }),
  };
  const place = { workspace, script, tools, io };
  const isSeen = io.tty && !flags.json;
  const { result, report, ms } = isSeen
    ? await watched((more) => recordInto(folder, agent, place, { ...options, ...more }), io)
    : await recordInto(folder, agent, place, {
      ...options,
      on: (event) => {
        const line = event.type === "warning" ? plainText(event.message) : refused.see(event);
        if (line !== undefined) io.err(`crochet: ${line}\n`);
      },
    });
  await trustRecorded(folder, io);
  const fixture = relative(io.cwd, folder);
  if (flags.json) io.out(`${JSON.stringify({ fixture, stop: result.stop, calls: report.calls.live, ms })}\n`);
  else {
    // From the tape: the result does not include the cost of sub-agents.
    const { calls } = await readTape(fixtureAt(folder).tape);
    io.out(`recorded ${fixture}: ${result.stop}, ${priceText(priceOf(calls))}\n`);
    io.out(`crochet replay ${relative(join(io.cwd, FIXTURES), folder)}\n`);
  }
  if (result.stop === "denied" && !io.tty) io.err(`crochet: ${plainText(result.text)}\n`);
  if (result.error) {
    if (!isSeen) io.err(`crochet: ${result.error.message}\n`);
    io.err(`the tape keeps this failure, to be replayed as it is: delete ${fixture} to record another run\n`);
  }
  return result.stop === "error" || result.stop === "aborted" ? EXIT.failed : EXIT.ok;
});

/** Shows the run on the terminal, and asks there. */
async function watched(record: (more: Partial<ReplayOptions>) => Promise<FixtureRun>, io: Io): Promise<FixtureRun> {
  const { watchRun } = await import("./show/watch.ts");
  let made: FixtureRun;
  await watchRun(async ({ on, ask, asker, signal }) => {
    const more = { ...(on && { on }), ...(ask && { ask }), ...(asker && { asker }), ...(signal && { signal }) };
    return (made = await record(more)).result;
  }, { io, cwd: io.cwd });
  return made!;
}

/** The folder of a fixture that is not there yet. */
export function folderFor(name: string, io: Io): string {
  if (!/^[\w][\w.-]{0,99}$/.test(name)) {
    throw new UsageError(
      `Cannot name a fixture '${name}' as it becomes a folder: use up to 100 letters from a to z, digits, '.', '_' and '-'`,
    );
  }
  if (name === "blobs") {
    throw new UsageError("Cannot name a fixture 'blobs' as that folder holds long texts of all fixtures: take another");
  }
  const folder = resolve(io.cwd, FIXTURES, name);
  if (existsSync(fixtureAt(folder).tape)) {
    const path = relative(io.cwd, folder);
    throw new UsageError(
      `Cannot record ${path} as a tape exists: 'crochet replay ${path} --update' renews what has changed; else delete it, or give another --fixture`,
    );
  }
  if (isCi(io.env)) {
    throw new UsageError(`Cannot record as CI is set, and CI only replays tapes: record ${name} on your machine`);
  }
  return folder;
}

/** @throws {Error} if something else is at its path. Nothing is made to find out: others may record beside. */
function expectFolder(folder: string): void {
  checkWritable(fixtureAt(folder).tape);
  let above = folder;
  while (!isThere(above)) above = dirname(above);
  try {
    if (!statSync(above).isDirectory()) throw new Error(`${above} is not a folder`);
    accessSync(above, constants.W_OK);
  } catch (error) {
    throw new Error(`Cannot make ${folder} as ${(error as Error).message}: look at what is in its place`);
  }
}

/** Whether anything has this name, also a link that leads nowhere. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // something above it is not a folder
  }
}

/** What a recorded run works on. */
interface RecordedRun {
  readonly workspace: string;
  readonly script: string | undefined;
  /** Whether tools work in the workspace itself, and their results are recorded. */
  readonly tools: boolean;
  readonly io: Io;
}

/**
 * Records a run with copies of the files it begins with. They are a draft until the tape is written: another process
 * may record the same fixture, and only one of them comes to keep it.
 */
async function recordInto(
  folder: string,
  agent: Agent,
  { workspace, script, tools, io }: RecordedRun,
  options: ReplayOptions,
): Promise<FixtureRun> {
  const keeps = !tools && fixtureAt(folder).files === undefined && script !== join(folder, "agent.ts");
  const ran = script === undefined ? [] : [script, join(dirname(script), "hooks")];
  expectFolder(folder);
  return await inScratch(undefined, async (draft) => {
    for (const { path, why } of keeps ? keepFiles(workspace, draft, ran) : []) {
      io.err(`${path} is not kept with the fixture: ${why}\n`);
    }
    const files = fixtureAt(keeps ? draft : folder).files;
    return await runFixture({ ...fixtureAt(folder), files }, agent, {
      signal: io.signal,
      ...options,
      mode: "record",
      tools,
      project: workspace,
      agent: script === undefined ? BUILT_IN : scriptOnTape(folder, script),
      ...(tools && { cwd: workspace }),
      ...(keeps && { workspace: besideTape(folder, draft) }),
    });
  });
}
