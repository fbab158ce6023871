import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { templates } from "../../lib/cli/init/_templates.ts";
import { scriptedServer } from "../../lib/testing/index.ts";
import { CROCHET } from "../_crochet.ts";
import { place } from "../_place.ts";
import { agentScript, asked, HOOK, LONG, SYSTEM } from "./_recorded.ts";

const ATTRIBUTES = "fixtures/.gitattributes";

test("git shows what a recording changed as a conversation, and never mixes two of them", {
  ...LONG,
  skip: spawnSync("git", ["--version"]).status === 0 ? false : "git is not installed",
}, async () => {
  using here = place({
    [ATTRIBUTES]: templates("tried")[ATTRIBUTES]!,
    "agent.ts": agentScript(SYSTEM),
    "hooks/stop.ts": HOOK,
    "long.md": "a long line of tea\n".repeat(1_500),
  });
  const git = (...args: string[]) => {
    const by = [
      "-c",
      "user.name=a",
      "-c",
      "user.email=a@b",
      "-c",
      `diff.tape.textconv=${CROCHET.join(" ")} fixtures show`,
    ];
    return spawnSync("git", [...by, ...args], {
      cwd: here.cwd,
      encoding: "utf8",
      env: { ...process.env, HOME: here.home },
    });
  };
  await using server = await scriptedServer([], {
    then: ({ messages }) =>
      messages.length > 1
        ? { text: "Long." }
        : { tools: [{ name: "Read", input: { file_path: "long.md" }, id: "toolu_1" }] },
  });
  const commit = (words: string) => {
    git("add", ".");
    assert.equal(git("commit", "-m", words).status, 0);
  };
  const renew = async (system: string) => {
    here.put({ "agent.ts": agentScript(system) });
    assert.equal((await here.crochet(["replay", "--update"], asked(server))).code, 0);
  };
  git("init", "--initial-branch=main");
  const made = await here.crochet(["record", "agent.ts", "how long is it?", "--fixture", "it"], asked(server));
  assert.equal(made.code, 0, made.err);
  commit("recorded");

  await renew(SYSTEM.replace("brief", "very brief"));
  const { stdout, stderr } = git("diff", "--", "fixtures");
  const changed = stdout.split("\n").filter((line) => /^[-+](?![-+])/.test(line));
  assert.deepEqual(changed, ["-  You are brief.", "+  You are very brief."], stderr);
  commit("mine");

  git("switch", "--quiet", "--create", "other", "HEAD~1");
  await renew(SYSTEM.replace("fix typos", "fix all typos"));
  commit("theirs");
  git("switch", "--quiet", "main");
  const mine = readFileSync(join(here.cwd, "fixtures/it/tape.jsonl"), "utf8");
  assert.match(git("merge", "other").stdout, /CONFLICT .*fixtures\/it\/tape\.jsonl/);
  assert.equal(readFileSync(join(here.cwd, "fixtures/it/tape.jsonl"), "utf8"), mine);
  here.put({ "agent.ts": agentScript(SYSTEM.replace("brief", "very brief").replace("fix typos", "fix all typos")) });
  const drifted = await here.crochet(["replay"]);
  assert.match(drifted.out, /- You fix typos\.\n +\+ You fix all typos\.\n/);
});

test(
  "a tape that is shown away from its own folder has its long texts of the project's, and names those that are gone",
  LONG,
  async () => {
    using here = place({ "agent.ts": agentScript(SYSTEM), "hooks/stop.ts": HOOK });
    const long = "a long line of tea\n".repeat(1_500);
    await using server = await scriptedServer([{ text: long }]);
    const made = await here.crochet(["record", "agent.ts", "sing", "--fixture", "it"], asked(server));
    assert.equal(made.code, 0, made.err);
    const tape = readFileSync(join(here.cwd, "fixtures/it/tape.jsonl"), "utf8");
    const [, blob = ""] = /"\$blob":"([0-9a-f]{64})"/.exec(tape)!;
    // As git names the file of an earlier one, and as older releases of it do.
    here.put({ "away/x/tape.jsonl": tape, "away/Ab12Cd_tape.jsonl": tape });
    const shown = await here.crochet(["fixtures", "show", "it"]);
    for (const name of ["x/tape.jsonl", "Ab12Cd_tape.jsonl"]) {
      assert.equal((await here.crochet(["fixtures", "show", `away/${name}`])).out, shown.out, name);
    }
    assert.ok(shown.out.includes(long.trimEnd()));
    rmSync(join(here.cwd, "fixtures/blobs", blob));
    const lacking = await here.crochet(["fixtures", "show", "away/x/tape.jsonl"]);
    assert.ok(lacking.out.includes(`blobs/${blob} is not here`), lacking.out + lacking.err);
    assert.match((await here.crochet(["replay"])).out, /a long text of it is missing/, "nothing is replayed from it");
  },
);
