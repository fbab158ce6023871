import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Agent } from "../agent/options.ts";
import { isInside } from "../files/confine.ts";
import { expectNoLink } from "../files/state.ts";
import { realOr } from "../hooks/file/user-places.ts";
import { priceOf, priceText } from "../replay/drift/drift-report.ts";
import { fixtureAt, FIXTURES, inScratch, nameFor, nameIn, scriptOnTape } from "../replay/fixture.ts";
import { normaliserOf } from "../replay/normalise.ts";
import { isCi, type ResultsKept } from "../replay/tape-options.ts";
import { readTape, TapeError } from "../replay/read-tape.ts";
import { besideTape, keepFiles } from "../replay/record/keep-files.ts";
import { redactor } from "../log/redact/redact.ts";
import { type FixtureRun, type ReplayOptions, runFixture } from "../replay/run-fixture.ts";
import { USER_FILE } from "../replay/run-on-tape.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import { checkWritable } from "../replay/write-tape.ts";
import { giftOf } from "./kit/extension.ts";
import { trustRecorded } from "./kit/known-fixtures.ts";
import { expectGiven, runGift, type RunGifts } from "./kit/run-gifts.ts";
import { commandBehind, refuseOther } from "./kit/behind-dashes.ts";
import { command, type Flags, type Usage } from "./kit/flags.ts";
import { objectOf, parsed, present } from "../core/json.ts";
import { ownArgv } from "../hooks/own-command.ts";
import { runProcess } from "../process/process.ts";
import type { ReplayedItem } from "./kit/replay-table.ts";
import { toolRow } from "../input/tool-table.ts";
import { asUsage, EXIT, type Io, UsageError } from "./kit/io.ts";
import { PROOF, runsAgain } from "./kit/programs.ts";
import { projectOf } from "./kit/project.ts";
import type { Reporter } from "./kit/report.ts";
import { withAttached } from "./kit/attach.ts";
import { judgedFixture } from "./kit/replay-one.ts";
import { promptOf, rulesHere, RUN_FLAGS } from "./kit/run-options.ts";
import { builtIn, loadAgent, scriptAndWords } from "./kit/script.ts";
import { RefusedCalls } from "./run-agent.ts";
import { plainText } from "./show/text.ts";
import type { Normaliser } from "../log/entry.ts";
import type { RunEvent } from "../core/run-events.ts";

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
  words: "[agent.ts] <prompt…> | -- <command…>",
  about: "Runs an agent in a copy of this directory and records the run as a fixture that replays without a model. " +
    "Permissions work as in 'crochet run'; the tape keeps mode, rules and answers, and a replay uses them. " +
    "Behind '--' it runs any other program in this directory, through a local server that passes its requests on to the real API. " +
    "Claude Code, Codex, Gemini CLI, Qwen Code, opencode, pi and the SDKs find the server by themselves; other programs get its address in " +
    "CROCHET_URL, followed by /anthropic, /openai/v1 or /gemini. The fixture keeps what the program changes or removes, as it was before; " +
    "all else is that of the day it is replayed.",
  flags: [
    ["--fixture <name>", "its name in fixtures/; default: made from the prompt or the command"],
    [
      "--turns <file>",
      "the prompts of one run, one after the other: a YAML list of texts; or a prompt.md by which a model plays the user, " +
      "with persona and goal, and 'model' and 'turns' (10) on top",
    ],
    [
      "--tools ['mcp']",
      "record tool results too, in this directory itself: a replay then runs no tool that reads or writes; " +
      "'mcp': only those of MCP servers, which a replay does not start",
    ],
    ["--redact", "write placeholders for secrets; without it, a run that shows one is not kept"],
    [
      "--normalise <rule>",
      "a difference to ignore, in texts at a path: 'day=messages.**=\\d+ days ago'; the tape keeps it",
    ],
    ...RUN_FLAGS.filter(([flag]) => /^--(model|cwd|settings|trust|permission-mode)\b/.test(flag)),
    [
      "--once",
      "do not run it again to see that it replays; of a program, what it prints and its files are not compared then",
    ],
    [
      "--files <dir>",
      "of a program: work in a copy of this folder, and keep all of it: for input that must stay as it is; 'none': keep " +
      "nothing of this directory, for one that is too large: a replay works in it too",
    ],
    ["--loose", "of a program: results of its tools may differ; they are still reported"],
    ["--mcp <how>", "of a program: 'live': MCP servers are not recorded, and run for real in a replay too"],
    ["--timeout <seconds>", "of a program: end it after this time"],
    ["--json", "print JSON"],
  ],
  example: `crochet record agent.ts "fix the typo" && crochet replay`,
};

