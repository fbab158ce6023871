/**
 * Edits one file a few times with one contestant, in a process of its own, and prints what each edit took and the
 * peak of memory: `edit-contestant.ts <name> <file> <times>`
 */
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { contestants } from "./edit-contestants.ts";

const [name = "", path = "", times = "1"] = process.argv.slice(2);
const words = ["TOKEN-A", "TOKEN-B"];
const edit = await contestants[name]!();
const ms: number[] = [];
for (let i = 0; i <= Number(times); i++) {
  const [old, now] = [words[i % 2]!, words[(i + 1) % 2]!];
  const start = performance.now();
  await edit(path, old, now);
  if (i > 0) ms.push(performance.now() - start); // the first one compiles
}
const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))![1]) * 1024;
const done = Buffer.from(readFileSync(path)).includes(words[(Number(times) + 1) % 2]!);
console.log(JSON.stringify({ ms, peak, done }));
process.exit(0);
