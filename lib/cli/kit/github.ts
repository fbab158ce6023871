import { appendFileSync, readFileSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { refusalOf } from "../../files/drafts.ts";
import type { Io } from "./io.ts";
import type { Reporter } from "./report.ts";

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

/** What a command prints, kept for the summaries of its step. */
interface Step {
  readonly out: Io["out"];
  readonly draw: Io["out"];
  /** Ends it: writes summaries and annotations. */
  readonly end: (found: readonly Annotation[]) => void;
}

/**
 * Begins what may be a step of GitHub Actions: then what is printed becomes its summary, and faults are annotations.
 * `summary` gets the same text. Nothing that an agent or a tape says is taken for a command of GitHub. Data is for a
 * program, which may read nothing else: with it nothing is printed here.
 */
export function openStep(title: string, summary: string | undefined, isData: boolean, io: Reporter): Step {
  const { GITHUB_ACTIONS, GITHUB_STEP_SUMMARY = "" } = io.env;
  const isAction = GITHUB_ACTIONS === "true" && !isData;
  const files = [isAction ? GITHUB_STEP_SUMMARY : "", summary ?? ""].filter((file) => file !== "");
  const token = crypto.randomUUID();
  let text = "";
  if (isAction) io.out(`::stop-commands::${token}\n`);
  const kept = (print: Io["out"]) => (words: string) => {
    if (isData) return;
    if (files.length > 0 && text.length < MOST_SUMMARY) text += words;
    print(words);
  };
  return {
    out: kept(io.out),
    draw: kept(io.draw ?? io.out),
    end: (found) => {
      if (isAction) {
        io.out(`::${token}::\n`);
        for (const one of found.slice(0, MOST_ANNOTATIONS)) io.out(errorLine(one, io));
      }
      for (const file of files) summarise(file, title, text, io);
    },
  };
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
function summarise(file: string, title: string, text: string, { err, hide }: Reporter): void {
  const plain = process.getBuiltinModule("node:util").stripVTControlCharacters(text);
  const bytes = new TextEncoder().encode(hide(plain).trimEnd());
  const cut = bytes.length > MOST_SUMMARY ? "\n… cut: the log of the step has the rest" : "";
  const shown = new TextDecoder().decode(bytes.slice(0, MOST_SUMMARY));
  const ticks = [...shown.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = "`".repeat(Math.max(2, ...ticks) + 1);
  try {
    appendFileSync(file, `### ${title}\n\n${fence}\n${shown}${cut}\n${fence}\n\n`);
  } catch (error) {
    err(`crochet: Cannot write the summary ${file} as ${refusalOf(error)}\n`);
  }
}
