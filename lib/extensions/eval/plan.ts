import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { sha256 } from "../../runtime/sha256.ts";
import { hashFiles } from "../../replay/scratch.ts";
import { type Price, priceOf } from "../../replay/drift/drift-report.ts";
import { type Fixture, fixtureAt } from "../../replay/fixture.ts";
import { readTape } from "../../replay/read-tape.ts";
import { USER_FILE } from "../../replay/run-on-tape.ts";
import { MAIN, type Tape } from "../../log/tape.ts";
import { modelCalls } from "../../replay/requests/api.ts";
import { graderHashes } from "./grade.ts";
import type { Arm } from "./hook-arms.ts";

/** At most so many dollars, or so many tokens. */
export type Budget = { readonly dollars: number } | { readonly tokens: number };

/** An agent in question, or one it is compared with. */
export interface Variant {
  /** As the table has it: `now`, a git ref, a script, `.`, or the id of a kept eval. */
  readonly name: string;
  readonly kind: "here" | "ref" | "script" | "kept";
  /** The commit it was at; of `here`, what HEAD was. */
  readonly commit?: string;
  /** The model it is to use. @default its own */
  readonly model?: string;
  /** Hooks that it is to have, or to be without. @default those it has */
  readonly hooks?: Arm;
  /** Of a kept eval: whether its runs continued none that were seen before, so that their rates may be claimed. */
  readonly claims?: boolean;
}

export interface PlannedFixture {
  readonly name: string;
  /** From the project. */
  readonly folder: string;
  /** The hash of its tape and files. */
  readonly hash: string;
  readonly graders: { readonly [file: string]: string };
  /** What one run costs, by its tape. */
  readonly price: Price;
  /** How the recorded run ended. */
  readonly stop?: string;
  /** Whether it has no files, as it was recorded with `--tools`: its runs begin with a copy of the project. */
  readonly copies?: boolean;
  /** Whether it runs a command, and no agent of ours. */
  readonly program?: boolean;
  /** Of a case: where the eval keeps its tape and files, and its agent's script or its command's folder, from the project. */
  readonly case?: { readonly kept: string; readonly agent: string };
  /** Why its runs continue no others. @default they may */
  readonly alone?: string;
}

/** What an eval is to do: `eval.json`. */
export interface EvalPlan {
  readonly eval: 1;
  readonly id: string;
  readonly at: string;
  /** Runs of each fixture and variant. */
  readonly runs: number;
  /** How many were planned at first, if runs were added later. */
  readonly first?: number;
  readonly atLeast?: number;
  /** Whether no run continues another. */
  readonly fresh?: boolean;
  readonly budget?: Budget;
  /** Whether these are all fixtures of their folders, so that invariants they share must be put to the test. */
  readonly whole?: boolean;
  /** Where the logs are of which it is, if its runs are sessions that already happened. */
  readonly sessions?: string;
  /** The file whose cases are run, from the project. */
  readonly cases?: string;
  readonly fixtures: readonly PlannedFixture[];
  readonly variants: readonly Variant[];
  /** The fixtures in which the hooks in question change nothing, and how; only of an eval about hooks. */
  readonly unchanged?: { readonly [fixture: string]: string };
}

/** One run of an eval. */
export interface Slot {
  readonly fixture: PlannedFixture;
  readonly variant: Variant;
  /** From 1. */
  readonly round: number;
  /** The folder of the run that it continues, or why it continues none. */
  readonly continues?: string;
  readonly anew?: string;
  /** Models that answer under another name than before: no reply to a request for one is kept. */
  readonly moved?: readonly string[];
}

/** Whether runs in question continue those that they are compared with, but of fixtures that stand alone. */
export function areContinued({ variants: [, then], fresh }: EvalPlan): boolean {
  return then !== undefined && !fresh && (then.kind !== "here" || then.hooks !== undefined);
}

export function isContinued(plan: EvalPlan, { alone }: PlannedFixture): boolean {
  return alone === undefined && areContinued(plan);
}

/** Whether runs may be those by looking at which the code was changed: it fits them, and their rate says nothing. */
export function mayFit(plan: EvalPlan, fixture: PlannedFixture, variant = plan.variants[0]): boolean {
  if (variant?.kind === "kept") return !variant.claims;
  return plan.variants[1]?.kind === "kept" && isContinued(plan, fixture);
}

/** `rename/now/7`: the run's name in `runs.jsonl`, and its folder. */
export function slotName({ fixture, variant, round }: Slot): string {
  return `${folderName(fixture.name)}/${folderName(variant.name)}/${round}`;
}

/** Whether a run is of a fixture and variant. */
export function isRunOf(run: string, { fixture, variant }: Omit<Slot, "round">): boolean {
  return run.startsWith(`${folderName(fixture.name)}/${folderName(variant.name)}/`);
}

function folderName(name: string): string {
  return name === "." ? "here" : name.replaceAll(/[^\w.-]+/g, "-").replace(/^[-.]+/, "");
}

/** The variants that run: those of a kept eval have done so. */
export function running({ variants }: EvalPlan): readonly Variant[] {
  return variants.filter(({ kind }) => kind !== "kept");
}

/** One run of each fixture and variant; those that continue others come after them. */
export function roundOf(plan: EvalPlan, round: number): Slot[] {
  return plan.fixtures.flatMap((fixture) => {
    const slots = running(plan).map((variant): Slot => ({ fixture, variant, round }));
    return isContinued(plan, fixture) ? slots.toReversed() : slots;
  });
}

/** What an eval is to do with a fixture. */
export async function planned(fixture: Fixture, project: string, model?: string): Promise<PlannedFixture> {
  const tape = await readTape(fixture.tape);
  const files = fixture.files === undefined ? {} : hashFiles(fixture.files);
  const user = join(dirname(fixture.tape), USER_FILE);
  const parts = [readFileSync(fixture.tape), JSON.stringify(files), existsSync(user) ? readFileSync(user) : ""];
  const hash = parts.reduce((sum, part) => sum.update(part), sha256()).digest("hex").slice(0, 16);
  return {
    name: fixture.name,
    folder: relative(project, fixture.folder),
    hash,
    graders: graderHashes(fixture),
    price: priceWith(tape, model),
    ...(tape.end && { stop: tape.end.end }),
    ...(tape.header.command && { program: true }),
    ...(tape.header.tools && (fixture.files === undefined || tape.header.made) && { copies: true }),
  };
}

/** What a tape's calls cost if the main agent's model were another one. */
function priceWith(tape: Tape, model: string | undefined): Price {
  const calls = modelCalls(tape);
  const recorded = calls.find(({ lane }) => lane === MAIN)?.request.model;
  const change = { lane: MAIN, cause: "wire", path: "model", expected: recorded, actual: model, words: "" } as const;
  return priceOf(calls, model === undefined ? [] : [change]);
}

/** The fixture that is planned with. */
export function fixtureOf({ folder, name, case: of }: PlannedFixture, project: string): Fixture {
  const fixture = { ...fixtureAt(join(project, folder)), name };
  if (!of) return fixture;
  const { tape, files } = fixtureAt(join(project, of.kept));
  return { ...fixture, tape, files };
}
