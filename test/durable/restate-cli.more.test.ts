import assert from "node:assert/strict";
import { test } from "node:test";
import { scratch } from "../_scratch.ts";
import { start } from "./_kill.ts";
import { alone, noNamespace, serverBinary } from "./_restate.ts";

const why = noNamespace();
const server = why === undefined ? serverBinary() : { missing: why };
const options = "missing" in server ? { skip: server.missing } : {};

test(
  "crochet worker, run --on, agents answer --on and replay --on do it together, and words reach who follows as they are said",
  options,
  async () => {
    assert.ok("path" in server);
    using folder = scratch();
    const { code, out, err } = await start(
      alone("_restate-cli-drive.ts", [folder.path, server.path]),
    ).done;
    assert.equal(code, 0, err);
    assert.equal(out, "ok");
  },
);
