import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { refusalOf, wordsOf, writing } from "../../files/drafts.ts";
import { reportLeft } from "./each-of.ts";
import { command, type Flags, type TypedFlags, type Usage } from "./flags.ts";
import { openStep } from "./github.ts";
import { type Command, type Io, UsageError } from "./io.ts";
import { armed } from "../../runtime/judging.ts";
import { errorText } from "./process.ts";
import { type Item, junit, type Verdict, verdictLine, verdictOf } from "./verdict.ts";

/** What a command that judges is given: it says what it will judge, then how each ended. */
export interface Judge {
  /** Names items, before any code of the user runs. */
  readonly plan: (...names: string[]) => void;
  readonly settle: (item: Item) => void;
  /** The line that will end what is printed, as far as items have settled: for a report in a file. */
  readonly verdict: () => string;
}

/**
 * Judges what it has planned; gives further fields of `--json`. What it writes to `io.out` is for people, and is not
 * printed with `--json`. A number is the exit code of what judges nothing, such as `--watch`.
 */
export type JudgingWork = (asked: TypedFlags, io: Io, judge: Judge) => Promise<object | number | void>;

const REPORTS: Usage["flags"] = [
  ["--json", "print JSON: the verdict, and each item with its word"],
  ["--junit <file>", "write a JUnit report"],
  ["--summary <file>", "add what is printed to this file, as Markdown"],
];

/** A command whose words, exit code and reports come from one list of items, whatever happens; `noun` is what an item is called. */
export function judgingCommand(usage: Usage, noun: string, work: JudgingWork): Command {
  const flags = [...usage.flags, ...REPORTS];
  const excludes = [...usage.excludes ?? [], ["json", ["summary"], "a summary is what a person would read"] as const];
  const made = command({ ...usage, flags, excludes }, async (asked, io) => {
    const { flags } = asked;
    const [report, summary] = [writable("junit", flags, io), writable("summary", flags, io)];
    const step = openStep(`crochet ${usage.name}`, summary, flags.json === true, io);
    const planned: string[] = [];
    const settled: Item[] = [];
    const judged = () => verdictOf(planned, settled, io.signal.aborted);
    const judge: Judge = {
      plan: (...names) => planned.push(...names),
      settle: (item) => settled.push(item),
      verdict: () => verdictLine(judged(), noun),
    };
    let more: object = {};
    const tell = (): number => {
      const verdict = judged();
      if (io.signal.aborted) reportLeft(planned.length - settled.length, planned.length, "judged", io);
      if (flags.json) io.data(asData(verdict, more));
      else if (planned.length > 0 || settled.length === 0) step.out(`${verdictLine(verdict, noun)}\n`);
      step.end(verdict.items.flatMap(({ points = [] }) => points));
      if (report !== undefined) writing(report, () => writeFileSync(report, junit(io.hide(verdict), usage.name)));
      return verdict.code;
    };
    const arm = armed(tell, ({ words }) => settled.push({ name: words, word: "broken", why: `It ends the process` }));
    try {
      const done = await work(asked, { ...io, out: step.out, draw: step.draw }, judge);
      if (typeof done === "number") {
        step.end([]);
        return done;
      }
      more = done ?? {};
    } catch (error) {
      io.err(`crochet: ${errorText(error, asked.args)}\n`);
      if (!io.signal.aborted) settled.push(...stopped(planned, settled, usage.name, wordsOf(error)));
    } finally {
      // The process stays armed until the last byte is written.
      if (io.whenWritten) io.whenWritten(arm.end);
      else arm.end();
    }
    arm.reported();
    return tell();
  });
  return Object.assign(made, { judges: true });
}

/** What an error left: of a plan, all that has not settled; if there is none, the command itself. */
function stopped(planned: readonly string[], settled: readonly Item[], name: string, why: string): Item[] {
  const left = planned.filter((one) => settled.every((item) => item.name !== one));
  return (left.length > 0 ? left : [name]).map((one) => ({ name: one, word: "cannot run", why }));
}

function asData({ word, planned, items }: Verdict, more: object): object {
  const shown = items.map(({ of: _, points: __, data, ...item }) => ({ ...item, ...data }));
  return { word, planned, ...more, items: shown };
}

/** @throws {UsageError} if the file of a report cannot be written, before anything runs or is paid */
function writable(name: "junit" | "summary", flags: Flags["flags"], { cwd }: Io): string | undefined {
  if (flags[name] === undefined) return undefined;
  const file = resolve(cwd, String(flags[name]));
  try {
    mkdirSync(dirname(file), { recursive: true });
    appendFileSync(file, "");
  } catch (error) {
    const [why] = refusalOf(error).split(": ");
    throw new UsageError(`Cannot write --${name} ${flags[name]} as ${why}: name a file that can be written`);
  }
  return file;
}
