export type RowKind = "prompt" | "call" | "tool" | "fire" | "input" | "note" | "end";

/** How a row looks: as usual, as a failure, as stopped or changed by a hook, or hidden at first (quiet). */
export type Tone = "plain" | "good" | "bad" | "denied" | "changed" | "quiet";

/** One thing that happened. Its long texts are kept apart, as sections. */
export interface Row {
  /** The anchor of its deep link: `call-12`. */
  readonly key: string;
  readonly kind: RowKind;
  readonly agent: number;
  /** Milliseconds since the run began. */
  readonly at: number;
  readonly ms: number;
  /** The tool, the model or the event. */
  readonly name: string;
  readonly line: string;
  /** Of a tool call or a command of a hook that has ended: what came of it, in a few words. */
  readonly result?: string;
  readonly tone: Tone;
  /** Whether its sections are shown at first. */
  readonly open: boolean;
  /** Of a model call: tokens and dollars; null for a model without a known price. */
  readonly spent?: SpentTokens;
  /** Of a tool call that changed a file. */
  readonly edit?: {
    readonly file: string;
    readonly added: number;
    readonly removed: number;
    readonly applied: boolean;
  };
  /** Of a tool call that started an agent: its index. */
  readonly started?: number;
  /** Of a tool call: the rows of the hook events about it. */
  readonly fires?: readonly number[];
  /** Of a hook event about a call: the row of the call. */
  readonly about?: number;
}

export interface SpentTokens {
  readonly fresh: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly cost: number | null;
}

/** A part of a row; each kind is drawn in its own way. */
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
  /** Each begins with a space, `-`, `+` or `\`. */
  readonly lines: readonly string[];
}

export interface LedgerLine {
  readonly hook: string;
  readonly tone: Tone;
  /** `skipped`, `denied`, `did nothing` … */
  readonly did: string;
  /** The hook's reason, or why it was skipped. */
  readonly why: string;
  readonly ms: number;
}

/** All that one hook did in a run, equal outcomes together. */
export interface HookLedger {
  readonly name: string;
  readonly events: readonly string[];
  /** How often it was considered, ran, and did something. */
  readonly considered: number;
  readonly ran: number;
  readonly acted: number;
  readonly ms: number;
  readonly outcomes: readonly HookOutcome[];
}

export interface HookOutcome extends Pick<LedgerLine, "tone" | "did" | "why"> {
  readonly event: string;
  readonly count: number;
  /** The first rows with this outcome. */
  readonly rows: readonly number[];
}

/** One agent of a run: the first is the one that was prompted. */
export interface AgentLane {
  readonly id: string;
  readonly name: string;
  /** The index of the agent that started it; -1 for the first agent. */
  readonly parent: number;
  readonly depth: number;
}

export interface Totals {
  readonly calls: number;
  readonly tools: number;
  readonly problems: number;
  readonly denied: number;
  readonly edits: number;
  readonly fires: number;
  readonly spent: SpentTokens;
}

/** A run as a page shows it. */
export interface WholeView {
  /** The first line of the first prompt. */
  readonly title: string;
  /** Where the run comes from, in words. */
  readonly source: string;
  /** Milliseconds since 1970. */
  readonly began: number;
  readonly ms: number;
  readonly stop: string | null;
  readonly models: readonly string[];
  /** What a reader must know about this page: lines that could not be read, a replay that drifted. */
  readonly notes: readonly string[];
  readonly agents: readonly AgentLane[];
  /** In the data of a page: the first of them. */
  readonly rows: readonly Row[];
  /** Those of each row. */
  readonly sections: readonly (readonly Section[])[];
  readonly hooks: readonly HookLedger[];
  readonly totals: Totals;
}

/** Two rows side by side; -1 if a run has no such row. */
export interface Pair {
  readonly a: number;
  readonly b: number;
  readonly same: boolean;
}
