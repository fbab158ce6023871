import type { Found, Listed } from "../../hooks/sources.ts";
import { command, type Usage } from "../_flags.ts";
import { eventNames, kindWords } from "../_hook-words.ts";
import { EXIT } from "../_io.ts";
import { firesOf, ledgers, sayRun } from "../_ledger.ts";
import { table } from "../_table.ts";
import { projectOf } from "../_project.ts";
import { hooksHere } from "../_hooks-here.ts";

const USAGE: Usage = {
  name: "hooks ls",
  words: "",
  about: "Lists the hooks that load here in the order they are asked, and what was found and does not load.",
  flags: [
    ["--cwd <dir>", "the project"],
    ["--hooks <dir>", "a further folder of hooks"],
    ["--settings <file>", "a further settings file"],
    ["--json", "print data"],
  ],
  example: "crochet hooks",
};

/** Exit code 1 where a file should be a hook and is not. */
export default command(USAGE, async ({ flags }, io) => {
  const cwd = projectOf(flags, io);
  const found = await hooksHere(cwd, flags, io);
  const last = lastResults(cwd, io.env);
  const hooks = inOrder(found).map((one, i) => row(one, i, last));
  const { unloaded, problems } = found;
  if (flags.json) io.out(`${JSON.stringify({ hooks, unloaded, problems }, null, 2)}\n`);
  else io.out(shown(hooks, found));
  return problems.length > 0 ? EXIT.failed : EXIT.ok;
});

type Row = ReturnType<typeof row>;

function row({ record, scope, source, path }: Listed, i: number, last: ReadonlyMap<string, string>) {
  return {
    order: i + 1,
    name: record.name,
    events: eventNames(record),
    matcher: record.matcher ?? null,
    kind: record.kind,
    scope,
    source,
    path: path ?? null,
    priority: record.priority,
    mode: record.mode,
    timeout: record.timeout ?? null,
    enabled: record.enabled,
    trusted: true,
    last: last.get(record.name) ?? null,
  };
}

/** By priority, as they are asked; within one, by where they are from. */
function inOrder({ listed }: Found): Listed[] {
  return [...listed].sort((a, b) => a.record.priority - b.record.priority);
}

function shown(hooks: readonly Row[], { unloaded, problems }: Found): string {
  const parts: string[] = [];
  if (hooks.length > 0) {
    parts.push(table(
      ["#", "hook", "event", "matcher", "kind", "from", "on", "trusted", "last"],
      hooks.map((h) => [
        String(h.order),
        h.name,
        h.events.join(" "),
        h.matcher ?? "",
        kindWords(h),
        h.source,
        h.enabled ? "on" : "off",
        "yes",
        h.last ?? "",
      ]),
    ));
  } else parts.push("No hooks load here: 'crochet hooks add' shows some to begin with\n");
  if (unloaded.length > 0) {
    parts.push(`Found and not loaded:\n${unloaded.map((u) => `  ${u.name}: ${u.why}\n`).join("")}`);
  }
  if (problems.length > 0) parts.push(`Wrong:\n${problems.map((p) => `  ${p}\n`).join("")}`);
  return parts.join("\n");
}

/** How many of the newest runs are looked through. */
const RECENT = 5;

function lastResults(cwd: string, env: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const last = new Map<string, string>();
  for (const path of ledgers(cwd, env).slice(0, RECENT)) {
    for (const { folded } of readable(path).reverse()) {
      for (const run of folded.runs) {
        if (run.skipped === undefined && !last.has(run.hook)) last.set(run.hook, sayRun(run).split("\n")[0]!);
      }
    }
  }
  return last;
}

/** A rollout of another release says nothing here. */
function readable(path: string): ReturnType<typeof firesOf> {
  try {
    return firesOf(path);
  } catch {
    return [];
  }
}
