/** What one row of a run is. */
export type RowKind = "prompt" | "call" | "tool" | "fire" | "input" | "note" | "end";

/** How a row is to be seen: as usual, as a failure, as stopped or changed by a hook, or as nothing to look at. */
export type Tone = "plain" | "good" | "bad" | "denied" | "changed" | "quiet";

/** One thing that happened, without its long texts: those are its sections, kept apart. */
export interface Row {
  /** The anchor of its deep link: `call-12`. */
  readonly key: string;
  readonly kind: RowKind;
  /** Whose it is: an index into the agents. */
  readonly agent: number;
  /** Milliseconds since the run began. */
  readonly at: number;
  readonly ms: number;
  /** The tool, the model or the event. */
  readonly name: string;
  /** The row in one line. */
  readonly line: string;
  readonly tone: Tone;
  /** Whether its sections are shown at first. */
  readonly open: boolean;
  /** How many lines its sections have; pages use it to guess a height. */
  readonly lines: number;
  /** Of a model call: tokens and dollars; null for a model without a known price. */
  readonly spent?: Spent;
  /** Of a tool call that changed a file. */
  readonly edit?: {
    readonly file: string;
    readonly added: number;
    readonly removed: number;
    readonly applied: boolean;
  };
  /** Of a tool call that started an agent: its index. */
  readonly started?: number;
  /** Of a tool call: the rows of what hooks were asked about it. */
  readonly fires?: readonly number[];
  /** Of such a row: the row of the call. */
  readonly about?: number;
}

export interface Spent {
  readonly fresh: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly cost: number | null;
}

/** A part of a row, each kind drawn in its own way. */
export type Section =
  | { readonly as: "words"; readonly text: string }
  | { readonly as: "thinking"; readonly text: string }
  | { readonly as: "output"; readonly title: string; readonly text: string; readonly bad?: true }
  | { readonly as: "fields"; readonly title: string; readonly fields: readonly (readonly [string, string])[] }
  | { readonly as: "diff"; readonly file: string; readonly hunks: readonly DiffHunk[]; readonly applied: boolean }
  | { readonly as: "ledger"; readonly event: string; readonly runs: readonly LedgerLine[] };

export interface DiffHunk {
  readonly oldStart: number;
  readonly newStart: number;
  /** Each begins with a blank, `-`, `+` or `\`. */
  readonly lines: readonly string[];
}

/** What became of one hook at one event. */
export interface LedgerLine {
  readonly hook: string;
  readonly tone: Tone;
  /** `passed over`, `denied`, `let it pass` … */
  readonly did: string;
  /** In the hook's words, or why it was not asked. */
  readonly why: string;
  readonly ms: number;
}

/** All that one hook did in a run, equal outcomes together. */
export interface HookLedger {
  readonly name: string;
  readonly events: readonly string[];
  /** How often it was considered, was asked, and did something. */
  readonly considered: number;
  readonly ran: number;
  readonly acted: number;
  readonly ms: number;
  readonly outcomes: readonly HookOutcome[];
}

export interface HookOutcome {
  readonly event: string;
  readonly tone: Tone;
  readonly did: string;
  readonly why: string;
  readonly count: number;
  /** The first rows at which it came out so. */
  readonly rows: readonly number[];
}

/** One agent of a run: the first is the one that was prompted. */
export interface AgentLane {
  readonly id: string;
  readonly name: string;
  /** The index of the agent that started it; -1 for none. */
  readonly parent: number;
  readonly depth: number;
  readonly from: number;
  readonly to: number;
  /** How it ended; null where it did not. */
  readonly stop: string | null;
}

export interface Totals {
  readonly calls: number;
  readonly tools: number;
  readonly problems: number;
  readonly denied: number;
  readonly edits: number;
  readonly fires: number;
  readonly spent: Spent;
}

/** A run as a page shows it. */
export interface View {
  /** The first line of the first prompt. */
  readonly title: string;
  /** Where it comes from, in words. */
  readonly source: string;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly began: number;
  readonly ms: number;
  readonly stop: string | null;
  readonly models: readonly string[];
  /** What a reader has to know of this page: lines that could not be read, a replay that drifted. */
  readonly notes: readonly string[];
  readonly agents: readonly AgentLane[];
  readonly rows: readonly Row[];
  readonly hooks: readonly HookLedger[];
  readonly totals: Totals;
}

/** A view with the sections of each row, in the rows' order. */
export interface WholeView extends View {
  readonly sections: readonly (readonly Section[])[];
}

/** Two rows beside each other; -1 where a run has none. */
export interface Pair {
  readonly a: number;
  readonly b: number;
  readonly same: boolean;
}
