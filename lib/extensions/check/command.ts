import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isObject } from "../../core/json.ts";
import { HOST_NAMES, isHost, SETTINGS_FILES, unseenIn } from "../../hooks/hosts/index.ts";
import { standings } from "../../hooks/hook-trust.ts";
import type { CheckOptions } from "./check.ts";
import type { CheckReport, Finding, HookReport, Survivor, Termination } from "./check-report.ts";
import type { HookExample } from "./examples/example.ts";
import { marksOf, tableLines, tablePage } from "./law-table.ts";
import { ProgressLine } from "../../cli/kit/each-of.ts";
import { type Flags, numberFlag, type Usage } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { type Judge, judgingCommand } from "../../cli/kit/judge.ts";
import type { Item } from "../../cli/kit/verdict.ts";
import { pageText, writePage } from "../../cli/show/write-page.ts";
import { type Colours, coloursFor, cut, openText, several, wrap } from "../../cli/show/text.ts";

const USAGE: Usage = {
  name: "hooks check",
  words: "[file | folder | settings.json | hooks.json]…",
  about: "Tries hooks on generated events in a scratch workspace, and reports the laws they break.",
  flags: [
    ["--runs <n>", "events for each hook, at least half of them generated (100)"],
    ["--seed <n>", "the same seed makes the same events"],
    ["--for <host>", `the host that runs them: ${HOST_NAMES.join(", ")} (by the path, else claude)`],
    ["--event <name>", "the event, if the file's name does not say it: stop, pre-tool-use@Bash"],
    ["--timeout <seconds>", "time for one answer (5)"],
    ["--time <seconds>", "time for the whole check (60 for each hook)"],
    ["--mutants", "change each hook a little at a time: do its examples notice?"],
    ["--save", "add examples that are missing, and events that break a law, to <hook>.examples.yaml"],
    ["--out <file>", "write the table of hooks and laws as a page"],
    ["--trust", "trust the hooks of the project for this call: they are run"],
  ],
  example: "crochet hooks check hooks --runs 200",
};

/** A hook is broken by a fault, and not measured if the time was over before all was asked; warnings do not count. */
export default judgingCommand(USAGE, "hook", async ({ words, flags }, io, judge) => {
  const { cwd } = io;
  const { paths, untrusted } = words.length === 0
    ? trustedPaths(cwd, io, flags.trust === true)
    : { paths: words, untrusted: [] };
  const missing = paths.find((path) => !existsSync(resolve(cwd, path)));
  if (missing !== undefined) {
    throw new UsageError(
      `Cannot check '${missing}': there is no such file or folder. Name a hook, a folder of hooks or a settings file`,
    );
  }
  const options = optionsOf(flags, cwd, io);
  const { check } = await import("./check.ts");
  const began = performance.now();
  const line = new ProgressLine(io);
  const found = await check(paths, { ...options, ...progressOn(line), onFound: starting(io, judge) });
  line.end();
  const problems = [...untrusted, ...found.problems];
  if (found.hooks.length === 0 && problems.length === 0) {
    const where = words.length === 0 ? "here" : `in ${words.join(", ")}`;
    throw new UsageError(`There is no hook to check ${where}: name a hook file, a folder or settings`);
  }
  const columns = io.tty ? process.stdout.columns || 100 : Infinity;
  const seconds = (performance.now() - began) / 1000;
  const shown = { ...found, problems };
  const colours = coloursFor(io.tty, io.env);
  const table = found.hooks.length > 0 ? tableLines(found.hooks, colours, columns) : [];
  io.out(table.map((line) => `${line}\n`).join("") + checkText(shown, seconds, colours, columns));
  const unseen = options.host ? unseenIn(options.host) : [];
  io.out(unseen.map((line) => `${line}\n`).join(""));
  for (const hook of found.hooks) judge.settle(itemOf(hook, cwd));
  for (const why of problems) judge.settle({ name: why, word: "cannot run", why, of: "hooks" });
  if (flags.out !== undefined) {
    const report = `${checkText(shown, seconds, coloursFor(false, {}), Infinity)}${judge.verdict()}\n`;
    const [path, html] = [resolve(io.cwd, String(flags.out)), tablePage(found.hooks, report)];
    writePage(path, html);
    io.out(pageText(path, html, io));
  }
  const { seed, runs, host, sandbox } = found;
  return { seed, runs, host, sandbox, ...unseen.length > 0 && { unseen } };
});