/** What only one kind of run takes. */
const OF_AGENTS = ["turns", "model", "cwd", "settings", "trust", "permission-mode"];
const OF_PROGRAMS = ["files", "loose", "mcp", "timeout"];

export default command(USAGE, async (typed, io) => {
  const { words, command } = commandBehind(typed, "crochet record -- COMMAND");
  if (command) return await recordProgram(words, command, typed.flags, io);
  const { flags } = typed;
  refuseOther(flags, OF_PROGRAMS, "without a command as it is of another program: put that behind '--'");
  const { script, words: said } = scriptAndWords(words, undefined, io);
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
  const persona = spoken.user === undefined ? [] : [resolve(io.cwd, String(flags.turns))];
  // What servers of the project say is kept: a replay starts none.
  const tools = toolsAsked(flags) || (session.mcp ? "mcp" : false);
  const place = { workspace, script, persona, tools, io };
  const terminal = io.tty && !flags.json ? await runGift("terminal") : undefined;
  const record = (more: Partial<ReplayOptions>) => recordInto(folder, agent, place, { ...options, ...more });
  const { result, report, ms, events } = terminal ? await watched(terminal, record, io) : await record({
    on: (event) => {
      const line = event.type === "warning" ? plainText(event.message) : refused.see(event);
      if (line !== undefined) io.err(`crochet: ${line}\n`);
    },
  });
  if (spoken.user) writeFileSync(join(folder, USER_FILE), spoken.user.text);
  await trustRecorded(folder, io);
  const fixture = relative(io.cwd, folder);
  // From the tape: the result does not include the cost of sub-agents.
  const { header, calls } = await readTape(fixtureAt(folder).tape);
  const isOver = flags.once === true || result.stop === "aborted" || io.signal.aborted;
  if (!isOver && happensAgain(header, events)) io.err(`${runsAgain(" outside this directory")}\n`);
  const again = isOver ? undefined : await replayedAnew(folder, script, flags, io);
  const isFailed = again?.word === "broken";
  const proof = isFailed ? "broken" : again?.word === "held" ? "held" : "open";
  if (flags.json) io.data({ fixture, stop: result.stop, calls: report.calls.live, ms, proof });
  else {
    io.out(`recorded ${fixture}: ${result.stop}, ${priceText(priceOf(calls))}, ${PROOF[proof]}\n`);
    io.out(`crochet replay ${relative(join(io.cwd, FIXTURES), folder)}\n`);
  }
  if (result.stop === "denied" && !io.tty) io.err(`crochet: ${plainText(result.text)}\n`);
  if (result.error) {
    if (!terminal) io.err(`crochet: ${result.error.message}\n`);
    io.err(`the tape keeps this failure, to be replayed as it is: delete ${fixture} to record another run\n`);
  }
  if (again?.why !== undefined) io.err(`  ${again.why.replaceAll("\n", "\n  ")}\n`);
  return result.stop === "error" || result.stop === "aborted" || isFailed ? EXIT.failed : EXIT.ok;
});

/** Replays a recording as `crochet replay` will: a script is loaded anew, as it may say something else each time. */
async function replayedAnew(
  folder: string,
  script: string | undefined,
  { trust }: Flags["flags"],
  io: Io,
): Promise<Pick<ReplayedItem, "word" | "why"> | undefined> {
  const name = nameIn(io.cwd, folder);
  const loadsNothing = script === undefined || io.runsHere;
  if (loadsNothing) return await judgedFixture({ ...fixtureAt(folder), name }, {}, { trust }, io);
  const [command, ...args] = ownArgv("cli/main", "replay", name, "--json", ...trust === true ? ["--trust"] : []);
  const { stdout, stderr } = await runProcess({ command, args, cwd: io.cwd, env: io.env, signal: io.signal });
  if (io.signal.aborted) return undefined;
  const { items: [item] = [] } = objectOf(parsed(stdout)) as { items?: readonly ReplayedItem[] };
  return item ?? { word: "broken", why: stderr.trim() };
}

