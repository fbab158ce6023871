import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { discover } from "../../../lib/hooks/discover.ts";
import { sidecarsOf } from "../../../lib/hooks/file/example-files.ts";
import { runExamples } from "../../../lib/testing/index.ts";
import { rows } from "../../_counts.ts";
import { SHIPPED } from "./_shipped.ts";

const { files } = discover(SHIPPED);

/** Those that guard a call come first. */
const BY_GUARD = files.toSorted((a, b) => Number(b.name.startsWith("pre-")) - Number(a.name.startsWith("pre-")));

for (const { name, path } of rows(5, BY_GUARD)) {
  test(`shipped ${name} has examples of what it does and does not mind, and does as they say`, async () => {
    const results = await runExamples(path);
    assert.ok(results.length > 0, "has no examples");
    for (const { ok, name, why } of results) assert.ok(ok, `${name}: ${why}`);
  });
}

test("no examples are shipped that belong to no hook", () => {
  const known = files.flatMap(({ path }) => sidecarsOf(path));
  const sidecars = readdirSync(SHIPPED).filter((name) => name.endsWith(".examples.yaml"));
  for (const name of sidecars) assert.ok(known.includes(`${SHIPPED}/${name}`), `${name} belongs to no hook`);
});
