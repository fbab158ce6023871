import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { place } from "../_place.ts";
import { agentScript, HOOK, LONG, recorded, SYSTEM } from "./_recorded.ts";

test(
  "fixtures of one name in packages beside each other are told apart, and what is told of one finds it",
  LONG,
  async () => {
    using here = place();
    await recorded(here, ["--fixture", "fix"]);
    for (const name of ["black", "green"]) {
      for (const part of ["fixtures", "hooks"]) {
        cpSync(join(here.cwd, part), join(here.cwd, `packages/${name}/${part}`), { recursive: true });
      }
      here.put({ [`packages/${name}/agent.ts`]: agentScript(name === "black" ? SYSTEM : `${SYSTEM} Green.`) });
    }
    const both = ["packages/black/fixtures", "packages/green/fixtures"];
    const { out } = await here.crochet(["replay", ...both, "--junit", "report.xml"]);
    assert.match(out, /^packages\/black\/fixtures\/fix +ok .*\npackages\/green\/fixtures\/fix +drift /m);
    assert.match(out, /\n✗ packages\/green\/fixtures\/fix\n/);
    assert.deepEqual(
      [...readFileSync(join(here.cwd, "report.xml"), "utf8").matchAll(/ name="(p\S+)"/g)].map(([, name]) => name),
      both.map((folder) => `${folder}/fix`),
    );
    const [, words] = /\(crochet (replay .*) --update\)/.exec(out)!;
    const alone = await here.crochet(words!.split(" "));
    assert.match(alone.out, /^fixture.*\npackages\/green\/fixtures\/fix +drift .*\n\n/);
  },
);

test("an agent that was moved is found again by what the refusal says", LONG, async () => {
  using here = place();
  await recorded(here, ["--fixture", "fix"]);
  const tape = join(here.cwd, "fixtures/fix/tape.jsonl");
  here.put({ "src/agent.ts": agentScript(SYSTEM), "src/hooks/stop.ts": HOOK });
  rmSync(join(here.cwd, "agent.ts"));
  const { out } = await here.crochet(["replay"]);
  assert.ok(
    out.includes(
      `${
        join(here.cwd, "agent.ts")
      } is not there any more: put it back, or let "agent" in the first line of ${tape} say`,
    ),
    out,
  );
  here.put({ "fixtures/fix/tape.jsonl": readFileSync(tape, "utf8").replace("../../agent.ts", "../../src/agent.ts") });
  assert.equal((await here.crochet(["replay"])).code, 0);
});
