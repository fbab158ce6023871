/**
 * One measured run of one contestant, in a process of its own; prints what it took:
 * `bun contestant.ts <name> <base url> cold` · `… turns <turns> <bytes of a result> [hooks]` · `… input <bytes>`
 */
import type { Run } from "../task.ts";

const [name = "", baseURL = "", what = "", n = "0", bytes = "0", hooks = "0"] = process.argv.slice(2);

async function load(): Promise<Run> {
  const own = ({ fetch: "floor", "raw SDK": "helper", crochet: "ours" } as Record<string, string>)[name];
  if (own === undefined) return (await import(`./${name}.ts`)).default;
  return await (await import("../contestants.ts")).contestants[own]!();
}

const run = await load();
const result = "r".repeat(Number(bytes));
const options = { result, ...(Number(hooks) > 0 && { hooks: Number(hooks) }) };
const turns = (label: string, k: string) => run(`${baseURL}/turns/${label}-${process.pid}/${k}`, options);
const input = (size: string) => run(`${baseURL}/input/${size}`, { result: "", once: true });

if (what === "cold") await turns("cold", "0");
else {
  await (what === "input" ? input("16384") : turns("warm", "10")); // compiled and connected
  const wall = performance.now();
  const cpu = process.cpuUsage();
  const outcome = await (what === "input" ? input(n) : turns("run", n));
  const { user, system } = process.cpuUsage(cpu);
  const memory = process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({ ...outcome, cpu: (user + system) / 1000, wall: performance.now() - wall, memory }));
}
process.exit(0);
