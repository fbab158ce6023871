import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { asking } from "./_online.ts";

/** What becomes of a test whose body throws this. */
async function outcome(thrown: unknown): Promise<unknown> {
  let skipped: string | undefined;
  const t = { skip: (why: string) => void (skipped = why) } as unknown as TestContext;
  const body = () => {
    throw thrown;
  };
  return await asking(body)(t).then(() => skipped, () => "failed");
}

test("a test that asks a registry is skipped if the connection is reset or times out, and fails for any other reason", async () => {
  const skipped = "the registry cannot be reached";
  const rows: [thrown: unknown, outcome: string][] = [
    [{ status: 1, stderr: "npm error code ECONNRESET\nnpm error network aborted" }, skipped],
    [{ status: 1, stdout: "npm error code ETIMEDOUT" }, skipped],
    [{ status: null, code: "ETIMEDOUT" }, skipped],
    [{ status: 1, stderr: "error: ConnectionRefused downloading tarball" }, skipped],
    [{ status: 1, stderr: "npm error code E404" }, "failed"],
    [new Error("the hook timed out"), "failed"],
  ];
  for (const [thrown, expected] of rows) assert.equal(await outcome(thrown), expected, JSON.stringify(thrown));
});
