import { isObject } from "../core/json.ts";
import type { Json } from "../core/messages.ts";
import type { Effect } from "../core/tool.ts";
import { KINDS } from "../files/options.ts";
import type { Normaliser } from "./normalise.ts";
import { type Api, ITEMS } from "./server/api.ts";

/** The first line: what the tape was recorded from. */
export interface Header {
  readonly tape: number;
  /** What answered: "live API", "scripted server", "gateway <host>", "model" (a Model function), or the file imported. */
  readonly source: string;
  /** Where the requests went; absent if no HTTP was seen. */
  readonly url?: string;
  /** When the recording began; all times of the tape count from here. */
  readonly at: string;
  /** What `uuid` and `random` were drawn from. */
  readonly seed: string;
  readonly versions: { readonly [what: string]: string };
  /** The agent's script, relative to the fixture's folder. */
  readonly agent?: string;
  /** The directory it was recorded in, relative to the fixture's folder, if that is not the one that has `fixtures/`. */
  readonly project?: string;
  /** The command whose requests were recorded, if it is another program; it is run only once a person trusts it. */
  readonly command?: readonly string[];
  /** Variables of its environment that its prompts show: a replay sets them again. */
  readonly env?: { readonly [name: string]: string };
  /** Whether its workspace was a git repository. */
  readonly git?: boolean;
  /** The names of what it made in its directory: then the fixture keeps only what it changed or removed there. */
  readonly made?: readonly string[];
  /** Whether it worked on files of its own, all of which the fixture keeps. */
  readonly input?: boolean;
  /** What the command or caller chose instead of the agent: `model`, `memory`, and what a replay lacks. */
  readonly chosen?: readonly string[];
  /** The files of the agent's own hook folders that were loaded. */
  readonly hooks?: readonly string[];
  /** The permission mode and rules by which calls were decided, and are again; absent: the agent's own. */
  readonly permissions?: { readonly [part: string]: Json };
  /** The sandbox in which commands ran, and run again. */
  readonly sandbox?: { readonly [part: string]: Json };
  /** Whether tool results are on the tape, to be served from it. */
  readonly tools: boolean;
  readonly normalise?: readonly Normaliser[];
}

/** What a person asked, one line each time. */
export interface PromptFact {
  readonly prompt: string | readonly Json[];
  /** The model a person had changed to before it. */
  readonly model?: string;
}

/** A tool as the model sees it, named by its content: `Read@1f2e3d4c`. */
export interface SpecFact {
  readonly spec: string;
  readonly tool: { readonly [key: string]: Json };
}

/** All of a request but its messages. That of another program is as it was sent: `api`, `method` and `path` say where. */
export interface HeadFact {
  readonly head: number;
  readonly api?: Api;
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly model: string;
  readonly params: { readonly [key: string]: Json };
  /** A text, or blocks if it was not a single text block. */
  readonly system?: string | readonly Json[];
  readonly tools?: readonly string[];
  /** Headers that say which API was spoken to. */
  readonly wire?: { readonly [header: string]: string };
  /** Fields that middleware changed, as they were sent; null if it removed one. */
  readonly sent?: { readonly [field: string]: Json };
}

/** One request: what it has in common with an earlier one, and what it adds. */
export interface CallFact {
  /** The lane and the number in it: `main#3`. */
  readonly call: string;
  readonly head: number;
  /** The call whose conversation this one continues. */
  readonly parent?: string;
  /** How many of the parent's messages it keeps. @default all */
  readonly keep?: number;
  /** Messages; `"$echo"` is the parent's reply, `{"$echo": "main#2"}` that of another call. */
  readonly add: readonly Json[];
  readonly key: string;
  /** Milliseconds since the header's time. */
  readonly at: number;
  /** What has changed since it was answered: a review accepted the difference. */
  readonly stale?: readonly string[];
}

/** How an attempt ended that did not end well; stalls and cuts keep what came before them. */
type Ended = "cut" | "stall" | "aborted" | "reset" | "timeout";

/** What an attempt and its line have in common. */
export interface AttemptFields {
  /** Absent if no HTTP was seen or no answer came. */
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
  /** The body of an answer that is not a stream. */
  readonly body?: string;
  /** Absent if the answer came to its own end. */
  readonly ended?: Ended;
  /** The words of the failure that ended it. */
  readonly why?: string;
  /** Milliseconds that were waited before it, after an attempt that failed. @default 0 */
  readonly waited?: number;
  /** Milliseconds since the attempt began, at its end. */
  readonly took: number;
}

