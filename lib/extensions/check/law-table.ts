import { type Colours, cut, displayWidth, openText } from "../../cli/show/text.ts";
import { escapeHtml, reportPage } from "../view/html.ts";
import { type HookReport, type Law, LAWS } from "./check-report.ts";

export type LawMarks = { readonly [law in Law]: "✗" | "!" | "✓" | "–" };

/** Whether a hook holds each law: broken, a warning, held, or not asked, as it says nothing of this hook or the check had to end. */
export function marksOf({ findings, unchecked, laws }: HookReport): LawMarks {
  const markOf = (law: Law) => {
    const found = findings.filter((finding) => finding.law === law);
    if (found.length > 0) return found.some(({ severity }) => severity === "fault") ? "✗" : "!";
    return unchecked === undefined && laws.includes(law) ? "✓" : "–";
  };
  return Object.fromEntries(LAWS.map((law) => [law, markOf(law)])) as LawMarks;
}

/** A hook a row and a law a column; what is too wide for a terminal is cut. */
export function tableLines(hooks: readonly HookReport[], colours: Colours, columns: number): string[] {
  const tone = { "✗": colours.red, "!": colours.yellow, "✓": colours.green, "–": colours.dim };
  const longest = Math.max(...hooks.map(({ hook }) => displayWidth(hook)), 4);
  const width = Math.min(longest, Math.max(16, columns - 7 * LAWS.length));
  const heads = LAWS.map((law) => cut(law, Math.max(5, Math.floor((columns - width) / LAWS.length) - 2)));
  const rows = hooks.map((hook) => {
    const marks = Object.values(marksOf(hook)).map((mark, i) => tone[mark](mark.padEnd(heads[i]!.length)));
    const name = openText(hook.hook);
    return [(name.length > width ? `…${name.slice(1 - width)}` : name).padEnd(width), ...marks].join("  ").trimEnd();
  });
  return [colours.dim(["hook".padEnd(width), ...heads].join("  ")), ...rows, ""];
}

const STYLE =
  ".eval{overflow-x:auto}.eval th,.eval td{padding:8px 14px 8px 0}.eval .bad{color:var(--tone)}.eval pre{overflow-wrap:anywhere;white-space:pre-wrap}";

/** The table, and below it the report as text, in one file. */
export function tablePage(hooks: readonly HookReport[], report: string): string {
  const cells = (hook: HookReport) =>
    Object.values(marksOf(hook)).map((mark) => `<td${mark === "✗" ? ' class="bad"' : ""}>${mark}</td>`).join("");
  return reportPage("hooks check", [
    `<table>\n<tr>${["hook", ...LAWS].map((law) => `<th scope="col">${law}</th>`).join("")}</tr>`,
    ...hooks.map((hook) => `<tr><th scope="row">${escapeHtml(hook.hook)}</th>${cells(hook)}</tr>`),
    `</table>\n<pre>${escapeHtml(report)}</pre>`,
  ], STYLE);
}
