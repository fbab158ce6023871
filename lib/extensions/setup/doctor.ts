import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { git } from "../../process/git.ts";
import { missingProgram, onPath } from "../../process/programs.ts";
import { statePath, userState } from "../../files/state.ts";
import { crochetVersion, runtimeVersion } from "../../runtime/version.ts";
import { standings } from "../../hooks/hook-trust.ts";
import { homeOf } from "../../hooks/file/user-places.ts";
import { openSandbox } from "../../permissions/sandbox.ts";
import { type Fixture, inScratch } from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";
import { CONFIG_FILE, readConfig } from "../../cli/kit/config.ts";
import { broken, type Check, hostChecks, ok, parted, warning } from "./doctor-hosts.ts";
import { agentScripts, besideWords, hooksHere } from "../../cli/kit/find-hooks.ts";
import { allFixtures } from "../../cli/kit/known-fixtures.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { EXIT, type Io } from "../../cli/kit/io.ts";
import { coloursFor, plainText, several } from "../../cli/show/text.ts";

const USAGE: Usage = {
  name: "doctor",
  words: "",
  about:
    "Looks at this machine, this project and the settings of other hosts, and reports what is broken and how to fix it. Nothing of the project is run.",
  flags: [["--json", "print JSON"]],
  example: "crochet doctor",
};

/** Exit code 1 if something is broken; something that is only missing is a warning. */
export default command(USAGE, async (_, io) => {
  const { cwd } = io;
  const checks = [
    ...await machineChecks(cwd, io.env),
    ...trustChecks(cwd, io),
    ...await configChecks(cwd, io),
    ...await hookChecks(cwd, io),
    ...await fixtureChecks(cwd, io),
    ...await hostChecks(cwd, io.env),
  ];
  const bad = checks.filter(({ state }) => state === "broken").length;
  const code = io.signal.aborted ? EXIT.interrupted : bad > 0 ? EXIT.failed : EXIT.ok;
  return { data: { ok: bad === 0, checks }, text: shown(checks, coloursFor(io.tty, io.env)), code };
});

function shown(checks: readonly Check[], { green, yellow, red, dim }: ReturnType<typeof coloursFor>): string {
  const marks = { ok: green("✓"), warning: yellow("!"), broken: red("✗") };
  const width = Math.max(...checks.map(({ about }) => about.length)) + 2;
  const lines = checks.flatMap(({ about, state, words, fix }) => [
    `${marks[state]} ${about.padEnd(width)}${plainText(words)}`,
    ...(fix === undefined ? [] : [dim(`  ${"".padEnd(width)}${plainText(fix)}`)]),
  ]);
  const count = (state: Check["state"]) => checks.filter((check) => check.state === state).length;
  return `${lines.join("\n")}\n\n${count("broken")} broken, ${count("warning")} to look at, ${count("ok")} fine\n`;
}

async function machineChecks(cwd: string, env: Io["env"]): Promise<Check[]> {
  return [
    ok("crochet", `${crochetVersion()} on ${runtimeVersion()}, ${process.platform} ${process.arch}`),
    runtimes(env),
    keyCheck(cwd, env),
    await sandboxCheck(),
    starts("git", git(cwd, "--version"), "install git: hooks and agents that look at changes need it"),
    await ripgrep(),
    ...[() => statePath(cwd, env, "runs"), () => userState(env)].map((dir) => writable(dir, env))
      .filter((check) => check.state !== "ok"),
  ];
}

/** What a person starts scripts with: `crochet` itself may run on a Bun that is not on their PATH. */
function runtimes(env: Io["env"]): Check {
  const found = ["bun", "deno"].filter((name) => onPath(name, env));
  if (found.length > 0) return ok("runtime", `${found.join(" and ")} on the PATH`);
  return warning(
    "runtime",
    "neither bun nor deno is on the PATH, so scripts and hooks tests do not start by themselves",
    "npm install --global bun; 'crochet run agent.ts' works without, and Node 24.2 or newer runs a script too",
  );
}

