import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fixtureAt } from "../../lib/replay/fixture.ts";
import { readTape } from "../../lib/replay/read-tape.ts";
import { BOTH_RUNTIMES, oneIsMissing } from "../_both-runtimes.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures", import.meta.url));
const DIGEST = fileURLToPath(new URL("./_replay-digest.ts", import.meta.url));
const EXAMPLES = ["delegate", "fix-typo", "hello", "keep-going"];

/** Nothing to reach a model with, and nothing that would let it be asked. */
const env = { ...process.env, ANTHROPIC_API_KEY: "", ANTHROPIC_BASE_URL: "http://127.0.0.1:9", CI: "true" };

for (const name of EXAMPLES) {
  test(
    `example ${name} replays to the same transcript, events and files on Bun and Deno, at the seam and over the wire`,
    { skip: oneIsMissing },
    async () => {
      const outputs: string[] = [];
      for (const [program, ...args] of BOTH_RUNTIMES) {
        for (const wire of [[], ["--wire"]]) {
          const { stdout } = await promisify(execFile)(program, [...args, DIGEST, name, ...wire], {
            env,
            timeout: 120_000,
            maxBuffer: 2 ** 26,
          });
          outputs.push(stdout);
        }
      }
      const [first] = outputs;
      assert.equal(JSON.parse(first!).ok, true, JSON.stringify(JSON.parse(first!).divergences));
      for (const output of outputs) assert.deepEqual(JSON.parse(output), JSON.parse(first!));
    },
  );

  test(`example ${name} has what it was recorded from, and says that a scripted server answered`, async () => {
    const { folder, tape, files } = fixtureAt(join(FIXTURES, name));
    assert.ok(
      existsSync(join(folder, "agent.ts")) && readdirSync(join(folder, "hooks")).length > 0 && files !== undefined,
    );
    const { header, prompts, end } = await readTape(tape);
    assert.deepEqual([header.source, header.versions.sdk, prompts.length, end?.end], [
      "scripted server",
      "1.8.0",
      1,
      "done",
    ]);
  });
}
