import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { nearest } from "../core/names.ts";
import { shellWord } from "../core/shown.ts";
import { findFixture, type Fixture, FIXTURES, fixturesIn } from "../tape/fixture.ts";
import { readHeader, readTape } from "../tape/read.ts";
import { runFixture } from "../tape/run-fixture.ts";
import { viewOf } from "../view/model.ts";
import { readForView } from "../view/read.ts";
import type { WholeView } from "../view/shape.ts";
import { fixtureAgent } from "./_fixture-agent.ts";
import { type Io, UsageError } from "./_io.ts";
import { newestFirst, rolloutId, rolloutName, rollouts, runMeant } from "./_project.ts";
import { several } from "./show/text.ts";

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
  if (existsSync(fixture.tape)) return await viewOfFixture(fixture, io);
  const what = /[/\\]|\.jsonl$/.test(given) ? "file" : "run, fixture or rollout";
  throw new UsageError(`Cannot view '${given}' as there is no such ${what}: ${mend(given, cwd, io)}`);
}

function newestRun(cwd: string, io: Io): string {
  const [newest] = newestFirst(rollouts(cwd, io.env));
  if (newest !== undefined) return newest;
  const [fixture] = fixturesIn(join(cwd, FIXTURES));
  const other = fixture ? `or name a fixture: crochet view ${fixture.name}` : "or name a rollout";
  throw new UsageError(`Cannot view a run as there is none here yet: 'crochet run "<prompt>"' makes one, ${other}`);
}

function mend(given: string, cwd: string, io: Io): string {
  const names = [...rollouts(cwd, io.env).map(rolloutId), ...fixturesIn(join(cwd, FIXTURES)).map(({ name }) => name)];
  return names.length === 0
    ? "there is none here yet, 'crochet run' makes one"
    : `did you mean '${nearest(given, names)}'?`;
}

function viewOfRollout(path: string): Viewed {
  const told = readForView(path);
  const name = basename(path).replace(/(\.rollout)?\.jsonl$/, "");
  return { name, view: viewOf(told, basename(path) === rolloutName(told.id) ? `run ${told.id}` : basename(path)) };
}

/** A fixture is replayed: its tape knows what the model said, and the replay what tools and hooks made of it. */
async function viewOfFixture(fixture: Fixture, io: Io): Promise<Viewed> {
  const source = `fixture ${fixture.name}`;
  if (!hasAgent(fixture)) {
    const { toldByTape } = await import("../view/from-tape.ts");
    const told = await toldByTape(await readTape(fixture.tape), fixture.name);
    return { name: fixture.name, view: viewOf(told, source) };
  }
  const scratch = mkdtempSync(join(tmpdir(), "crochet-view-"));
  try {
    const rollout = join(scratch, rolloutName(fixture.name));
    const agent = await fixtureAgent(fixture, io.signal);
    const { report } = await runFixture(fixture, agent, { rollout, signal: io.signal });
    const told = readForView(rollout);
    const drift = report.ok ? [] : [
      `The replay differs from the tape in ${
        several(Math.max(1, report.divergences.length), "place")
      }: 'crochet replay ${shellWord(fixture.name)}' says where`,
    ];
    return { name: fixture.name, view: viewOf({ ...told, notes: [...told.notes, ...drift] }, `${source}, replayed`) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function hasAgent({ folder, tape }: Fixture): boolean {
  return existsSync(join(folder, "agent.ts")) || readHeader(tape).agent !== undefined;
}
