import type { AnyEvent, EventOf } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { Channels } from "./channel.ts";

/** What a hook of ours can do at an event. */
export type Ability = "deny" | "ask" | "allow" | "modify" | "context" | "halt";

interface HostEventRow {
  /** Our names for it: hook files with one of them are installed there, and it is read as the first. Absent: nothing here fires it. */
  readonly ours?: readonly [first: string, ...more: string[]];
  /** What a hook can do there. Given with the row that has the name of the event itself. */
  readonly can?: readonly Ability[];
  /** Of `commands`: the keys of an answer's `hookSpecificOutput`, beside `hookEventName`. Absent: not known. */
  readonly output?: readonly string[];
  /** Of `commands`: whether `decision: "block"` does something. */
  readonly blocks?: boolean;
  /** Of `commands`: whether plain text is a failure. */
  readonly wantsJson?: boolean;
  /** Of `commands`: keys at the top of an answer that it does not support. */
  readonly refusesKeys?: readonly string[];
  /** The exit code that refuses, where no key of an answer does. */
  readonly refusesBy?: number;
  /** Whether the answer is a line of text, and not an object. */
  readonly prints?: boolean;
}

/** An event as a host writes it to a hook's stdin. */
export interface WireEvent {
  readonly session_id: string;
  readonly cwd: string;
  readonly hook_event_name: string;
  readonly [field: string]: unknown;
}

/** What an event carries around its own fields. */
export interface EventSetting {
  readonly session_id: string;
  readonly transcript_path: string;
  readonly prompt_id: string | undefined;
  readonly permission_mode: string;
  readonly effort: string | undefined;
  readonly minute: number;
}

/** Everything we know of one host. A new host is a new table of this type, listed in `index.ts`. */
export interface Host {
  readonly name: string;
  /** As people call it. */
  readonly title: string;
  readonly events: { readonly [name: string]: HostEventRow };
  /** The release that was run for this table, and the events that no run has fired. Absent: all is by its documents. */
  readonly tried?: { readonly version: string; readonly unseen: readonly string[] };
  /** Its tools that do what ours do; of two for one of ours the usual one first. */
  readonly channels: Channels;
  /** Ways to the world of which it tells no hook, each with what goes that way. */
  readonly unseen?: { readonly [way: string]: string };
  /** Its stdin with Claude Code's names of fields; absent if it uses these. Undefined for what is not an event. */
  readonly read?: (input: { readonly [field: string]: unknown }) => { readonly [field: string]: unknown } | undefined;
  /** How often a Stop hook may send the agent back before we let it go. Absent: the host has a limit of its own. */
  readonly stopCap?: number;
  /** Whether its events, answers and settings have the form of Claude Code's. */
  readonly likeClaude: boolean;

  readonly settings: {
    /** Below the project or below home; hooks are installed into the first. */
    readonly files: readonly string[];
    /** The file of a project that is not shared, if the host has one. */
    readonly local?: string;
    /** What a person has to do before the host runs what was installed, if anything. */
    readonly afterInstall?: string;
    /** The folder of its plugins, if we can make one. */
    readonly plugins?: string;
    /** Whether our own loop reads the file too. */
    readonly isOurs?: boolean;
    /** Its lists of hooks. Absent: the file is a plugin that we write whole (`adapters/`), as it has no command hooks. */
    readonly lists?: {
      /** The key that holds them, by event. */
      readonly at: string;
      /** The version that the file has to name. */
      readonly version?: number;
      /** Names of fields, if they hold the entries themselves and not groups of them. */
      readonly entry?: {
        readonly command: string;
        readonly timeout: string;
        /** What is true if a hook that fails refuses. */
        readonly failClosed?: string;
        readonly always?: object;
      };
      /** How a line finds the project, in the words of a shell. */
      readonly project: {
        readonly root: string;
        /** What sets the variable of `root`, if the host does not. */
        readonly findRoot?: string;
        /** The checkout that a worktree of the host belongs to. */
        readonly worktreeOf?: string;
      };
      /** What a line answers without crochet; that of a guard refuses. */
      readonly absent: (words: string) => object;
    };
    /** One second, in the unit of its time limits. */
    readonly second: number;
    /** Whether an entry has a name. */
    readonly named?: boolean;
    /** Whether it has hooks in the background. */
    readonly async?: boolean;
    /** Whether an entry can say that a hook that fails refuses. */
    readonly onFailure?: boolean;
    /** A list of tools as a matcher; undefined if the hook itself has to look. */
    readonly toolMatcher: (tools: readonly string[]) => string | undefined;
    /** A regular expression as a matcher, if it means the same there; else the hook itself has to look. */
    readonly patternMatcher?: (pattern: string) => string | undefined;
  };

