import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { addPrice, FREE } from "../eval/grade.ts";
import { leastChange } from "../eval/hook-delta.ts";
import { type HooksAsked, hooksNamed } from "../eval/hook-fork.ts";
import type { EvalPlan, PlannedFixture } from "../eval/plan.ts";
import { nearest } from "../input/nearest.ts";
import type { Price } from "../replay/drift/drift-report.ts";
import { type Fixture, isAttack } from "../replay/fixture.ts";
import { readHeader } from "../replay/read-tape.ts";
import { eachOf, ProgressLine } from "./_each-of.ts";
import { costText } from "./_eval-table.ts";
import { freshRuns, here } from "./_eval-variants.ts";
import { type Flags, refuseTogether } from "./_flags.ts";
import { type Io, UsageError } from "./_io.ts";
import { several } from "./show/text.ts";

/** How many fixtures are replayed side by side. */
const AT_ONCE = 4;

/** The hooks that `--with` or `--without` names; undefined without these flags. */
export function hooksAsked(flags: Flags["flags"], { cwd }: Io): HooksAsked | undefined {
  const flag = ["with", "without"].find((name) => flags[name] !== undefined);
  if (flag === undefined) return undefined;
  const others = ["against", "model", "atLeast", "detect", "tools", "cases"];
  refuseTogether(flags, flag, flag === "with" ? ["without", ...others] : others, "it compares with and without hooks");
  const given = String(flags[flag]);
  if (flag === "without") return { names: [given] };
  const refuse = (why: string) => new UsageError(`Cannot evaluate with '${given}' as ${why}`);
  if (!existsSync(resolve(cwd, given))) {
    throw refuse("there is no such file or folder: name a hook file, or --without NAME for one that agents have");
  }
  const { asked, problem } = hooksNamed(relative(cwd, resolve(cwd, given)) || ".", cwd);
  if (problem !== undefined) throw new UsageError(problem);
  if (asked.names.length === 0) throw refuse("it has no hooks: name the folder that has the files");
  return asked;
}

/** Why a fixture cannot be forked; undefined if it may be. */
export function whyUnforked(fixture: Fixture): string | undefined {
  if (isAttack(fixture)) return "a finding of an attack";
  const { command, tools, mcp } = readHeader(fixture.tape);
  return command ? "of another program" : tools || mcp ? "recorded with --tools" : undefined;
}

/** What an eval about hooks is to do with the fixtures that they change. */
export type HookForks = Pick<EvalPlan, "fixtures" | "variants" | "unchanged">;

/** Which fixtures hooks change, and from where on: by replays, which are free. Undefined if it was interrupted. */
export async function hookForks(
  fixtures: readonly PlannedFixture[],
  asked: HooksAsked,
  leftOut: string[],
  io: Io,
): Promise<HookForks | undefined> {
  const variant = here(undefined, io.cwd);
  const variants = [true, false].map((has) => ({
    ...variant,
    name: has ? "with" : "without",
    hooks: { ...asked, has },
  }));
  const progress = new ProgressLine(io);
  let done = 0;
  using fresh = freshRuns(io.cwd, io);
  const effects = await eachOf(fixtures, { atOnce: AT_ONCE, signal: io.signal }, async (fixture) => {
    const effect = await fresh.effect({ fixture, variant, round: 0 }, asked);
    progress.show(`replayed ${++done}/${fixtures.length} ${fixture.name}`);
    return { fixture, effect };
  });
  progress.end();
  if (io.signal.aborted) return undefined;
  const forked: PlannedFixture[] = [];
  const unchanged: { [fixture: string]: string } = {};
  const known = new Set<string>();
  for (const { fixture, effect } of effects) {
    if (effect.how === "forks") forked.push({ ...fixture, price: effect.live, fork: effect.fork });
    else if (effect.how === "left out") leftOut.push(`${fixture.name} (${effect.why})`);
    else unchanged[fixture.name] = effect.how;
    if (effect.how === "does not have it") { for (const name of effect.hooks) known.add(name); }
  }
  const [name = ""] = asked.names;
  const all = forked.length + Object.keys(unchanged).length;
  if (all === 0) {
    const why = leftOut.length === 0 ? "there is none" : leftOut.join(", ");
    throw new UsageError(`Cannot tell what ${asked.path ?? name} changes as no fixture can be forked: ${why}`);
  }
  if (Object.values(unchanged).filter((how) => how === "does not have it").length === all) {
    const near = nearest(name, [...known]);
    const there = known.size === 0 ? "they have none" : `there are ${[...known].sort().join(", ")}`;
    const fix = near === undefined ? there : `did you mean '${near}'?`;
    throw new UsageError(`Cannot evaluate without '${name}' as no agent of these fixtures has such a hook: ${fix}`);
  }
  if (leftOut.length > 0) io.err(`left out: ${leftOut.join(", ")}\n`);
  return { fixtures: forked, variants, unchanged };
}

/** What hooks change, what the runs from there cost, and what these can show: said before it is paid. */
export function forkLines({ fixtures, unchanged, runs, budget }: EvalPlan, judges: Price): string {
  const all = fixtures.length + Object.keys(unchanged!).length;
  const changes = `changes ${fixtures.length} of ${several(all, "fixture")} (replayed, free)`;
  if (fixtures.length === 0) return changes;
  const live = addPrice(fixtures.map(({ price }) => price).reduce(addPrice, FREE), judges);
  const whole = fixtures.flatMap(({ fork }) => fork?.served ?? []).reduce(addPrice, live);
  const times = (price: Price) => costText(price, { budget, of: whole, times: 2 * runs });
  const pairs = runs * fixtures.length;
  const least = Math.round(leastChange(pairs)! * 100);
  return `${changes}; ${2 * pairs} runs from there: about ${times(live)}, whole runs ${times(whole)}\n` +
    `${pairs} pairs can show a change of ${least} points`;
}
