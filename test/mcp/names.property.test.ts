import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toolNames } from "../../lib/mcp/servers.ts";
import { decide } from "../../lib/permissions/rules.ts";
import { tries } from "../_counts.ts";

const word = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "_", "-", ".", "é"), maxLength: 8 }),
  fc.string({ maxLength: 200 }),
);

// kills: names that are passed on as they are, or cut without a look at the others
test("toolNames() always gives names the API takes, all different", () => {
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 12 }), (server, tools) => {
      const names = toolNames(server, tools);
      assert.equal(new Set(names).size, tools.length);
      for (const name of names) assert.match(name, /^mcp__[A-Za-z0-9_-]{1,123}$/);
    }),
    { numRuns: tries(300, 10_000) },
  );
});

test("toolNames() cuts long names to what the API takes, and keeps those different that begin alike", () => {
  const long = "x".repeat(300);
  assert.deepEqual(toolNames("s", [long, `${long}y`]), [`mcp__s__${"x".repeat(120)}`, `mcp__s__${"x".repeat(118)}_2`]);
});

// kills: server names that keep a double underscore inside or one at the end
test("a permission rule for one server never holds for the tools of another", () => {
  fc.assert(
    fc.property(word, word, word, (one, other, tool) => {
      const [mine] = toolNames(one, [tool]);
      const [theirs] = toolNames(other, [tool]);
      const server = mine!.slice(0, mine!.indexOf("__", 5));
      if (theirs!.slice(0, theirs!.indexOf("__", 5)) === server) return;
      const call = { tool_name: theirs!, input: {}, cwd: "/", effect: "write" } as const;
      assert.equal(decide({ allow: [server] }, call).behavior, "ask");
      assert.equal(decide({ allow: [server] }, { ...call, tool_name: mine! }).behavior, "allow");
    }),
    { numRuns: tries(300, 10_000) },
  );
});
