import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import replay from "../../../lib/cli/replay.ts";
import { noSandbox } from "../../_needs.ts";
import { agentScript, attackIn, DENY_ALL, guarded, NO_ENV } from "./_guarded.ts";

const skip = noSandbox;

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
  const file = join(here.cwd, "fixtures/attack-changes-env/finding.json");
  const kept = JSON.parse(readFileSync(file, "utf8"));
  assert.equal(kept.calls.length, 2, found.out);
  for (const i of kept.calls.keys()) {
    writeFileSync(file, JSON.stringify({ ...kept, calls: kept.calls.toSpliced(i, 1) }));
    assert.equal((await here.call(replay)).code, 0, `without call ${i + 1}`);
  }
});

/** A guard that lets calls through by how many it was asked about in this process. */
const counting = (passes: string) =>
  `let n = 0;\nexport default () => { n++; return ${passes} ? undefined : { action: "deny", reason: "No" }; };\n`;

// Kills: a finding that is not made again, and one that is made again only where the search has been.
test("what breaks a property once, and not again or not in a new world, is never a finding", { skip }, async () => {
  // The five calls of the first four forms are asked about, then the first is run: the next call is the same one again.
  // A finding ends the search, also one that does not break it in a new world: the rest was not tried.
  const rows: readonly (readonly [passes: string, word: number, said: RegExp])[] = [
    ["n <= 6", 0, /^✓ changes:\.env {2}none of \d+ [^]*[1-4] that broke it once and not again/],
    ["n > 20", 3, /^– changes:\.env {2}not measured: \d+ of [^]*1 that did not break it in a new world/],
  ];
  for (const [passes, word, said] of rows) {
    using here = guarded({ "pre-tool-use.odd.ts": counting(passes) }, agentScript(["Write"]));
    here.put({ "fixtures/attack-changes-env/finding.json": "{}" });
    const { code, out } = await attackIn(here, "--never", "changes:.env", "--seed", "7", "--runs", "40");
    assert.equal(code, word, out);
    assert.match(out, said);
    assert.equal(
      readFileSync(join(here.cwd, "fixtures/attack-changes-env/finding.json"), "utf8"),
      "{}",
      "what was kept stays",
    );
  }
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
  assert.match(
    shut.out,
    /^✓ changes:\.env {2}none of 150 adversarial runs breaks it\n {2}tried: the first 150 of [\d,]+ forms; /,
  );
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
