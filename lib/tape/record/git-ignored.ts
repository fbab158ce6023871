import { spawnSync } from "node:child_process";
import { relative } from "node:path";

/**
 * Warns of files of a fixture that git would not commit, such as a build that a run began with: here they are there, and
 * in a clone the replay drifts. Undefined where there are none, or nobody uses git.
 */
export function gitIgnored(fixture: string, cwd: string): string | undefined {
  const { status, stdout } = spawnSync("git", ["ls-files", "--others", "--ignored", "--exclude-standard", "-z"], {
    cwd: fixture,
    encoding: "utf8",
  });
  const [first, ...more] = status === 0 ? stdout.split("\0").filter((path) => path !== "") : [];
  if (first === undefined) return undefined;
  const folder = relative(cwd, fixture) || ".";
  const others = more.length === 0 ? "" : ` and ${more.length} more`;
  return `git ignores ${folder}/${first}${others}, without which a clone cannot replay it: git add --force ${folder}`;
}
