import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { present } from "../core/json.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";
import { shellWord, shown } from "../core/shown.ts";
import { type DriftReport, reportLines } from "../replay/drift/drift-report.ts";
import { findFixture, type Fixture, fixtureProject } from "../replay/fixture.ts";
import { isCi } from "../replay/tape-options.ts";
import { scriptOf } from "../runtime/importing.ts";
import { judging } from "../runtime/judging.ts";
import { runFixture } from "../replay/run-fixture.ts";
import { type Replayable, USER_FILE } from "../replay/run-on-tape.ts";
import { recordsHere, withoutDesk } from "./recording.ts";
import { type RunSeen, runSeen, withRootNamed } from "../replay/seen.ts";

interface ReplayTestOptions {
  /** The prompt; needed to record a fixture. @default what was recorded; what is new is said by its `user.prompt.md` */
  prompt?: string;
  /** Goes through the SDK, byte for byte. @default false */
  wire?: boolean;
  /** Runs the tools for real and fails if a result differs; the model gets the recorded ones. @default false */
  verify?: boolean;
  /** Further differences that do not count: in texts at `path`, what `pattern` finds. */
  normalise?: readonly { name: string; path: string; pattern: string }[];
  /** The project whose `fixtures/` is meant. @default the process's directory */
  cwd?: string;
  /** Called with every event. */
  on?: (event: RunEvent) => void;
}

/** A replayed run: its Result, and what it did. Its workspace, which is deleted, is `{ROOT}` in all texts. */
export interface Replayed extends Result, RunSeen {
  /** The workspace as the run left it: text by path. */
  readonly files: { readonly [path: string]: string };
  readonly report: DriftReport;
}

/** A run that is not the recorded one. */
export class ReplayError extends Error {
  override name = "ReplayError";
  declare readonly report: DriftReport;
  /** `from` is the function that a test called. */
  constructor(message: string, report: DriftReport, from: (...given: never[]) => unknown = replay) {
    super(message);
    // Runners show where an error was thrown and all it has: the line of the test says more than ours, the message all.
    Object.defineProperty(this, "report", { value: report });
    Error.captureStackTrace(this, from);
  }
}

const OPTIONS: { readonly [option in keyof ReplayTestOptions]-?: OptionKind } = {
  prompt: "a text",
  wire: "true or false",
  verify: "true or false",
  normalise: "a list",
  cwd: "a text",
  on: "a function",
};

/**
 * Runs an agent on a recorded run, in a scratch copy of the fixture's files: no key, no network. Fails if the agent
 * makes other requests than were recorded, or fewer. A missing fixture is recorded if there is a key, but never in CI; with
 * `CROCHET_RECORD=1` what drifts is recorded again. Its `files/` may exist before, otherwise the run begins in an empty folder.
 *
 * @example
 * ```ts
 * import { agent } from "crochet";
 * import { replay, scripted } from "crochet/testing";
 *
 * const greeter = agent({ model: scripted([{ text: "hello" }]), system: "You greet." });
 * const recorded = await greeter.run("hi", { tape: { path: `${process.cwd()}/fixtures/greet`, mode: "record" } });
 * const run = await replay(greeter, "greet");
 * console.log(recorded.text === run.text, run.calls("Edit").length, run.files, run.hooks);
 * ```
 */
export async function replay(agent: Replayable, name: string, options: ReplayTestOptions = {}): Promise<Replayed> {
  if (typeof name !== "string" || name === "") {
    throw new TypeError(`Cannot replay as ${shown(name)} names no fixture: give the name of a folder in fixtures/`);
  }
  checkOptions(options, OPTIONS, `replay '${name}'`);
  if (typeof agent?.open !== "function") {
    throw new TypeError(`Cannot replay '${name}' as ${shown(agent)} is not an agent: pass what agent({...}) returns`);
  }
  try {
    return await judging(() => replayNamed(agent, name, options));
  } catch (error) {
    // Made here, it has the line of the test.
    throw error instanceof ReplayError ? new ReplayError(error.message, error.report) : error;
  }
}

