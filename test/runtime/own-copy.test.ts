import assert from "node:assert/strict";
import { test } from "node:test";
import { isFound, ownExports, PACKAGE, PARTS } from "../../lib/runtime/own-copy.ts";
import { scratch } from "../_scratch.ts";

test("what is offered to scripts outside any project is all that the package exports", () => {
  assert.deepEqual([...PARTS].sort(), [...ownExports().keys()].sort());
});

test("a package is found in a folder or above it, and nowhere else", () => {
  using folder = scratch({ "a/node_modules/x/package.json": "{}", "a/b/c/file": "" });
  for (const [dir, found] of [["a", true], ["a/b/c", true], ["", false], ["b", false]] as const) {
    assert.equal(isFound(`${folder.path}/${dir}`, "x"), found, dir);
  }
  assert.ok(isFound(`${PACKAGE}/lib/runtime`, "yaml"));
});
