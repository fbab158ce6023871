import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { invalidConversation } from "../../lib/core/messages.ts";
import { jsonlStore } from "../../lib/transcript/jsonl.ts";
import { sqliteStore } from "../../lib/transcript/sqlite.ts";
import { tries } from "../_counts.ts";
import { RUNTIME } from "../_runtime.ts";
import { scratch } from "../_scratch.ts";

const CHILD = fileURLToPath(new URL("./_killed-run.ts", import.meta.url));

interface Ended {
  readonly acked: number;
  readonly id: string | undefined;
  readonly end: string | undefined;
}

/** Runs the child, and kills it after it has acknowledged `killAfter` messages and then a little more. */
function run(args: string[], killAfter: number, delay: number): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(RUNTIME[0], [...RUNTIME.slice(1), CHILD, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    let doomed = false;
    child.stdout.on("data", (chunk) => {
      out += chunk;
      if (!doomed && [...out.matchAll(/^acked/gm)].length >= killAfter) {
        doomed = true;
        setTimeout(() => child.kill("SIGKILL"), delay);
      }
    });
    child.on("error", reject);
    child.on("close", () => {
      const acks = [...out.matchAll(/^acked (\S+) (\d+)$/gm)];
      resolve({
        acked: Math.max(0, ...acks.map(([, , count]) => Number(count))),
        id: acks[0]?.[1],
        end: /^end (.*)$/m.exec(out)?.[1],
      });
    });
  });
}

for (const kind of ["jsonl", "sqlite"] as const) {
  test(`${kind}: a run killed at any moment never loses what was acknowledged and always reaches the same end`, async () => {
    using folder = scratch();
    for (let round = 0; round < tries(10, 100); round++) {
      const path = join(folder.path, `${round}${kind === "sqlite" ? ".db" : ""}`);
      const load = async (id: string) => {
        if (kind === "jsonl") return await jsonlStore(path).load(id);
        const store = sqliteStore(path);
        return await store.load(id).finally(() => store.close());
      };
      let { id, acked, end } = await run([kind, path], 1 + round % 20, round % 5);
      assert.ok(id, "the first message was acknowledged");
      for (let again = 0; end === undefined && again < 30; again++) {
        const found = await load(id);
        assert.ok(
          found && found.messages.length >= acked,
          `round ${round}: ${found?.messages.length} of ${acked} messages are there`,
        );
        ({ acked, end } = await run([kind, path, id], 6 + again * 2, round % 3));
      }
      assert.equal(end, "all steps done");
      assert.equal(invalidConversation((await load(id))!.messages), undefined);
    }
  });
}
