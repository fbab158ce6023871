import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATIONS } from "../../../lib/extensions/attack/grammar/operations.ts";
import { shellWord as word } from "../../../lib/core/shown.ts";
import { SPELLINGS } from "../../../lib/extensions/attack/grammar/paths.ts";
import { PLANS } from "../../../lib/extensions/attack/grammar/plans.ts";
import { FIND_WRAPPERS, REWRITINGS, wrapped } from "../../../lib/extensions/attack/grammar/rewritings.ts";
import type { Operation, PropertyKind } from "../../../lib/extensions/attack/grammar/types.ts";
import { noSandbox } from "../../_needs.ts";
import { inBox, target, tryInShell } from "./_shell-world.ts";

const aim = (effect: PropertyKind, folder?: true) => {
  const { path = "" } = target(effect);
  return folder ? path.replace(/\/[^/]*$/, "") : path;
};

/** Of the file that is changed, or of a call, these say nothing that `changes` does not. */
const SAME: readonly PropertyKind[] = ["model-calls", "unasked-writes", "later-code"];

test("each operation has the effects that it names, in a real shell", { skip: noSandbox }, () => {
  const tries = OPERATIONS.flatMap((operation) =>
    operation.effects.filter((effect) => !SAME.includes(effect)).map((effect) => ({
      name: `${operation.name}: ${effect}`,
      effect,
      calls: [operation.call(target(effect), aim(effect, operation.folder))],
    }))
  );
  const seen = tryInShell(tries);
  const failed = tries.flatMap(({ name }, i) => seen[i]!.worked ? [] : [`${name}: ${seen[i]!.printed}`]);
  // A program that is not installed shows nothing about the operation.
  assert.deepEqual(failed.filter((line) => !line.includes("command not found")), []);
  assert.ok(failed.length < tries.length / 10, `only few programs are missing: ${failed.join("")}`);
});

const operation = (name: string): Operation => OPERATIONS.find((each) => each.name === name)!;

test("each spelling of a path keeps the effect of a command", { skip: noSandbox }, () => {
  const tries = SPELLINGS.filter((spelling) => spelling.for !== "file").flatMap((spelling) =>
    ["cat", "sed -i", "rm -rf", "mv away"].flatMap((name) => {
      const { effects: [effect], folder, call } = operation(name);
      const spelled = spelling.spell(aim(effect!, folder), target(effect!));
      if (spelled === undefined) return [];
      const path = spelling.for === "both" ? word(spelled) : spelled;
      return [{ name: spelling.name, effect: effect!, calls: [call(target(effect!), path)] }];
    })
  );
  const seen = tryInShell(tries);
  const kept = (name: string) => tries.filter((each, i) => each.name === name && seen[i]!.worked).length;
  // These name more than the file, which some commands do not take.
  const WIDE = ["the folder above", "all of the folder", "{,}"];
  for (const [name, { length }] of Map.groupBy(tries, ({ name }) => name)) {
    assert.ok(WIDE.includes(name) ? kept(name) > 0 : kept(name) === length, `${name}: ${kept(name)} of ${length}`);
  }
});

test("each rewriting, and each wrapper of the machine, keeps the effect of a command", { skip: noSandbox }, () => {
  const found = inBox(FIND_WRAPPERS).stdout.trim().split("\n");
  assert.deepEqual(["env", "nice", "nohup", "timeout 1"].filter((wrapper) => !found.includes(wrapper)), []);
  const all = [...REWRITINGS, ...wrapped(found)];
  const names = ["echo >>", "rm -rf", "rm --recursive --force", "git push", "while read"];
  const tries = all.flatMap((rewriting) =>
    names.flatMap((name) => {
      const { effects: [effect], folder, call } = operation(name);
      const { input } = call(target(effect!), aim(effect!, folder));
      const command = rewriting.rewrite(String(input.command));
      return command === undefined
        ? []
        : [{ name: rewriting.name, effect: effect!, calls: [{ tool: "Bash", input: { command } }] }];
    })
  );
  const seen = tryInShell(tries);
  const failed = tries.flatMap(({ name, calls }, i) =>
    seen[i]!.worked ? [] : [`${name}: ${calls[0]!.input.command}: ${seen[i]!.printed}`]
  );
  assert.deepEqual(failed, []);
  assert.deepEqual(new Set(tries.map(({ name }) => name)), new Set(all.map(({ name }) => name)), "all were tried");
});

test("each plan keeps the effect of some commands", { skip: noSandbox }, () => {
  const tries = PLANS.flatMap((plan) =>
    ["cat", "echo >>", "rm -f", "git push"].flatMap((name) => {
      const { effects: [effect], call } = operation(name);
      const calls = plan.calls(call(target(effect!), aim(effect!)), target(effect!));
      return calls ? [{ name: plan.name, effect: effect!, calls }] : [];
    })
  );
  const seen = tryInShell(tries);
  // Where the command takes away the link or the copy and not the file, the plan is of no use.
  const ASIDE = /link|copy over/;
  for (const { name } of PLANS) {
    const all = tries.flatMap((each, i) => each.name === name ? [seen[i]!] : []);
    const failed = all.filter(({ worked }) => !worked);
    assert.ok(all.length > failed.length, `${name}: ${failed[0]?.printed ?? "never tried"}`);
    assert.ok(failed.length === 0 || ASIDE.test(name), `${name}: ${failed[0]?.printed}`);
  }
});
