/** Replays an example and prints everything that came of it, with the workspace's path taken out: `<name> [--wire]`. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { STREAMED } from "../../lib/log/log-lines.ts";
import { fixtureAt } from "../../lib/replay/fixture.ts";
import { runFixture } from "../../lib/replay/run-fixture.ts";
import { timeless } from "./_stage.ts";

const [name = "", wire] = process.argv.slice(2);
const folder = fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
const { default: agent } = await import(join(folder, "agent.ts"));
let cwd = "";
const seen = {
  ...agent,
  open: (options: { cwd: string }) => {
    cwd = options.cwd;
    return agent.open(options);
  },
};
const run = await runFixture(fixtureAt(folder), seen, { wire: wire === "--wire" });
const events = run.events.filter(({ type }) => !STREAMED.has(type));
const all = {
  ok: run.report.ok,
  divergences: run.report.divergences,
  messages: run.result.messages,
  stop: run.result.stop,
  usage: run.result.usage,
  files: Object.fromEntries(run.files),
  events: byAgent(timeless(events)),
};
console.log(JSON.stringify(all).replaceAll(cwd, "{ROOT}"));
process.exit(0);

/** Agents and calls that run at the same time end in any order. */
function byAgent(events: readonly { agent_id?: string; type: string; id?: string }[]): unknown {
  const agents = new Map<string, { type: string; id?: string }[]>();
  for (const { agent_id = "", ...line } of events) {
    const own = agents.get(agent_id) ?? [];
    agents.set(agent_id, own);
    const ends = own.findLastIndex(({ type, id = "" }) => type !== "tool_end" || id < (line.id ?? "")) + 1;
    own.splice(line.type === "tool_end" ? ends : own.length, 0, line);
  }
  return Object.fromEntries([...agents].sort(([a], [b]) => a < b ? -1 : 1));
}
