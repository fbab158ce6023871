import type { Place, Probed, Question, Target } from "./probe.ts";
import type { Loaded } from "../subject.ts";

/** What a child is told when it is started. */
export interface Setup {
  /** Begins each line of an answer. */
  readonly token: string;
  readonly target: Target;
  readonly place: Place;
  readonly host: "claude" | "codex" | "gemini";
  /** The whole environment of the hook. */
  readonly env: { readonly [name: string]: string };
  /** Whether it has processes of its own. */
  readonly alone: boolean;
  /** What is in the environment of everything a hook starts. */
  readonly mark: string;
}

export interface Order {
  readonly id: number;
  readonly question: Question;
  /** Of several that were sent together: the workspace is in order for the first, and for others only if it still is. */
  readonly row?: "first" | "next";
}

export interface Answering {
  readonly id: number;
  readonly probed?: Probed;
  /** In a row: whether the workspace is as it was before. */
  readonly dirty?: boolean;
  /** It was not asked, as the workspace has to be put back first. */
  readonly held?: boolean;
  /** Of the first answer: what the hook says about itself. */
  readonly loaded?: Loaded;
  /** Why the child itself could not do it. */
  readonly broken?: string;
}
