import { existsSync, realpathSync, statSync } from "node:fs";
import { ToolError } from "../core/tool.ts";
import { keyFile } from "../files/user-key.ts";
import { runProcess, type Wrap } from "../process/process.ts";
import { onPath } from "../process/programs.ts";
import { inside, protectedIn } from "./_path-rule.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";

/** A sandbox for commands: the workspace can be written, the rest only read, the network is not there. */
export interface Sandbox {
  readonly mode: "workspace";
  readonly roots: readonly string[];
  /** @default false */
  readonly network?: boolean;
  /** Whether git may write to `.git`, but for its hooks and settings. @default false */
  readonly git?: boolean;
  /** Further mounts, as flags of bubblewrap; the roots come after them. */
  readonly mounts?: readonly string[];
}

const OPTIONS: { readonly [option in keyof Sandbox]-?: OptionKind } = {
  mode: "any",
  roots: "a list of texts",
  network: "true or false",
  git: "true or false",
  mounts: "a list of texts",
};

const INSTALL =
  "install bubblewrap ('apt-get install bubblewrap', 'dnf install bubblewrap' or 'pacman -S bubblewrap'), or turn the sandbox off";

/**
 * How to start commands inside the sandbox. Where it cannot be had this throws: it never falls back to none.
 *
 * @example
 * ```ts
 * import { spawnSync } from "node:child_process";
 * import { openSandbox } from "crochet/tools";
 *
 * try {
 *   const inside = await openSandbox({ mode: "workspace", roots: [process.cwd()] });
 *   const [program, ...args] = inside(["touch", "/etc/anything"], process.cwd());
 *   console.log(spawnSync(program!, args).status === 0 ? "written" : "refused");
 * } catch (error) {
 *   console.error((error as Error).message); // where bubblewrap is not installed
 * }
 * ```
 */
export async function openSandbox(sandbox: Sandbox): Promise<Wrap> {
  checkOptions(sandbox, OPTIONS, "open a sandbox");
  const fail = (why: string, fix: string): never => {
    throw new ToolError(`Cannot run commands in the workspace sandbox as ${why}: ${fix}`, {
      code: "no_sandbox",
      refusedBy: "sandbox",
    });
  };
  if (sandbox.mode !== "workspace") fail(`the mode '${sandbox.mode}' is unknown`, "expected workspace");
  if (process.platform !== "linux") {
    fail("bubblewrap needs Linux", "turn the sandbox off, or work in a Linux container");
  }
  const bwrap = onPath("bwrap", process.env) ?? fail("bubblewrap is not installed", INSTALL);
  const roots = sandbox.roots.map((root) => {
    if (!existsSync(root) || !statSync(root).isDirectory()) {
      fail(`the workspace '${root}' is not a folder`, "give folders that exist");
    }
    return realpathSync(root);
  });
  if (roots.length === 0 || roots.includes("/")) {
    fail("the workspace is the whole machine", "give the folders that may be written");
  }
  const flags = [
    ...base(),
    ...(sandbox.network ? resolver() : ["--unshare-net"]),
    ...(sandbox.mounts ?? []),
    ...roots.flatMap((root) => writable(root, sandbox.git ?? false)),
  ];
  const wrap: Wrap = (argv, cwd) => [bwrap, ...flags, ...withoutKey(), "--chdir", startIn(cwd, roots), "--", ...argv];
  const problem = await tried(wrap(["true"], roots[0]!));
  if (problem !== undefined) {
    fail(`bubblewrap could not start (${problem})`, "allow user namespaces for it, or turn the sandbox off");
  }
  return wrap;
}

/** The home can be read inside, but for the key of the user's logs. */
function withoutKey(): string[] {
  const key = keyFile();
  return key === undefined ? [] : ["--ro-bind", "/dev/null", key];
}

const HIDDEN = ["/run", "/tmp", "/var/tmp"];

/** Later mounts cover earlier ones. Capabilities go, or root could mount the machine writable again. */
function base(): string[] {
  return [
    ...["user", "pid", "ipc", "uts", "cgroup-try"].map((kind) => `--unshare-${kind}`),
    ...["--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
    // Sockets of services (docker, dbus) are doors out of the sandbox, and live under /run.
    ...HIDDEN.filter((dir) => existsSync(dir)).flatMap((dir) => ["--tmpfs", dir]),
    ...["--setenv", "TMPDIR", "/tmp"],
  ];
}

/** Where the shell starts: a folder that is hidden inside leads back to the workspace, a link to where it leads. */
function startIn(cwd: string, roots: readonly string[]): string {
  const real = existsSync(cwd) ? realpathSync(cwd) : cwd;
  return HIDDEN.some((dir) => inside(real, dir)) && !roots.some((root) => inside(real, root)) ? roots[0]! : real;
}

/** Where names are resolved through a file under /run. */
function resolver(): string[] {
  const places = ["/run/systemd/resolve", "/run/resolvconf"].filter((path) => existsSync(path));
  return places.flatMap((path) => ["--ro-bind", path, path]);
}

function writable(root: string, git: boolean): string[] {
  return ["--bind", root, root, ...protectedIn(root, git).flatMap((path) => ["--ro-bind", path, path])];
}

/** What went wrong, or undefined. */
async function tried([command, ...args]: string[]): Promise<string | undefined> {
  try {
    const { code, stderr } = await runProcess({ command: command!, args, cwd: "/", env: process.env });
    return code === 0 ? undefined : stderr.trim().split("\n")[0] || `exit code ${code}`;
  } catch (error) {
    return (error as Error).message;
  }
}
