import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Agent } from "../agent/options.ts";
import { isInside } from "../files/confine.ts";
import { expectNoLink } from "../files/state.ts";
import { realOr } from "../hooks/file/user-places.ts";
import { priceOf, priceText } from "../replay/drift/drift-report.ts";
import { fixtureAt, FIXTURES, inScratch, nameFor, scriptOnTape } from "../replay/fixture.ts";
import { normaliserOf } from "../replay/normalise.ts";
import { isCi } from "../replay/tape-options.ts";
import { readTape } from "../replay/read-tape.ts";
import { besideTape, keepFiles } from "../replay/record/keep-files.ts";
import { redactor } from "../replay/redact/redact.ts";
import { type FixtureRun, type ReplayOptions, runFixture } from "../replay/run-fixture.ts";
import { USER_FILE } from "../replay/run-on-tape.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import { checkWritable } from "../replay/write-tape.ts";
import { trustRecorded } from "./_fixtures.ts";
import { command, type Flags, refuseTogether, type Usage } from "./_flags.ts";
import { asUsage, EXIT, type Io, UsageError } from "./_io.ts";
import { projectOf } from "./_project.ts";
import { withAttached } from "./_attach.ts";
import { promptOf, rulesHere, RUN_FLAGS } from "./_run-options.ts";
import { builtIn, loadAgent, scriptAndWords } from "./_script.ts";
import { RefusedCalls } from "./run-agent.ts";
import { plainText } from "./show/text.ts";
import type { Normaliser } from "../log/entry.ts";

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
    ["--turns <file>", "the prompts of one session, one after the other: a YAML list of texts"],
    ["--user <file>", "a model plays the user: a prompt.md with persona and goal, and 'model' and 'turns' (10) on top"],
    [
      "--tools ['mcp']",
      "record tool results too, in this directory itself: a replay then runs no tool that reads or writes; " +
      "'mcp': only those of MCP servers, which a replay does not start",
    ],
    ["--redact", "write placeholders for secrets; without it, a run that shows one is not kept"],
    ["--normalise <rule>", NORMALISE],
    ...RUN_FLAGS.filter(([flag]) => /^--(model|cwd|settings|trust|permission-mode)\b/.test(flag)),
    ["--json", "print JSON"],
  ],
  example: `crochet record agent.ts "fix the typo" && crochet replay`,
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const { script, words: said } = scriptAndWords(words, args, io);
  const { name, ...spoken } = await spokenBy(said, flags, io);
  if (script !== undefined && !isInside(realOr(script), realOr(io.cwd))) {
    throw new UsageError(`Cannot record ${script}: a replay runs only scripts of the project, so record inside it`);
  }
  const workspace = projectOf(flags, io);
  const folder = folderFor(String(flags.fixture ?? name), io);
  const normalise = flags.normalise === undefined ? {} : normaliserAsked(flags.normalise);
  const agent = script === undefined ? await builtIn() : await loadAgent(script, io);
  const refused = new RefusedCalls(io.cwd);
  const { session } = await rulesHere({ flags, io, script: script !== undefined }, agent);
  const options: ReplayOptions = {
    ...spoken,
    redact: flags.redact === true,
    ...session as unknown as Pick<ReplayOptions, "hooks">,
    ...normalise,
  };
  const persona = flags.user === undefined ? [] : [resolve(io.cwd, String(flags.user))];
  // What servers of the project say is kept: a replay starts none.
  const tools = toolsAsked(flags) || (session.mcp ? "mcp" : false);
  const place = { workspace, script, persona, tools, io };
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
  if (spoken.user) writeFileSync(join(folder, USER_FILE), spoken.user.text);
  await trustRecorded(folder, io);
  const fixture = relative(io.cwd, folder);
  if (flags.json) io.data({ fixture, stop: result.stop, calls: report.calls.live, ms });
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

function toolsAsked({ tools }: Flags["flags"]): NonNullable<ReplayOptions["tools"]> {
  if (tools === undefined || tools === true || tools === "mcp") return tools ?? false;
  throw new UsageError(`Cannot record tools '${tools}': write --tools for all, or --tools mcp`);
}

/** What is said to the agent, or who says it; and a name for that. */
async function spokenBy(
  words: readonly string[],
  flags: Flags["flags"],
  io: Io,
): Promise<Pick<ReplayOptions, "prompts" | "user"> & { readonly name: string }> {
  if (flags.user !== undefined) refuseTogether(flags, "user", ["turns"], "one of them speaks");
  const prompt = await promptOf(words, io);
  const [flag, why] = flags.user ? ["user", "the simulated user begins"] : ["turns", "write it into the file"];
  if ((flags.user ?? flags.turns) !== undefined && prompt.trim() !== "") {
    throw new UsageError(`Cannot record with --${flag} and a prompt: ${why}`);
  }
  if (flags.user !== undefined) {
    const { readUser } = await import("../agent/simulated-user.ts");
    const user = await readUser(resolve(io.cwd, String(flags.user))).catch(asUsage);
    return { user, name: nameFor(basename(String(flags.user)).replace(/(\.prompt)?\.md$/, "")) };
  }
  const turns = flags.turns === undefined ? [prompt] : await turnsIn(String(flags.turns), io);
  if (turns[0]!.trim() === "") throw new UsageError(`Cannot record a run as there is no prompt: ${USAGE.example}`);
  const prompts = await Promise.all(turns.map((text) => withAttached(text, io.cwd)));
  return { prompts, name: nameFor(redactor().text(turns[0]!)) };
}

export async function turnsIn(file: string, { cwd }: Pick<Io, "cwd">): Promise<readonly string[]> {
  if (!existsSync(resolve(cwd, file))) throw new UsageError(`Cannot find '${file}': name a list of texts`);
  const { readYaml } = await import("../hooks/yaml.ts");
  const { value } = await readYaml(readFileSync(resolve(cwd, file), "utf8"), file).catch(asUsage);
  const isText = (one: unknown) => typeof one === "string" && one.trim() !== "";
  if (Array.isArray(value) && value.length > 0 && value.every(isText)) return value;
  throw new UsageError(`Cannot read ${file} as it is not a list of texts: '- fix the typo', a line for each turn`);
}

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
  for (const path of [resolve(io.cwd, FIXTURES), folder]) expectNoLink(path);
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

/** What a recorded run works on. */
interface RecordedRun {
  readonly workspace: string;
  readonly script: string | undefined;
  /** The file of the simulated user, which the agent does not see. */
  readonly persona: readonly string[];
  /** Whose results are recorded; if those of all are, they work in the workspace itself. */
  readonly tools: NonNullable<ReplayOptions["tools"]>;
  readonly io: Io;
}

/**
 * Records a run with copies of the files it begins with. They are a draft until the tape is written: another process
 * may record the same fixture, and only one of them comes to keep it.
 */
async function recordInto(
  folder: string,
  agent: Agent,
  { workspace, script, persona, tools, io }: RecordedRun,
  options: ReplayOptions,
): Promise<FixtureRun> {
  const keeps = tools !== true && fixtureAt(folder).files === undefined && script !== join(folder, "agent.ts");
  const ran = [...(script === undefined ? [] : [script, join(dirname(script), "hooks")]), ...persona];
  checkWritable(fixtureAt(folder).tape);
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
      ...(tools === true && { cwd: workspace }),
      ...(keeps && { workspace: besideTape(folder, draft) }),
    });
  });
}
