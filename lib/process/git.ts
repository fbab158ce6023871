/** A repository that came from anywhere names programs in its settings: none of them runs. */
const SETTINGS = [
  "safe.bareRepository=explicit",
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "diff.external=",
].flatMap((setting) => ["-c", setting]);

/** What git says, in a directory; undefined if it fails. No other function starts git. */
export function git(cwd: string, ...args: string[]): string | undefined {
  const { GIT_EXTERNAL_DIFF: _, ...env } = process.env;
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const { status, stdout } = spawnSync("git", ["--no-pager", ...SETTINGS, ...args], { cwd, env, encoding: "utf8" });
  return status === 0 ? stdout.replace(/\n$/, "") : undefined;
}
