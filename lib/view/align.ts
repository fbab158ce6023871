import type { Pair, Row, Section, WholeView } from "./shape.ts";

/** Runs that differ so much that this is not enough are compared row by row. */
const PATIENCE_MS = 3000;

/** A row of one run, with the words it is compared by. */
interface Shown {
  readonly index: number;
  /** What it is. */
  readonly kind: string;
  /** What it is and all it says. */
  readonly all: string;
}

type DiffArrays = typeof import("diff").diffArrays;

/**
 * Puts the rows of two runs beside each other: those that say the same first, then between them those of the same kind
 * and name, and what only one run has alone.
 */
export async function alignRuns(a: WholeView, b: WholeView): Promise<Pair[]> {
  const { diffArrays } = await import("diff");
  return walk(
    shownRows(a),
    shownRows(b),
    "all",
    diffArrays,
    (ours, theirs) =>
      walk(ours, theirs, "kind", diffArrays, (left, right) => [
        ...left.map(({ index }) => ({ a: index, b: -1, same: false })),
        ...right.map(({ index }) => ({ a: -1, b: index, same: false })),
      ]),
  );
}

/** Pairs what is equal by one measure, and leaves each stretch between to `other`. */
function walk(
  left: readonly Shown[],
  right: readonly Shown[],
  by: "all" | "kind",
  diffArrays: DiffArrays,
  other: (left: readonly Shown[], right: readonly Shown[]) => Pair[],
): Pair[] {
  const parts = diffArrays(left.map((row) => row[by]), right.map((row) => row[by]), { timeout: PATIENCE_MS });
  if (!parts) return other(left, right);
  const pairs: Pair[] = [];
  let i = 0, j = 0, fromI = 0, fromJ = 0;
  for (const { count, added, removed } of parts) {
    if (added) j += count;
    else if (removed) i += count;
    else {
      pairs.push(...other(left.slice(fromI, i), right.slice(fromJ, j)));
      for (let n = 0; n < count; n++) {
        const [x, y] = [left[i + n]!, right[j + n]!];
        pairs.push({ a: x.index, b: y.index, same: x.all === y.all });
      }
      fromI = i += count;
      fromJ = j += count;
    }
  }
  pairs.push(...other(left.slice(fromI), right.slice(fromJ)));
  return pairs;
}

function shownRows(view: WholeView): Shown[] {
  const { rows, sections, agents } = view;
  return agentByAgent(view).flatMap((index): Shown[] => {
    const row = rows[index]!;
    if (row.about !== undefined || row.tone === "quiet") return [];
    const kind = `${row.kind} ${row.name} ${agents[row.agent]?.name}`;
    return [{ index, kind, all: alike(`${kind}\n${saying(row, sections[index]!)}`) }];
  });
}

/** The rows of each agent together, behind the call that started it: how agents took turns is chance. */
function agentByAgent({ rows, agents }: WholeView): number[] {
  const own: number[][] = agents.map(() => []);
  for (const [index, row] of rows.entries()) own[row.agent]!.push(index);
  const told = new Set<number>();
  const tell = (agent: number): number[] => {
    if (told.has(agent)) return [];
    told.add(agent);
    return own[agent]!.flatMap((index) => {
      const { started } = rows[index]!;
      return started === undefined ? [index] : [index, ...tell(started)];
    });
  };
  return agents.flatMap((_, agent) => tell(agent));
}

/** All that a row says, without how long it took. */
function saying({ tone, line }: Row, sections: readonly Section[]): string {
  return JSON.stringify([tone, line, sections], (key, value) => key === "ms" ? undefined : value);
}

/** Names that are new in every run are no difference: scratch folders and the ids of agents. */
function alike(text: string): string {
  return text.replace(/crochet-replay-\w+/g, "crochet-replay").replace(/\ba[0-9a-f]{16}\b/g, "agent");
}
