import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { expectEvent } from "../../input/nearest.ts";
import { command, type Usage } from "../_flags.ts";
import { type Io, UsageError } from "../_io.ts";
import { type Fire, firesOf, ledgers, sayRun } from "../_ledger.ts";
import { projectOf, rolloutId, runMeant } from "../_project.ts";
import { readRollout } from "../../transcript/rollout.ts";

const USAGE: Usage = {
  name: "hooks explain",
  words: "[run]",
  about:
    "Shows the ledger of a run: which hooks were considered at each event, what each returned, and what was decided.",
  flags: [
    ["--event <name>", "only this event"],
    ["--hook <name>", "only events at which this hook was considered"],
    ["--cwd <dir>", "the project"],
    ["--json", "print JSON"],
  ],
  example: "crochet hooks explain",
};

export default command(USAGE, async ({ words, flags }, io) => {
  const path = ledgerFor(words[0], projectOf(flags, io), io);
  const event = typeof flags.event === "string" ? expectEvent(flags.event).event : undefined;
  const log = readRollout(path);
  for (const note of log.notes) io.err(`crochet: ${note}\n`);
  const fires = firesOf(log).filter((fire) =>
    (event === undefined || fire.event === event) &&
    (flags.hook === undefined || fire.folded.runs.some((run) => run.hook === flags.hook))
  );
  const run = rolloutId(path);
  const shown = fires.length === 0 ? "No hook was considered\n" : fires.map((fire) => `\n${shownFire(fire)}`).join("");
  return { data: { run, fires }, text: `run ${run}\n${shown}` };
});

/** The run by its id, the beginning of its id, or its file; by default the newest. */
function ledgerFor(given: string | undefined, cwd: string, io: Io): string {
  if (given !== undefined && existsSync(resolve(io.cwd, given))) return resolve(io.cwd, given);
  const all = ledgers(cwd, io.env);
  const found = given === undefined || given === "last" ? all[0] : runMeant(given, all);
  if (found !== undefined) return found;
  throw new UsageError(
    given === undefined
      ? "Cannot explain a run as this project has no run yet: 'crochet run' and 'crochet hooks test' make one"
      : `Cannot explain '${given}' as there is no such run: the newest is ${all[0] ? rolloutId(all[0]) : "none"}`,
  );
}

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
