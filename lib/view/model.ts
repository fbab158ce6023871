import type { RunEvent } from "../core/run-events.ts";
import type { RolloutLine } from "../transcript/rollout.ts";
import { Ledgers } from "./_ledger.ts";
import { firstLine, linesOf, several, wordsOf } from "./_sections.ts";
import { closeOpen } from "./_tell-tools.ts";
import { tell } from "./_tell.ts";
import type { AgentLane, Row, RowKind, Section, Spent, Tone, Totals, WholeView } from "./shape.ts";

/** What is known of a run: its log, and what a reader has to know of the log. */
export interface Told {
  readonly id: string;
  readonly lines: readonly RolloutLine[];
  readonly notes: readonly string[];
}

/** A row while it is told. */
export interface OpenRow {
  readonly key: string;
  readonly kind: RowKind;
  readonly agent: number;
  at: number;
  ms: number;
  name: string;
  line: string;
  tone: Tone;
  open: boolean;
  spent?: Spent;
  edit?: NonNullable<Row["edit"]>;
  started?: number;
  fires?: number[];
  about?: number;
  readonly sections: Section[];
}

/** An agent while it is told. */
export interface OpenAgent {
  readonly id: string;
  readonly index: number;
  name: string;
  parent: number;
  from: number;
  to: number;
  stop: string | null;
  prompt: string;
  model: string;
  /** When it last did anything: what a model call is measured from. */
  last: number;
  /** The model call whose message has not come yet. */
  call: OpenRow | undefined;
  /** Texts of the messages seen, by index: a message that is told again adds only what is new. */
  readonly texts: Map<number, ReadonlySet<string>>;
}

/** A tool call while it is told. */
export interface OpenCall {
  readonly row: OpenRow;
  /** The index of the row. */
  readonly index: number;
  readonly asked: unknown;
  ran?: unknown;
  content?: string;
  ended?: string;
}

const NOTHING_SPENT: Spent = { fresh: 0, cacheRead: 0, cacheWrite: 0, output: 0, cost: 0 };

/**
 * A run as a page shows it, from its log alone. A line that makes no sense is passed over and noted; it never costs
 * the rest.
 */
export function viewOf({ id, lines, notes }: Told, source: string): WholeView {
  const telling = new Telling();
  let lost = 0;
  for (const line of lines) {
    try {
      if (line.type !== "rollout") telling.take(line);
    } catch {
      lost++;
    }
  }
  return telling.view({
    id,
    source,
    notes: lost === 0
      ? notes
      : [...notes, `${several(lost, "line")} left out as no sense could be made of ${lost === 1 ? "it" : "them"}`],
  });
}

/** The state of a telling: agents, rows, and what is open. */
export class Telling {
  readonly rows: OpenRow[] = [];
  readonly agents: OpenAgent[] = [];
  readonly calls = new Map<string, OpenCall>();
  /** Commands of hooks by their id. */
  readonly execs = new Map<string, OpenRow>();
  /** Hooks that were asked and have not answered, by agent, hook and event. */
  readonly asked = new Map<string, () => void>();
  readonly ledgers = new Ledgers();
  readonly models = new Set<string>();
  readonly #byId = new Map<string, OpenAgent>();
  readonly #numbers = new Map<RowKind, number>();
  #began: number | undefined;
  #now = 0;

  take(event: RunEvent & { readonly at: string }): void {
    const at = Date.parse(event.at);
    if (!Number.isNaN(at)) {
      this.#began ??= at;
      // A clock that was set back must not draw a run backwards.
      this.#now = Math.max(this.#now, at - this.#began);
    }
    const agent = this.agentOf(event.agent_id);
    tell(this, agent, event, this.#now);
    agent.to = this.#now;
    if (event.type !== "retry") agent.last = this.#now;
  }

  agentOf(id: string): OpenAgent {
    let agent = this.#byId.get(id);
    if (!agent) {
      const now = this.#now;
      agent = {
        id,
        index: this.agents.length,
        name: this.agents.length === 0 ? "main" : id.slice(0, 8),
        parent: this.agents.length === 0 ? -1 : 0,
        from: now,
        to: now,
        stop: null,
        prompt: "",
        model: "",
        last: now,
        call: undefined,
        texts: new Map(),
      };
      this.#byId.set(id, agent);
      this.agents.push(agent);
    }
    return agent;
  }

  row(kind: RowKind, agent: OpenAgent, at: number, about: Partial<Omit<OpenRow, "key" | "kind" | "agent">>): OpenRow {
    const number = (this.#numbers.get(kind) ?? 0) + 1;
    this.#numbers.set(kind, number);
    const row: OpenRow = {
      key: `${kind}-${number}`,
      kind,
      agent: agent.index,
      at,
      ms: 0,
      name: "",
      line: "",
      tone: "plain",
      open: false,
      sections: [],
      ...about,
    };
    this.rows.push(row);
    return row;
  }

  view(about: Pick<WholeView, "id" | "source" | "notes">): WholeView {
    closeOpen(this);
    for (const tell of this.asked.values()) tell();
    const [main] = this.agents;
    const prompt = this.rows.find((row) => row.kind === "prompt");
    const sections = this.rows.map((row) => row.sections);
    return {
      ...about,
      title: prompt?.line || firstLine(main?.prompt ?? "") || "A run",
      began: this.#began ?? 0,
      ms: this.#now,
      stop: main?.stop ?? null,
      models: [...this.models].map(wordsOf),
      agents: this.agents.map((agent) => this.#lane(agent)),
      rows: this.rows.map(({ sections, ...row }) => ({
        ...row,
        name: wordsOf(row.name),
        lines: sections.reduce((sum, section) => sum + linesOf(section), 0),
      })),
      hooks: this.ledgers.all(),
      totals: totalsOf(this.rows),
      sections,
    };
  }

  #lane({ id, name, parent, from, to, stop }: OpenAgent): AgentLane {
    let depth = 0;
    for (let at = parent; at >= 0 && depth < this.agents.length; at = this.agents[at]!.parent) depth++;
    return { id, name, parent, depth, from, to, stop };
  }
}

function totalsOf(rows: readonly OpenRow[]): Totals {
  const many = (test: (row: OpenRow) => boolean) => rows.reduce((sum, row) => sum + Number(test(row)), 0);
  return {
    calls: many((row) => row.kind === "call"),
    tools: many((row) => row.kind === "tool"),
    problems: many((row) => row.tone === "bad"),
    denied: many((row) => row.kind === "fire" && row.tone === "denied"),
    edits: many((row) => row.edit?.applied === true),
    fires: many((row) => row.kind === "fire"),
    spent: rows.reduce((sum, { spent }) => spent ? added(sum, spent) : sum, NOTHING_SPENT),
  };
}

function added(a: Spent, b: Spent): Spent {
  return {
    fresh: a.fresh + b.fresh,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    output: a.output + b.output,
    cost: a.cost === null || b.cost === null ? null : a.cost + b.cost,
  };
}
