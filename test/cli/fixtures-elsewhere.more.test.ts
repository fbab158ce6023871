import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "../../lib/cli/_io.ts";
import fixtures from "../../lib/cli/fixtures.ts";
import replay from "../../lib/cli/replay.ts";
import { place } from "../_place.ts";
import { agentScript, HOOK, LONG, recorded, SYSTEM } from "./_recorded.ts";

test(
  "fixtures of one name in several packages are reported by their paths, which name them",
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
    const { out } = await here.crochet(["replay", "--trust", ...both, "--junit", "report.xml"]);
    assert.match(out, /^packages\/black\/fixtures\/fix +ok .*\npackages\/green\/fixtures\/fix +drift /m);
    assert.match(out, /\n✗ packages\/green\/fixtures\/fix\n/);
    assert.deepEqual(
      [...readFileSync(join(here.cwd, "report.xml"), "utf8").matchAll(/ name="(p\S+)"/g)].map(([, name]) => name),
      both.map((folder) => `${folder}/fix`),
    );
    const [, words] = /\(crochet (replay .*) --update\)/.exec(out)!;
    const alone = await here.crochet([...words!.split(" "), "--trust"]);
    assert.match(alone.out, /^fixture.*\npackages\/green\/fixtures\/fix +drift .*\n\n/);
  },
);

test("an agent that was moved is found again by what the refusal says", LONG, async () => {
  using here = place();
  await recorded(here, ["--fixture", "fix"]);
  const tape = join(here.cwd, "fixtures/fix/tape.jsonl");
  here.put({ "src/agent.ts": agentScript(SYSTEM), "src/hooks/stop.ts": HOOK });
  rmSync(join(here.cwd, "agent.ts"));
  const { out } = await here.crochet(["replay", "--trust"]);
  assert.ok(
    out.includes(
      `${
        join(here.cwd, "agent.ts")
      } is not there any more: put it back, or let "agent" in the first line of ${tape} say`,
    ),
    out,
  );
  here.put({ "fixtures/fix/tape.jsonl": readFileSync(tape, "utf8").replace("../../agent.ts", "../../src/agent.ts") });
  assert.equal((await here.crochet(["replay", "--trust"])).code, 0);
});

test("every command that takes a fixture suggests the nearest name for a mistyped one", async () => {
  using w = place({ "fixtures/hello/tape.jsonl": "{}\n", "packages/a/fixtures/greet/tape.jsonl": "{}\n" });
  const cases: [command: Command, words: string[], told: RegExp][] = [
    [replay, ["helo"], /no such fixture: did you mean 'hello'\?\n$/],
    [replay, ["fixtures/helol"], /no such fixture: did you mean 'hello'\?\n$/],
    [replay, ["packages/a/fixtures/gret"], /no such fixture: did you mean 'packages\/a\/fixtures\/greet'\?\n$/],
    [replay, ["goodbye"], /no such fixture: crochet record <agent\.ts> "<prompt>" --fixture goodbye\n$/],
    [replay, ["--faults", "helo"], /or a preset: did you mean 'hello'\?\n$/],
    [replay, ["--faults", "overloded"], /or a preset: did you mean 'overloaded'\?\n$/],
    [fixtures, ["show", "helo"], /no such fixture: did you mean 'hello'\?\n$/],
  ];
  for (const [command, words, told] of cases) {
    const { code, err } = await w.call(command, ...words);
    assert.match(err, told, words.join(" "));
    assert.equal(code, 2);
  }
});

test("a project stands for its fixtures, and a directory without any says how to record one", async () => {
  using w = place({ "packages/black/fixtures/fix/tape.jsonl": "{}\n" });
  const project = await w.call(replay, "--trust", "packages/black");
  assert.match(project.out, /^fixture.*\npackages\/black\/fixtures\/fix +error /);
  const none = await w.call(replay);
  assert.equal(none.code, 1);
  assert.match(none.out, /there is no fixture in fixtures\/: crochet record agent\.ts "<prompt>"\n$/);
});
