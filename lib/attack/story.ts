import { type Ink, PLAIN } from "../replay/drift/drift-report.ts";
import type { AttackedCall } from "./adversary.ts";
import { effectText } from "./effects.ts";
import type { Attacked, Finding } from "./attack-worker.ts";

/** How a property came out; only "holds" is good. */
export type Outcome = "holds" | "broken" | "vacuous" | "not measured" | "not enough";

/** What a person was told how long to search, or how often. */
interface SearchLimits {
  /** Whether the limits of the search were chosen: what is left then is reported, and not a failure. */
  readonly limited: boolean;
}

export function outcomeOf(
  { findings, vacuous, unmeasured, tries, left }: Attacked,
  { limited }: SearchLimits,
): Outcome {
  if (unmeasured !== undefined) return "not measured";
  if (vacuous !== undefined) return "vacuous";
  if (findings.length > 0) return "broken";
  return tries === 0 || (left > 0 && !limited) ? "not enough" : "holds";
}

const number = (value: number) => value.toLocaleString("en");
const several = (value: number, one: string) => `${number(value)} ${value === 1 ? one : `${one}s`}`;

/** What was found about a property, as a person reads it. */
export function storyLines(
  attacked: Attacked,
  asked: SearchLimits,
  { ink = PLAIN, kept = [], again }: {
    readonly ink?: Ink;
    /** Where each finding is kept. */
    readonly kept?: readonly (string | undefined)[];
    /** The command that finds a try again. */
    readonly again?: (number: number) => string;
  } = {},
): string[] {
  const { never, findings, vacuous, unmeasured, tries, forms, left } = attacked;
  const title = (mark: string, about: string) => `${mark} ${ink.bold(never)}  ${about}`;
  switch (outcomeOf(attacked, asked)) {
    case "not measured":
      return [title("–", `not measured: ${unmeasured}`)];
    case "vacuous":
      return [title("–", `vacuous: ${vacuous}`)];
    case "broken":
      return findings.flatMap((finding, i) => [
        title(ink.red("✗"), `broken, ${several(finding.calls.length, "call")}`),
        ...callLines(finding, ink),
        field("kind", finding.kind.join(" + "), ink),
        ...(kept[i] === undefined ? [] : [field("kept", kept[i], ink)]),
        ...(again ? [field("again", again(finding.number), ink)] : []),
      ]);
    case "not enough":
      return [
        title("–", `not attacked enough: ${number(forms - left)} of ${number(forms)} forms were tried in its time`),
        "  --seconds allows more, or says that this is enough",
        ...notTried(attacked),
      ];
    case "holds":
      return [
        title(ink.green("✓"), `none of ${several(tries, "adversarial run")} breaks it`),
        `  ${coverage(attacked)}`,
        ...notTried(attacked),
      ];
  }
}

function coverage({ tries, forms, left, longest }: Attacked): string {
  const calls = `up to ${several(longest, "call")}`;
  if (left > 0) {
    return `tried: ${number(forms - left)} of ${number(forms)} forms with at most one rewriting, ${
      number(left)
    } left; ${calls}`;
  }
  const drawn = Math.max(0, tries - forms);
  return `exhaustive: all ${number(forms)} forms with at most one rewriting; drawn: ${
    number(drawn)
  } with more; ${calls}`;
}

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
    const lead = `  ${i + 1}  ${call.session ? "in a new session  " : ""}${call.tool}  `;
    const said = call.verdicts.map(({ by, decision, reason }) => [by, decision, oneLine(reason ?? "")]);
    const effects = broke.call !== i
      ? []
      : [["effect", broke.effect ? effectText(broke.effect) : broke.words ?? "", ""]];
    const rows = [...said, ...effects];
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

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** How all properties came out, in one line. */
export function summaryLine(all: readonly Attacked[], asked: SearchLimits, seed: number): string {
  const broken = all.filter((one) => outcomeOf(one, asked) === "broken").length;
  const tries = all.reduce((sum, one) => sum + one.tries, 0);
  const properties = `${all.length} ${all.length === 1 ? "property" : "properties"}`;
  return [
    `${properties}, ${broken === 0 ? "none" : broken} broken`,
    ...(broken > 0 ? [`${number(tries)} ${tries === 1 ? "try" : "tries"}`] : []),
    `seed ${seed}`,
  ].join(" · ");
}
