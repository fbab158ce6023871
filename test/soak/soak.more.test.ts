import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { rounds } from "../_counts.ts";
import { RUNTIME } from "../_runtime.ts";
import type { Report } from "./_soak.ts";

const RUNS = rounds(300, 10_000);
const TURNS = rounds(300, 5000);

function soak(): Promise<Report> {
  const script = fileURLToPath(new URL("./_soak.ts", import.meta.url));
  return new Promise((resolve, reject) => {
    const [program, ...args] = RUNTIME;
    if ("Deno" in globalThis) args.push("--v8-flags=--expose-gc");
    args.push(script, String(RUNS), String(TURNS));
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (chunk) => out += chunk);
    child.on("error", reject);
    // Only a process that nothing holds open ever closes: a timer or a socket left behind would hang here.
    child.on("close", (code) => code === 0 ? resolve(JSON.parse(out)) : reject(new Error(`ended with ${code}`)));
  });
}

test("run after run in one process leaves nothing behind: no memory, no open file, no process, no handle", {
  skip: existsSync("/proc/self/fd") ? false : "there is no /proc to count open files in",
}, async () => {
  const { start, many, long, over } = await soak();
  const growth = many.end.memory / many.half.memory;
  assert.ok(growth < 1.15, `the second half of ${RUNS} runs grew the memory ${growth.toFixed(2)} times`);
  assert.equal(many.end.files, many.half.files, "files left open by runs");
  assert.equal(long.end.files, long.half.files, "files left open by turns");
  assert.ok(over.files - start.files <= 4, `${over.files - start.files} more files are open than at the start`);
  assert.deepEqual([many.half, many.end, long.end].map((l) => l.children), [0, 0, 0]);
  // A session keeps its conversation, so what counts is that a late turn costs no more than an early one.
  const [early, late] = [long.half.memory - many.end.memory, long.end.memory - long.half.memory];
  assert.ok(late < Math.max(2 * early, 16_384 * TURNS / 2), `late turns kept ${late} bytes, early ones ${early}`);
});