function itemOf(hook: HookReport, cwd: string): Item {
  const { hook: name, path, findings: _, unchecked, skipped = unchecked } = hook;
  const faults = faultsOf(hook);
  const file = resolve(cwd, path);
  const lines = faults.map(({ code, message, fix, reproduce }) =>
    `${code}: ${message}\nfix: ${fix}\nagain: ${reproduce}`
  );
  const points = [
    ...faults.map(({ code, message }) => ({ file, title: code, message })),
    ...(skipped === undefined ? [] : [{ file, title: "not checked", message: skipped }]),
  ];
  return {
    ...{ name, of: path, data: { ...hook, table: marksOf(hook) }, points },
    word: faults.length > 0 ? "broken" : skipped === undefined ? "held" : "not measured",
    ...(points.length > 0 && { why: [...lines, ...(skipped === undefined ? [] : [skipped])].join("\n") }),
  };
}

/** Trusted hooks of the project. A path on the command line is trusted for the call; what is only found has to be. */
function trustedPaths(cwd: string, io: Io, trustsAll: boolean): { paths: string[]; untrusted: string[] } {
  const known = standings(cwd, io.env).filter(({ thing }) => thing !== ".crochet/config.yaml" && thing !== ".mcp.json");
  const isTrusted = (state: string) => state === "trusted" || (trustsAll && state !== "refused");
  const others = [...SETTINGS_FILES.filter((file) => !file.startsWith(".claude/")), "hooks/hooks.json"];
  const untrusted = [
    ...known.filter(({ state }) => !isTrusted(state)).map(({ thing, state }) =>
      `${thing} was not checked: it ${state === "changed" ? "changed since it was trusted" : "is not trusted"}. ` +
      `Run 'crochet trust', or name it: crochet hooks check ${thing}`
    ),
    ...others.filter((path) => existsSync(resolve(cwd, path))).map((path) =>
      `${path} was not checked: name it: crochet hooks check ${path}`
    ),
  ];
  return { paths: known.filter(({ state }) => isTrusted(state)).map(({ thing }) => thing), untrusted };
}

function optionsOf(flags: Flags["flags"], cwd: string, io: Io): CheckOptions {
  const host = flags.for;
  if (host !== undefined && !isHost(host)) {
    throw new UsageError(`Unknown host '${host}': expected ${HOST_NAMES.join(", ")}`);
  }
  return {
    cwd,
    env: io.env,
    signal: io.signal,
    cases: true,
    mutants: flags.mutants === true,
    save: flags.save === true,
    ...(host && { host }),
    ...(typeof flags.event === "string" && { event: flags.event }),
    ...Object.fromEntries(
      NUMBERS.filter((name) => flags[name] !== undefined).map((name) => [name, numberFlag(flags, name)]),
    ),
  };
}

const NUMBERS = ["runs", "seed", "timeout", "time"];

function faultsOf({ findings }: HookReport): readonly Finding[] {
  return findings.filter(({ severity }) => severity === "fault");
}

/** Says on a terminal how long it takes before anything runs. */
function starting(io: Io, judge: Judge): NonNullable<CheckOptions["onFound"]> {
  return (names, about, most) => {
    judge.plan(...names);
    const shown = (seconds: number) => seconds < 100 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;
    const time = `about ${shown(Math.min(about, most))}, at most ${shown(most)} (--time)`;
    if (io.tty && names.length > 0) io.err(`checking ${several(names.length, "hook")}: ${time}\n`);
  };
}

/** Shows which hooks are asked, and how often each was. */
function progressOn(line: ProgressLine): Pick<CheckOptions, "onProgress" | "onHook"> {
  const asked = new Map<string, number>();
  let done = 0;
  return {
    onProgress: (hook, runs) => {
      asked.set(hook, runs);
      line.show(`checking  ${done} done  ${[...asked].map(([name, n]) => `${name} ${n}`).join(" · ")}`);
    },
    onHook: ({ hook }) => {
      asked.delete(hook);
      done++;
    },
  };
}

/** Lines of a play or of rewritings that are shown; the rest is in the data. */
const MOST_TRACE = 4;

