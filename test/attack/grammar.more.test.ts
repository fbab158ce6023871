import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATIONS } from "../../lib/attack/grammar/operations.ts";
import type { Effect } from "../../lib/attack/grammar/types.ts";
import { noSandbox } from "../_needs.ts";
import { target, tryInShell } from "./_shell-world.ts";

const aim = (effect: Effect, folder?: true) => {
  const { path = "" } = target(effect);
  return folder ? path.replace(/\/[^/]*$/, "") : path;
};

/** Of the file that is changed, or of a call, these say nothing that `changes` does not. */
const SAME: readonly Effect[] = ["model-calls", "unasked-writes", "later-code"];

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
