import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { shellWord } from "../core/shown.ts";
import { type Case, type DriftReport, type Ink, junit, reportLines, shownOnce } from "../replay/drift/drift-report.ts";
import { neverReached } from "../replay/fault/judge-fault.ts";
import { type Fixture, fixturesIn } from "../replay/fixture.ts";
import type { FixtureRun } from "../replay/run-fixture.ts";
import { isOfOthers } from "./_fixtures.ts";
import type { Flags } from "./_flags.ts";
import type { Io } from "./_io.ts";
import { table } from "./show/text.ts";

/** What came of a fixture that was replayed. */
export interface Outcome extends Case {
  readonly shared?: NonNullable<FixtureRun["shared"]>;
}

/** The command that records a fixture again with the hooks it was replayed with. */
function renewal(name: string, { hooks, wire }: Flags["flags"]): string | undefined {
  if (hooks === undefined) return undefined;
  return `crochet replay ${shellWord(name)}${wire ? " --wire" : ""} --hooks ${shellWord(String(hooks))} --update`;
}

/** Prints a row for each fixture, then the reports of fixtures that drifted or failed. */
export function showOutcomes(outcomes: readonly Outcome[], { flags }: Flags, io: Io, ink: Ink): void {
  const rows = outcomes.map(({ name, report, error, failure, seconds }) => [
    name,
    error !== undefined
      ? "error"
      : failure !== undefined
      ? "broken"
      : !report
      ? "holds"
      : report.ok
      ? okText(report)
      : isOnlyStale(report)
      ? "stale"
      : "drift",
    report ? callsText(report) : "-",
    `${Math.round(seconds * 1000)} ms`,
  ]);
  io.out(table(["fixture", "result", "calls", "time"], rows));
  const shown = shownOnce(outcomes);
  for (const [i, { name, report, error, failure, held }] of outcomes.entries()) {
    const said = error ?? failure;
    const lines = said !== undefined
      ? said.split("\n")
      : held !== undefined
      ? [held]
      : reportLines(shown[i]!.report!, ink, renewal(name, flags));
    const mark = held !== undefined || report?.ok ? "" : `${ink.red("✗")} `;
    if (lines.length > 0) io.out(`\n${mark}${ink.bold(name)}\n${lines.map((line) => `  ${line}\n`).join("")}`);
  }
}

function isOnlyStale({ stale, divergences, tools, files, unused }: DriftReport): boolean {
  return stale !== undefined && [divergences, tools, files, unused].every(({ length }) => length === 0);
}

function okText({ mode, stale }: DriftReport): string {
  return mode === "update" ? "recorded" : stale === undefined ? "ok" : `ok, ${stale} stale`;
}

/** How many of the recorded calls were served; of a run that was recorded again, how many were kept and how many are new. */
function callsText({ mode, calls: { served, recorded, live } }: DriftReport): string {
  return mode === "update" ? `${served} kept, ${live} new` : `${served}/${recorded}`;
}

/** What came of a fixture, as far as invariants that it shares with others are concerned. */
interface Shared extends Pick<FixtureRun, "shared"> {
  readonly name: string;
}

/** Failures of the invariants in `fixtures/invariants.ts` that no fixture put to the test; judged only if all were run. */
export function unreachedShared(
  fixtures: readonly Fixture[],
  outcomes: readonly Shared[],
  cwd: string,
): { readonly name: string; readonly error: string; readonly seconds: number }[] {
  const came = new Map(outcomes.map(({ name, shared }) => [name, shared]));
  const byFolder = new Map(fixtures.map(({ folder, name }) => [folder, came.get(name)]));
  return [...new Set(fixtures.map(({ folder }) => dirname(folder)))].flatMap((above) => {
    const all = fixturesIn(above).filter((fixture) => !isOfOthers(fixture)).map(({ folder }) => byFolder.get(folder));
    if (all.length === 0 || all.includes(undefined)) return [];
    const never = Object.keys(all[0]!).filter((name) => all.every((shared) => !shared![name]));
    if (never.length === 0) return [];
    const name = relative(cwd, join(above, "invariants.ts"));
    return [{ name, error: never.map(neverReached).join("; "), seconds: 0 }];
  });
}

/** Writes the report that `--junit <file>` asks for. Called last: findings are printed even if this fails. */
export function writeJunit(cases: readonly Case[], file: unknown, { cwd }: Pick<Io, "cwd">, suite?: string): void {
  const path = resolve(cwd, String(file));
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, junit(cases, suite));
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`Cannot write the JUnit report ${path} as ${why}: give --junit a file that can be written`);
  }
}
