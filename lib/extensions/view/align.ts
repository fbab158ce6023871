import type { Pair, WholeView } from "./shape.ts";

/** If comparing takes longer, the runs differ so much that rows are not paired. */
const MOST_MS = 3000;

/** A row of one run, with the texts it is compared by. */
interface ComparedRow {
  readonly index: number;
  /** Its kind, name and agent. */
  readonly kind: string;
  /** Its kind and all its texts. */
  readonly all: string;
}

type Rest = (left: readonly ComparedRow[], right: readonly ComparedRow[]) => Pair[];

/** Pairs equal rows, then between them those of one kind and name; what only one run has stays alone. */
export async function alignRuns(a: WholeView, b: WholeView): Promise<Pair[]> {
  const { diffArrays } = await import("diff");
  /** Pairs rows that are equal by one text, and leaves the rows between them to `rest`. */
  const paired = (by: "all" | "kind", rest: Rest): Rest => (left, right) => {
    const parts = diffArrays(left.map((row) => row[by]), right.map((row) => row[by]), { timeout: MOST_MS });
    if (!parts) return rest(left, right);
    const pairs: Pair[] = [];
    let i = 0, j = 0, fromI = 0, fromJ = 0;
    for (const { count, added, removed } of parts) {
      if (added) j += count;
      else if (removed) i += count;
      else {
        pairs.push(...rest(left.slice(fromI, i), right.slice(fromJ, j)));
        for (let n = 0; n < count; n++) {
          const [x, y] = [left[i + n]!, right[j + n]!];
          pairs.push({ a: x.index, b: y.index, same: x.all === y.all });
        }
        fromI = i += count;
        fromJ = j += count;
      }
    }
    return [...pairs, ...rest(left.slice(fromI), right.slice(fromJ))];
  };
  const alone: Rest = (left, right) => [
    ...left.map(({ index }) => ({ a: index, b: -1, same: false })),
    ...right.map(({ index }) => ({ a: -1, b: index, same: false })),
  ];
  return paired("all", paired("kind", alone))(comparedRows(a), comparedRows(b));
}

function comparedRows(view: WholeView): ComparedRow[] {
  const { rows, sections, agents } = view;
  return agentByAgent(view).flatMap((index): ComparedRow[] => {
    const row = rows[index]!;
    if (row.about !== undefined || row.tone === "quiet") return [];
    const kind = `${row.kind} ${row.name} ${agents[row.agent]?.name}`;
    // All of its texts, without how long it took.
    const texts = JSON.stringify(
      [row.tone, row.line, sections[index]],
      (key, value) => key === "ms" ? undefined : value,
    );
    return [{ index, kind, all: alike(`${kind}\n${texts}`) }];
  });
}

/** The rows of each agent together, after the call that started it: the order in which agents took turns is chance. */
function agentByAgent({ rows, agents }: WholeView): number[] {
  const own: number[][] = agents.map(() => []);
  for (const [index, row] of rows.entries()) own[row.agent]!.push(index);
  const seen = new Set<number>();
  const rowsOf = (agent: number): number[] => {
    if (seen.has(agent)) return [];
    seen.add(agent);
    return own[agent]!.flatMap((index) => {
      const { started } = rows[index]!;
      return started === undefined ? [index] : [index, ...rowsOf(started)];
    });
  };
  return agents.flatMap((_, agent) => rowsOf(agent));
}

/** Names that are new in every run are not a difference: scratch folders and the ids of agents. */
function alike(text: string): string {
  return text.replace(/crochet-replay-\w+/g, "crochet-replay").replace(/\ba[0-9a-f]{16}\b/g, "agent");
}
