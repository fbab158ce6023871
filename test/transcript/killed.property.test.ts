import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { invalidConversation } from "../../lib/core/messages.ts";
import { jsonlStore } from "../../lib/transcript/jsonl.ts";
import { sqliteStore } from "../../lib/transcript/sqlite.ts";
import { tries } from "../_counts.ts";
import { RUNTIME } from "../_runtime.ts";

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
    const root = mkdtempSync(join(tmpdir(), "crochet-killed-"));
    try {
      const each = tries(10, 100);
      for (let round = 0; round < each; round++) {
        const path = join(root, `${round}${kind === "sqlite" ? ".db" : ""}`);
        const open = () => kind === "jsonl" ? jsonlStore(path) : sqliteStore(path);
        let { id, acked, end } = await run([kind, path], 1 + round % 20, round % 5);
        assert.ok(id, "the first message was acknowledged");
        for (let again = 0; end === undefined && again < 30; again++) {
          const found = await open().load(id);
          assert.ok(
            found && found.messages.length >= acked,
            `round ${round}: ${found?.messages.length} of ${acked} messages are there`,
          );
          ({ acked, end } = await run([kind, path, id], 6 + again * 2, round % 3));
        }
        assert.equal(end, "all steps done");
        assert.equal(invalidConversation((await open().load(id))!.messages), undefined);
      }
    } finally {
      rmSync(root, { recursive: true });
    }
  });
}
