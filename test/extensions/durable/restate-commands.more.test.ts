import assert from "node:assert/strict";
import { test } from "node:test";
import { onEngine } from "./_restate.ts";

const { options, printed } = onEngine();

const DRIVES: { readonly [claim: string]: string } = {
  "crochet worker, run --on and agents answer --on do it together, and words reach who follows as they are said":
    "_restate-cli-drive.ts",
  "an eval on workers comes to what it comes to here; who is killed, command or worker, is not paid for twice unseen":
    "_restate-eval-drive.ts",
};

for (const [claim, drive] of Object.entries(DRIVES)) {
  test(claim, options, async () => assert.equal(await printed(drive), "ok"));
}
