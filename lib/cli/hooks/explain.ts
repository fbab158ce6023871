import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { expectEvent } from "../../input/nearest.ts";
import { command, type Usage } from "../kit/flags.ts";
import { type Fire, firesOf, sayRun } from "../kit/hook-ledger.ts";
import { expectRun, runId } from "../kit/project.ts";
import { readLoggedRun } from "../../log/logged-run.ts";

const USAGE: Usage = {
  name: "hooks explain",
  words: "[run]",
  about:
    "Shows the ledger of a run: which hooks were considered at each event, what each returned, and what was decided.",
  flags: [
    ["--event <name>", "only this event"],
    ["--json", "print JSON"],
  ],
  example: "crochet hooks explain",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const { cwd, env } = io;
  const [given = "last"] = words;
  const file = resolve(cwd, given);
  const path = existsSync(file) ? file : expectRun(given, "explain", cwd, env);
  const event = typeof flags.event === "string" ? expectEvent(flags.event).event : undefined;
  const logged = readLoggedRun(path);
  for (const note of logged.notes) io.err(`crochet: ${note}\n`);
  const fires = firesOf(logged).filter((fire) => event === undefined || fire.event === event);
  const run = runId(path);
  const shown = fires.length === 0 ? "No hook was considered\n" : fires.map((fire) => `\n${shownFire(fire)}`).join("");
  return { data: { run, fires }, text: `run ${run}\n${shown}` };
});

function shownFire({ event, at, agent_id, folded }: Fire): string {
  const { decision, deniedBy, asked, halt, abort, modified, warnings } = folded;
  const decided = [
    deniedBy !== undefined ? `deny, by ${deniedBy}` : asked ? `ask, by ${asked.hook}` : decision,
    modified && "modified",
    halt && `halt, by ${halt.hook}`,
    abort && `abort, by ${abort.hook}`,
  ].filter((part) => typeof part === "string").join("; ");
  const width = Math.max(0, ...folded.runs.map((run) => run.hook.length));
  const runs = folded.runs.map((run) => {
    const time = run.ms === undefined ? "" : ` (${run.ms.toFixed(1)} ms)`;
    return `  ${run.hook.padEnd(width)}  ${sayRun(run).trim().replaceAll("\n", "\n" + " ".repeat(width + 4))}${time}\n`;
  });
  return [
    `${event} at ${at} of ${agent_id}: ${decided}\n`,
    ...runs,
    ...warnings.map((warning) => `  ! ${warning}\n`),
  ].join("");
}
