import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { homeOf, userState } from "../../hooks/file/places.ts";
import { openSandbox } from "../../permissions/sandbox.ts";
import { crochetVersion, runtimeVersion } from "../../files/version.ts";
import { onPath } from "../../files/on-path.ts";
import type { Io } from "../_io.ts";
import { stateDir } from "../../files/state-dir.ts";
import { broken, type Check, ok, parted, warning } from "./_check.ts";

/** What the machine and the environment have for us. */
export async function machineChecks(cwd: string, env: Io["env"]): Promise<Check[]> {
  return [
    ok("crochet", `${crochetVersion()} on ${runtimeVersion()}, ${process.platform} ${process.arch}`),
    runtimes(env),
    key(cwd, env),
    await sandbox(),
    program("git", ["--version"], "install git: hooks and agents that look at changes need it"),
    await ripgrep(),
    ...[stateDir(cwd, env), userState(env)].map((dir) => writable(dir, env)).filter((check) => check.state !== "ok"),
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
function key(cwd: string, env: Io["env"]): Check {
  const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL } = env;
  const at = ANTHROPIC_BASE_URL ? `, for ${hostOf(ANTHROPIC_BASE_URL)}` : "";
  if (ANTHROPIC_API_KEY) return ok("key", `ANTHROPIC_API_KEY is set${at}`);
  return warning(
    "key",
    "ANTHROPIC_API_KEY is not set: models cannot be called, but replay, tests and hooks work",
    existsSync(join(cwd, ".env"))
      ? "export ANTHROPIC_API_KEY=… (a .env of a directory is not read: set -a; . ./.env; set +a)"
      : "export ANTHROPIC_API_KEY=…",
  );
}

/** A URL may carry a name and a password. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an ANTHROPIC_BASE_URL that is not a URL";
}

async function sandbox(): Promise<Check> {
  const root = mkdtempSync(join(tmpdir(), "crochet-doctor-"));
  try {
    await openSandbox({ mode: "workspace", roots: [root] });
    return ok("sandbox", "bubblewrap starts: commands can be confined to the workspace");
  } catch (error) {
    const { words, fix = "run without sandbox" } = parted((error as Error).message);
    return warning("sandbox", words, fix);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function ripgrep(): Promise<Check> {
  const { findRipgrep } = await import("../../tools/search/ripgrep.ts");
  const path = await findRipgrep();
  const fix = "install ripgrep, or crochet again with its optional dependencies: Grep needs it";
  return path === undefined ? warning("ripgrep", "not installed", fix) : program(path, ["--version"], fix, "ripgrep");
}

function program(path: string, args: readonly string[], fix: string, about = path): Check {
  const { status, stdout } = spawnSync(path, args, { encoding: "utf8", timeout: 10_000 });
  if (status === 0) return ok(about, stdout.split("\n", 1)[0]!.trim());
  return warning(about, `'${path}' does not start`, fix);
}

function writable(dir: string, env: Io["env"]): Check {
  let at = dir;
  while (!existsSync(at) && at !== dirname(at)) at = dirname(at);
  try {
    accessSync(at, constants.W_OK);
    return ok("state", dir);
  } catch {
    const fix = dir.startsWith(homeOf(env))
      ? `make ${at} writable for you`
      : "set CROCHET_HOME to a directory of yours";
    return broken("state", `${at} cannot be written, so no run can be kept`, fix);
  }
}
