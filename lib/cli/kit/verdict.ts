import { EXIT } from "./io.ts";
import type { Annotation } from "./github.ts";

/** How an item ends, the worst first. */
export const WORDS = ["broken", "cannot run", "not measured", "held"] as const;

export type Word = typeof WORDS[number];

/** The one place where a judgement has an exit code. */
const CODES: { readonly [word in Word]: number } = {
  held: EXIT.ok,
  broken: EXIT.failed,
  "cannot run": EXIT.usage,
  "not measured": EXIT.notEnough,
};

/** One thing that is judged, and how it ended. */
export interface Item {
  readonly name: string;
  readonly word: Word;
  /** Why it did not hold, in lines. */
  readonly why?: string | undefined;
  /** What a reader must know of an item that held. */
  readonly notes?: readonly string[] | undefined;
  readonly seconds?: number | undefined;
  /** The class it is filed under in a JUnit report. @default the name of the command */
  readonly of?: string | undefined;
  /** Further fields of the item in `--json`. */
  readonly data?: object | undefined;
  /** What GitHub shows at lines of a change. */
  readonly points?: readonly Annotation[] | undefined;
}

export interface Verdict {
  readonly word: Word;
  readonly planned: number;
  /** In the order of the plan, then those that were not planned. */
  readonly items: readonly Item[];
  readonly code: number;
}

/** The worst of the words of items. What was planned and did not settle was not measured, and nothing to judge is nothing that holds. */
export function verdictOf(planned: readonly string[], settled: readonly Item[], isInterrupted = false): Verdict {
  const left = [...settled];
  const items = planned.map((name): Item => {
    const at = left.findIndex((one) => one.name === name);
    if (at >= 0) return left.splice(at, 1)[0]!;
    return { name, word: "not measured", why: `It was not reached${isInterrupted ? ", as this was interrupted" : ""}` };
  });
  items.push(...left);
  const word = WORDS.find((one) => items.some((item) => item.word === one)) ?? "cannot run";
  return { word, planned: planned.length, items, code: isInterrupted ? EXIT.interrupted : CODES[word] };
}

/** A verdict in one line: `broken: 1 of 3 fixtures, 1 not measured, 1 held`. */
export function verdictLine({ word, items }: Verdict, noun: string): string {
  const [worst, ...others] = WORDS.map((one) => ({ one, count: items.filter((item) => item.word === one).length }))
    .filter(({ count }) => count > 0);
  const all = `${items.length} ${items.length === 1 ? noun : noun.replace(/y$/, "ie") + "s"}`;
  if (!worst || others.length === 0) return `${word}: ${all}`;
  return [`${word}: ${worst.count} of ${all}`, ...others.map(({ one, count }) => `${count} ${one}`)].join(", ");
}

/** The JUnit report of a verdict: what broke is a failure, what could not run or was not measured an error. */
export function junit({ items }: Verdict, command: string): string {
  const count = (...words: Word[]) => items.filter(({ word }) => words.includes(word)).length;
  const seconds = items.reduce((sum, item) => sum + (item.seconds ?? 0), 0).toFixed(3);
  const suite = `name="crochet ${command}" tests="${items.length}" failures="${count("broken")}" ` +
    `errors="${count("cannot run", "not measured")}" time="${seconds}"`;
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites ${suite}>`,
    `  <testsuite ${suite}>`,
    ...items.map((item) => caseXml(item, command)),
    `  </testsuite>`,
    `</testsuites>`,
    "",
  ].join("\n");
}

function caseXml({ name, of, seconds = 0, word, why, notes = [] }: Item, command: string): string {
  const open = `    <testcase classname="${xml(of ?? command)}" name="${xml(name)}" time="${seconds.toFixed(3)}"`;
  const inside = (text: string) => `${open}>\n      ${text}\n    </testcase>`;
  if (word === "held") {
    return notes.length === 0 ? `${open}/>` : inside(`<system-out>${xml(notes.join("\n"))}</system-out>`);
  }
  const tag = word === "broken" ? "failure" : "error";
  const [first = "", ...rest] = (why ?? "").split("\n");
  const more = [...rest, ...notes].join("\n");
  const type = word === "broken" ? "" : ` type="${word}"`;
  const message = `${tag}${type} message="${xml(first || word)}"`;
  return inside(more === "" ? `<${message}/>` : `<${message}>${xml(more)}</${tag}>`);
}

/** A text as XML may hold it. */
function xml(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "").replace(
    /[&<>"]/g,
    (c) => `&#${c.charCodeAt(0)};`,
  );
}