/** Whether a key is set, never the key itself. */
function keyCheck(cwd: string, env: Io["env"]): Check {
  const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL } = env;
  const at = ANTHROPIC_BASE_URL ? `, for ${hostOf(ANTHROPIC_BASE_URL)}` : "";
  if (ANTHROPIC_API_KEY) return ok("key", `ANTHROPIC_API_KEY is set${at}`);
  if (OPENAI_BASE_URL) return ok("key", `models named openai:NAME are asked at ${hostOf(OPENAI_BASE_URL)}`);
  if (OPENAI_API_KEY) return ok("key", "OPENAI_API_KEY is set, for models named openai:NAME");
  const more = existsSync(join(cwd, ".env")) ? " (a .env of a directory is not read: set -a; . ./.env; set +a)" : "";
  const words = "ANTHROPIC_API_KEY is not set: models cannot be called, but replay, tests and hooks work";
  return warning("key", words, `export ANTHROPIC_API_KEY=…${more}`);
}

/** A URL may carry a name and a password. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an address that is not a URL";
}

async function sandboxCheck(): Promise<Check> {
  try {
    await inScratch(undefined, (root) => openSandbox({ mode: "workspace", roots: [root] }));
    return ok("sandbox", "bubblewrap starts: commands can be confined to the workspace");
  } catch (error) {
    const { words, fix = "run without sandbox" } = parted((error as Error).message);
    return warning("sandbox", words, fix);
  }
}

async function ripgrep(): Promise<Check> {
  const { findRipgrep } = await import("../../tools/search/ripgrep.ts");
  const path = findRipgrep();
  const fix = "install ripgrep, or crochet again with its optional dependencies: Grep needs it";
  if (path === undefined) return warning("ripgrep", "not installed", fix);
  const { status, stdout } = spawnSync(path, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return starts("ripgrep", status === 0 ? stdout.split("\n", 1)[0]! : undefined, fix, path);
}

/** A program by the version it names; undefined if it did not start. */
function starts(about: string, version: string | undefined, fix: string, path = about): Check {
  return version === undefined ? warning(about, `'${path}' does not start`, fix) : ok(about, version);
}

function writable(dir: () => string, env: Io["env"]): Check {
  let at = "";
  try {
    at = dir();
    while (!existsSync(at) && at !== dirname(at)) at = dirname(at);
    accessSync(at, constants.W_OK);
    return ok("state", at);
  } catch (error) {
    const { words, fix: removal } = parted((error as Error).message);
    if (error instanceof TypeError) return broken("state", words, removal);
    const fix = at.startsWith(homeOf(env)) ? `make ${at} writable for you` : "set CROCHET_HOME to a directory of yours";
    return broken("state", `${at} cannot be written, so no run can be kept`, fix);
  }
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

async function configChecks(cwd: string, io: Io): Promise<Check[]> {
  if (!existsSync(join(cwd, CONFIG_FILE))) return [];
  try {
    await readConfig(cwd, { env: io.env, err: () => {} });
    return [ok("config", `${CONFIG_FILE} is valid`)];
  } catch (error) {
    return [broken("config", (error as Error).message)];
  }
}

/** Settings have checks of their own. */
async function hookChecks(cwd: string, io: Io): Promise<Check[]> {
  const { listed, problems, warnings } = await hooksHere(cwd, {}, io, { imports: false });
  const own = problems.filter((problem) => !/settings(\.local)?\.json/.test(problem));
  const loads = ok("hooks", `'crochet run' without a script loads ${several(listed.length, "hook")}`);
  const scripts = agentScripts(cwd).map((script) => ok("hooks", besideWords(script)));
  const names = warnings.map((message) => parted(message)).map(({ words, fix }) => warning("hooks", words, fix!));
  const wrong = own.map((message) => parted(message)).map(({ words, fix }) => broken("hooks", words, fix));
  for (const { record, path } of listed) {
    const program = record.kind === "command" && path !== undefined ? missingProgram(path, io.env) : undefined;
    const words = `${record.name} needs ${program}, which is not installed`;
    if (program) wrong.push(broken("hooks", words, `install ${program}`));
  }
  return [...(wrong.length === 0 ? [loads] : wrong), ...names, ...scripts];
}

async function fixtureChecks(cwd: string, io: Io): Promise<Check[]> {
  const fixtures = allFixtures({ ...io, cwd });
  const wrongIn = ({ name, tape }: Fixture) =>
    readTape(tape).then(() => [], (error: Error) => [broken("fixtures", `${name}: ${error.message}`)]);
  const wrong = (await Promise.all(fixtures.map(wrongIn))).flat();
  const fine = fixtures.length - wrong.length;
  const readable = ok("fixtures", `${fine} of ${fixtures.length} can be read: 'crochet replay' replays them`);
  return fine === 0 ? wrong : [...wrong, readable];
}
