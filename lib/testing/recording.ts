import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parsed } from "../core/json.ts";
import { realOr } from "../hooks/file/user-places.ts";
import type { DriftReport } from "../replay/drift/drift-report.ts";
import { PACKAGE } from "../runtime/own-copy.ts";
import { type OnDrift, refuseInCi } from "../replay/tape-options.ts";

/** What was set and what was there before, for processes that this one starts: their own desk must not ask ours. */
export const BEFORE = "CROCHET_DESK_BEFORE";
type Values = { readonly [name: string]: string | null };

/** The variables as they were before a desk set them, without those that were changed since. */
export function variablesBefore(): Values {
  const both = parsed(process.env[BEFORE] ?? "{}") as { [name: string]: { is: string; was: string | null } };
  const own = Object.entries(both).filter(([name, { is }]) => process.env[name] === is);
  return Object.fromEntries(own.map(([name, { was }]) => [name, was]));
}

export function setVariables(values: Values): void {
  for (const [name, value] of Object.entries(values)) {
    if (value === null) delete process.env[name];
    else process.env[name] = value;
  }
}

/** Does something with the environment as it was, such as asking the real API. */
export async function withoutDesk<T>(work: () => Promise<T>): Promise<T> {
  const was = variablesBefore();
  const pointed = Object.fromEntries(Object.keys(was).map((name) => [name, process.env[name] ?? null]));
  setVariables(was);
  try {
    return await work();
  } finally {
    setVariables(pointed);
  }
}

/** Whether CROCHET_RECORD asks to record what is missing or drifts. @throws {TypeError} if it does in CI */
export function recordsHere(name: string): boolean {
  if (/^(?:0|false)?$/.test(process.env.CROCHET_RECORD ?? "")) return false;
  refuseInCi("record", name, process.env);
  return true;
}

/** The file that a runner loaded first, so that SDKs find the tapes. */
const LOADED = Symbol.for("crochet.testing.preload");
const here = process as { [LOADED]?: string };

export function notePreload(file: string): void {
  here[LOADED] = file;
}

/** The command that runs the tests of the file that runs now, in the project of their fixtures. */
export function testWords(project: string): readonly string[] {
  const { Bun, Deno, __vitest_worker__: worker } = globalThis as unknown as {
    readonly Bun?: { readonly main: string };
    readonly Deno?: object;
    readonly __vitest_worker__?: { readonly filepath?: string };
  };
  const path = relative(project, worker?.filepath ?? Bun?.main ?? process.argv[1] ?? "");
  if (worker) return ["npx", "vitest", "run", path];
  if (Bun) return ["bun", "test", ...preloads(project, "bunfig.toml"), `./${path}`];
  if (Deno) return ["deno", "test", "-A", ...preloads(project, "deno.json"), path];
  // A file of `node --test` is given all flags that there are, some of them twice.
  const loads = process.execArgv.flatMap((one, i, all) => {
    const [, flag, value = all[i + 1]] = /^--(import|require)(?:=(.*))?$/s.exec(one) ?? [];
    return flag === undefined ? [] : [`--${flag}=${value}`];
  });
  return ["node", ...new Set(loads), "--test", path];
}

/** What has a runner load that file again, unless its settings do. */
function preloads(project: string, settings: string): readonly string[] {
  const file = here[LOADED];
  const says = join(project, settings);
  if (file === undefined || (existsSync(says) && readFileSync(says, "utf8").includes("preload"))) return [];
  const installed = `node_modules/crochet${file.slice(PACKAGE.length)}`;
  if (!file.startsWith(PACKAGE) || !existsSync(join(project, installed))) return ["--preload", file];
  return ["--preload", "Bun" in globalThis ? "crochet/testing/preload" : installed];
}

/** Tells `crochet replay`, if it runs these tests, what came of a fixture, and what it asked that is not on its tape. */
export function reportTo(tape: string, report: DriftReport, drifts: readonly Parameters<OnDrift>[] = []): void {
  const { CROCHET_REPORTS: file } = process.env;
  if (file) appendFileSync(file, `${JSON.stringify({ tape: realOr(tape), report, drifts })}\n`);
}

/** Whether `crochet replay --review` runs these tests for a fixture: its requests go to where the environment points. */
export function isReviewed(tape: string): boolean {
  return process.env.CROCHET_REVIEWED === realOr(tape);
}
