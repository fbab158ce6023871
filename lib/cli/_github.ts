import { appendFileSync, readFileSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { command, type Flags, refuseTogether, type Usage } from "./_flags.ts";
import { type Command, type Io, UsageError } from "./_io.ts";

/** What GitHub shows at a line of a change. */
export interface Annotation {
  readonly file: string;
  /** A text that stands in the line; without it, or if no line has it, the file as a whole. */
  readonly at?: string | undefined;
  readonly title: string;
  readonly message: string;
}

/** GitHub shows ten of a step; more would hide those of other steps. */
const MOST_ANNOTATIONS = 10;
/** A summary of more than 1 MiB is dropped whole. */
const MOST_SUMMARY = 900 * 1024;

type Work = (asked: Flags, io: Io, point: (annotation: Annotation) => void) => Promise<number>;

/**
 * A command that may be a step of GitHub Actions: then what it prints becomes the summary of the step, and its faults
 * annotations. `--summary` keeps the same text, for a
 * comment or another host. Nothing that an agent or a tape says is taken for a command of GitHub.
 */
export function githubCommand(usage: Usage, work: Work): Command {
  return command({ ...usage, flags: [...usage.flags, SUMMARY] }, async (asked, io) => {
    const { json, summary } = asked.flags;
    if (json) refuseTogether(asked.flags, "json", ["summary"], "a summary is what a person would read");
    // Data is for a program, which may read nothing else.
    if (json || io.env.GITHUB_ACTIONS !== "true" && summary === undefined) return await work(asked, io, () => {});
    const { GITHUB_ACTIONS, GITHUB_STEP_SUMMARY = "" } = io.env;
    const files = [GITHUB_ACTIONS === "true" ? GITHUB_STEP_SUMMARY : "", summaryFile(summary, io)];
    return await asStep(`crochet ${usage.name}`, asked, io, work, files.filter((file) => file !== ""));
  });
}

const SUMMARY = ["--summary <file>", "add what is printed to this file, as Markdown"] as const;

/** @throws {UsageError} if it cannot be written, before anything is paid */
function summaryFile(given: string | boolean | undefined, { cwd }: Io): string {
  if (given === undefined) return "";
  const file = resolve(cwd, String(given));
  try {
    appendFileSync(file, "");
  } catch (error) {
    throw new UsageError(`Cannot write --summary ${given} as ${(error as Error).message}`);
  }
  return file;
}

async function asStep(title: string, asked: Flags, io: Io, work: Work, summaries: readonly string[]): Promise<number> {
  const isAction = io.env.GITHUB_ACTIONS === "true";
  const found: Annotation[] = [];
  const token = crypto.randomUUID();
  let text = "";
  if (isAction) io.out(`::stop-commands::${token}\n`);
  try {
    const out = (words: string) => {
      if (text.length < MOST_SUMMARY) text += words;
      io.out(words);
    };
    return await work(asked, { ...io, out }, (annotation) => found.push(annotation));
  } finally {
    if (isAction) {
      io.out(`::${token}::\n`);
      for (const one of found.slice(0, MOST_ANNOTATIONS)) io.out(errorLine(one, io));
    }
    for (const file of summaries) summarise(file, title, text, io);
  }
}

function errorLine({ file, at, title, message }: Annotation, { cwd, env }: Io): string {
  const path = resolve(cwd, file);
  const line = at === undefined ? undefined : lineOf(path, at);
  const shown = relative(env.GITHUB_WORKSPACE || cwd, path);
  const where = `file=${property(shown)}${line === undefined ? "" : `,line=${line}`},title=${property(title)}`;
  return `::error ${where}::${escaped(message)}\n`;
}

function lineOf(path: string, words: string): number | undefined {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
  const at = readFileSync(path, "utf8").split("\n").findIndex((line) => line.includes(words));
  return at < 0 ? undefined : at + 1;
}

function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** Adds to a summary; what is printed in a fence that it cannot close. */
function summarise(file: string, title: string, text: string, { err }: Io): void {
  const bytes = new TextEncoder().encode(
    process.getBuiltinModule("node:util").stripVTControlCharacters(text).trimEnd(),
  );
  const cut = bytes.length > MOST_SUMMARY ? "\n… cut: the log of the step has the rest" : "";
  const shown = new TextDecoder().decode(bytes.slice(0, MOST_SUMMARY));
  const ticks = [...shown.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = "`".repeat(Math.max(2, ...ticks) + 1);
  try {
    appendFileSync(file, `### ${title}\n\n${fence}\n${shown}${cut}\n${fence}\n\n`);
  } catch (error) {
    err(`crochet: Cannot write the summary ${file} as ${(error as Error).message}\n`);
  }
}
