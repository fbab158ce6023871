import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { parsed } from "../../core/json.ts";
import { isInside } from "../../files/confine.ts";
import { removeTree, writeFiles } from "../../files/tree.ts";
import { type Environment, homeOf } from "../../hooks/file/user-places.ts";
import { ownArgv, ownCommand } from "../../hooks/own-command.ts";
import { openSandbox } from "../../permissions/sandbox.ts";
import { runProcess, type Wrap } from "../../process/process.ts";
import { onPath } from "../../process/programs.ts";
import { PACKAGE } from "../../runtime/own-copy.ts";
import type { Script } from "./script.ts";
import type { SessionEnd, SessionPlan } from "./host-session.ts";
import type { HostProgram } from "./versions.ts";

export interface HeardHook {
  readonly stdout: string;
  /** Absent if the host did not wait for its end. */
  readonly code?: number;
}

/** What a session left to be looked at. */
export interface Traces extends SessionEnd {
  readonly project: string;
  readonly fired: readonly HeardHook[];
  /** The words of every shell that was started. */
  readonly shells: readonly string[];
  /** Files of the project that were not there before. */
  readonly files: readonly string[];
}

export interface LabSession extends Pick<SessionPlan, "event" | "confined"> {
  readonly folder: string;
  /** The project before anything is installed; it is copied. */
  readonly template: string;
  /** Files that it has beside those of the template. */
  readonly files?: readonly (readonly [path: string, text: string])[];
  readonly packages: string;
  readonly host: HostProgram;
  /** Of the template's paths. */
  readonly script: Script;
  /** Writes the hook into the host's settings; absent in the twin session. */
  readonly install?: (project: string, home: string) => Promise<void>;
  readonly timeout: number;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

const NOWHERE = "http://127.0.0.1:9";

export async function holdSession(session: LabSession): Promise<Traces> {
  const { folder, template, files = [], host, event, script, install, timeout, confined, env, signal } = session;
  const below = (name: string) => join(folder, name);
  const [project, home, log, tmp] = [below("project"), below("home"), below("log"), below("tmp")] as const;
  // The same version may have been asked for twice.
  removeTree(folder);
  for (const dir of [home, log, tmp]) mkdirSync(dir, { recursive: true });
  cpSync(template, project, { recursive: true, verbatimSymlinks: true });
  writeFiles(project, files);
  writeFileSync(join(project, "node_modules/.bin/crochet"), watching(log), { mode: 0o755 });
  await install?.(project, home);
  const before = filesIn(project);
  const plan: SessionPlan = {
    ...{ host: host.host, program: host.program, event, confined, project, home, log },
    script: movedTo(project, template, script),
    timeout: timeout * 1000,
    env: {
      ...{ PATH: `${dirname(host.program)}:${env.PATH}`, HOME: home, TMPDIR: tmp, LANG: "C.UTF-8", TERM: "dumb" },
      // There is no network: retries would only take time.
      ...{ SHELL: "/bin/sh", npm_config_fetch_retries: "0" },
      ...(!confined && { HTTP_PROXY: NOWHERE, HTTPS_PROXY: NOWHERE, NO_PROXY: "127.0.0.1,localhost" }),
    },
  };
  const given = join(folder, "plan.json");
  writeFileSync(given, JSON.stringify(plan));
  const wrap = confined ? await confinement(session, log) : (argv: readonly string[]) => [...argv];
  const [command, ...args] = wrap(ownArgv("extensions/lab/host-session", given), folder);
  // A session may start its program twice.
  const limit = 2 * plan.timeout + 30_000;
  const ran = await runProcess({ command: command!, args, cwd: folder, env: plan.env, timeout: limit, signal });
  const read = (name: string) => existsSync(join(log, name)) ? readFileSync(join(log, name), "utf8") : "";
  const end = parsed(read("session.json")) as SessionEnd | undefined;
  if (!end) {
    throw new Error(`Cannot start ${host.host} as the lab failed: ${ran.stderr.trim().slice(-500)}`);
  }
  return {
    ...{ ...end, project, files: filesIn(project).filter((file) => !before.includes(file)) },
    shells: globSync("shell-*", { cwd: log }).map(read),
    fired: globSync("call-*", { cwd: log }).sort().map((call) => {
      const code = read(`${call}/code`);
      return { stdout: read(`${call}/stdout`), ...(code !== "" && { code: Number(code) }) };
    }),
  };
}

/** A value with the paths of one project as those of another. */
export function movedTo<T>(project: string, from: string, value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(from, project));
}

function filesIn(project: string): string[] {
  return readdirSync(project, { recursive: true, encoding: "utf8" })
    .filter((path) => !path.startsWith("node_modules")).sort();
}

/** A `crochet` that writes down each call, in a folder of its own as hosts run hooks side by side, and passes everything on. */
function watching(log: string): string {
  return `#!/bin/sh
shift
call=$(mktemp -d '${log}/call-'"$(date +%s%N)-XXXXXX")
cat >"$call/stdin"
${ownCommand("cli/hook")} "$@" <"$call/stdin" >"$call/stdout" 2>"$call/stderr"
code=$?
echo "$code" >"$call/code"
cat "$call/stdout"
cat "$call/stderr" >&2
exit "$code"
`;
}

/** The sandbox of a session: the person's home is hidden, and what the session needs of it can be read. */
async function confinement({ folder, packages, host, env }: LabSession, log: string): Promise<Wrap> {
  const person = homeOf(env);
  const hidden = (path: string) => [person, "/run", "/tmp", "/var/tmp"].some((dir) => isInside(path, dir));
  // A package needs those beside it, and a runtime what is beside its folder.
  const ours = /^.*?\/node_modules(?=\/)/.exec(PACKAGE)?.[0] ?? PACKAGE;
  const node = onPath("node", env);
  const needed = [host.folder, ours, packages, dirname(realpathSync(process.execPath))]
    .concat(node === undefined ? [] : dirname(dirname(realpathSync(node)))).filter((path) => existsSync(path));
  const mounts = [
    ...(person === "/" ? [] : ["--tmpfs", person]),
    ...needed.filter(hidden).flatMap((path) => ["--ro-bind", path, path]),
    ...watchedShells(folder, log),
  ];
  return await openSandbox({ mode: "workspace", roots: [folder], mounts });
}

/** Shells that write down their words, in the places of the machine's: what a call ran is known for certain. */
function watchedShells(folder: string, log: string): string[] {
  const found = ["sh", "bash", "zsh"].flatMap((name) => ["/bin", "/usr/bin"].map((dir) => join(dir, name)))
    .filter((path) => existsSync(path)).map((path) => realpathSync(path));
  // In a machine whose shell is a part of a larger program, that program cannot be replaced.
  return [...new Set(found)].filter((path) => /sh$/.test(path)).flatMap((path) => {
    const [real, shim] = [`/tmp/.shells/${basename(path)}`, join(folder, `watched-${basename(path)}`)];
    writeFileSync(shim, `#!${real}\nprintf '%s\\n' "$@" >>"${log}/shell-$$"\nexec ${real} "$@"\n`, { mode: 0o755 });
    return ["--ro-bind", path, real, "--ro-bind", shim, path];
  });
}
