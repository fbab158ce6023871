/** One measured contestant, in a process of its own: `bun replay-contestant.ts <name> <seconds>`; prints runs a second. */
import { CALLS, contestants } from "./replay-contestants.ts";

const [name = "", seconds = "1"] = process.argv.slice(2);
const { run, stop } = await contestants[name]!();

async function checked(): Promise<void> {
  const { calls, text } = await run();
  if (calls !== CALLS || text !== "done") {
    throw new Error(
      `Cannot compare ${name} as it made ${calls} calls and said '${text}'`,
    );
  }
}

const warm = performance.now();
while (performance.now() - warm < Number(seconds) * 500) await checked(); // compiled
const began = performance.now();
const cpu = process.cpuUsage();
let runs = 0;
while (performance.now() - began < Number(seconds) * 1000) {
  await checked();
  runs++;
}
const { user, system } = process.cpuUsage(cpu);
console.log(
  JSON.stringify({
    runs: runs / (performance.now() - began) * 1000,
    cpu: (user + system) / 1000 / runs,
  }),
);
await stop?.();
process.exit(0);
