import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { testData } from "../_data.ts";
import { noSandbox } from "../_needs.ts";
import { put, scratch } from "../_scratch.ts";
import { behavior } from "./_call.ts";

/** Lines for one shell, one after the other, that may remove the file `foo`. */
interface Way {
  readonly name: string;
  readonly lines: readonly string[];
}

const FOUND: readonly Way[] = readFileSync(testData("deny-rm.jsonl"), "utf8").trim().split("\n")
  .map((line) => JSON.parse(line));
/** Found later, when programs that run their arguments were still a list. */
const LATER: readonly Way[] = [
  ...["bash +x -c 'rm foo'", "sh +e -c 'rm foo'", "echo 'rm foo' | bash /dev/stdin", "rbash -c 'rm foo'"],
  ...[
    "prlimit rm foo",
    "env -Srm foo",
    "env -S \"r''m foo\"",
    "script -qc '/bin/r? foo' /dev/null",
    "flock l -c'rm foo'",
  ],
  ...[
    "printf 'r%s foo' m | sh",
    "echo xrm foo | cut -c2- | xargs env",
    "nice bash -c 'r$()m foo'",
    "sh -c $'\\x72m foo'",
  ],
  ...["printf '\\162m foo' > s; sh s", "git init -q .; git -c alias.z='!r$()m foo' z", "/proc/self/exe -c 'r$()m foo'"],
  ...["timeout 5 git init -q .; nice git -c alias.z='!r$()m foo' z", "find foo -exec rm {} +", "env sh -c 'r$()m foo'"],
].map((line) => ({ name: line, lines: [line] }));
/** What removes a file by itself, or runs code of its own that rules do not read. */
const INSIDE: readonly Way[] = [
  { name: "unlink", lines: ["unlink foo"] },
  { name: "find -delete", lines: ["find foo -delete"] },
  { name: "python", lines: ["python3 -c 'import os; os.unlink(\"foo\")'"] },
  { name: "perl", lines: ["perl -e 'unlink \"foo\"'"] },
  { name: "a script", lines: ["printf '\\162m foo' > s", "sh s"] },
  { name: "su's own shell", lines: ["su -c 'r$()m foo'"] },
];

/** Whether the lines, run in a folder that is all they can write, remove `foo` from it. */
function removes({ lines }: Way): boolean {
  using folder = scratch({ foo: "" });
  const { path } = folder;
  const all = 'for line; do eval "$line" </dev/null; done; wait';
  const world = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", path, path];
  const bounds = ["--unshare-all", "--new-session", "--die-with-parent", "--chdir", path, "--setenv", "HOME", path];
  spawnSync("bwrap", [...world, ...bounds, "bash", "--norc", "-c", all, "bash", ...lines], {
    stdio: "ignore",
    timeout: 4_000,
    killSignal: "SIGKILL",
  });
  return !existsSync(join(path, "foo"));
}

/** Whether every line runs unasked though `rm` is denied. */
function passes({ lines }: Way): boolean {
  using folder = scratch({ foo: "" });
  // What a line leaves behind is there when the next one is judged.
  if (lines.length > 1) put(folder.path, { s: "" });
  const permissions = { mode: "bypass", deny: ["Bash(rm *)"], roots: [folder.path] } as const;
  return lines.every((line) => behavior(line, permissions, folder.path) === "allow");
}

test("deny Bash(rm *): no line that passes ever removes a file, but by a program that does it inside itself", {
  skip: noSandbox,
}, () => {
  const known = new Set(INSIDE.map(({ name }) => name));
  let removed = 0;
  for (const way of [...FOUND, ...LATER, ...INSIDE]) {
    const [isRemoved, isPassed] = [removes(way), passes(way)];
    removed += Number(isRemoved);
    if (isRemoved) assert.equal(isPassed, known.has(way.name), `${way.name}: ${way.lines.join(" ⏎ ")}`);
  }
  assert.ok(removed > 100, `${removed} ways remove the file if nothing denies it`);
});
