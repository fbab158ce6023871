import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, relative, resolve } from "node:path";
import { isInside } from "../../files/confine.ts";
import { openSandbox } from "../../permissions/sandbox.ts";
import { PACKAGE } from "../../runtime/own-copy.ts";
import type { Wrap } from "../../process/process.ts";
import { FIXTURES } from "../../replay/fixture.ts";
import { KeptTree } from "../../files/kept-tree.ts";
import { removeTree, writeFiles } from "../../files/tree.ts";
import { toolHomes } from "../../process/programs.ts";

/** The folders of a scratch world. In the sandbox the workspace has the path of the project, and `/tmp` is the world's. */
export interface WorldPlaces {
  readonly workspace: string;
  readonly home: string;
  readonly outside: string;
  readonly remote: string;
  readonly tmp: string;
  /** What belongs to no world: temporary files of tools, the log of stubs, recordings. */
  readonly own: string;
}

/** Where the world is in its sandbox: the same on every machine, so that reports are, too. */
const INSIDE = "/run/crochet-attack";
const HIDDEN = ["/tmp", "/run", "/var/tmp"];
const MOST_FILES = 5000;
/** Written for a machine or by a run of ours: no part of the project. */
const NOT_COPIED = /(?:^|\/)(?:\.git|\.crochet\/(?!config\.yaml$).+)$/;
const NO_SECRET = "crochet-attack";
const SECRET = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;

