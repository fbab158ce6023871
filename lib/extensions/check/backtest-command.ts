import { existsSync, mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { thrownWords } from "../../core/shown.ts";
import { HookFolder } from "../../hooks/folder.ts";
import { hooksKeeper } from "../../hooks/hook-trust.ts";
import { openSandbox } from "../../permissions/sandbox.ts";
import { type Backtest, backtestOf, type Finding, leftOut } from "./backtest.ts";
import { findSessions, type LogProblem } from "../import/sessions/find-session.ts";
import { readSession } from "../import/sessions/read-session.ts";
import { pathFrom } from "../../cli/show/call-subject.ts";
import { expectHooksFolder } from "../../cli/kit/find-hooks.ts";
import { eachOf, ProgressLine } from "../../cli/kit/each-of.ts";
import type { Flags, Usage } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { judgingCommand } from "../../cli/kit/judge.ts";
import type { Item } from "../../cli/kit/verdict.ts";
import { type Colours, coloursFor, cut, oneLine, several } from "../../cli/show/text.ts";
import { removeTree } from "../../files/tree.ts";

const USAGE: Usage = {
  name: "hooks backtest",
  words: "<session.jsonl | dir>…",
  about: "Fires hooks over every tool call, prompt and stop in logs of Claude Code and Codex, and reports what " +
    "they would have denied, rewritten or sent back. Nothing in the logs is run; command hooks run in a sandbox.",
  flags: [
    ["--hooks <dir>", "the folder of hooks (hooks, if it is trusted)"],
    ["--since <time>", "only logs newer than this: 7d, 12h or a date"],
  ],
  example: "crochet hooks backtest ~/.claude/projects --since 30d",
};

/** Command hooks wait for their processes. */
const AT_ONCE = 4;

/** A hook is broken if it failed, and not measured if a program or a file that it needs is missing here. */
export default judgingCommand(USAGE, "hook", async ({ words, flags }, io, judge) => {
  if (words.length === 0) throw new UsageError(`Cannot backtest as no log is named: ${USAGE.example}`);
  const { cwd } = io;
  const paths = words.map((word) => resolve(io.cwd, word));
  const missing = paths.findIndex((path) => !existsSync(path));
  if (missing >= 0) throw new UsageError(`Cannot backtest on '${words[missing]}' as there is no such file or folder`);
  const since = sinceOf(flags.since);
  const scratch = mkdtempSync(join(tmpdir(), "crochet-backtest-"));
  try {
    const { records, notes } = await hooksOf(cwd, flags, scratch, io);
    const { sessions, others, problems: unread } = findSessions(paths);
    const wrong = others.find((path) => paths.includes(path)) ?? (sessions.length + unread.length === 0 && paths[0]);
    if (wrong) throw new UsageError(`Cannot backtest on '${wrong}' as it is not a log of Claude Code or Codex`);
    if (others.length > 0) {
      const named = others.slice(0, 3).map((path) => basename(path)).join(", ") + (others.length > 3 ? " …" : "");
      notes.push(`${several(others.length, "file")} passed over, as no log of Claude Code or Codex: ${named}`);
    }
    const fresh = sessions.filter(({ path, agents }) =>
      [path, ...agents].some((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) >= since)
    );
    judge.plan(...records.map(({ name }) => name));
    const backtest = backtestOf(records, { signal: io.signal, since });
    const line = new ProgressLine(io);
    const began = performance.now();
    let done = 0;
    const problems = await eachOf(fresh, { atOnce: AT_ONCE, signal: io.signal }, async (files) => {
      line.show(`backtest  ${done++} of ${fresh.length} sessions  ${backtest.fired.call} calls`);
      try {
        const session = readSession(files);
        return [...session.problems, ...await backtest.play(session)];
      } catch (error) {
        return [{ path: files.path, line: 0, why: thrownWords(error) }];
      }
    });
    line.end();
    const report = reportOf(backtest, problems.length, [...unread, ...problems.flat()], notes, io);
    io.out(textOf(report, (performance.now() - began) / 1000, io));
    if (!io.signal.aborted) { for (const hook of report.hooks) judge.settle(itemOf(hook)); }
    for (const { file, line, why } of report.problems) {
      judge.settle({ name: line > 0 ? `${file}:${line}` : file, word: "cannot run", why: `It was not read: ${why}` });
    }
    const { hooks: _, problems: __, ...counts } = report;
    return counts;
  } finally {
    removeTree(scratch);
  }
});

function itemOf(hook: Report["hooks"][number]): Item {
  const { hook: name, failed, missing, asked, findings } = hook;
  const failure = findings.find(({ would, reason }) => would === "fail" || reason?.startsWith("it failed: "))?.reason;
  const why = `It failed ${failed} of ${asked} times${missing > 0 ? ", as something is missing here" : ""}: ${failure}`;
  if (failed === 0) return { name, word: "held", data: hook };
  return { name, word: failed > missing ? "broken" : "not measured", why, data: hook };
}

const UNITS: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

function sinceOf(given: string | boolean | undefined): number {
  if (given === undefined) return -Infinity;
  const [, count, unit] = /^(\d+)([mhdw])$/.exec(String(given)) ?? [];
  const time = unit === undefined ? Date.parse(String(given)) : Date.now() - Number(count) * UNITS[unit]!;
  if (!Number.isNaN(time)) return time;
  throw new UsageError(`Cannot read --since ${given} as it is not a time: write 7d, 12h or 2026-11-01`);
}

/** The hooks of a folder. One that was typed is trusted for the call, the project's own if a person said so. */
async function hooksOf(cwd: string, { hooks: typed }: Flags["flags"], scratch: string, io: Io) {
  const path = typed === undefined ? join(cwd, "hooks") : resolve(io.cwd, String(typed));
  expectHooksFolder(path, path);
  const notes = new Set<string>();
  const mounts = [cwd, path].flatMap((dir) => ["--ro-bind", dir, dir]);
  const confine = openSandbox({ mode: "workspace", roots: [scratch], mounts });
  confine.catch(() => {}); // said when a command hook is there
  const folder = new HookFolder(path, {
    ...(typed === undefined && { keeper: () => hooksKeeper(cwd, io.env) }),
    host: {
      ...{ projectDir: cwd, env: io.env, outputDir: () => scratch },
      ...(await confine.then(() => true, () => false) && { confine: () => confine }),
    },
    warn: (message) => notes.add(message),
  });
  await folder.load();
  for (const why of new Set(folder.refused.values())) notes.add(why);
  for (const { message } of folder.problems) notes.add(message);
  const records = folder.records.filter((record) => leftOut(record) === undefined);
  for (const record of folder.records) {
    const why = leftOut(record);
    if (why !== undefined && record.source === folder.source) notes.add(`${record.name} is not asked: ${why}`);
  }
  if (records.some(({ kind }) => kind === "command")) {
    await confine.catch((error) => notes.add(`Command hooks ran without a sandbox: ${thrownWords(error)}`));
  }
  if (records.length > 0) return { records, notes: [...notes] };
  throw new UsageError(["Cannot backtest as there is no hook to ask", ...notes].join("; "));
}

type Report = ReturnType<typeof reportOf>;

function reportOf({ tallies, fired }: Backtest, sessions: number, problems: LogProblem[], notes: string[], io: Io) {
  const shown = (path: string) => pathFrom(io.cwd, path);
  const hooks = tallies.map(({ findings, ...tally }) => ({
    ...tally,
    would: Object.fromEntries(
      [...Map.groupBy(findings, ({ would }) => would)].map(([would, all]) => [would, all.length]).sort(),
    ) as { readonly [would: string]: number },
    // Sessions are played a few at a time.
    findings: findings.map((finding) => ({ ...finding, file: shown(finding.file) }))
      .sort((a, b) => a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line),
  }));
  return {
    sessions,
    ...{ prompts: fired.prompt, calls: fired.call, stops: fired.stop },
    hooks,
    problems: problems.map(({ path, line, why }) => ({ file: shown(path), line, why })),
    notes,
  };
}

/** Findings of a hook that are shown; the rest is in the data. */
const MOST = 10;

function textOf({ hooks, problems, notes, sessions, prompts, calls, stops }: Report, seconds: number, io: Io): string {
  const colours = coloursFor(io.tty, io.env);
  const columns = io.tty ? process.stdout.columns || 100 : Infinity;
  const lines = [
    ...notes.map((note) => `${colours.yellow("!")} ${note}`),
    ...problems.map(({ file, line, why }) =>
      `${colours.red("✗")} ${file}${line > 0 ? `:${line}` : ""} was not read: ${why}`
    ),
    ...hooks.flatMap(({ hook, asked, would, findings }) => [
      `${findings.length > 0 ? colours.bold(hook) : hook}  ${
        colours.dim([
          `asked ${asked === 1 ? "once" : `${asked} times`}`,
          ...Object.entries(would).map(([what, count]) => `would ${what} ${count}`),
        ].join(" · "))
      }`,
      ...findings.slice(0, MOST).flatMap((finding) => findingLines(finding, colours, columns)),
      ...(findings.length > MOST ? [`  ${colours.dim(`… and ${findings.length - MOST} more, see --json`)}`] : []),
    ]),
    "",
    `${several(sessions, "session")}, ${several(calls, "call")}, ${several(prompts, "prompt")}, ` +
    several(stops, "stop") + colours.dim(` · ${seconds.toFixed(1)} s`),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function findingLines(finding: Finding, colours: Colours, columns: number): string[] {
  const { would, event, tool, input, prompt, last_assistant_message, reason, file, line, at } = finding;
  const about = tool === undefined
    ? JSON.stringify(prompt ?? last_assistant_message)
    : `${tool} ${JSON.stringify(input)}`;
  const what = cut(oneLine(`${event} ${about}`), columns - would.length - 3);
  return [
    `  ${would === "fail" ? colours.red(would) : colours.yellow(would)} ${what}`,
    ...(reason === undefined ? [] : [`    ${cut(oneLine(reason.trimEnd()), columns - 4)}`]),
    `    ${colours.dim(`${file}:${line}${at === undefined ? "" : `  ${at}`}`)}`,
  ];
}
