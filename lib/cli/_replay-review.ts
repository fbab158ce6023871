import { createInterface } from "node:readline";
import { getOrMake } from "../core/maps.ts";
import type { Fixture } from "../replay/fixture.ts";
import { readTape } from "../replay/read-tape.ts";
import { agentReview, type Change, type Review, reviewFixture } from "../replay/review.ts";
import { fixtureAgent, hasCommand } from "./kit/known-fixtures.ts";
import { EXIT, type Io, UsageError } from "./kit/io.ts";
import { wordsOf } from "../files/drafts.ts";
import { giftFor } from "./kit/extension.ts";
import { type Colours, coloursFor, several } from "./show/text.ts";
import type { Normaliser } from "../log/entry.ts";

/** A change, however many fixtures show it. */
interface SharedChange {
  readonly change: Change;
  readonly of: { readonly name: string; readonly calls: number }[];
  readonly same: Change[];
}

/** Shows each change once and asks what to do with it. A fixture whose changes are all settled is rewritten. */
export async function reviewFixtures(fixtures: readonly Fixture[], io: Io): Promise<number> {
  const ink = coloursFor(io.tty, io.env);
  const reviews: Review[] = [];
  let failed = false;
  const fail = (line: string) => {
    failed = true;
    io.out(`${line}\n`);
  };
  for (const fixture of fixtures) {
    try {
      const tape = await readTape(fixture.tape);
      const reviewed = hasCommand(fixture)
        ? (await giftFor("programs", fixture)).review(fixture, tape, io)
        : agentReview(fixture, tape, await fixtureAgent(fixture, io.signal), io.signal);
      reviews.push(await reviewFixture(fixture, tape, reviewed));
    } catch (error) {
      fail(`${ink.red("✗")} ${fixture.name}: ${wordsOf(error)}`);
    }
  }
  for (const { fixture, refused } of reviews) {
    if (refused === undefined) continue;
    const fix = hasCommand(fixture) ? "record it again" : `record it with 'crochet replay ${fixture.name} --update'`;
    fail(`${ink.red("✗")} ${fixture.name}: ${refused}: ${fix}`);
  }
  const open = reviews.filter(({ refused, changes }) => refused === undefined && changes.length > 0);
  const all = gathered(open);
  if (all.length === 0 && !failed) io.out("nothing to review: every fixture asks what was recorded\n");
  const { accepted, rules } = await decided(all, io, ink);
  for (const { fixture: { name }, changes, accept } of open) {
    const left = changes.filter(({ change }) => !accepted.has(change) && !rules.has(change)).length;
    if (left > 0) {
      fail(`${name}: not changed, ${several(left, "difference")} left`);
      continue;
    }
    try {
      await accept(changes.flatMap(({ change }) => rules.get(change) ?? []), accepted);
      const stale = new Set(changes.flatMap(({ change, calls }) => accepted.has(change) ? calls : [])).size;
      io.out(`${name}: accepted${stale === 0 ? "" : `, ${several(stale, "reply", "replies")} stale`}\n`);
    } catch (error) {
      fail(`${ink.red("✗")} ${wordsOf(error)}`);
    }
  }
  return failed ? EXIT.failed : EXIT.ok;
}

function gathered(reviews: readonly Review[]): SharedChange[] {
  const all = new Map<string, SharedChange>();
  for (const { fixture: { name }, changes } of reviews) {
    for (const { change, calls } of changes) {
      const key = JSON.stringify([change.title, change.expected, change.actual]);
      const shown = getOrMake(all, key, () => ({ change, of: [], same: [] }));
      shown.of.push({ name, calls: calls.length });
      shown.same.push(change);
    }
  }
  return [...all.values()];
}

async function decided(
  all: readonly SharedChange[],
  io: Io,
  ink: Colours,
): Promise<{ accepted: Set<Change>; rules: Map<Change, Normaliser> }> {
  const accepted = new Set<Change>();
  const rules = new Map<Change, Normaliser>();
  if (all.length === 0) return { accepted, rules };
  if (!io.stdin) throw new UsageError("Cannot review without an input: run it in a terminal");
  const lines = createInterface({ input: io.stdin.stream })[Symbol.asyncIterator]();
  for (const [i, shown] of all.entries()) {
    const rule = ruleFor(shown.change, i + 1);
    io.out(`\n${changeText(shown, `${i + 1} of ${all.length}`, rule, ink)}`);
    for (;;) {
      const { value, done } = await lines.next();
      const key = done ? "q" : String(value).trim();
      if (key === "q") return { accepted, rules };
      if (key === "a") { for (const change of shown.same) accepted.add(change); }
      if (key === "n" && rule) { for (const change of shown.same) rules.set(change, rule); }
      if (key === "a" || key === "s" || (key === "n" && rule)) break;
      io.out("  a, s or q\n");
    }
  }
  await lines.return?.();
  return { accepted, rules };
}

function changeText({ change, of }: SharedChange, at: string, rule: Normaliser | undefined, ink: Colours): string {
  const where = of.map(({ name, calls }) => calls === 0 ? name : `${name} ${several(calls, "call")}`).join(", ");
  const side = (value: unknown, mark: string, colour: (text: string) => string) =>
    value === undefined ? [] : textLines(value).map((line) => `    ${colour(`${mark} ${line}`)}`);
  const [was, is] = onlyChanged(change);
  const never = rule ? `   n never count ${rule.pattern}` : "";
  return [
    `${ink.bold(`${at}  ${change.title}`)}   ${ink.dim(where)}`,
    ...side(was, "-", ink.red),
    ...side(is, "+", ink.green),
    ink.dim(`  a accept, replies become stale${never}   s skip   q quit`),
    "",
  ].join("\n");
}

function textLines(value: unknown): string[] {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const lines = text.split("\n");
  return (lines.length > 12 ? [...lines.slice(0, 12), `… ${lines.length - 12} more lines`] : lines)
    .map((line) => line.length > 300 ? `${line.slice(0, 299)}…` : line);
}

/** Of two long texts only the lines that differ. */
function onlyChanged({ expected, actual }: Change): readonly [unknown, unknown] {
  if (typeof expected !== "string" || typeof actual !== "string") return [expected, actual];
  const [was, is] = [expected.split("\n"), actual.split("\n")];
  let [from, to] = [0, 0];
  while (from < was.length && from < is.length && was[from] === is[from]) from++;
  while (to < was.length - from && to < is.length - from && was.at(-1 - to) === is.at(-1 - to)) to++;
  const middle = (lines: string[]) =>
    lines.length - to > from ? lines.slice(from, lines.length - to).join("\n") : undefined;
  return [middle(was), middle(is)];
}

/** A rule that has two texts read alike whose words differ in one place only by their digits. */
function ruleFor({ path, expected, actual }: Change, n: number): Normaliser | undefined {
  if (path === undefined || typeof expected !== "string" || typeof actual !== "string") return undefined;
  const [was, is] = [expected.split(/(\s+)/), actual.split(/(\s+)/)];
  const at = was.findIndex((word, i) => word !== is[i]);
  const shape = (word: string) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/\d+/g, "\\d+");
  if (at < 0 || was.length !== is.length || !/\d/.test(was[at]!) || shape(was[at]!) !== shape(is[at]!)) {
    return undefined;
  }
  const one = { name: `changes-${n}`, path, pattern: shape(was[at]!) };
  const read = (text: string) => text.replaceAll(new RegExp(one.pattern, "g"), "");
  return read(expected) === read(actual) ? one : undefined;
}
