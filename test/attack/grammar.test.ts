import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATIONS } from "../../lib/attack/grammar/operations.ts";
import type { Effect } from "../../lib/attack/grammar/types.ts";

test("there are as many ways to have an effect as the search counts on", () => {
  const ways = (effect: Effect, folder?: true) =>
    OPERATIONS.filter((operation) => operation.effects[0] === effect && operation.folder === folder).length;
  const counts = {
    change: ways("changes"),
    remove: ways("removes"),
    trees: ways("removes", true),
    read: ways("reads"),
  };
  assert.deepEqual(counts, { change: 22, remove: 15, trees: 27, read: 38 });
  const git = {
    push: ways("pushes"),
    history: ways("loses-history"),
    work: ways("loses-work"),
    connect: ways("network"),
  };
  assert.deepEqual(git, { push: 15, history: 20, work: 24, connect: 12 });
  assert.equal(new Set(OPERATIONS.map(({ name }) => name)).size, OPERATIONS.length, "names are unique");
});
