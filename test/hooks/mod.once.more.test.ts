/** Once, as only Bun bundles hooks. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { install } from "../../lib/cli/hooks/install.ts";
import { place } from "../_place.ts";

test("no mod is made of more code than Claude Code reads", async () => {
  const long = `export default () => ({ action: "deny", reason: "${"x".repeat(1_100_000)}" });`;
  using here = place({ "guards/pre-tool-use@Bash.g.ts": long });
  const { code, err } = await here.call(install.default, join(here.cwd, "guards"), "--for", "claude", "--as", "mod");
  assert.equal(code, 1);
  assert.match(err, /its code has 1,\d{3},\d{3} bytes and Claude Code reads 1,048,576: leave a hook out/);
});
