import type { Host } from "../../../hooks/serving/from-host.ts";
import type { Place, Probed, Question, Target } from "./probe.ts";
import type { Loaded } from "../subject.ts";

/** What a child is told first. */
export interface Setup {
  /** Begins each line of an answer. */
  readonly token: string;
  readonly target: Target;
  readonly place: Place;
  readonly host: Host;
  /** The whole environment of the hook. */
  readonly env: { readonly [name: string]: string };
  /** Whether it has processes of its own. */
  readonly alone: boolean;
  /** What is in the environment of everything a hook starts. */
  readonly mark: string;
}

/** A hook that can be asked. */
export interface Asked {
  readonly ask: (question: Question) => Promise<Probed>;
  /** Loads the file of a module again: nothing it remembers is left. */
  readonly renew?: () => Promise<void>;
  /** What it says about itself, where only loading it tells. */
  readonly loaded?: Loaded;
}

export interface Order {
  readonly id: number;
  readonly question: Question;
  /** The hook is loaded again first. */
  readonly renew?: boolean;
  /** Of several that were sent together. */
  readonly row?: {
    /** The workspace is in order now: from here on it is compared with this. */
    readonly begins: boolean;
    /** What it left behind is looked for afterwards; what comes after it is not asked where the workspace is not in order. */
    readonly looks: boolean;
  };
}

export interface Answering {
  readonly id: number;
  readonly probed?: Probed;
  /** In a row, where that was looked at: whether the workspace is no longer in order. */
  readonly dirty?: boolean;
  /** It was not asked, as the workspace has to be put back first. */
  readonly held?: boolean;
  /** It was not asked, as a module cannot be loaded twice in one process. */
  readonly onlyOnce?: boolean;
  /** Of the first answer: what the hook says about itself. */
  readonly loaded?: Loaded;
  /** Why the child itself could not do it. */
  readonly broken?: string;
}