async function replayNamed(agent: Replayable, name: string, options: ReplayTestOptions): Promise<Replayed> {
  const cwd = resolve(options.cwd ?? process.cwd());
  const fixture = findFixture(name, cwd);
  const missing = !existsSync(fixture.tape);
  const records = recordsHere(name);
  if (missing) await withoutDesk(async () => refuseToRecord(fixture, agent, options, cwd, records));
  const { prompt, verify, cwd: _, ...rest } = options;
  const given = present({ ...rest, prompts: prompt === undefined ? undefined : [prompt] });
  const live = (mode: "record" | "update") =>
    withoutDesk(async () => {
      const { userBeside } = await import("../agent/simulated-user.ts");
      const user = prompt === undefined ? await userBeside(fixture.folder) : undefined;
      const project = missing && { project: fixtureProject(fixture.folder) };
      return await runFixture(fixture, agent, { ...given, mode, user, ...project });
    });
  const first = missing ? await live("record") : await runFixture(fixture, agent, {
    ...given,
    mode: verify ? "verify" : "replay",
    keptFaults: verify ? undefined : async (...kept) => {
      const { giftFor } = await import("../cli/kit/extension.ts");
      return await (await giftFor("faults", fixture)).again(...kept);
    },
  });
  const run = !first.report.ok && records ? await live("update") : first;
  if (!run.report.ok) {
    throw new ReplayError(
      `The run of '${fixture.name}' is not the recorded one:\n${reportLines(run.report).join("\n")}`,
      run.report,
    );
  }
  const { result } = run;
  if ((missing || run !== first) && result.stop === "error") {
    throw new ReplayError(
      `Cannot use the run just recorded as '${fixture.name}' as it failed (${result.error?.message}): ` +
        `the tape keeps this failure, to be replayed as it is; delete ${relative(cwd, fixture.tape)} to record another`,
      run.report,
    );
  }
  if (run.broke !== undefined) throw new ReplayError(run.broke, run.report);
  const named = withRootNamed(run.root);
  const files = named(Object.fromEntries(run.files));
  return { ...named(result), files, ...runSeen(run.events, named), report: run.report };
}

function refuseToRecord(
  { name, tape, folder }: Fixture,
  agent: Replayable,
  { prompt }: ReplayTestOptions,
  cwd: string,
  records: boolean,
): void {
  const script = agent.from === undefined ? `<${agent.name}'s script>` : shellWord(relative(cwd, scriptOf(agent.from)));
  const asked = /^[^"$`\\!\n]*$/.test(prompt ?? "") ? `"${prompt ?? "<prompt>"}"` : shellWord(prompt!);
  const there = relative(process.cwd(), cwd);
  const cd = there === "" ? "" : `cd ${shellWord(there)} && `;
  const command = `${cd}crochet record ${script} ${asked} --fixture ${name}`;
  const refuse = (why: string, fix = command) =>
    new Error(`Cannot replay '${name}' as ${relative(cwd, tape)} is missing${why}: ${fix}`);
  const beside = agent.from === undefined ? cwd : dirname(scriptOf(agent.from));
  const other = findFixture(name, beside).tape;
  if (other !== tape && existsSync(other)) {
    const project = shown(relative(process.cwd(), beside) || ".");
    // A path from here would not be found by who starts the tests elsewhere, such as in the package itself.
    const fix = `give { cwd: import.meta.dirname } in a test beside it, or else { cwd: ${project} }`;
    throw refuse(" and there is one beside the agent", fix);
  }
  if (isCi(process.env)) throw refuse(" and CI does not record");
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL } = process.env;
  if (!records && !ANTHROPIC_API_KEY && !OPENAI_API_KEY && !OPENAI_BASE_URL) {
    throw refuse(", and there is no ANTHROPIC_API_KEY to record it with");
  }
  if (prompt === undefined && !existsSync(join(folder, USER_FILE))) {
    throw refuse(", and no prompt is given to record it with");
  }
}
