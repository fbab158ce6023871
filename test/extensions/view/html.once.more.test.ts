import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { BOTH_RUNTIMES, oneIsMissing } from "../../_both-runtimes.ts";
import { ended } from "../../_crochet.ts";
import { ROOT } from "../../_runtime.ts";

test(
  "a page is the same on both runtimes, to the byte",
  { skip: oneIsMissing },
  async () => {
    const script = join(ROOT, "test/extensions/view/_page-digest.ts");
    const [bun, deno] = await Promise.all(BOTH_RUNTIMES.map((words) => ended([...words, script], { cwd: ROOT })));
    assert.match(bun!.out, /^[0-9a-f]{64}\n$/, bun!.err);
    assert.deepEqual(deno, bun);
  },
);

test(
  "the page's own modules are type-checked as what they are: scripts of a browser",
  async () => {
    const page = join(ROOT, "lib/extensions/view/page");
    const modules = readdirSync(page).filter((name) => name.endsWith(".js")).map((name) => join(page, name));
    const args = ["check", "--quiet", "--config", join(page, "jsconfig.json"), ...modules];
    const { code, out, err } = await ended([join(ROOT, "node_modules/.bin/deno"), ...args], { cwd: ROOT });
    assert.equal(code, 0, out + err);
  },
);
