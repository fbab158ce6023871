import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ownArgv } from "../../../lib/hooks/own-command.ts";
import replay from "../../../lib/cli/replay.ts";
import { ended } from "../../_crochet.ts";
import { noSandbox } from "../../_needs.ts";
import { agentScript, attackIn, DENY_ALL, guarded, NO_ENV } from "./_guarded.ts";

const skip = noSandbox;

// Kills: a kept finding that is compared with its tape, runs in a plain copy, or is judged by another property.
test("a kept finding always fails with the old guard, and holds with the fixed one", { skip }, async () => {
  using here = guarded({ "pre-tool-use@Edit.env.ts": NO_ENV }, agentScript(["Edit", "Write"]));
  const found = await attackIn(here, "--never", "changes:.env", "--seed", "7");
  assert.equal(found.code, 1, found.out + found.err);
  assert.match(found.out, /kept {3}fixtures\/attack-changes-env\n/);
  const again = await here.call(replay);
  assert.equal(again.code, 1);
  assert.match(again.out, /attack-changes-env {2}broken/);
  const { calls } = JSON.parse(readFileSync(join(here.cwd, "fixtures/attack-changes-env/finding.json"), "utf8"));
  assert.ok(calls.length >= 1 && existsSync(join(here.cwd, "fixtures/attack-changes-env/tape.jsonl")));
  for (
    const [flag, says] of [["--faults", /Cannot search for faults as attack-changes-env is a finding:/], [
      "--review",
      /Cannot review as there is no fixture/,
    ]] as const
  ) {
    const { code, err } = await here.call(replay, flag);
    assert.equal(code, 2);
    assert.match(err, says);
  }
  here.put({ "hooks/pre-tool-use.no.ts": DENY_ALL });
  const fixed = await here.call(replay);
  assert.equal(fixed.code, 0, fixed.out + fixed.err);
  assert.match(fixed.out, new RegExp(`attack-changes-env {2}held[^]*changes:\\.env holds, ${calls.length} denial`));
});

test("the process of an attack never starts outside its sandbox", async () => {
  using here = guarded();
  const places = Object.fromEntries(
    ["workspace", "home", "outside", "remote", "tmp", "own"].map((name) => [name, join(here.cwd, name)]),
  );
  const attack = { never: "changes:.env", places, packages: [], sandboxed: true, person: "refuse", seed: 7, runs: 1 };
  const task = { script: join(here.cwd, "agent.ts"), project: here.cwd, env: {}, attack };
  const came = join(here.cwd, "came.json");
  const { code, err } = await ended(ownArgv("extensions/attack/process", came), {
    cwd: here.cwd,
    stdin: JSON.stringify(task),
  });
  assert.equal(code, 1);
  assert.match(err, /Cannot attack as this process is not in its sandbox: start it with 'crochet attack'/);
  assert.equal(existsSync(came), false);
  assert.equal(readFileSync(join(here.cwd, ".env"), "utf8"), "PORT=8080\n");
});
