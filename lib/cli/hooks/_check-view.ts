import { isObject } from "../../core/json.ts";
import type { CheckReport, Finding, HookReport, Termination } from "../../testing/check/report.ts";
import type { Colours } from "../show/colours.ts";
import { several } from "../show/text.ts";
import { wrap } from "../show/width.ts";

/** Lines of a play or of rewritings that are shown; the rest is in the data. */
const MOST_TRACE = 4;

/** The report as a person reads it: a line for each hook, and under it what was found. */
export function checkText(report: CheckReport, seconds: number, colours: Colours, columns: number): string {
  const lines = [
    ...report.problems.map((problem) => `${colours.red("✗")} ${problem}`),
    ...report.hooks.flatMap((hook) => hookLines(hook, colours, columns)),
    "",
    summary(report, seconds, colours),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function hookLines(hook: HookReport, colours: Colours, columns: number): string[] {
  const { findings, skipped, timing, termination, runs } = hook;
  const faults = findings.filter(({ severity }) => severity === "fault");
  const mark = faults.length > 0
    ? colours.red("✗")
    : skipped !== undefined
    ? colours.dim("–")
    : findings.length > 0
    ? colours.yellow("!")
    : colours.green("✓");
  const about = skipped ?? [
    `${runs} runs`,
    ...(timing ? [`p50 ${time(timing.p50)}, p95 ${time(timing.p95)}`] : []),
    ...(termination && faults.every(({ law }) => law !== "terminating") ? [letsGo(termination)] : []),
  ].join(" · ");
  return [
    `${mark} ${faults.length > 0 ? colours.bold(hook.hook) : hook.hook}  ${colours.dim(about)}`,
    ...findings.flatMap((finding) => findingLines(finding, colours, columns)),
  ];
}

/** Nothing is proven: it was not refuted in so many rounds. */
function letsGo({ letsGo, rounds }: Termination): string {
  return letsGo === "never blocks" ? "never blocked" : `lets go ${letsGo}, not refuted in ${rounds} rounds`;
}

function findingLines(finding: Finding, colours: Colours, columns: number): string[] {
  const { code, severity, event, message, counterexample, trace = [], reproduce, fix } = finding;
  const colour = severity === "fault" ? colours.red : colours.yellow;
  const at = event === undefined ? "" : colours.dim(` at ${event}`);
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
    ...(trace.length === 0 ? input(counterexample).flatMap((text) => field("event", text)) : []),
    ...field("fix", fix),
    `    ${colours.dim("again".padEnd(7))}${reproduce}`,
  ];
}

/** The part of an event that such a hook is about. */
function input(counterexample: unknown): string[] {
  if (!isObject(counterexample)) return [];
  const { tool_name, tool_input, input = tool_input, prompt, last_assistant_message } = counterexample;
  const about = tool_name !== undefined
    ? `${tool_name} ${JSON.stringify(input)}`
    : prompt !== undefined
    ? JSON.stringify({ prompt })
    : last_assistant_message !== undefined
    ? JSON.stringify({ last_assistant_message })
    : undefined;
  return about === undefined ? [] : [printable(about.length > 160 ? `${about.slice(0, 157)}…` : about)];
}

/** A text that moves no cursor. */
function printable(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202f\ufeff]/g, "�");
}

function wrapped(text: string, columns: number, indent: number): string[] {
  return wrap(printable(text.replaceAll("\n", "⏎")), Math.max(40, columns - indent), 0);
}

function time(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

function summary({ hooks, problems, seed, runs, sandbox }: CheckReport, seconds: number, colours: Colours): string {
  const all = hooks.flatMap(({ findings }) => findings);
  const faulty = hooks.filter(({ findings }) => findings.some(({ severity }) => severity === "fault")).length;
  const warnings = all.filter(({ severity }) => severity === "warning").length;
  const parts = [
    several(hooks.length, "hook"),
    faulty > 0 ? colours.red(`${faulty} at fault`) : colours.green("none at fault"),
    ...(problems.length > 0 ? [colours.red(`${problems.length} not checked`)] : []),
    ...(warnings > 0 ? [colours.yellow(several(warnings, "warning"))] : []),
  ];
  const how = sandbox === "bubblewrap" ? "in bubblewrap" : "without a sandbox: bubblewrap is not installed";
  return `${parts.join(", ")}${colours.dim(` · seed ${seed} · ${runs} runs each · ${how} · ${seconds.toFixed(1)} s`)}`;
}
