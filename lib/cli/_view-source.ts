import { existsSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nearest } from "../files/nearest.ts";
import { findFixture, type Fixture, FIXTURES, fixturesIn } from "../tape/fixture.ts";
import { readTape } from "../tape/read.ts";
import { readRollout } from "../transcript/rollout.ts";
import { viewOf } from "../view/view.ts";
import type { WholeView } from "../view/shape.ts";
import { type Io, UsageError } from "./_io.ts";
import { newestFirst, rolloutId, rolloutName, rollouts, runMeant } from "./_project.ts";

/** A run to look at, with a name for the file it is drawn into. */
interface Viewed {
  readonly name: string;
  readonly view: WholeView;
}

/** Finds what a person means: a run by its id or the beginning of it, a fixture, a rollout; nothing: the newest run. */
export async function findView(given: string | undefined, cwd: string, io: Io): Promise<Viewed> {
  if (given === undefined || given === "last") return viewOfRollout(newestRun(cwd, io));
  const path = resolve(cwd, given);
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile && basename(path) !== "tape.jsonl") return viewOfRollout(path);
  const run = isFile ? undefined : runMeant(given, rollouts(cwd, io.env));
  if (run !== undefined) return viewOfRollout(run);
  const fixture = findFixture(isFile ? dirname(path) : given, cwd);
  if (existsSync(fixture.tape)) return await viewOfFixture(fixture);
  const what = /[/\\]|\.jsonl$/.test(given) ? "file" : "run, fixture or rollout";
  throw new UsageError(`Cannot view '${given}' as there is no such ${what}: ${viewHint(given, cwd, io)}`);
}

function newestRun(cwd: string, io: Io): string {
  const [newest] = newestFirst(rollouts(cwd, io.env));
  if (newest !== undefined) return newest;
  const [fixture] = fixturesIn(join(cwd, FIXTURES));
  const other = fixture ? `or name a fixture: crochet view ${fixture.name}` : "or name a rollout";
  throw new UsageError(`Cannot view a run as there is none here yet: 'crochet run "<prompt>"' makes one, ${other}`);
}

function viewHint(given: string, cwd: string, io: Io): string {
  const names = [...rollouts(cwd, io.env).map(rolloutId), ...fixturesIn(join(cwd, FIXTURES)).map(({ name }) => name)];
  return names.length === 0
    ? "there is none here yet, 'crochet run' makes one"
    : `did you mean '${nearest(given, names)}'?`;
}

function viewOfRollout(path: string): Viewed {
  const log = readRollout(path);
  const name = basename(path).replace(/(\.rollout)?\.jsonl$/, "");
  return { name, view: viewOf(log, basename(path) === rolloutName(log.id) ? `run ${log.id}` : basename(path)) };
}

/** A fixture is drawn from its tape alone: looking at a recording runs none of its code. */
async function viewOfFixture({ name, tape }: Fixture): Promise<Viewed> {
  const { logOfTape } = await import("../view/from-tape.ts");
  return { name, view: viewOf(await logOfTape(await readTape(tape), name), `fixture ${name}`) };
}
