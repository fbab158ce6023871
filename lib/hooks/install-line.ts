import { isAbsolute, join } from "node:path";
import { HOST_NAMES, type HostName, HOSTS } from "./hosts/index.ts";
import { ownCommand } from "./own-command.ts";

export interface HostEntry {
  readonly event: string;
  readonly matcher?: string | undefined;
  readonly hook: { readonly type: "command"; readonly command: string; readonly [field: string]: unknown };
}

/** The line that serves a hook file on this machine alone: runtime, script and file by their absolute paths. */
export function absoluteLine(file: string, host: HostName): string {
  return ownCommand("cli/hook", file, "--dialect", host);
}

/** What the host reads if crochet, or a runtime for it, is missing: an answer, or nothing. */
export type Absent = object | "";

/** The line for settings that a team shares, which finds the project and crochet. `plugin`: the variable with its folder. */
export function portableLine(file: string, host: HostName, absent: Absent, plugin?: string): string {
  const { lists } = HOSTS[host].settings;
  // Its plugin finds the project and crochet itself.
  if (!lists) return `crochet hook "${quoted(file)}" --dialect ${host}`;
  const { root, findRoot, worktreeOf } = lists.project;
  const folders = [root, ...worktreeOf === undefined ? [] : [worktreeOf]];
  const line = [
    `PATH="${folders.map((folder) => `${folder}/node_modules/.bin:`).join("")}$PATH"`,
    `export CROCHET_ABSENT="${quoted(absent === "" ? "" : JSON.stringify(absent))}"`,
    `command -v crochet >/dev/null || { printf %s "$CROCHET_ABSENT"; exit; }`,
    `exec crochet hook "${plugin ?? root}/${quoted(file)}" --dialect ${host}`,
  ].join("; ");
  return findRoot === undefined ? line : `sh -c '${`${findRoot}; ${line}`.replaceAll("'", "'\\''")}'`;
}

function quoted(text: string): string {
  return text.replace(/["\\$`]/g, "\\$&");
}

const DIALECT = `--dialect (?:${HOST_NAMES.join("|")})$`;
const ABSOLUTE = new RegExp(
  `(?:\\bcli/hook\\.[jt]s'?| npm:crochet@\\S+ hook) ('(?:[^']|'\\\\'')+'|\\S+) ${DIALECT}`,
);
const PORTABLE = new RegExp(
  `(?:; exec crochet hook "\\$\\{?\\w+\\}?/|^crochet hook ")((?:[^"\\\\]|\\\\.)+)" ${DIALECT}`,
);

/** The file that a line of ours serves in a project; undefined for a line that is not ours. */
export function installedFile(command: string, project: string): string | undefined {
  const inner = /^sh -c '(.*)'$/s.exec(command)?.[1]?.replaceAll("'\\''", "'") ?? command;
  const below = PORTABLE.exec(inner)?.[1];
  if (below !== undefined) return join(project, below.replace(/\\(.)/g, "$1"));
  const file = ABSOLUTE.exec(command)?.[1];
  return file?.startsWith("'") ? file.slice(1, -1).replaceAll("'\\''", "'") : file;
}

/** Whether a line of ours holds on this machine alone. */
export function isAbsoluteLine(command: string): boolean {
  return isAbsolute(ABSOLUTE.exec(command)?.[1]?.replace(/^'/, "") ?? "");
}
