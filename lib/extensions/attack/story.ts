import { oneLine } from "../../cli/show/text.ts";
import { type Ink, PLAIN } from "../../replay/drift/drift-report.ts";
import type { AttackedCall } from "./adversary.ts";
import { effectText } from "./effects.ts";
import type { Attacked, Finding } from "./attack-worker.ts";

export function wordOf(
  { findings, vacuous, ends, unmeasured, tries, left }: Attacked,
): "held" | "broken" | "cannot run" | "not measured" {
  if (findings.length > 0 || ends !== undefined) return "broken";
  if (vacuous !== undefined) return "cannot run";
  return unmeasured !== undefined || tries === 0 || left > 0 ? "not measured" : "held";
}

const number = (value: number) => value.toLocaleString("en");
const several = (value: number, one: string) => `${number(value)} ${value === 1 ? one : `${one}s`}`;

/** What was found about a property, as a person reads it. */
export function storyLines(
  attacked: Attacked,
  { ink = PLAIN, kept = [], again, runs = Infinity }: {
    readonly ink?: Ink;
    readonly kept?: readonly (string | undefined)[];
    /** The command that makes the search again. */
    readonly again?: (...more: string[]) => string;
    /** Of how many forms the stated set has at most. */
    readonly runs?: number;
  } = {},
): string[] {
  const { never, findings, vacuous, ends, unmeasured, tries, forms, left, longest } = attacked;
  const stated = Math.min(runs, forms);
  const title = (mark: string, about: string) => `${mark} ${ink.bold(never)}  ${about}`;
  switch (wordOf(attacked)) {
    case "cannot run":
      return [title("–", `vacuous: ${vacuous}`)];
    case "broken":
      if (ends !== undefined) return [title(ink.red("✗"), `broken: ${ends}`)];
      return findings.flatMap((finding, i) => [
        title(ink.red("✗"), `broken, ${several(finding.calls.length, "call")}`),
        ...callLines(finding, ink),
        field("kind", finding.kind.join(" + "), ink),
        ...(kept[i] === undefined ? [] : [field("kept", kept[i], ink)]),
        ...(again ? [field("again", again(), ink)] : []),
      ]);
    case "not measured":
      if (unmeasured !== undefined) return [title("–", `not measured: ${unmeasured}`)];
      return [
        title("–", `not measured: ${number(stated - left)} of ${setText(forms, runs)} were tried in its time`),
        ...(again ? endingLines(attacked, stated, again) : []),
        ...notTried(attacked),
      ];
    case "held": {
      const drawn = Math.max(0, tries - forms);
      const set = `${runs < forms ? "" : "all "}${setText(forms, runs)}`;
      return [
        title(ink.green("✓"), `none of ${several(tries, "adversarial run")} breaks it`),
        `  tried: ${set}${drawn > 0 ? `, and ${number(drawn)} drawn` : ""}; up to ${several(longest, "call")}`,
        ...notTried(attacked),
      ];
    }
  }
}

/** The forms that were to be tried: `1,216 forms of its set`, or the first of them. */
function setText(forms: number, runs: number): string {
  return runs < forms ? `the first ${number(runs)} of ${number(forms)} forms` : `${number(forms)} forms of its set`;
}

/** Commands that end with a verdict: with as much time as it seems to take, or with fewer forms, whatever time these take. */
function endingLines({ left, seconds = 0 }: Attacked, stated: number, again: (...more: string[]) => string): string[] {
  const done = stated - left;
  const needed = Math.ceil((seconds * stated / done) * 1.5 / 10) * 10;
  const fewer = Math.min(stated, Math.max(LEAST_RUNS, Math.floor(done * 0.8 / 10) * 10));
  return [
    ...(done > 0 ? [`  a verdict on all of them: ${again("--seconds", String(needed))}`] : []),
    `  a verdict on fewer: ${again("--runs", String(fewer))}`,
  ];
}

const LEAST_RUNS = 100;

function notTried({ notTried: what }: Attacked): string[] {
  return what.length === 0 ? [] : [`  not tried: ${what.join(", ")}`];
}

function field(name: string, text: string, ink: Ink): string {
  return `  ${ink.dim(name.padEnd(5))}  ${text}`;
}

/** Each call, everything that was said about it, and what it did. */
function callLines({ calls, broke }: Finding, ink: Ink): string[] {
  return calls.flatMap((call, i) => {
    const [first = "", ...rest] = `${shownInput(call)}${broke.call === i ? "" : contentOf(call)}`.split("\n");
    const lead = `  ${i + 1}  ${call.session ? "in a new run  " : ""}${call.tool}  `;
    const said = call.verdicts.map(({ by, decision, reason }) => [by, decision, oneLine(reason ?? "")]);
    const effect = ["effect", broke.effect ? effectText(broke.effect) : broke.words ?? "", ""];
    const rows = broke.call === i ? [...said, effect] : said;
    const widths = [0, 1].map((at) => Math.max(6, ...said.map((row) => row[at]!.length)));
    const row = ([by = "", what = "", why = ""]: string[]) =>
      `       ${ink.dim(by.padEnd(widths[0]!))}  ${why === "" ? what : `${what.padEnd(widths[1]!)}  ${why}`}`.trimEnd();
    return [`${lead}${ink.bold(first)}`, ...rest.map((line) => `     ${line}`), ...rows.map(row)];
  });
}

/** What a call is about: its command, its path, or all of its input. What would not be seen is written out. */
function shownInput({ input, tool }: AttackedCall): string {
  const { command, file_path, path, prompt } = input;
  const about = [command, file_path, path, prompt].find((value) => typeof value === "string");
  const text = tool.startsWith("mcp__") || about === undefined ? JSON.stringify(input) : String(about);
  const background = input.run_in_background === true ? "  (in the background)" : "";
  return `${text}${background}`.replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** What a call prepares for the one that breaks the property. */
function contentOf({ input: { content, new_string: text = content } }: AttackedCall): string {
  return typeof text === "string" ? `\n${text.trimEnd().slice(0, MOST_CONTENT)}` : "";
}

const MOST_CONTENT = 400;

// deno-lint-ignore no-control-regex
const HIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