/** Whether a replay runs a tool that may reach out of its copy of the files: a shell, or one of the agent's own. */
function happensAgain({ tools, mcp }: ResultsKept, events: readonly RunEvent[]): boolean {
  const names = events.flatMap((event) => event.type === "tool_start" ? [event.name] : []);
  return !tools && names.some((name) => (name === "Bash" || !toolRow(name)) && !(mcp && name.startsWith("mcp__")));
}

/** Records what is not an agent of ours, if an extension here does that. */
async function recordProgram(
  words: readonly string[],
  command: readonly string[],
  flags: Flags["flags"],
  io: Reporter,
): Promise<number> {
  refuseOther(flags, ["tools"], "with a command as it is of an agent: --loose lets results of its tools differ");
  if (words.length > 0) throw new UsageError(`Cannot record '${words[0]}' and a command: leave one of them out`);
  refuseOther(flags, OF_AGENTS, "with a command as it is of an agent: leave it out");
  const { record } = expectGiven(await giftOf("programs"), "'--'");
  const folder = folderFor(String(flags.fixture ?? nameFor(command.join(" "))), io);
  const { normalise = [] } = flags.normalise === undefined ? {} : normaliserAsked(flags.normalise);
  return await record({ folder, command, flags, normalise }, io);
}

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
  const prompt = await promptOf(words, io);
  const file = flags.turns === undefined ? undefined : String(flags.turns);
  if (file !== undefined && prompt.trim() !== "") {
    throw new UsageError("Cannot record with --turns and a prompt: the file says what is asked");
  }
  if (file?.endsWith(".md")) {
    const { readUser } = await import("../agent/simulated-user.ts");
    const user = await readUser(resolve(io.cwd, file)).catch(asUsage);
    return { user, name: nameFor(basename(file).replace(/(\.prompt)?\.md$/, "")) };
  }
  const turns = file === undefined ? [prompt] : await turnsIn(file, io);
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
async function watched(
  { watch }: RunGifts["terminal"],
  record: (more: Partial<ReplayOptions>) => Promise<FixtureRun>,
  io: Io,
): Promise<FixtureRun> {
  let made: FixtureRun;
  await watch(async ({ on, permissionAsker, questionAsker, signal }) => {
    made = await record(present({ on, permissionAsker, questionAsker, signal }));
    return made.result;
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

/** What a recorded run works on; `persona`: the file of the simulated user, which the agent does not see. */
interface RecordedRun extends Required<Pick<ReplayOptions, "tools">> {
  readonly workspace: string;
  readonly script: string | undefined;
  readonly persona: readonly string[];
  readonly io: Io;
}

/** Records into a draft until the tape is written: another process may record the same fixture, and only one of them keeps it. */
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
    const kept = tools === true
      ? await changesBeside(folder, draft, workspace, io)
      : keeps && besideTape(folder, draft);
    return await runFixture({ ...fixtureAt(folder), files }, agent, {
      signal: io.signal,
      ...options,
      mode: "record",
      tools,
      project: workspace,
      agent: script === undefined ? BUILT_IN : scriptOnTape(folder, script),
      ...(tools === true && { cwd: workspace }),
      ...(kept && { workspace: kept }),
    });
  });
}

/** What a run in a directory itself changes there, as it was before: '--verify' makes the run again in a copy with it. */
async function changesBeside(
  folder: string,
  draft: string,
  directory: string,
  io: Io,
): Promise<ReplayOptions["workspace"]> {
  const { copyDirectory, keepChanged } = await import("../replay/working-copy.ts");
  const [before, kept] = [join(draft, "before"), besideTape(folder, draft)];
  try {
    const leftOut = copyDirectory(directory, before, folder);
    const ready = () => {
      const { made, leftOut: left } = keepChanged(before, { directory, draft, folder, leftOut });
      for (const { path, why } of left) io.err(`${path} is not kept with the fixture: ${why}\n`);
      kept.ready();
      return { made };
    };
    return { ...kept, ready };
  } catch (error) {
    if (!(error instanceof TapeError)) throw error;
    io.err("what the run changes is not kept with the fixture, as this directory has too much to be copied\n");
    return undefined;
  }
}
