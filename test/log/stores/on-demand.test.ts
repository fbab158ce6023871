import assert from "node:assert/strict";
import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { user } from "../../../lib/core/messages.ts";
import { jsonlStore } from "../../../lib/log/stores/stores.ts";
import { scratch } from "../../_scratch.ts";

const OPEN = "/proc/self/fd";

test("a store that is loaded by its first use is opened once, however often it is used", {
  skip: existsSync(OPEN) ? false : "the system does not list open files",
}, async () => {
  using folder = scratch();
  const store = jsonlStore(folder.path);
  for (let index = 0; index < 5; index++) await store.append("a", [{ type: "message", index, message: user("hi") }]);
  const open = readdirSync(OPEN).filter((fd) => {
    try {
      return readlinkSync(join(OPEN, fd)) === join(folder.path, "a.jsonl");
    } catch {
      return false; // the one that listed them
    }
  });
  assert.equal(open.length, 1);
});
