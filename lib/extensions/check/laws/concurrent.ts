import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Probe } from "../sample-events.ts";
import type { LaneAsker, Lanes } from "../hook-lane.ts";
import { delaysIn } from "../delays.ts";
import type { Violation } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { several } from "../../../cli/show/text.ts";
import { verdictOf } from "./deterministic.ts";
import { brief, canBlock, eventName, violationsOf } from "./judged.ts";

const { fault, warning } = violationsOf("concurrent", "race");

const TRIES = 24;
/** How many are asked at once: what more of them do wrong, two of them do too. */
const COPIES = 2;
/** How many are asked before them, one after the other: a hook may let some calls pass, and count. */
const MOST_BEFORE = 4;

/** Copies of one hook in one place, from an empty state: as it is, and waiting now and then. */
type Copies = { readonly [how in "plain" | "slow"]: LaneAsker };

interface Outcome {
  readonly answers: readonly string[];
  /** What the hook keeps: files by their paths, and its values. */
  readonly state: ReadonlyMap<string, string>;
  readonly failed: string | undefined;
}

/** Concurrent: at once as in some order. All copies are asked about one event, so that every order is the same. */
export async function concurrent(
  asker: LaneAsker,
  lanes: Lanes,
  probes: readonly Probe[],
  { seed, env }: { readonly seed: number; readonly env: Readonly<Record<string, string | undefined>> },
): Promise<{ readonly violation: Violation; readonly probe: Probe } | undefined> {
  const slow = lanes.with(delaysIn(join(asker.lane.place.kept, "delays"), env, seed));
  const copies = { plain: asker, slow: asker.on(slow, { limit: 4 * asker.limit }) };
  for (const probe of probes) {
    const found = await races(copies, probe);
    if (found) return { violation: found, probe };
  }
  return undefined;
}

async function races(copies: Copies, probe: Probe): Promise<Violation | undefined> {
  const [once, twice] = [await inOrder(copies, probe), await inOrder(copies, probe)];
  // What keeps nothing and always answers the same cannot race.
  if (!once || !twice) return undefined;
  if (once.at(-1)!.state.size === 0 && new Set(once.flatMap(({ answers }) => answers)).size === 1) return undefined;
  const unsteady = once.findIndex((outcome, i) => keyOf(outcome) !== keyOf(twice[i]!));
  if (unsteady >= 0) {
    const words = differing(once[unsteady]!, twice[unsteady]!);
    return warning("not-checked", `Not checked for races, as it does not do the same twice${words}`, UNSTEADY);
  }
  for (let i = 0; i < TRIES; i++) {
    const before = i % once.length;
    const outcome = await atOnce(copies, probe, before);
    if (!outcome) return undefined;
    if (keyOf(outcome) !== keyOf(once[before]!)) {
      return violation(outcome, once[before]!, before, isGuard(probe) ? fault : warning);
    }
  }
  return undefined;
}

/** Whether it refuses calls or sub-agents, which run side by side; prompts and stops of a session come one by one. */
function isGuard(probe: Probe): boolean {
  const name = eventName(probe);
  return canBlock(name) && ("tool_use_id" in probe.event || name.startsWith("Subagent"));
}

function violation(found: Outcome, ordered: Outcome, before: number, as: typeof fault): Violation {
  const code = found.failed !== undefined && ordered.failed === undefined
    ? "crash"
    : masked(found.answers) !== masked(ordered.answers)
    ? "verdict"
    : "lost-update";
  const after = before > 0 ? ` after ${several(before, "call")}` : "";
  const words = code === "crash" ? `: ${brief(found.failed!, 80)}` : "";
  return as(code, `${COPIES} at once${after}: ${found.answers.join(", ")}${words}${differing(found, ordered)}`, FIX);
}

const FIX =
  "hold a lock while you read and write (flock, mkdir), or use SQLite with BEGIN IMMEDIATE; in a module, read and write a value without waiting in between";
const UNSTEADY =
  "keep no times and no random names, or declare it: `# crochet: nondeterministic`, or config.nondeterministic";

/** The first file that is not the same, or the answers. */
function differing(found: Outcome, ordered: Outcome): string {
  const paths = new Set([...found.state.keys(), ...ordered.state.keys()]);
  const path = [...paths].find((each) => masked(found.state.get(each)) !== masked(ordered.state.get(each)));
  const shown = (state: Outcome["state"]) => state.has(path!) ? brief(state.get(path!)!, 60) || "empty" : "not there";
  if (path === undefined) return `; one after the other they answer ${ordered.answers.join(", ")}`;
  return `, and ${path} is ${shown(found.state)}; one after the other it is ${shown(ordered.state)}`;
}

