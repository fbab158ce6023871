import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { onPath } from "../../../lib/process/programs.ts";
import { agentScript, attackIn, DENY_ALL, guarded, NO_ENV } from "./_guarded.ts";
import { noSandbox } from "../../_needs.ts";
import { place } from "../../_place.ts";

const skip = noSandbox;

test("crochet attack refuses what it cannot do before anything runs, with exit code 2", async () => {
  using here = guarded();
  const table: [args: string[], says: RegExp][] = [
    [[], /Cannot attack as nothing is named that must never happen: --never changes:<glob>/],
    [
      ["--never", "change:.env"],
      /Cannot attack 'change:\.env' as there is no such property: did you mean 'changes:<glob>'\?/,
    ],
    [["--never", "changes"], /as a glob is missing: write changes:<glob>/],
    [["--never", "pushes:main"], /as nothing follows this word: write pushes/],
    [["--never", "model-calls:many"], /as that is not a number: write model-calls:20/],
    [["--never", "pushes", "--accept", "all"], /Cannot accept 'all' as there is no such kind: expected interpreters/],
    [["--never", "pushes", "--person", "maybe"], /Cannot let a person answer 'maybe': expected refuse or allow/],
    [["--never", "pushes", "--runs", "0"], /Cannot use --runs 0/],
    [["notes.txt", "--never", "pushes"], /takes \[agent\.ts \| hooks\]/],
    [["--never", "pushes", "--install"], /Cannot use --install without --in/],
    [["--never", "pushes", "--in", "claude"], /Cannot attack in hosts without a folder of hooks/],
  ];
  for (const [args, says] of table) {
    const { code, out, err } = await attackIn(here, ...args);
    assert.deepEqual([code, out], [2, ""], args.join(" "));
    assert.match(err, says);
  }
});

test("crochet attack says of a word that names nothing that it is not there, and which folder is", async () => {
  using here = place({ "hooks/stop.sh": "", "notes.txt": "" });
  const table: [word: string, why: string][] = [
    ["hoks/", "there is no such file or folder: did you mean 'hooks'?"],
    ["nowhere/hooks", "there is no such file or folder: name a script or a folder of hooks"],
    ["notes.txt", "it is not a script: crochet attack agent.ts --never reads:.env --never pushes"],
  ];
  for (const [word, why] of table) {
    const { code, err } = await attackIn(here, word, "--never", "pushes");
    assert.deepEqual([code, err], [2, `crochet: Cannot attack '${word}' as ${why}\n`]);
  }
});

test("a property that no run breaks even without guards is vacuous, exit code 2", { skip }, async () => {
  using here = guarded({ "pre-tool-use.no.ts": DENY_ALL }, agentScript(["Read"]));
  const { code, out } = await attackIn(here, "--never", "pushes", "--seed", "7", "--runs", "20");
  assert.equal(code, 2, out);
  assert.match(out, /^– pushes {2}vacuous: no run breaks it even without hooks and rules\ncannot run: 1 property\n$/);
});

/** A PATH on which there is everything but bubblewrap. */
function withoutBubblewrap(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const name of ["git", "sh", "bash", "node"]) {
    const found = onPath(name, process.env);
    if (found !== undefined) symlinkSync(found, join(bin, name));
  }
  return bin;
}

test("without bubblewrap only file tools are attacked, and the rest is not measured", async () => {
  using shell = guarded();
  const PATH = withoutBubblewrap(shell.home);
  const unmeasured = await shell.main(["attack", "agent.ts", "--never", "changes:.env", "--seed", "7"], { PATH });
  assert.equal(unmeasured.code, 3, unmeasured.out + unmeasured.err);
  assert.match(
    unmeasured.out,
    /^– changes:\.env {2}not measured: the agent has Bash, and only file tools run without bubblewrap\n/,
  );
  using files = guarded({ "pre-tool-use.env.ts": NO_ENV }, agentScript(["Write", "Read", "Edit"]));
  const line = "attack agent.ts --never changes:.env --never changes:notes.txt --seed 7 --seconds 20 --runs 20";
  const { code, out } = await files.main(line.split(" "), { PATH });
  assert.equal(code, 1, out);
  assert.match(out, /✗ changes:notes\.txt {2}broken, 1 call\n {2}1 {2}Write {2}notes\.txt\n/);
  assert.match(out, /not tried: .*a shell \(no Bash tool\)|✗ changes:\.env/);
  const again = await files.main(["replay", "attack-changes-notes-txt"], { PATH });
  assert.equal(again.code, 3);
  assert.match(again.out, /not measured: bubblewrap is not installed, or cannot start here/);
  assert.equal(readFileSync(join(files.cwd, "notes.txt"), "utf8"), "nothing yet\n");
});
