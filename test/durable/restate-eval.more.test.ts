import assert from "node:assert/strict";
import { test } from "node:test";
import { scratch } from "../_scratch.ts";
import { start } from "./_kill.ts";
import { alone, noNamespace, serverBinary } from "./_restate.ts";

const why = noNamespace();
const server = why === undefined ? serverBinary() : { missing: why };
const options = "missing" in server ? { skip: server.missing } : {};

test(
  "an eval on workers comes to what it comes to here; who is killed, command or worker, is not paid for twice unseen",
  options,
  async () => {
    assert.ok("path" in server);
    using folder = scratch();
    const { code, out, err } = await start(alone("_restate-eval-drive.ts", [folder.path, server.path])).done;
    assert.equal(code, 0, err);
    assert.equal(out, "ok");
  },
);