/** The report as a person reads it: a line for each hook, and under it what was found. */
function checkText(report: CheckReport, seconds: number, colours: Colours, columns: number): string {
  const lines = [
    ...report.problems.map((problem) => `${colours.red("✗")} ${problem}`),
    ...report.hooks.flatMap((hook) => hookLines(hook, colours, columns)),
    "",
    summary(report, seconds, colours),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function hookLines(hook: HookReport, colours: Colours, columns: number): string[] {
  const { findings, skipped, unchecked, timing, termination, runs, asked, mutants, saved } = hook;
  const faults = faultsOf(hook);
  const mark = faults.length > 0
    ? colours.red("✗")
    : skipped !== undefined || unchecked !== undefined
    ? colours.dim("–")
    : findings.length > 0 || hook.mutants?.survived.length
    ? colours.yellow("!")
    : colours.green("✓");
  const about = skipped ?? [
    unchecked === undefined
      ? `${runs < asked ? `${runs} of ` : ""}${several(asked, "event")}`
      : `${unchecked}, --time allows more`,
    ...(timing ? [`p50 ${time(timing.p50)}, p95 ${time(timing.p95)}`] : []),
    ...(mutants
      ? [`${several(mutants.made, "mutant")}, ${mutants.caught} caught, ${mutants.survived.length} survived`]
      : []),
    ...(termination && faults.every(({ law }) => law !== "terminating") ? [letsGo(termination)] : []),
  ].join(" · ");
  return [
    `${mark} ${faults.length > 0 ? colours.bold(hook.hook) : hook.hook}  ${colours.dim(about)}`,
    ...findings.flatMap((finding) => findingLines(finding, colours, columns)),
    ...(mutants?.survived ?? []).flatMap((one) => survivorLines(one, saved !== undefined, colours)),
    ...(saved
      ? [`  ${several(saved.examples, "example")} added to ${saved.file}: read what was added before you keep it`]
      : []),
  ];
}

function survivorLines({ line, was, is, example, hook, mutant }: Survivor, saved: boolean, colours: Colours): string[] {
  const indent = " ".repeat(`line ${line}  `.length + 2);
  const answers = hook === undefined ? "" : `: ${hook}, mutant ${mutant}`;
  const keeps = saved ? "" : colours.dim("   --save keeps it");
  return [
    `  ${colours.dim(`line ${line}`)}  ${colours.red(`- ${openText(was)}`)}`,
    `${indent}${colours.green(`+ ${openText(is)}`)}`,
    ...(example ? [`    they differ at: ${eventWords(example.event)}${answers}${keeps}`] : []),
  ];
}

/** An event on one line: the tool, its input, and what else there is. */
function eventWords(event: HookExample["event"] = {}): string {
  const { tool_name, tool_input, ...rest } = event;
  const parts = [
    tool_name,
    ...[tool_input, rest].map((part) => JSON.stringify(part ?? {})).filter((one) => one !== "{}"),
  ];
  return cut(openText(parts.filter((part) => part !== undefined).join(" ")), 160) || "the usual event";
}

/** Nothing is proven: it was not refuted in so many rounds. */
function letsGo({ letsGo, rounds }: Termination): string {
  return letsGo === "never blocks" ? "never blocked" : `lets go ${letsGo}, not refuted in ${rounds} rounds`;
}

function findingLines(finding: Finding, colours: Colours, columns: number): string[] {
  const { code, severity, event, place, message, counterexample, trace = [], reproduce, fix } = finding;
  const colour = severity === "fault" ? colours.red : colours.yellow;
  const where = [event, place].filter((part) => part !== undefined).join(", ");
  const at = where === "" ? "" : colours.dim(` at ${where}`);
  const more = trace.length - MOST_TRACE;
  const shown = trace.slice(0, more === 1 ? trace.length : MOST_TRACE);
  const field = (name: string, text: string) =>
    wrapped(text, columns, 11).map((line, i) => `    ${i === 0 ? colours.dim(name.padEnd(7)) : " ".repeat(7)}${line}`);
  return [
    `  ${colour(code)}${at}`,
    ...wrapped(message, columns, 4).map((line) => `    ${line}`),
    ...shown.flatMap((line) =>
      wrapped(line, columns, 8).map((part, i) => `${i === 0 ? "      " : "        "}${colours.dim(part)}`)
    ),
    ...(more > 1 ? [`      ${colours.dim(`… and ${more} more, see --json`)}`] : []),
    ...(trace.length === 0 && isObject(counterexample) ? field("event", eventWords(subjectOf(counterexample))) : []),
    ...field("fix", fix),
    `    ${colours.dim("again".padEnd(7))}${reproduce}`,
  ];
}

function subjectOf(event: { readonly [field: string]: unknown }): HookExample["event"] {
  const { tool_name, tool_input, input = tool_input, prompt, last_assistant_message } = event;
  return tool_name !== undefined ? { tool_name, tool_input: input } : { prompt, last_assistant_message };
}

function wrapped(text: string, columns: number, indent: number): string[] {
  return wrap(openText(text.replaceAll("\n", "⏎")), Math.max(40, columns - indent), 0);
}

function time(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

function summary({ hooks, seed, sandbox }: CheckReport, seconds: number, colours: Colours): string {
  const warnings = hooks.flatMap(({ findings }) => findings).filter(({ severity }) => severity === "warning").length;
  const how = sandbox === "bubblewrap" ? "in bubblewrap" : "without a sandbox: bubblewrap is not installed";
  const about = colours.dim(`seed ${seed} · ${how} · ${seconds.toFixed(1)} s`);
  return warnings > 0 ? `${colours.yellow(several(warnings, "warning"))}${colours.dim(" · ")}${about}` : about;
}
