import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "../../_crochet.ts";
import { scratch } from "../../_scratch.ts";
import { alone, noNamespace, serverBinary } from "./_restate.ts";

const why = noNamespace();
const server = why === undefined ? serverBinary() : { missing: why };
const options = "missing" in server ? { skip: server.missing } : {};

const DRIVES: { readonly [claim: string]: string } = {
  "crochet worker, run --on and agents answer --on do it together, and words reach who follows as they are said":
    "_restate-cli-drive.ts",
  "an eval on workers comes to what it comes to here; who is killed, command or worker, is not paid for twice unseen":
    "_restate-eval-drive.ts",
};

for (const [claim, drive] of Object.entries(DRIVES)) {
  test(claim, options, async () => {
    assert.ok("path" in server);
    using folder = scratch();
    const { code, out, err } = await start(alone(drive, [folder.path, server.path])).done;
    assert.deepEqual([code, out], [0, "ok"], err);
  });
}
