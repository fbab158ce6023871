/**
 * What a log adds to the CPU of a run: `bun default-log.ts` prints it for the default and for `log: true`, with their ratio.
 * In blocks that take turns, so that a busy machine is busy for all; the model is scripted, so only our own work is counted.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, tool } from "../lib/index.ts";
import { scripted } from "../lib/testing/index.ts";

const [BLOCKS, RUNS, WARM] = [7, 100, 200];
const cwd = mkdtempSync(join(tmpdir(), "crochet-log-"));
process.env.HOME = cwd;
delete process.env.NODE_ENV;
console.error = () => {};

const look = tool({
  name: "Look",
  description: "Looks",
  input: { type: "object" },
  effect: "read",
  run: () => "x".repeat(2_000),
});
const replies = (calls: number) => [
  ...Array.from({ length: calls }, (_, i) => ({ tools: [{ name: "Look", input: { i } }] })),
  { text: "done" },
];

async function block(calls: number, log: boolean | undefined, runs: number): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < runs; i++) {
    await agent({ model: scripted(replies(calls)), tools: [look], cwd }).run("go", log === undefined ? {} : { log });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / runs;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

for (const calls of [1, 10]) {
  const took = { off: [] as number[], asked: [] as number[], byDefault: [] as number[] };
  for (const log of [false, true, undefined]) await block(calls, log, WARM);
  for (let i = 0; i < BLOCKS; i++) {
    took.off.push(await block(calls, false, RUNS));
    took.asked.push(await block(calls, true, RUNS));
    took.byDefault.push(await block(calls, undefined, RUNS));
  }
  const [off, asked, byDefault] = [median(took.off), median(took.asked), median(took.byDefault)];
  const ratio = (byDefault - off) / (asked - off);
  console.log(JSON.stringify({ calls, off, asked, byDefault, ratio: Number(ratio.toFixed(2)) }));
}
rmSync(cwd, { recursive: true });
