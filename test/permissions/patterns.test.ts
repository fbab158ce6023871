import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertLinear } from "../_processor-time.ts";
import { scratch } from "../_scratch.ts";
import { ofBash } from "./_call.ts";

const LONG = "p".repeat(5000);

test("a deny rule always sees a word that the shell would make of a pattern, braces or a tilde", () => {
  using folder = scratch();
  writeFileSync(join(folder.path, "push"), "");
  const words = [
    "[p]ush",
    "pus[h]",
    "p[uU]sh",
    "pu[s' ']h",
    "pu[s\\;]h",
    'pu[s";"]h',
    `[${LONG}]ush`,
    "pu[!x]h",
    "p?s*",
  ];
  for (const word of [...words, "{push,x}", "pu{s,}h"]) {
    const made = execFileSync("bash", ["-c", `printf '%s\\n' git ${word}`], { cwd: folder.path, encoding: "utf8" });
    assert.match(made, /^git\npush\n/, word.slice(0, 20));
    const { behavior } = ofBash(`git ${word} x`, { allow: ["Bash"], deny: ["Bash(git push *)"] });
    assert.equal(behavior, "deny", word.slice(0, 20));
  }
  const deny = {
    allow: ["Bash"],
    deny: ["Bash(ls /usr/sbin)", "Bash(rm *)", "Bash(dd of=/etc/x)", "Bash(dd p=a:/etc/x)"],
  };
  for (
    const command of [
      ...["ls ~daemon", "ls ~+", "ls ~-", "/bin/r[m' '] x", `/bin/r[${LONG}m] x`],
      ...["dd of=~/x", "dd p=a:~/x"],
    ]
  ) {
    assert.equal(ofBash(command, deny).behavior, "deny", command.slice(0, 20));
  }
  for (const command of ["[ -f x ]", "ls [x", "ls x]", "ls ']['", "ls ~/x", "dd of=a~/x"]) {
    assert.equal(ofBash(command, deny).behavior, "allow", command);
  }
});

test("no command line takes rules a time that grows with a power of its length", { timeout: 120_000 }, async () => {
  const rules = { allow: ["Bash(echo *)"], deny: ["Bash(rm *)"] };
  for (const piece of ["{", "{,", "{..", "[", "[a", "~", "*", "a=", "a:~"]) {
    await assertLinear(20_000, (size) => () => ofBash(`echo ${piece.repeat(size)}x`, rules));
  }
  await assertLinear(
    2_000,
    (size) => () => ofBash(`git ${"-c a=b ".repeat(size)}status`, { deny: ["Bash(git push *)"] }),
  );
});