function keyOf({ answers, state, failed }: Outcome): string {
  const files = [...state].map(([path, text]) => masked([path, ...text.split("\n").sort()])).sort();
  return JSON.stringify([masked(answers.toSorted()), files, failed !== undefined]);
}

const MASKS = [
  /[0-9a-f]{8}-[0-9a-f-]{27}/g,
  /toolu_race\d+/g,
  /\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?/g,
  /\b\d\d:\d\d(?::\d\d)?\b/g,
  /\d+\.\d+/g,
  /\d{5,}/g,
  /\bpid\W{0,3}\d+/gi,
];

/** Without times, long numbers and what names a process or a call. */
function masked(of: string | readonly string[] | undefined): string {
  return MASKS.reduce((text, mask) => text.replaceAll(mask, "_"), JSON.stringify(of ?? null));
}

/** The outcomes if all are asked one after the other. Undefined if it took too long. */
async function inOrder({ plain }: Copies, probe: Probe): Promise<Outcome[] | undefined> {
  const answers: Probed[] = [];
  const outcomes: (Outcome | undefined)[] = [];
  plain.forget();
  for (const event of eventsOf(probe, MOST_BEFORE + COPIES)) {
    if (plain.time.isOver) return undefined;
    answers.push(await plain.ask(event, { keep: true }));
    if (answers.length >= COPIES) outcomes.push(outcomeOf(answers.slice(-COPIES), stateOf(plain, answers)));
  }
  plain.lane.restore();
  return outcomes.every((outcome) => outcome !== undefined) ? outcomes : undefined;
}

/** The outcome if they are asked at once, each waiting now and then. Undefined if it took too long. */
async function atOnce({ slow }: Copies, probe: Probe, before: number): Promise<Outcome | undefined> {
  if (slow.time.isOver) return undefined;
  slow.forget();
  const events = eventsOf(probe, before + COPIES);
  for (const event of events.slice(0, before)) await slow.ask(event, { keep: true });
  const [event, ...others] = events.slice(before);
  const first = await slow.ask(event!, { keep: true, beside: others.map((each) => each.event) });
  const answers = [first, ...first.beside ?? []];
  const outcome = outcomeOf(answers, stateOf(slow, answers));
  slow.lane.restore();
  return outcome;
}

function stateOf({ lane: { place: { root } } }: LaneAsker, answers: readonly Probed[]): Map<string, string> {
  const paths = [...new Set(answers.flatMap(({ changed = [] }) => changed))].filter((path) =>
    !/-(?:wal|shm|journal)$|__pycache__/.test(path) && statSync(join(root, path), { throwIfNoEntry: false })?.isFile()
  );
  const state = new Map(paths.sort().map((path) => [path.replace(/^project\//, ""), contentOf(join(root, path))]));
  const values = answers.map((answer) => answer.values).findLast((each) => each !== undefined);
  return values === undefined ? state : state.set("ctx.values", values);
}

/** The same event so often, as calls of their own. */
function eventsOf(probe: Probe, count: number): Probe[] {
  const { event } = probe;
  return Array.from({ length: count }, (_, i) => ({
    ...probe,
    event: "tool_use_id" in event ? { ...event, tool_use_id: `toolu_race${i}` } : event,
  }));
}

function outcomeOf(answers: readonly Probed[], state: Outcome["state"]): Outcome | undefined {
  if (answers.some(({ timedOut, skipped }) => timedOut || skipped !== undefined)) return undefined;
  const failed = answers.map(({ failure, ran }) =>
    failure?.message ?? (ran && ran.code !== 0 && ran.code !== 2 ? ran.stderr : undefined)
  );
  return {
    answers: answers.map((each) => verdictOf(each).replace("no objection", "pass")),
    state,
    failed: failed.find((words) => words !== undefined),
  };
}

/** The text of a file; of a database its rows. */
function contentOf(path: string): string {
  const bytes = readFileSync(path);
  if (bytes.toString("latin1", 0, 15) !== "SQLite format 3") return bytes.toString();
  const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite") as typeof import("node:sqlite");
  const db = new DatabaseSync(path);
  try {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all() as {
      name: string;
    }[];
    return tables.flatMap(({ name }) =>
      db.prepare(`SELECT * FROM "${name.replaceAll('"', '""')}"`).all().map((row) => `${name} ${JSON.stringify(row)}`)
    ).join("\n");
  } finally {
    db.close();
  }
}
