import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent } from "../../agent/options.ts";
import { askedFirst } from "../../core/dispatch.ts";
import { narrowestName } from "../../core/names.ts";
import { notBuiltIn } from "../../hooks/known-names.ts";
import type { FoundHooks, Listed } from "../../hooks/sources.ts";
import { agentScripts, besideWords, hooksHere, kindWords } from "../kit/find-hooks.ts";
import { giftOf } from "../kit/extension.ts";
import { command, type Usage } from "../kit/flags.ts";
import { EXIT, type Io, UsageError } from "../kit/io.ts";
import { firesIn, sayRun } from "../kit/hook-ledger.ts";
import { logsOf, newestFirst } from "../kit/project.ts";
import { expectGiven } from "../kit/run-gifts.ts";
import { loadAgent } from "../kit/script.ts";
import { pageText, writePage } from "../show/write-page.ts";
import { table } from "../show/text.ts";

const USAGE: Usage = {
  name: "hooks ls",
  words: "[agent.ts]",
  about: "Lists the hooks that 'crochet run' loads here, or those of an agent script, in the order they run, and the " +
    "hooks that were found but do not load.",
  flags: [
    ["--hooks <dir>", "another folder of hooks"],
    ["--settings <file>", "another settings file"],
    ["--out <file>", "draw them as a page: which is asked first at each event"],
    ["--json", "print JSON"],
  ],
  example: "crochet hooks",
};

/** Exit code 1 if a file looks like a hook and cannot be loaded. */
export default command(USAGE, async ({ words, flags }, io) => {
  const { cwd } = io;
  const [script] = words;
  const found = await hooksHere(cwd, flags, io, {
    agent: script === undefined ? undefined : await agentOf(script, io),
  });
  const last = lastResults(cwd, io.env);
  const listed = found.listed.toSorted((a, b) => askedFirst(a.record, b.record));
  const hooks = listed.map((one, i) => row(one, i, last));
  let page = "";
  if (flags.out !== undefined) {
    const draw = expectGiven(await giftOf("hookOrder"), "--out");
    const records = listed.filter((one) => !isNameless(one)).map(({ record, source }) => ({ ...record, source }));
    const path = resolve(io.cwd, String(flags.out));
    const html = draw(script ?? "crochet run", records);
    writePage(path, html);
    page = `\n${pageText(path, html, io)}`;
  }
  const { unloaded, problems, warnings } = found;
  const scripts = script === undefined ? agentScripts(cwd) : [];
  const data = { hooks, unloaded, problems, warnings, scripts };
  return { data, text: shown(hooks, found, script, scripts) + page, code: problems.length > 0 ? EXIT.failed : EXIT.ok };
});

async function agentOf(script: string, io: Io): Promise<Agent> {
  const path = resolve(io.cwd, script);
  if (!existsSync(path)) throw new UsageError(`Cannot list the hooks of '${script}' as there is no such script`);
  return await loadAgent(path, io);
}

/** A broken file whose name has no event is listed only to report that. */
function isNameless({ broken, path }: Listed): boolean {
  return broken === true && path === undefined;
}

function row(one: Listed, i: number, last: ReadonlyMap<string, string>) {
  const { record, scope, source, path, broken = false } = one;
  const nameless = isNameless(one);
  return {
    order: i + 1,
    name: record.name,
    events: nameless ? [] : [...new Set(record.on.map(narrowestName))],
    matcher: record.matcher ?? null,
    kind: nameless ? null : record.kind,
    scope,
    source,
    path: path ?? null,
    priority: record.priority,
    mode: record.mode,
    timeout: record.timeout ?? null,
    enabled: record.enabled,
    broken,
    trusted: true,
    notBuiltIn: notBuiltIn(record),
    last: last.get(record.name) ?? null,
  };
}

function shown(
  hooks: readonly ReturnType<typeof row>[],
  { unloaded, problems, warnings }: FoundHooks,
  script: string | undefined,
  scripts: readonly string[],
): string {
  const who = script ?? "'crochet run' without a script";
  const loads = table(
    ["#", "hook", "event", "matcher", "kind", "from", "on", "trusted", "last"],
    hooks.map((h) => [
      String(h.order),
      h.name,
      h.events.join(" "),
      h.matcher ?? "",
      h.kind === null ? "" : kindWords({ kind: h.kind, mode: h.mode }),
      h.source,
      h.broken ? "broken" : h.enabled ? "on" : "off",
      "yes",
      h.last ?? "",
    ]),
  );
  const part = (head: string, lines: readonly string[]) =>
    lines.length > 0 ? [`${head}:\n${lines.map((line) => `  ${line}\n`).join("")}`] : [];
  const others = hooks.filter(({ notBuiltIn }) => notBuiltIn.length > 0);
  return [
    `${who} ${
      hooks.length > 0 ? `loads:\n${loads}` : "loads no hooks: 'crochet hooks add' shows some to begin with\n"
    }`,
    ...part("Name tools that are not built in", others.map((one) => `${one.name}: ${one.notBuiltIn.join(", ")}`)),
    ...part("Look wrong", warnings),
    ...part("Found and not loaded", unloaded.map(({ name, why }) => `${name}: ${why}`)),
    ...part("Wrong", problems),
    ...scripts.map((name) => `${besideWords(name)}: crochet hooks ls ${name}\n`),
  ].join("\n");
}

/** How many of the newest runs are looked through. */
const RECENT = 5;

function lastResults(cwd: string, env: Readonly<Record<string, string | undefined>>): Map<string, string> {
  const last = new Map<string, string>();
  for (const path of newestFirst(logsOf(cwd, env)).slice(0, RECENT)) {
    for (const { folded } of firesIn(path).reverse()) {
      for (const run of folded.runs) {
        if (run.skipped === undefined && !last.has(run.hook)) last.set(run.hook, sayRun(run).split("\n")[0]!);
      }
    }
  }
  return last;
}
