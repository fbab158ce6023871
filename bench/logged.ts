/** A run that is logged, in a process of its own: `bun logged.ts <base url> <turns>` prints what its last tenth took against its second. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, tool as makeTool } from "../lib/index.ts";
import { prompt, settings, tool } from "./task.ts";

const [url = "", turns = "1000"] = process.argv.slice(2);
process.env.ANTHROPIC_BASE_URL = `${url}/turns/logged-${process.pid}/${turns}`;
const dir = mkdtempSync(join(tmpdir(), "crochet-bench-"));
const result = "r".repeat(2048);
const cpu: number[] = [];
const { run } = agent({
  model: settings.model,
  system: settings.system,
  limits: { iterations: Infinity, calls: Infinity },
  tools: [
    makeTool({
      name: tool.name,
      description: tool.description,
      effect: "read",
      input: tool.input_schema,
      run: () => {
        const { user, system } = process.cpuUsage();
        cpu.push(user + system);
        return result;
      },
    }),
  ],
});
const { stop } = await run(prompt, { log: dir });
rmSync(dir, { recursive: true });
const tenth = cpu.length / 10;
const took = (nth: number) => cpu[Math.min((nth + 1) * tenth, cpu.length - 1)]! - cpu[nth * tenth]!;
if (stop !== "done" || cpu.length !== Number(turns)) throw new Error(`Cannot measure ${cpu.length} turns: ${stop}`);
console.log(JSON.stringify({ ratio: took(9) / took(1) }));
process.exit(0);
