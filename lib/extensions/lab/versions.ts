import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Environment, homeOf } from "../../hooks/file/user-places.ts";
import type { HostName } from "../../hooks/hosts/index.ts";
import { runProcess } from "../../process/process.ts";
import { onPath } from "../../process/programs.ts";
import { LAB_HOSTS } from "./hosts.ts";
import { removeTree } from "../../files/tree.ts";

/** A host as it was asked for: `claude`, `claude@2.1.325`, `claude@newest`. */
export interface HostWish {
  readonly host: HostName;
  readonly version?: string;
}

export interface HostProgram {
  readonly host: HostName;
  readonly version: string;
  readonly program: string;
  /** All that belongs to it. */
  readonly folder: string;
}

export interface Getting {
  readonly env: Environment;
  /** Whether npm may be asked. */
  readonly install: boolean;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/** That there is no program of a host, or not the version that was asked for. */
export class NoProgram extends Error {
  override name = "NoProgram";
  readonly state: "not installed" | "other version";
  constructor(state: NoProgram["state"], message: string) {
    super(message);
    this.state = state;
  }
}

/** The program of a host: without a version the one on the PATH, else the newest that is installed. */
export function hostProgram(wish: HostWish, getting: Getting): Promise<HostProgram | NoProgram> {
  return foundProgram(wish, getting).catch((error) => {
    if (error instanceof NoProgram) return error;
    throw error;
  });
}

async function foundProgram({ host, version }: HostWish, getting: Getting): Promise<HostProgram> {
  const { program, package: name } = LAB_HOSTS[host]!;
  const named = version === undefined ? onPath(program, getting.env) : undefined;
  if (named !== undefined) {
    const real = realpathSync(named);
    const folder = real.includes("/node_modules/") ? real.slice(0, real.lastIndexOf("/node_modules/")) : dirname(real);
    return { host, program: real, folder, version: await versionOf(real, getting) ?? "unknown" };
  }
  const { CROCHET_HOSTS } = getting.env;
  const cache = join(CROCHET_HOSTS ? resolve(CROCHET_HOSTS) : join(homeOf(getting.env), ".cache/crochet/hosts"), host);
  const cached = existsSync(cache) ? readdirSync(cache).sort(byNumber).at(-1) : undefined;
  const isNewest = version === "newest" || version === undefined && cached === undefined;
  const chosen = isNewest && getting.install
    ? (await npm(["view", name, "version"], getting)).trim()
    : isNewest
    ? cached ?? ""
    : version ?? cached!;
  const folder = join(cache, chosen);
  const path = join(folder, "node_modules/.bin", program);
  const missing = (why: string) =>
    new NoProgram("not installed", `Cannot test in ${host}${version ? `@${version}` : ""} as ${why}`);
  const there = existsSync(path) ? await versionOf(path, getting) : undefined;
  if (there === undefined && !getting.install) {
    throw missing("it is not installed: add --install (npm, often some hundred MB)");
  }
  const said = there ?? await fetched(host, chosen, folder, getting);
  if (said === chosen) return { host, version: said, program: path, folder };
  if (said !== undefined) {
    const fix = "delete it, and add --install";
    const why = `Cannot test in ${host}@${chosen} as the program there says that it is ${said}: ${fix}`;
    throw new NoProgram("other version", why);
  }
  removeTree(folder);
  throw missing("it does not say its version: try another");
}

const byNumber = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

/** Installs a version without its scripts; with them, if it does not start otherwise. Gives its version. */
async function fetched(host: HostName, version: string, folder: string, getting: Getting): Promise<string | undefined> {
  const { beside = [], program, package: name } = LAB_HOSTS[host]!;
  const install = async (...flags: string[]) => {
    mkdirSync(folder, { recursive: true });
    const quiet = ["--no-save", "--no-audit", "--no-fund"];
    await npm(["install", "--prefix", folder, ...quiet, ...flags, `${name}@${version}`, ...beside], getting);
    return await versionOf(join(folder, "node_modules/.bin", program), getting);
  };
  getting.say(`installing ${name}@${version}`);
  const plain = await install("--ignore-scripts");
  if (plain !== undefined) return plain;
  getting.say(`${name}@${version} does not start without its install scripts: installing again with them`);
  removeTree(folder);
  return await install();
}

/** The version that a program says; undefined if it says none. */
async function versionOf(program: string, { env, signal }: Getting): Promise<string | undefined> {
  const home = mkdtempSync(join(tmpdir(), "crochet-lab-"));
  try {
    const around = { PATH: `${dirname(program)}:${env.PATH}`, HOME: home, TERM: "dumb" };
    const options = { command: program, args: ["--version"], cwd: home, env: around, timeout: 60_000, signal };
    const { code, stdout } = await runProcess(options);
    return code === 0 ? /\d+\.\d+\.\d+[\w.-]*?(?=[.\s]|$)/.exec(stdout)?.[0] : undefined;
  } catch {
    return undefined; // it cannot be started
  } finally {
    removeTree(home);
  }
}

/** @throws {NoProgram} with what npm said last */
async function npm(args: readonly string[], { env, signal }: Getting): Promise<string> {
  const fail = (why: string) => new NoProgram("not installed", `Cannot run 'npm ${args.join(" ")}' as ${why}`);
  const options = { command: "npm", args, cwd: tmpdir(), env: { ...env }, timeout: 600_000, signal };
  const { code, stdout, stderr } = await runProcess(options).catch((error) => {
    throw fail((error as Error).message);
  });
  if (code === 0) return stdout;
  throw fail(/^npm error (?!code)(.+)$/m.exec(stderr)?.[1] ?? `it ended with ${code}`);
}
