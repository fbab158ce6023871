import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Place } from "./probe.ts";

/** How to start a program where it can change nothing but its scratch place and reach no network. */
export type Confine = (argv: readonly string[], place: Place, visible: readonly string[]) => string[];

let known: Promise<Confine | undefined> | undefined;

/** The sandbox of a check, where bubblewrap is installed and works; looked for once. */
export function sandboxHere(): Promise<Confine | undefined> {
  return known ??= look();
}

async function look(): Promise<Confine | undefined> {
  if (process.platform !== "linux") return undefined;
  const bwrap = (process.env.PATH ?? "").split(delimiter).filter((dir) => dir.startsWith("/"))
    .map((dir) => join(dir, "bwrap")).find((path) => existsSync(path));
  if (bwrap === undefined) return undefined;
  const confine: Confine = (argv, place, visible) => [
    bwrap,
    ...FLAGS,
    // The machine's /tmp is not the hook's, but what is checked may lie there.
    ...["--bind", place.outside, "/tmp"],
    ...[...new Set([...OWN, ...visible, ...argv].filter(isTemporary).map(around))]
      .flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--bind", place.root, place.root, "--bind", place.kept, place.kept, "--chdir", place.project, "--"],
    ...argv,
  ];
  return await succeeds(bwrap, [...FLAGS, "--", "true"]) ? confine : undefined;
}

function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "ignore" });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}

/** The machine can be read and not written; processes, network and message queues are the hook's own. */
const FLAGS = [
  ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--die-with-parent", "--cap-drop", "ALL"],
  ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
];

/** Crochet itself, and the packages beside it: they may lie in /tmp too. */
const OWN = ["../../../../", "../../../../../../node_modules/"].map((path) =>
  fileURLToPath(new URL(path, import.meta.url))
)
  .filter((path, i) => i === 0 || existsSync(join(path, "crochet")));

const isTemporary = (path: string) => path.startsWith("/tmp/");

/**
 * Of what lies in /tmp, the whole folder it is in: scripts load what lies beside and above them. Never the runtime
 * alone: Deno takes what follows its own path among the arguments of a process for a command line of Node's.
 */
function around(path: string): string {
  return /^\/tmp\/[^/]+/.exec(path)?.[0] ?? path;
}
