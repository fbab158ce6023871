import assert from "node:assert/strict";
import { test } from "node:test";
import { shipped } from "./_shipped.ts";

const DENIED = [
  "git push --force",
  "git push -f origin main",
  "git push origin +main",
  "git push -uf origin x",
  "git -C /repo push --force",
  "cd x && git push --force origin main; ls",
  "git push origin --delete main",
  "git push origin :main",
  "git reset --hard HEAD~3",
  "git clean -fdx",
  "git clean -d --force",
  "git checkout .",
  "git checkout -- .",
  "git restore .",
  "git branch -D work",
  "git branch -d --force work",
  "git branch -f work HEAD~1",
  "git branch -M work",
  "git checkout -B work",
  "git switch -C work",
  "git fetch . +HEAD:work",
  "git update-ref refs/heads/work HEAD~1",
  "git stash clear",
  "git stash drop stash@{0}",
  'git commit --no-verify -m "x"',
  "git commit -nm x",
  "(git push '--force')",
  "echo $(git reset --hard)",
  "/usr/bin/git -c core.x=1 reset --hard",
];
const FINE = [
  "git push",
  "git push --force-with-lease",
  "git push -u origin work",
  "git reset HEAD~1",
  "git reset --soft HEAD~1",
  "git clean -n",
  "git clean -fdn",
  "git checkout -b work",
  "git checkout main",
  "git checkout -- src/a.ts",
  "git restore --staged .",
  "git restore src/a.ts",
  "git branch -d work",
  "git branch -m work",
  "git switch -c work",
  "git fetch origin main",
  "git stash",
  "git stash pop",
  'git commit -m "never push --force, never reset --hard"',
  "git log --oneline -n 5",
  "echo git",
  "ls",
];

test("git-safety refuses what throws away history or work, and nothing else", async () => {
  const { call } = await shipped("pre-tool-use@Bash.git-safety.ts", "/tmp");
  const of = async (command: string) => (await call("Bash", { command })).decision;
  for (const command of DENIED) assert.equal(await of(command), "deny", command);
  for (const command of FINE) assert.equal(await of(command), "continue", command);
});

test("git-safety says which command and why", async () => {
  const { call } = await shipped("pre-tool-use@Bash.git-safety.ts", "/tmp");
  const { reason } = await call("Bash", { command: "git status && git push --force origin main" });
  assert.match(reason!, /^Not 'git push --force origin main': it overwrites/);
});
