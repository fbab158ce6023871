import { existsSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../../core/shown.ts";
import { missingProgram } from "../../hooks/process/program.ts";
import { areFixturesTrusted, standings } from "../../hooks/trust.ts";
import { reportLines } from "../../tape/drift/report.ts";
import { type Fixture, FIXTURES, fixturesIn } from "../../tape/fixture.ts";
import { readTape } from "../../tape/read.ts";
import { runFixture } from "../../tape/run-fixture.ts";
import { CONFIG_FILE, readConfig } from "../_config.ts";
import { agentScripts, besideWords, hooksHere } from "../_find-hooks.ts";
import { fixtureAgent } from "../_fixture-agent.ts";
import type { Io } from "../_io.ts";
import { several } from "../show/text.ts";
import { broken, type Check, ok, parted, warning } from "./_check.ts";

/** What a project has, and whether it works. */
export async function projectChecks(cwd: string, io: Io, replay: boolean): Promise<Check[]> {
  return [
    ...trustChecks(cwd, io),
    ...await config(cwd, io),
    ...await hooks(cwd, io),
    ...await fixtures(cwd, io, replay),
  ];
}

function trustChecks(cwd: string, io: Io): Check[] {
  return standings(cwd, io.env).map(({ thing, state, why }) => {
    if (state === "trusted") return ok("trust", `${thing} is trusted`);
    if (state === "refused") return broken("trust", `${thing} is not read: ${why}`, "put a plain file in its place");
    const how = state === "changed" ? "has changed since it was trusted" : "is not trusted";
    const runs = thing === "hooks" ? "'crochet run' without a script loads nothing of it" : "nothing in it runs";
    return warning("trust", `${thing} ${how}, so ${runs}`, "look at it, then run 'crochet trust'");
  });
}

async function config(cwd: string, io: Io): Promise<Check[]> {
  if (!existsSync(join(cwd, CONFIG_FILE))) return [];
  try {
    await readConfig(cwd, { env: io.env, err: () => {} });
    return [ok("config", `${CONFIG_FILE} is valid`)];
  } catch (error) {
    return [broken("config", (error as Error).message)];
  }
}

/** Settings have checks of their own. */
async function hooks(cwd: string, io: Io): Promise<Check[]> {
  const { listed, problems, warnings } = await hooksHere(cwd, {}, io);
  const own = problems.filter((problem) => !/settings(\.local)?\.json/.test(problem));
  const loads = ok("hooks", `'crochet run' without a script loads ${several(listed.length, "hook")}`);
  const scripts = agentScripts(cwd).map((script) => ok("hooks", besideWords(script)));
  const names = warnings.map((message) => {
    const { words, fix } = parted(message);
    return warning("hooks", words, fix!);
  });
  const wrong = own.map((problem) => {
    const { words, fix } = parted(problem);
    return broken("hooks", words, fix);
  });
  for (const { record, path } of listed) {
    const program = record.kind === "command" && path !== undefined ? missingProgram(path, io.env) : undefined;
    if (program) {
      wrong.push(broken("hooks", `${record.name} needs ${program}, which is not installed`, `install ${program}`));
    }
  }
  return [...(wrong.length === 0 ? [loads] : wrong), ...names, ...scripts];
}

/** How long all replays together may take: the rest is left to `crochet replay`. */
const PATIENCE_MS = 10_000;

async function fixtures(cwd: string, io: Io, replay: boolean): Promise<Check[]> {
  const found = fixturesIn(join(cwd, FIXTURES));
  if (found.length === 0) return [];
  // A replay runs the project's own code, so it waits for trust as hooks do.
  const trusted = replay || areFixturesTrusted(cwd, io.env);
  const end = performance.now() + PATIENCE_MS;
  const checks: Check[] = [];
  let fine = 0;
  let left = 0;
  for (const fixture of found) {
    const run = trusted && performance.now() < end && !io.signal.aborted;
    const problem = await fixtureProblem(fixture, run, io);
    if (problem) checks.push(problem);
    else if (run) fine++;
    else left++;
  }
  if (fine > 0) checks.push(ok("fixtures", `${fine} of ${found.length} replay as recorded`));
  if (left > 0) {
    const why = trusted ? "as time ran out" : "as its fixtures are not trusted";
    checks.push(
      warning("fixtures", `${left} of ${found.length} can be read and were not replayed ${why}`, "crochet replay"),
    );
  }
  return checks;
}

async function fixtureProblem(fixture: Fixture, run: boolean, io: Io): Promise<Check | undefined> {
  try {
    if (!run) {
      await readTape(fixture.tape);
      return undefined;
    }
    const { report } = await runFixture(fixture, await fixtureAgent(fixture, io.signal), { signal: io.signal });
    if (report.ok) return undefined;
    const [first = "it is not the recorded run"] = reportLines(report).map((line) => line.trim()).filter(Boolean);
    return broken(
      "fixtures",
      `${fixture.name} is stale: ${first}`,
      `crochet replay ${shellWord(fixture.name)} shows more`,
    );
  } catch (error) {
    return broken("fixtures", `${fixture.name}: ${(error as Error).message}`);
  }
}
