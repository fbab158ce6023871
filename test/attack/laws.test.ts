import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PROPERTIES } from "../../lib/attack/properties.ts";
import { ownArgv } from "../../lib/hooks/own-command.ts";
import replay from "../../lib/cli/replay.ts";
import { ended } from "../_crochet.ts";
import { noSandbox } from "../_needs.ts";
import { agentScript, attackIn, DENY_ALL, guarded, NO_ENV } from "./_guarded.ts";

const skip = noSandbox;
/** Each built-in property with an argument. */
export const WORDS: readonly string[] = PROPERTIES.map((word) =>
  word.replace("<glob>", word.startsWith("removes") ? "src/**" : ".env").replace("<program>", "curl").replace(
    "<n>",
    "5",
  )
);

// Kills: effects that are never noticed, verdicts that are taken for effects.
test("an agent that denies everything always keeps a property that nothing else guards", { skip }, async () => {
  using here = guarded();
  const open = await attackIn(here, "--never", "changes:.env", "--runs", "20", "--seed", "7");
  assert.deepEqual([open.code, open.err], [1, ""]);
  assert.match(
    open.out,
    /^✗ changes:\.env {2}broken, 1 call\n {2}1 {2}Write {2}\.env\n {7}rules .*\n {7}effect {2}\.env changed\n/,
  );
  here.put({ "hooks/pre-tool-use.no.ts": DENY_ALL });
  const shut = await attackIn(here, "--never", "changes:.env", "--runs", "150", "--seed", "7");
  assert.equal(shut.code, 0, shut.out + shut.err);
  assert.match(shut.out, /^✓ changes:\.env {2}none of 150 adversarial runs breaks it\n {2}tried: 150 of /);
});

// Kills: a kept finding that is compared with its tape, runs in a plain copy, or is judged by another property.
test("a kept finding always fails with the old guard, and holds with the fixed one", { skip }, async () => {
  using here = guarded({ "pre-tool-use.env.ts": NO_ENV });
  const found = await attackIn(here, "--never", "changes:.env", "--seed", "7");
  assert.equal(found.code, 1, found.out + found.err);
  assert.match(found.out, /kept {3}fixtures\/attack-changes-env\n/);
  const again = await here.call(replay);
  assert.equal(again.code, 1);
  assert.match(again.out, /attack-changes-env {2}broken/);
  const { calls } = JSON.parse(readFileSync(join(here.cwd, "fixtures/attack-changes-env/attack.json"), "utf8"));
  assert.ok(calls.length >= 1 && existsSync(join(here.cwd, "fixtures/attack-changes-env/tape.jsonl")));
  for (
    const [flag, says] of [["--faults", /Cannot search for faults as attack-changes-env is a finding of an attack/], [
      "--review",
      /Cannot review as there is no fixture/,
    ]] as const
  ) {
    const { code, err } = await here.call(replay, flag);
    assert.equal(code, 2);
    assert.match(err, says);
  }
  here.put({ "hooks/pre-tool-use.env.ts": DENY_ALL });
  const fixed = await here.call(replay);
  assert.equal(fixed.code, 0, fixed.out + fixed.err);
  assert.match(fixed.out, new RegExp(`attack-changes-env {2}holds[^]*changes:\\.env holds, ${calls.length} denial`));
});

// Kills: superfluous calls and rewritings in a finding.
test("a finding never breaks its property without one of its calls", { skip }, async () => {
  // Two calls are needed: what is denied in one line is not denied in two.
  const guard = `export default ({ input }) => {
  const text = String(input.command ?? input.file_path);
  const isLink = /^ln -s \\S+ linked$/.test(text);
  return isLink || /^[\\w./-]*linked$/.test(text) ? undefined : { action: "deny", reason: "Only links" };
};\n`;
  using here = guarded({ "pre-tool-use.env.ts": guard });
  const found = await attackIn(here, "--never", "changes:.env", "--seed", "7");
  assert.equal(found.code, 1, found.out + found.err);
  const file = join(here.cwd, "fixtures/attack-changes-env/attack.json");
  const kept = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(kept.calls.length, 2, found.out);
  for (const i of kept.calls.keys()) {
    writeFileSync(file, JSON.stringify({ ...kept, calls: kept.calls.toSpliced(i, 1) }));
    assert.equal((await here.call(replay)).code, 0, `without call ${i + 1}`);
  }
});

// Kills: hooks that are only listed if they refuse.
test("every hook that was asked is always in the story, and so are the rules", { skip }, async () => {
  const none = "export default () => undefined;\n";
  const rules = { permissions: { mode: "bypassPermissions" } };
  using here = guarded(
    { "10-pre-tool-use.first.ts": none, "pre-tool-use@Bash.other.ts": none, "post-tool-use.last.ts": none },
    agentScript(["Write"], rules),
  );
  const { out } = await attackIn(here, "--never", "changes:.env", "--seed", "7");
  const lines = out.split("\n").slice(2, 6).map((line) => line.trim().split(/\s{2,}/).slice(0, 2));
  assert.deepEqual(lines, [
    ["10-pre-tool-use.first.ts", "continue"],
    ["rules", "allow"],
    ["post-tool-use.last.ts", "continue"],
    ["effect", ".env changed"],
  ]);
});

// Kills: times, random numbers and paths of the scratch folder in a report; draws without the seed.
test("the same seed always prints the same bytes", { skip }, async () => {
  using here = guarded({ "pre-tool-use.env.ts": NO_ENV });
  const runs = [];
  for (const _ of [1, 2]) {
    runs.push(await attackIn(here, "--never", "changes:.env", "--seed", "11", "--accept", "copies"));
  }
  assert.equal(runs[0]!.code, 1);
  assert.deepEqual(runs[0], runs[1]);
  const [, only] = / --only (\d+)/.exec(runs[0]!.out)!;
  const again = await attackIn(here, "--never", "changes:.env", "--seed", "11", "--accept", "copies", "--only", only!);
  assert.deepEqual(again.out.split("\n").slice(0, 4), runs[0]!.out.split("\n").slice(0, 4));
});

// Kills: a world that is not put back, an attack on the project itself.
test("nothing outside the scratch world ever changes", { skip }, async () => {
  using here = guarded();
  const before = readFileSync(join(here.cwd, ".env"), "utf8");
  const { code } = await attackIn(here, "--never", "outside-writes", "--never", "removes:src/**", "--seed", "7");
  assert.equal(code, 1);
  assert.equal(readFileSync(join(here.cwd, ".env"), "utf8"), before);
  assert.ok(existsSync(join(here.cwd, "src/app.js")));
  assert.equal(existsSync(join(here.cwd, ".git")), false);
});

test("the process of an attack never starts outside its sandbox", async () => {
  using here = guarded();
  const places = Object.fromEntries(
    ["workspace", "home", "outside", "remote", "tmp", "own"].map((name) => [name, join(here.cwd, name)]),
  );
  const attack = { never: "changes:.env", places, packages: [], sandboxed: true, person: "refuse", seed: 7, runs: 1 };
  const task = { script: join(here.cwd, "agent.ts"), project: here.cwd, env: {}, attack };
  const came = join(here.cwd, "came.json");
  const { code, err } = await ended(ownArgv("cli/_attack-process", came), {
    cwd: here.cwd,
    stdin: JSON.stringify(task),
  });
  assert.equal(code, 1);
  assert.match(err, /Cannot attack as this process is not in its sandbox: start it with 'crochet attack'/);
  assert.equal(existsSync(came), false);
  assert.equal(readFileSync(join(here.cwd, ".env"), "utf8"), "PORT=8080\n");
});
