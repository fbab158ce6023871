import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isUnreached } from "./_online.ts";
import { ROOT } from "../_runtime.ts";
import { removeTree } from "../../lib/files/tree.ts";

const BIN = join(ROOT, "node_modules/.bin");
/** The versions of Node that the package is tried on: the newest that runs TypeScript, and one that does not. */
const NODES = { node: "24.21.0", node20: "20.20.0" };

export interface Installed {
  /** Everything below it can go. */
  readonly folder: string;
  /** The folder of a project that has the package from its tarball, and nothing else of ours. */
  readonly project: string;
  /** A clone, as far as a build needs it. */
  readonly clone: string;
  /** The tarball. */
  readonly tarball: string;
  /** The names of the files in the tarball. */
  readonly packed: readonly string[];
  /** A folder with nothing but the runtime in it, for PATH. */
  readonly only: {
    readonly bun: string;
    readonly deno: string;
    readonly node: string | undefined;
    readonly node20: string | undefined;
  };
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
    removeTree(folder);
    throw error;
  }
}

function installIn(folder: string): Installed {
  const copy = clone(join(folder, "crochet"));
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  run(copy, join(BIN, "bun"), "run", ".ci/build.ts");
  run(copy, join(BIN, "bun"), "run", ".ci/manifest.ts", "pack");
  const [{ filename, files }] = JSON.parse(run(copy, "npm", "pack", "--ignore-scripts", "--json"));

  const tarball = join(copy, filename);
  return {
    folder,
    clone: copy,
    project: projectWith(folder, "project", tarball),
    tarball,
    packed: files.map(({ path }: { path: string }) => path),
    only: {
      bun: alone(folder, "bun", join(BIN, "bun")),
      // What is in .bin is a script for Node.
      deno: alone(folder, "deno", run(copy, join(BIN, "deno"), "eval", "console.log(Deno.execPath())").trim()),
      node: node(folder, "node"),
      node20: node(folder, "node20"),
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

export function add(cwd: string, ...packages: string[]): void {
  try {
    run(cwd, join(BIN, "bun"), "add", ...packages);
  } catch (error) {
    if (!isUnreached(error)) throw error;
    const { stderr = "" } = error as { stderr?: string };
    throw new Error(`Cannot install as the registry cannot be reached: ${stderr.trim().split("\n").at(-1)}`);
  }
}

/** The files of a clone, without what is installed and built in it. */
export function clone(folder: string): string {
  mkdirSync(folder);
  const names = [
    "lib",
    "hooks",
    ".ci",
    "package.json",
    "bun.lock",
    "deno.json",
    "tsconfig.json",
    "README.md",
    "docs",
    "llms.txt",
    "LICENSE",
  ];
  for (const name of names) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  return folder;
}

/** The machine's own Node if it is of that major version, else one from the registry; undefined if that has none. */
export function node(folder: string, which: keyof typeof NODES): string | undefined {
  const wanted = NODES[which];
  try {
    const own = execFileSync("node", ["-p", "process.execPath"], { encoding: "utf8" }).trim();
    const found = execFileSync(own, ["-p", "process.versions.node"], { encoding: "utf8" });
    if (found.split(".")[0] === wanted.split(".")[0]) return alone(folder, which, own, "node");
  } catch {
    // There is none.
  }
  const name = `node-${process.platform}-${process.arch}`;
  const place = join(folder, which);
  mkdirSync(place);
  writeFileSync(join(place, "package.json"), '{ "private": true }');
  try {
    add(place, `${name}@${wanted}`);
  } catch {
    return undefined;
  }
  const binary = join(place, "node_modules", name, "bin/node");
  return existsSync(binary) ? alone(folder, which, binary, "node") : undefined;
}

/** A folder for PATH in which a runtime is, and beside it what a shell script may call. */
export function alone(folder: string, which: string, binary: string, name = which): string {
  const place = join(folder, `only-${which}`);
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
  return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: "pipe", timeout: 400_000 });
}