/** One attempt to answer a call. */
export interface EventsFact extends AttemptFields {
  readonly events: string;
  readonly attempt: number;
  /** Milliseconds between events; what is missing at the end is 0. */
  readonly ms?: readonly number[];
  /** Spaces before the last brace of each event's JSON, as the wire had them; what is missing at the end is 0. */
  readonly pad?: readonly number[];
  /** Events, runs of deltas, and frames in an unusual form. */
  readonly list?: readonly (PackedRun | PackedRaw | { readonly [key: string]: Json })[];
}

/** Neighbouring deltas of one kind and block. */
export interface PackedRun {
  readonly run: string;
  readonly index: number;
  /** The texts; as one JSON text if they are long together, so that they become a blob. */
  readonly of: readonly string[] | string;
}

/** A frame of the wire, byte for byte. */
export interface PackedRaw {
  readonly raw: string;
}

/** What a call threw at the agent in the end. */
export interface CallError {
  readonly code: string;
  readonly message: string;
  readonly retryable?: boolean;
  readonly retryAfter?: number;
}

export interface ErrorFact extends CallError {
  readonly error: string;
}

/** One tool call and what came of it. */
export interface ToolFact {
  /** The id of the tool_use. */
  readonly tool: string;
  readonly lane: string;
  readonly name: string;
  readonly effect: Effect;
  /** Whether it may run in parallel although it writes. */
  readonly parallel?: true;
  readonly input: Json;
  readonly result: {
    readonly content: Json;
    readonly is_error?: true;
    readonly response?: Json;
    readonly wait?: true;
    /** The name of the error that was thrown with `content` as its message. */
    readonly threw?: string;
  };
  /** Files of the workspace it changed: their text, `{"base64": …}`, or null if it removed one. */
  readonly files?: { readonly [path: string]: Json };
  /** Which of all calls that changed files it was: calls of agents that run in parallel may come in another order. */
  readonly nth?: number;
  /** Where it left the agent's shell, if it moved it. */
  readonly cwd?: string;
  /** Whether the run was aborted while it ran. */
  readonly aborted?: true;
  readonly ms: number;
}

/** What the clock of a lane said in one of its steps. */
export interface ClockFact {
  readonly clock: string;
  readonly step: number;
  /** Milliseconds since the header's time. */
  readonly now: number;
  /** What the run had spent with all its agents, if it has a limit. */
  readonly spent?: { readonly tokens: number; readonly dollars?: number };
}

/** Which reports of background agents an agent took, the `take`-th time it looked. */
export interface InboxFact {
  readonly inbox: string;
  readonly take: number;
  /** The tool calls that started the agents. */
  readonly from: readonly string[];
}

/** A tool call that the rules or the person of a run did not let through: neither is there when it is replayed. */
export interface RefusalFact {
  readonly refused: string;
  readonly lane: string;
  readonly words: string;
  readonly by: string;
}

/** A person's answer to a tool: there is no person in a replay. */
export interface AnswerFact {
  /** The questions, or what was to be agreed to. */
  readonly asked: Json;
  readonly answer: Json;
}

/** The text of memory files in the agent's prompt, if these files are not kept with the tape. */
export interface MemoryFact {
  readonly memory: string;
  /** The names of the memory files, if only the run named them. */
  readonly names?: readonly string[];
}

/** What the built-in agent's prompt said about its git repository; a replay works in a copy without one. */
interface GitFact {
  readonly git: string;
}

/** A file of the workspace that the agent itself read, if no other files are kept with the tape. */
interface FileFact {
  readonly file: string;
  readonly text: string;
}

/** How the run ended, and the files it left, by the hash of their bytes. */
export interface EndFact {
  readonly end: string;
  readonly files?: { readonly [path: string]: string };
}

export type Fact =
  | PromptFact
  | SpecFact
  | HeadFact
  | CallFact
  | EventsFact
  | ErrorFact
  | ToolFact
  | ClockFact
  | InboxFact
  | RefusalFact
  | AnswerFact
  | MemoryFact
  | GitFact
  | FileFact
  | EndFact;

/** The version of the lines; a reader refuses any other. `fixtures/FORMAT.md` describes them. */
export const TAPE_VERSION = 1;

