import assert from "node:assert/strict";
import { test } from "node:test";
import { Pump } from "../../../lib/extensions/durable/_pump.ts";

test("an attempt that the engine gives up ends every wait of it with the engine's error, also those that come later", async () => {
  const pump = new Pump(() => never, () => false);
  const never = new Promise(() => {}) as never;
  const waits = [pump.wait(never), pump.wait(never)];
  pump.end(new Error("given up"));
  pump.end(new Error("and again"));
  for (const wait of [...waits, pump.wait(never)]) await assert.rejects(wait, /^Error: given up$/);
});
