import { dirname, join, relative } from "node:path";
import { shellWord } from "../../core/shown.ts";
import { type DriftReport, type Ink, reportLines, shownOnce } from "../../replay/drift/drift-report.ts";
import { neverReached } from "../../replay/invariants.ts";
import { type Fixture, fixturesIn } from "../../replay/fixture.ts";
import type { FixtureRun } from "../../replay/run-fixture.ts";
import { hasCommand } from "./known-fixtures.ts";
import type { Flags } from "./flags.ts";
import { table } from "../show/text.ts";
import type { Item } from "./verdict.ts";

/** How a fixture ended that was replayed. */
export interface ReplayedItem extends Item {
  readonly data?: {
    readonly report?: DriftReport | undefined;
    readonly shared?: FixtureRun["shared"] | undefined;
  } | undefined;
}

/** The command that records a fixture again with the hooks it was replayed with. */
function renewal(name: string, { hooks, wire }: Flags["flags"]): string | undefined {
  if (hooks === undefined) return undefined;
  return `crochet replay ${shellWord(name)}${wire ? " --wire" : ""} --hooks ${shellWord(String(hooks))} --update`;
}

/** What a drawing of a drift does not take: it would be another replay. */
const NOT_DRAWN = ["hooks", "wire", "verify", "update", "normalise", "on"];

/** A row for each fixture, those that are served only too, then what is to be said of those that did not hold, or need a note. */
export function itemsText(
  items: readonly ReplayedItem[],
  flags: Flags["flags"],
  ink: Ink,
  served: readonly string[],
  typed: boolean,
): string {
  const rows = items.map(({ name, word, data: { report } = {}, seconds = 0 }) => [
    name,
    `${word}${report?.ok && report.stale !== undefined ? `, ${report.stale} stale` : ""}`,
    report ? callsText(report) : "-",
    `${Math.round(seconds * 1000)} ms`,
  ]);
  const others = served.map((name) => [name, "served only", "-", "-"]);
  const reports = shownOnce(items.map(({ name, data }) => ({ name, report: data?.report })));
  const isDrawn = !typed && NOT_DRAWN.every((flag) => flags[flag] === undefined);
  const first = reports.findIndex((one) => isDrawn && !one?.ok && one?.divergences.some(({ call }) => call));
  const said = items.map(({ name, word, why, notes = [] }, i) => {
    const report = reports[i];
    const own = report ? reportLines(report, ink, renewal(name, flags)) : why?.split("\n") ?? [];
    // What is not in its report is said by the item itself.
    const lines = report && (report.ok || word === "held") ? [...why?.split("\n") ?? [], ...own] : own;
    const drawn = i === first ? [`to see both requests: crochet view ${shellWord(name)} --drift`] : [];
    const all = [...lines, ...notes.filter((note) => !lines.includes(note)), ...drawn];
    const mark = word === "held" ? "" : `${ink.red("✗")} `;
    return all.length === 0 ? "" : `\n${mark}${ink.bold(name)}\n${all.map((line) => `  ${line}\n`).join("")}`;
  });
  return `${table(["fixture", "result", "calls", "time"], [...rows, ...others])}${said.join("")}\n`;
}

/** How many of the recorded calls were served; of a run that was recorded again, how many were kept and how many are new. */
function callsText({ mode, calls: { served, recorded, live }, mcp }: DriftReport): string {
  if (mode === "update") return `${served} kept, ${live} new`;
  return [`${served}/${recorded}`, ...Object.entries(mcp?.served ?? {}).map(([name, n]) => `${n} of ${name}`)].join(
    ", ",
  );
}

/** Invariants in `fixtures/invariants.ts` that no fixture put to the test are broken; judged only if all were run. */
export function unreachedShared(
  fixtures: readonly Fixture[],
  items: readonly { readonly name: string; readonly shared?: FixtureRun["shared"] | undefined }[],
  cwd: string,
): Item[] {
  const reached = new Map(items.map(({ name, shared }) => [name, shared]));
  const byFolder = new Map(fixtures.map(({ folder, name }) => [folder, reached.get(name)]));
  return [...new Set(fixtures.map(({ folder }) => dirname(folder)))].flatMap((above): Item[] => {
    const all = fixturesIn(above).filter((fixture) => !hasCommand(fixture)).map(({ folder }) => byFolder.get(folder));
    if (all.length === 0 || all.includes(undefined)) return [];
    const never = Object.keys(all[0]!).filter((name) => all.every((shared) => !shared![name]));
    if (never.length === 0) return [];
    const name = relative(cwd, join(above, "invariants.ts"));
    return [{ name, word: "broken", why: never.map(neverReached).join("; ") }];
  });
}