const FIELDS = {
  ...KINDS,
  "an API": (value: unknown) => typeof value === "string" && Object.hasOwn(ITEMS, value),
  "a time": (value: unknown) => typeof value === "string" && !Number.isNaN(Date.parse(value)),
  "a number": (value: unknown) => typeof value === "number",
  "a text or a list": (value: unknown) => typeof value === "string" || Array.isArray(value),
};

type FieldKind = keyof typeof FIELDS;

/** What a line may hold; a field with a question mark may be absent. */
type FactShape = { readonly [key: string]: FieldKind | `${FieldKind}?` };

/** Every kind of line, named by its first key, with its keys in the order they are written. */
export const SHAPES: { readonly [kind: string]: FactShape } = {
  tape: {
    tape: "a number",
    source: "a text",
    url: "a text?",
    at: "a time",
    seed: "a text",
    versions: "an object",
    agent: "a text?",
    project: "a text?",
    command: "a list of texts?",
    env: "an object?",
    git: "true or false?",
    made: "a list of texts?",
    input: "true or false?",
    chosen: "a list?",
    hooks: "a list?",
    permissions: "an object?",
    sandbox: "an object?",
    tools: "true or false",
    normalise: "a list?",
  },
  prompt: { prompt: "a text or a list", model: "a text?" },
  spec: { spec: "a text", tool: "an object" },
  head: {
    head: "a number",
    api: "an API?",
    method: "a text?",
    path: "a text?",
    query: "a text?",
    model: "a text",
    params: "an object",
    system: "a text or a list?",
    tools: "a list?",
    wire: "an object?",
    sent: "an object?",
  },
  call: {
    call: "a text",
    head: "a number",
    parent: "a text?",
    keep: "a number?",
    add: "a list",
    key: "a text",
    at: "a number",
    stale: "a list of texts?",
  },
  events: {
    events: "a text",
    attempt: "a number",
    status: "a number?",
    headers: "an object?",
    ended: "a text?",
    why: "a text?",
    waited: "a number?",
    took: "a number",
    ms: "a list?",
    pad: "a list?",
    list: "a list?",
    body: "a text?",
  },
  error: { error: "a text", code: "a text", message: "a text", retryable: "true or false?", retryAfter: "a number?" },
  tool: {
    tool: "a text",
    lane: "a text",
    name: "a text",
    effect: "a text",
    parallel: "true or false?",
    input: "any",
    result: "an object",
    files: "an object?",
    nth: "a number?",
    cwd: "a text?",
    aborted: "true or false?",
    ms: "a number",
  },
  clock: { clock: "a text", step: "a number", now: "a number", spent: "an object?" },
  inbox: { inbox: "a text", take: "a number", from: "a list" },
  refused: { refused: "a text", lane: "a text", words: "a text", by: "a text" },
  asked: { asked: "any", answer: "an object" },
  memory: { memory: "a text", names: "a list of texts?" },
  git: { git: "a text" },
  file: { file: "a text", text: "a text" },
  end: { end: "a text", files: "an object?" },
};

/** A fact as its line, without the line's end: the same fact always gives the same bytes. */
export function factLine(fact: Header | Fact): string {
  const given = fact as unknown as { [key: string]: unknown };
  const ordered: { [key: string]: unknown } = {};
  for (const key of Object.keys(SHAPES[kindOf(fact)!]!)) if (given[key] !== undefined) ordered[key] = given[key];
  return JSON.stringify(ordered);
}

/** The kind of a line: its first key. */
export function kindOf(fact: object): string | undefined {
  const [first = ""] = Object.keys(fact);
  return Object.hasOwn(SHAPES, first) ? first : undefined;
}

/** Why a value is not a line of a tape; undefined if it is one. */
export function unknownFact(fact: unknown): string | undefined {
  if (!isObject(fact)) return "it is not an object";
  const kind = kindOf(fact);
  if (kind === undefined) return `there is no line that begins with '${Object.keys(fact)[0] ?? ""}'`;
  const shape = SHAPES[kind]!;
  const extra = Object.keys(fact).find((key) => !Object.hasOwn(shape, key));
  if (extra !== undefined) return `a line of kind '${kind}' has no '${extra}'`;
  for (const [key, field] of Object.entries(shape)) {
    if (fact[key] === undefined) {
      if (!field.endsWith("?")) return `a line of kind '${kind}' needs '${key}'`;
    } else if (!FIELDS[field.replace("?", "") as FieldKind](fact[key])) {
      return `'${key}' of a line of kind '${kind}' is not ${field.replace("?", "")}`;
    }
  }
  return undefined;
}
