import { hasState } from "../../files/state.ts";
import { findFixture } from "../../replay/fixture.ts";
import { asCompared } from "../../replay/drift/difference.ts";
import { normaliserOf } from "../../replay/normalise.ts";
import { headerOf } from "../../replay/read-tape.ts";
import type { OnDrift } from "../../replay/tape-options.ts";
import type { TapeRequest } from "../../log/tape.ts";
import type { Drawn } from "../../cli/kit/extension.ts";
import type { Flags } from "../../cli/kit/flags.ts";
import { type Io, UsageError } from "../../cli/kit/io.ts";
import { fixturesFor, isOfTests } from "../../cli/kit/known-fixtures.ts";
import { expectRun, logMeant } from "../../cli/kit/project.ts";
import { judgedFixture } from "../../cli/kit/replay-one.ts";
import { replayTests } from "../../cli/kit/replay-tests.ts";
import type { Reporter } from "../../cli/kit/report.ts";
import { asFixture } from "../../cli/kit/runs.ts";
import { oneLine, several } from "../../cli/show/text.ts";
import { alignRuns } from "./align.ts";
import { firstLine, shownText } from "./calls.ts";
import { comparePage } from "./html.ts";
import type { Row, Section, WholeView } from "./shape.ts";
import { viewOf } from "./view-of-run.ts";

/** Replays a fixture or a run, and draws the first request that is not as recorded beside the recorded one. */
export async function driftOf(given: string, flags: Flags["flags"], io: Reporter): Promise<Drawn> {
  const { fixture, trust } = meant(given, flags, io);
  const { name } = fixture;
  const drifts = new Map<string, readonly (TapeRequest | undefined)[]>();
  const onDrift: OnDrift = (lane, was, is) => void drifts.set(lane, [was, is]);
  const item = isOfTests(fixture)
    ? (await replayTests([fixture], { trust }, io, () => {}, onDrift))[0]
    : await judgedFixture(fixture, { onDrift }, { trust }, io);
  if (item === undefined) throw new Error(`Cannot draw a drift of ${name} as its replay was interrupted`);
  if (item.word === "cannot run") throw new UsageError(item.why!);
  const { divergences = [] } = item.data?.report ?? {};
  const { lane, call } = divergences.find((one) => drifts.has(one.lane)) ?? {};
  const found = item.word === "held" ? undefined : drifts.get(lane ?? "");
  if (!found) {
    const why = item.word === "held" ? "it replays as it was recorded" : "no request of it differs";
    throw new UsageError(`Cannot draw a drift of ${name} as ${why}: crochet replay ${name} says more`);
  }
  const normalise = normaliserOf(headerOf(fixture).normalise);
  const [was, is] = found.map((one) => one && io.hide(asCompared(one, normalise)));
  const words = divergences.map(({ cause, words, call, lane }) => `${cause}: ${words} (at ${call ?? lane})`);
  const recorded = requestView(was, `${name}: the first drift`, `${call ?? lane} as recorded`);
  const now = requestView(is, "", "as it is asked now", words);
  const pairs = await alignRuns(recorded, now);
  const [a, b] = [[...recorded.sections], [...now.sections]];
  for (const pair of pairs.filter(({ same, a, b }) => !same && a >= 0 && b >= 0)) {
    const [mine, theirs] = [a[pair.a]!, b[pair.b]!];
    [a[pair.a], b[pair.b]] = [changedParts(mine, theirs), changedParts(theirs, mine)];
  }
  const sides = [{ ...recorded, sections: a }, { ...now, sections: b }] as const;
  return { name: `${name}-drift`, html: comparePage(...sides, pairs, "requests") };
}

/** As `crochet replay` takes a name: a fixture, or the log of a run, which it trusts if it is own. */
function meant(given: string, flags: Flags["flags"], io: Io) {
  const isFixture = given !== "last" && hasState(findFixture(given, io.cwd).tape);
  const run = isFixture
    ? undefined
    : given === "last"
    ? expectRun(given, "replay", io.cwd, io.env)
    : logMeant(given, io.cwd, io.env);
  if (run !== undefined) return { fixture: asFixture(run, flags, "replay"), trust: true };
  const [fixture, ...others] = fixturesFor([given], io);
  if (others.length === 0) return { fixture: fixture!, trust: flags.trust };
  throw new UsageError(`Cannot draw the drift of ${several(others.length + 1, "fixture")} at once: name one`);
}

/** A request as rows: its parameters, its system prompt, each tool and each message. */
export function requestView(
  request: TapeRequest | undefined,
  title: string,
  source: string,
  notes: readonly string[] = [],
): WholeView & { readonly sections: readonly (readonly Text[])[] } {
  const { model, params, system = [], tools = [], messages = [] } = request ?? {};
  const parts: { readonly name: string; readonly of: readonly object[] }[] = [
    { name: "parameters", of: request ? [{ model, ...params }] : [] },
    { name: "system", of: system },
    ...tools.map((tool) => ({ name: `tool ${tool.name}`, of: [tool] })),
    ...messages.map(({ role, content }) => ({ name: role, of: content })),
  ].filter((part) => part.of.length > 0);
  const sections = parts.map((part) => part.of.map(textOf));
  const rows = parts.map(({ name }, i): Row => {
    const line = firstLine(oneLine(sections[i]![0]!.text));
    return { key: `part-${i}`, kind: "note", agent: 0, at: 0, ms: 0, name, line, tone: "plain", open: false };
  });
  const agents = [{ id: "", name: "", parent: -1, depth: 0 }];
  return { ...viewOf({ events: [], notes }, source), title, agents, rows, sections };
}

/** A block as its text, anything else as JSON. */
function textOf(value: object): Text {
  const { type = "", text } = value as { readonly type?: string; readonly text?: unknown };
  const isText = type === "text" && typeof text === "string";
  return { as: "output", title: isText ? "" : type, text: isText ? text : shownText(value) };
}

type Text = Extract<Section, { as: "output" }>;

/** How many lines that are the same are left around what differs. */
const AROUND = 3;

/** Of texts that differ from others only what differs, with a few lines before and behind it. */
function changedParts(texts: readonly Text[], others: readonly Text[]): Text[] {
  return texts.map((one, i) => {
    if (!others[i]) return one;
    const [lines, was] = [one.text.split("\n"), others[i].text.split("\n")];
    let [start, end] = [0, 0];
    while (start < lines.length && lines[start] === was[start]) start++;
    while (end < Math.min(lines.length, was.length) - start && lines.at(-1 - end) === was.at(-1 - end)) end++;
    const more = (same: number) => same > AROUND ? [`… ${several(same - AROUND, "line")} that are the same`] : [];
    const left = lines.slice(Math.max(0, start - AROUND), lines.length - Math.max(0, end - AROUND));
    return { ...one, text: [...more(start), ...left, ...more(end)].join("\n") };
  });
}