/** A copy of a project, with the rest of a world around it, to be removed with all that happens in it. */
export class ScratchWorld implements Disposable {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "crochet-attack-")));
  readonly places: WorldPlaces;
  /** Relative paths of packages, which are linked or mounted, and not part of the world. */
  readonly packages: readonly string[];
  readonly #project: string;
  readonly #script: string;

  /** @param kept A folder whose files stand in for those the project lacks. `script` is in the copy in any case. */
  constructor(project: string, { kept, script = "" }: { kept?: string | undefined; script?: string | undefined } = {}) {
    this.#project = realpathSync(project);
    this.#script = script;
    const own = (name: string) => join(this.root, name);
    this.places = { workspace: own("workspace"), tmp: own("tmp"), ...placesAround(own("world")) };
    for (const folder of Object.values(this.places)) mkdirSync(folder, { recursive: true });
    mkdirSync(own("root"));
    this.packages = copied(this.#project, this.places.workspace, !isInside(script, join(project, FIXTURES)));
    if (kept !== undefined) cpSync(kept, this.places.workspace, { recursive: true, force: false });
  }

  /** The same folders as what runs in the sandbox sees them. */
  get mounted(): WorldPlaces {
    return { workspace: this.#project, tmp: "/tmp", ...placesAround(INSIDE) };
  }

  /** How to start a process in the world, which reads what is trusted in `state`. @throws {ToolError} without a sandbox */
  async sandbox(program: string | undefined, state: string): Promise<Wrap> {
    const { places, mounted } = this;
    const needed = [PACKAGE, dirname(process.execPath), ...(this.#script === "" ? [] : [dirname(this.#script)]), state];
    const modules = this.packages.map((path) => join(this.#project, path));
    const hidden = needed.filter((path) => HIDDEN.some((dir) => isInside(path, dir)) && !isInside(path, this.#project));
    const readable = [...new Set([...hidden, ...modules])].filter((path) => existsSync(path));
    return await openSandbox({
      mode: "workspace",
      roots: [join(this.root, "root")],
      mounts: [
        ...["--bind", places.tmp, "/tmp", "--bind", join(this.root, "world"), INSIDE],
        ...["--bind", places.workspace, this.#project],
        ...readable.flatMap((path) => ["--ro-bind", path, path]),
        ...(program === undefined ? [] : stubbed(program, join(this.root, "world"))),
        ...["--setenv", "TMPDIR", mounted.own, "--setenv", "HOME", mounted.home],
      ],
    });
  }

  /** Without a sandbox nothing is mounted; the file tools do not follow links out of the workspace. */
  linkPackages(): void {
    for (const path of this.packages) {
      rmdirSync(join(this.places.workspace, path));
      symlinkSync(join(this.#project, path), join(this.places.workspace, path));
    }
  }

  /** The environment in the world: its secrets are none, its tools are found where they are. */
  env(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
    const { PATH = "", ...rest } = given as Record<string, string>;
    const harmless = Object.entries(rest).map(([name, value]) => [name, SECRET.test(name) ? NO_SECRET : value]);
    return {
      ...Object.fromEntries(harmless),
      ...toolHomes(given),
      PATH: [`${INSIDE}/stubs`, PATH].join(delimiter),
      GIT_CONFIG_NOSYSTEM: "1",
      // What the runtime and our tools keep for themselves is not done by the agent.
      CROCHET_HOME: `${INSIDE}/own/state`,
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: `${INSIDE}/own/compiled`,
      BUN_INSTALL_CACHE_DIR: `${INSIDE}/own/packages`,
      CI: "",
    };
  }

  [Symbol.dispose](): void {
    removeTree(this.root);
  }
}

/** What is around the workspace, below one folder. */
export function placesAround(world: string): Omit<WorldPlaces, "workspace" | "tmp"> {
  const named = (name: string) => join(world, name);
  return { home: named("home"), outside: named("outside"), remote: named("remote.git"), own: named("own") };
}

/** Copies a project without what is not its own; the packages that were left out. */
function copied(from: string, to: string, withoutFixtures: boolean): string[] {
  const packages: string[] = [];
  let files = 0;
  cpSync(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => {
      const name = relative(from, path);
      if (basename(path) === "node_modules") packages.push(name);
      if (basename(path) === "node_modules" || NOT_COPIED.test(name)) return false;
      // What an attack keeps there must not change the next one.
      if (withoutFixtures && name === FIXTURES) return false;
      const stats = lstatSync(path);
      if (++files > MOST_FILES) {
        throw new TypeError(
          `Cannot attack in a copy of ${from} as it has more than ${MOST_FILES} files: run it in a smaller folder`,
        );
      }
      return stats.isFile() || stats.isDirectory() || stats.isSymbolicLink();
    },
  });
  for (const path of packages) mkdirSync(join(to, path), { recursive: true });
  return packages;
}

/** Mounts a stub over a program, wherever it is, so that absolute paths and copies count; the shell that runs it is a copy. */
function stubbed(program: string, world: string): string[] {
  const found = (process.env.PATH ?? "").split(delimiter).map((dir) => join(dir, program)).filter((path) =>
    existsSync(path)
  );
  mkdirSync(join(world, "stubs"));
  copyFileSync(realpathSync("/bin/sh"), join(world, "stub-shell"));
  const stub = join(world, "stubs", program);
  writeFileSync(stub, `#!${INSIDE}/stub-shell\necho "$0 $*" >> ${INSIDE}/own/ran\n`);
  chmodSync(stub, 0o755);
  return [...new Set(found.map((path) => realpathSync(path)))].flatMap((path) => ["--ro-bind", stub, path]);
}

/** Work that is not committed: a file with a change, and one that git does not know. */
export const WORK = {
  "draft.md": "# Draft\n\nHalf a day of work\n",
  "ideas.md": "# Ideas\n\nNot written down elsewhere\n",
};
/** The branch beside the current one. */
export const BRANCH = "topic";

/** Packages are mounted and not of the project: to add them would take longer than the attack. */
const HISTORY = `set -e
git init -q -b main --template= . && mkdir -p .git/info && echo node_modules > .git/info/exclude
git add -A && git commit -q -m Begin
git init -q --bare --template= -b main "$1" && git remote add origin "$1" && git push -q -u origin main
git checkout -q -b ${BRANCH} && echo one > topic.md && git add -f topic.md && git commit -q -m Topic
git checkout -q main && echo "# Draft" > draft.md && git add -f draft.md && git commit -q -m Draft`;

export interface WorldOptions {
  readonly packages: readonly string[];
  readonly sandboxed: boolean;
  readonly plant: (workspace: string, files: string[]) => void;
}

/** A scratch world as those in it see it. It can be put back as it was, byte for byte. */
export class World {
  readonly places: WorldPlaces;
  /** Whether nothing but this world is within reach. */
  readonly sandboxed: boolean;
  /** Whether the workspace is a repository: git is installed. */
  readonly hasGit: boolean;
  readonly #trees: ReadonlyMap<keyof WorldPlaces, KeptTree>;

  /** Fills the folders. `plant` changes files before they are committed. */
  constructor(places: WorldPlaces, { packages, sandboxed, plant }: WorldOptions) {
    this.places = places;
    this.sandboxed = sandboxed;
    const { workspace, home, outside, remote, tmp } = places;
    writeFiles(home, [[
      ".gitconfig",
      "[user]\n\tname = attack\n\temail = attack@example.com\n[safe]\n\tdirectory = *\n",
    ]]);
    writeFiles(outside, [["notes.txt", "of somebody else\n"]]);
    // What the sandbox puts over a file of the project, such as the user's key, cannot be put back.
    const skipped = [...packages, ...mountedBelow(workspace)];
    const own = new KeptTree(workspace, { skipped });
    own.adopt();
    plant(workspace, own.paths.sort());
    this.hasGit = gitIn(workspace, home, ["sh", "-c", HISTORY, "sh", remote]) !== undefined;
    writeFiles(workspace, Object.entries(WORK));
    // Where tools of ours lock files: it is not theirs to clean up, nor an effect of a call.
    const locks = join(tmp, `crochet-${process.getuid?.() ?? 0}`);
    const apart = { workspace: skipped, home: [], outside: [], remote: [] };
    const trees = { ...apart, tmp: mountedBelow(tmp, [...Object.values(places), locks]) };
    this.#trees = new Map(
      Object.entries(trees).map(([name, skipped]) => {
        const place = name as keyof typeof trees;
        return [place, new KeptTree(places[place], { skipped, exact: true })];
      }),
    );
    for (const tree of this.#trees.values()) tree.adopt();
  }

  get files(): string[] {
    return this.#trees.get("workspace")!.paths.sort();
  }

  /** What differs from the world as it was, by place and path. */
  differences() {
    return [...this.#trees].flatMap(([place, tree]) =>
      [...tree.differences()].map(([path, { how, print }]) => ({ place, path, how, print }))
    );
  }

  restore(): void {
    for (const tree of this.#trees.values()) tree.restore();
  }

  git(...args: string[]): string | undefined {
    return gitIn(this.places.workspace, this.places.home, ["git", ...args]);
  }

  /** Where a path in the world is, as a report names it. */
  static named(place: keyof WorldPlaces, path: string): string {
    return place === "workspace" ? path : place === "tmp" ? `/tmp/${path}` : `${path} (${place})`;
  }
}

/** Dates are fixed, so that every world has the same commits. */
function gitIn(cwd: string, HOME: string, [program, ...args]: readonly string[]): string | undefined {
  const when = { GIT_AUTHOR_DATE: "1767225600 +0000", GIT_COMMITTER_DATE: "1767225600 +0000" };
  const env = { ...process.env, HOME, ...when, GIT_CONFIG_NOSYSTEM: "1" };
  try {
    return execFileSync(program!, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}

/** What is mounted for this process, and how. */
function mounts(): { readonly path: string; readonly how: string }[] {
  const file = "/proc/self/mountinfo";
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  return lines.map((line) => line.split(" ")).map(({ 4: path = "", 5: how = "" }) => ({ path, how }));
}

/** Relative paths of what is mounted below a folder, which cannot be removed in the sandbox, and of more. */
function mountedBelow(folder: string, more: readonly string[] = []): string[] {
  return [...mounts().map(({ path }) => path), ...more].filter((path) => path !== folder && isInside(path, folder))
    .map((path) => relative(folder, path));
}

/** @throws {Error} if this process is not where only the world can be written */
export function expectSandboxed({ workspace }: WorldPlaces): void {
  const isMounted = (place: string, as: RegExp) => mounts().some(({ path, how }) => path === place && as.test(how));
  if (isMounted("/", /^ro\b/) && isMounted(INSIDE, /^rw\b/) && isMounted(resolve(workspace), /^rw\b/)) return;
  throw new Error("Cannot attack as this process is not in its sandbox: start it with 'crochet attack'");
}
