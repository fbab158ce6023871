import { getOrMake } from "../../core/maps.ts";
import { command, type Usage } from "../kit/flags.ts";
import { firesIn } from "../kit/hook-ledger.ts";
import { logsOf } from "../kit/project.ts";
import { table } from "../show/text.ts";

const USAGE: Usage = {
  name: "hooks stats",
  words: "",
  about: "Counts what each hook did in the stored runs of this project.",
  flags: [["--json", "print JSON"]],
  example: "crochet hooks stats",
};

const NONE = { runs: 0, denied: 0, modified: 0, failed: 0, skipped: 0, total_ms: 0 };

export default command(USAGE, async (_, io) => {
  const counts = new Map<string, typeof NONE>();
  for (const path of logsOf(io.cwd, io.env)) {
    const fires = firesIn(path, (why) => io.err(`crochet: ${why}\n`));
    for (const { hook, skipped, failure, opinion, ms = 0 } of fires.flatMap(({ folded }) => folded.runs)) {
      const c = getOrMake(counts, hook, () => ({ ...NONE }));
      if (skipped !== undefined) {
        c.skipped++;
        continue;
      }
      c.runs++;
      c.total_ms += ms;
      if (failure !== undefined) c.failed++;
      if (opinion?.decision === "deny") c.denied++;
      if (opinion?.value) c.modified++;
    }
  }
  const hooks = [...counts].sort(([a], [b]) => a < b ? -1 : 1).map(([hook, c]) => ({ hook, ...c }));
  if (hooks.length === 0) return { data: hooks, text: "No hook has run in a stored run of this project\n" };
  const text = table(
    ["hook", "runs", "denied", "modified", "failed", "skipped", "total", "each"],
    hooks.map(({ hook, total_ms, ...counted }) => [
      hook,
      ...Object.values(counted).map(String),
      `${total_ms.toFixed(1)} ms`,
      counted.runs === 0 ? "" : `${(total_ms / counted.runs).toFixed(1)} ms`,
    ]),
  );
  return { data: hooks, text };
});
