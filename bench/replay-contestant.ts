/**
 * One measured contestant, in a process of its own: `bun replay-contestant.ts <name> <runs>`; prints runs a second. As many
 * runs warm up: a busy machine does not change how much of the code is compiled.
 */
import { CALLS, contestants } from "./replay-contestants.ts";

const [name = "", runs = "200"] = process.argv.slice(2);
const { run, stop } = await contestants[name]!();

async function checked(): Promise<void> {
  const { calls, text } = await run();
  if (calls !== CALLS || text !== "done") {
    throw new Error(
      `Cannot compare ${name} as it made ${calls} calls and said '${text}'`,
    );
  }
}

for (let i = 0; i < Number(runs); i++) await checked(); // compiled
const began = performance.now();
const cpu = process.cpuUsage();
for (let i = 0; i < Number(runs); i++) await checked();
const { user, system } = process.cpuUsage(cpu);
console.log(
  JSON.stringify({
    runs: Number(runs) / (performance.now() - began) * 1000,
    cpu: (user + system) / 1000 / Number(runs),
  }),
);
await stop?.();
process.exit(0);
