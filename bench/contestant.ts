/**
 * One measured run of one contestant, in a process of its own; prints the CPU and wall milliseconds it took:
 * `bun contestant.ts <name> <base url> turns <turns> <bytes of a tool result>`
 * `bun contestant.ts <name> <base url> input <bytes of streamed tool input>`
 */
import { contestants } from "./contestants.ts";

const [name = "", baseURL = "", what = "", n = "0", bytes = "0"] = process.argv
  .slice(2);
const run = await contestants[name]!();
const result = "r".repeat(Number(bytes));
const times = what === "turns" ? 1 : 5;

async function once(
  label: string,
  size: string,
): Promise<{ calls: number; input: number }> {
  if (what === "input") {
    return await run(`${baseURL}/input/${size}`, { result, once: true });
  }
  return await run(`${baseURL}/turns/${label}-${process.pid}/${size}`, {
    result,
  });
}

await once("warm", what === "input" ? n : "20"); // compiled and connected
const wall = performance.now();
const cpu = process.cpuUsage();
let outcome = { calls: 0, input: 0 };
for (let i = 0; i < times; i++) outcome = await once(`run${i}`, n);
const { user, system } = process.cpuUsage(cpu);
console.log(
  JSON.stringify({
    ...outcome,
    cpu: (user + system) / 1000 / times,
    wall: (performance.now() - wall) / times,
  }),
);
process.exit(0);
