import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { ownArgv } from "../../lib/hooks/own-command.ts";
import { start } from "../_crochet.ts";
import { place } from "../_place.ts";
import { until } from "../_until.ts";
import { SYSTEM } from "../_record.ts";
import { agentScript, LONG, recorded } from "./_recorded.ts";

test(
  "--bisect names the commit that moved a fixture, not the one that does not load, and leaves no worktree",
  LONG,
  async () => {
    using here = place();
    const git = (...args: string[]) =>
      spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
        cwd: here.cwd,
        encoding: "utf8",
      }).stdout.trim();
    const commit = (subject: string, script: string) => {
      here.put({ "agent.ts": script });
      git("add", "-A");
      git("commit", "-q", "--allow-empty", "-m", subject);
    };
    git("init", "-q");
    await recorded(here);
    commit("As recorded", agentScript(SYSTEM));
    commit("A comment", `${agentScript(SYSTEM)}// more\n`);
    commit("Broken", "this does not load");
    commit("Works again", `${agentScript(SYSTEM)}// again\n`);
    commit("Another prompt", agentScript("You are rude."));
    commit("A comment on it", `${agentScript("You are rude.")}// more\n`);

    // The trust in the project holds for the worktree too.
    const found = await here.crochet(["replay", "--bisect", "HEAD~5"], { TMPDIR: here.home });
    assert.equal(found.err, "");
    assert.match(found.out, /^\w+ Another prompt\n {2}moved fix-the-typo\n$/);
    assert.equal(found.code, 1);
    assert.equal(git("worktree", "list").split("\n").length, 1);
    assert.deepEqual(readdirSync(here.home).filter((name) => name.startsWith("crochet-bisect-")), []);
    assert.equal(git("status", "--porcelain"), "");

    const same = await here.crochet(["replay", "--bisect", "HEAD~1", "--trust"]);
    assert.match(same.err, /Cannot bisect from 'HEAD~1' as the fixtures are not as recorded there/);
    const none = await here.crochet(["replay", "--bisect", "no-such-ref", "--trust"]);
    assert.match(none.err, /'no-such-ref' as it is not a commit/);
    assert.equal(none.code, 2);
  },
);

test("--watch replays again when a file changes, with the code as it is then", LONG, async () => {
  using here = place();
  await recorded(here);
  const { said, kill } = start(ownArgv("cli/main", "replay", "--watch", "--trust"), { cwd: here.cwd, env: here.env });
  const waits = () => until("it waits", () => said.out.includes("waiting for a change"));
  try {
    await waits();
    assert.match(said.out, /fix-the-typo +held/);
    said.out = "";
    here.put({ "agent.ts": agentScript("You are rude.") });
    await waits();
    assert.match(said.out, /fix-the-typo +broken/);
  } finally {
    assert.equal((await kill("SIGINT")).code, 130);
  }
});
