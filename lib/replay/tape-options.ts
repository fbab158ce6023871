import type { Cuts } from "../log/frames.ts";
import type { DriftReport } from "./drift/drift-report.ts";
import type { Header, Normaliser } from "../log/entry.ts";
import type { FreeRun } from "./free-run.ts";
import type { TapeMode } from "./policy.ts";
import type { Model } from "../core/model.ts";
import type { Program, Served } from "./match-call.ts";
import type { Tape, TapeRequest } from "../log/tape.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";

const TAPE_MODES: readonly TapeMode[] = ["replay", "record", "update", "live", "verify"];

/** A session on a tape as those see it who give it prompts. */
export interface OpenedTape {
  readonly program: Program | undefined;
  readonly served: Served;
  readonly recording: { readonly calls: readonly unknown[] } | undefined;
  isInterrupted: boolean;
  lane(name: string): { model(real: Model): Model };
}

/** Gets a request as a tape would have it, and the recorded one that it is compared with, if there is one. */
export type OnDrift = (lane: string, was: TapeRequest | undefined, is: TapeRequest) => void;

export interface TapeOptions {
  /** A fixture's folder, or a tape's own file (`.jsonl`). */
  readonly path?: string;
  /** A tape in memory, in place of a path; it can only be replayed. */
  readonly tape?: Tape;
  /** @default "replay" */
  readonly mode?: TapeMode;
  /**
   * Records tool results too, which are then served in place of running tools that read or write: all, or those of MCP
   * servers, which a replay does not start. @default false
   */
  readonly tools?: boolean | "mcp";
  /** Replays through the SDK, byte for byte, in place of the Model seam. @default whether `cutAt` is given */
  readonly wire?: boolean;
  /** Differences that do not count; they become part of what is recorded. */
  readonly normalise?: readonly Normaliser[];
  /** Records in CI too, as an eval does within its budget. @default false */
  readonly inCi?: boolean;
  /** Records placeholders for secrets; otherwise a run that shows one is not written. @default false */
  readonly redact?: boolean;
  /** The agent's script relative to the fixture, for the header. */
  readonly agent?: string;
  /** The project whose memory files and agents count, as far as it has them: they are part of the program. @default the workspace */
  readonly project?: string | undefined;
  /** Where streamed bodies are cut on the wire. @default one event a piece */
  readonly cutAt?: Cuts;
  /** A run that a recording continues: equal requests get its replies, all else is asked, and tools and hooks run. */
  readonly continues?: Tape;
  /** A run under faults: whatever is asked is answered, and nothing is compared. */
  readonly faults?: FreeRun;
  /** Hashes of the files the run left, each of its text as a tape would have it, for the tape's end. */
  readonly files?: (onTape: (text: string) => string) => { readonly [path: string]: string };
  /**
   * The workspace as it was before the run, to lie beside the tape: brought there before that is written, so that a full
   * disk leaves both as they were, kept afterwards, dropped in any case.
   */
  readonly workspace?: {
    /** Files it does without, and why: they may show a secret. */
    readonly leftOut?: readonly { readonly path: string; readonly why: string }[];
    /** What the header of the tape says of it. */
    ready(): Pick<Header, "made"> | void;
    keep(): void;
    drop(): void;
  };
  /** Called with the session on the tape, before anything is asked. */
  readonly onOpen?: (session: OpenedTape) => void;
  /** Called with the first request of each lane that is not on the tape. */
  readonly onDrift?: OnDrift | undefined;
  /** Called with the report when the session is closed. */
  readonly onReport?: (report: DriftReport) => void;
  /** Called with the error if a recording was not written. @default a warning of the run */
  readonly onError?: (error: unknown) => void;
}

const OPTIONS: { readonly [option in keyof TapeOptions]-?: OptionKind } = {
  path: "a text",
  tape: "an object",
  mode: "any",
  tools: [true, false, "mcp"],
  wire: "true or false",
  normalise: "a list",
  inCi: "true or false",
  redact: "true or false",
  agent: "a text",
  project: "a text",
  cutAt: "any",
  continues: "an object",
  faults: "an object",
  files: "a function",
  workspace: "an object",
  onOpen: "a function",
  onDrift: "a function",
  onReport: "a function",
  onError: "a function",
};

type Environment = Readonly<Record<string, string | undefined>>;

/** The tape that a run or its agent names; `base` is where a relative path counts from. Undefined to leave it alone. */
export function tapeOptions(
  named: string | TapeOptions,
  env: Environment,
  base: (path: string) => string,
): TapeOptions | undefined {
  const given = typeof named === "string" ? { path: named } : named;
  checkOptions(given, OPTIONS, "use a tape");
  const { path, tape, mode = "replay" } = given;
  if (tape === undefined && (typeof path !== "string" || path === "")) {
    throw new TypeError("Cannot use a tape as it has no path: tape: 'fixtures/<name>'");
  }
  const options = { ...given, mode, ...(path !== undefined && { path: base(path) }) };
  checkMode(options, env);
  return mode === "live" ? undefined : options;
}

function checkMode({ mode, tape, path, inCi }: TapeOptions, env: Environment): void {
  if (!TAPE_MODES.includes(mode!)) {
    throw new TypeError(`Cannot use tape mode '${mode}' as there is no such mode: expected ${TAPE_MODES.join(", ")}`);
  }
  if (mode === "replay" || mode === "verify") return;
  if (!inCi) refuseInCi(mode!, path, env);
  if (tape !== undefined && mode !== "live") {
    throw new TypeError(`Cannot ${mode} a tape in memory as there is no file to write: pass a path`);
  }
}

/** @throws {TypeError} if CI is set: CI only replays */
export function refuseInCi(mode: TapeMode | "review", path: string | undefined, env: Environment): void {
  if (!isCi(env)) return;
  const [does, it] = mode === "live" ? ["run live", "run it live"] : [mode, `${mode} ${path ?? "it"}`];
  throw new TypeError(`Cannot ${does} as CI is set, and CI only replays tapes: ${it} on your machine`);
}

/** Whose results are on a tape: those of all tools, or of MCP servers alone. */
export type ResultsKept = Pick<Header, "tools" | "mcp">;

export function resultsKept(tools: TapeOptions["tools"]): ResultsKept {
  return { tools: tools === true, ...(tools === "mcp" && { mcp: true }) };
}

/** Whether a replay goes through the SDK: only there is something to cut. */
export function isOverWire({ wire, cutAt }: Pick<TapeOptions, "wire" | "cutAt">): boolean {
  return wire ?? cutAt !== undefined;
}

/** Whether this runs in CI, which never records. */
export function isCi({ CI }: Environment): boolean {
  return CI !== undefined && CI !== "" && CI !== "false" && CI !== "0";
}