  /** What it does with answers that we write. */
  readonly answers: {
    /** Whether what a script wrote for Claude Code is passed on as it is. */
    readonly asClaude?: boolean;
    /** Whether a new input is laid over the old one, so that no field can be removed. */
    readonly mergesInput?: boolean;
    /** Whether a refusal after a call hides the call's result: reasons then go beside it, as context. */
    readonly hidesResult?: boolean;
    /** Whether it waits forever for an answer to a question without a terminal: a question is then a refusal. */
    readonly asksAtTerminal?: boolean;
    /** The key at the top of an answer that holds text for the model; absent if it is in `hookSpecificOutput`. */
    readonly contextAtTop?: string;
  };
  /** What was decided, as keys at the top of an answer and inside `hookSpecificOutput`. `ends`: they end the run, too. */
  readonly decided: (
    folded: Folded,
    event: AnyEvent,
  ) => { readonly top?: object; readonly specific?: object; readonly ends?: boolean };
  /** A new result in the host's form; undefined if it cannot be given that form. */
  readonly newResult: (value: unknown, event: EventOf<"post-tool-use">) => unknown;

  /** How commands that its own settings name are asked, and what they print: for checks of these. Absent: none are read. */
  readonly commands?: {
    /** An event of Claude Code as this host would write it. */
    readonly written: (claude: WireEvent, setting: EventSetting) => WireEvent;
    /** Whether the event on stdin ends without a line feed. */
    readonly noLineFeed?: boolean;
    /** The variable with the session's id, beside Claude Code's. */
    readonly sessionVariable?: string;
    /** Seconds a hook has if its entry sets no limit. */
    readonly timeout: (event: string) => number;
    /** Keys at the top of an answer. */
    readonly top: readonly string[];
    /** Values of `decision`. */
    readonly decisions: readonly string[];
    /** Values of `permissionDecision`. */
    readonly permissions: readonly string[];
    /** The key of `hookSpecificOutput` with the new input of a call. */
    readonly newInput: string;
    /** Whether a key it does not know makes it drop the whole answer. */
    readonly strict?: boolean;
    /** Whether an 'allow' without a new input is a failure. */
    readonly allowsWithInput?: boolean;
    /** Whether a refusal without a reason is a failure. */
    readonly wantsReason?: boolean;
    /** Whether paths are resolved before a hook reads them. */
    readonly resolvesPaths?: boolean;
    /** Whether a hook of an unknown type makes it drop the whole file. */
    readonly dropsFile?: boolean;
    /** Whether `hookSpecificOutput` has to repeat the event's name. */
    readonly namesEvent?: boolean;
  };
}

/** The hosts, each with its table, which is loaded when it is asked for: a served hook needs one of them. */
const TABLES = {
  claude: async (): Promise<Host> => (await import("./claude.ts")).claude,
  codex: async (): Promise<Host> => (await import("./codex.ts")).codex,
  gemini: async (): Promise<Host> => (await import("./gemini.ts")).gemini,
  copilot: async (): Promise<Host> => (await import("./copilot.ts")).copilot,
  cursor: async (): Promise<Host> => (await import("./cursor.ts")).cursor,
  qwen: async (): Promise<Host> => (await import("./qwen.ts")).qwen,
  opencode: async (): Promise<Host> => (await import("./opencode.ts")).opencode,
  pi: async (): Promise<Host> => (await import("./pi.ts")).pi,
  vscode: async (): Promise<Host> => (await import("./vscode.ts")).vscode,
};

export type HostName = keyof typeof TABLES;

/** VS Code has no settings of its own: it runs the entries for Claude Code. */
export const HOST_NAMES = (Object.keys(TABLES) as readonly HostName[]).filter((name) => name !== "vscode");

/** Which host writes to an entry for one: three others run those for Claude Code too, two of them in a form of their own. */
export function askingHost(
  installed: HostName,
  input: { readonly [field: string]: unknown },
  env: { readonly COPILOT_CLI?: string | undefined },
): HostName {
  if (installed !== "claude") return installed;
  if (typeof input.hookEventName === "string") return "vscode";
  if (typeof input.hook_event_name === "string" && /^[a-z]+([A-Z]|$)/.test(input.hook_event_name)) return "cursor";
  return env.COPILOT_CLI ? "copilot" : "claude";
}

export function isHost(name: unknown): name is HostName {
  return (HOST_NAMES as readonly unknown[]).includes(name);
}

export function loadHost(name: HostName): Promise<Host> {
  return TABLES[name]();
}
