import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BIN = join(ROOT, "node_modules/.bin");
/** The Node that the package is tried on, where the machine has none as new. */
const NODE = "24.21.0";

export interface Installed {
  /** Everything below it can go. */
  readonly folder: string;
  /** The folder of a project that has the package from its tarball, and nothing else of ours. */
  readonly project: string;
  /** The tarball. */
  readonly tarball: string;
  /** The names of the files in the tarball. */
  readonly packed: readonly string[];
  /** A folder with nothing but the runtime in it, for PATH. */
  readonly only: { readonly bun: string; readonly deno: string; readonly node: string | undefined };
}

/**
 * Builds the package in a copy, packs it, and installs the tarball into an empty project.
 *
 * @throws {Error} where the registry cannot be reached, with `registry` in its message
 */
export function install(): Installed {
  const folder = mkdtempSync(join(tmpdir(), "crochet-package-"));
  try {
    return installIn(folder);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
}

function installIn(folder: string): Installed {
  const copy = join(folder, "copy");
  mkdirSync(copy);
  for (const name of ["lib", "hooks", ".ci", "package.json", "tsconfig.json", "README.md", "LICENSE"]) {
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  run(copy, join(BIN, "bun"), "run", ".ci/build.ts");
  const [{ filename, files }] = JSON.parse(run(copy, "npm", "pack", "--ignore-scripts", "--json"));

  const tarball = join(copy, filename);
  return {
    folder,
    project: projectWith(folder, "project", tarball),
    tarball,
    packed: files.map(({ path }: { path: string }) => path),
    only: {
      bun: alone(folder, "bun", join(BIN, "bun")),
      // What is in .bin is a script for Node.
      deno: alone(folder, "deno", run(copy, join(BIN, "deno"), "eval", "console.log(Deno.execPath())").trim()),
      node: node(folder),
    },
  };
}

/** A new project that has these packages. */
function projectWith(folder: string, name: string, ...packages: string[]): string {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "name": "tried", "private": true, "type": "module" }\n');
  writeFileSync(join(project, "deno.json"), '{ "nodeModulesDir": "manual" }');
  add(project, ...packages);
  return project;
}

function add(cwd: string, ...packages: string[]): void {
  try {
    run(cwd, join(BIN, "bun"), "add", ...packages);
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    if (/ConnectionRefused|ENOTFOUND|EAI_AGAIN|Unable to connect|timed out/i.test(stderr)) {
      throw new Error(`Cannot install as the registry cannot be reached: ${stderr.trim().split("\n").at(-1)}`);
    }
    throw error;
  }
}

/** The machine's own Node where it is new enough, else one out of the registry; undefined where that has none. */
function node(folder: string): string | undefined {
  try {
    const found = execFileSync("node", ["-p", "process.versions.node"], { encoding: "utf8" });
    const own = execFileSync("node", ["-p", "process.execPath"], { encoding: "utf8" }).trim();
    if (Number(found.split(".")[0]) >= 24) return alone(folder, "node", own);
  } catch {
    // There is none.
  }
  const name = `node-${process.platform}-${process.arch}`;
  const place = join(folder, "node");
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), '{ "private": true }');
  try {
    add(place, `${name}@${NODE}`);
  } catch {
    return undefined;
  }
  const binary = join(place, "node_modules", name, "bin/node");
  return existsSync(binary) ? alone(folder, "node", binary) : undefined;
}

/** A folder for PATH in which a runtime is, and beside it what a shell script may call. */
function alone(folder: string, name: string, binary: string): string {
  const place = join(folder, `only-${name}`);
  mkdirSync(place);
  symlinkSync(binary, join(place, name));
  if (name === "bun") symlinkSync(binary, join(place, "bunx"));
  symlinkSync("/usr/bin/env", join(place, "env"));
  for (const dir of ["/usr/bin", "/bin"]) {
    for (const tool of ["sh", "readlink", "git"]) {
      if (existsSync(join(dir, tool)) && !readdirSync(place).includes(tool)) {
        symlinkSync(join(dir, tool), join(place, tool));
      }
    }
  }
  return place;
}

/** Runs a program to its end; its output. What it says on stderr is in the error where it fails. */
export function run(cwd: string, command: string, ...args: string[]): string {
  return runIn(cwd, process.env.PATH!, command, ...args);
}

/** The same where only what is in `path` can be called. */
export function runIn(cwd: string, path: string, command: string, ...args: string[]): string {
  const env = { ...process.env, PATH: path, NO_COLOR: "1", CROCHET_HOME: join(cwd, ".crochet"), ANTHROPIC_API_KEY: "" };
  return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: "pipe", timeout: 120_000 });
}
