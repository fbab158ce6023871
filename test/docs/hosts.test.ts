import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { hostsPage } from "../../docs/hosts.ts";
import { ROOT } from "./_reader.ts";

test("docs/hosts.md is what its script makes of the tables of hosts: bun run docs/hosts.ts", () => {
  assert.equal(readFileSync(join(ROOT, "docs/hosts.md"), "utf8"), hostsPage());
});
