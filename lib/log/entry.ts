import { isObject } from "../core/json.ts";
import type { EventName } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import type { Json, Message } from "../core/messages.ts";
import type { ModelParams } from "../core/model.ts";
import type { HookCall } from "../core/run.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { Effect } from "../core/tool.ts";
import { KINDS } from "../input/options.ts";
import type { SecretKind } from "./redact/secrets.ts";
import type { About, Ending } from "./stores/store.ts";

/** The four APIs that agents speak. */
const APIS = ["anthropic", "chat", "responses", "gemini"] as const;
export type Api = typeof APIS[number];

/** What a field of a line must be, in the words of an error; `T` is its type, which is not looked into further. */
interface Field<T> {
  readonly is: string;
  readonly test: (value: unknown) => boolean;
  readonly type?: T;
}

function field<T>(is: keyof typeof KINDS | { readonly [is: string]: (value: unknown) => boolean }): Field<T> {
  if (typeof is === "string") return { is, test: KINDS[is][0] };
  const [[name, test]] = Object.entries(is) as [[string, (value: unknown) => boolean]];
  return { is: name, test };
}

type LineFields = { readonly [key: string]: Json };

const text: Field<string> = field("a text");
const number: Field<number> = field({ "a number": (value) => typeof value === "number" });
const time: Field<string> = field({
  "a time": (value) => typeof value === "string" && Math.abs(Date.parse(value)) < 8e15,
});
/** Milliseconds since the log began, of which any can be added to a `time`. */
const since: Field<number> = field({
  "milliseconds": (value) => typeof value === "number" && Math.abs(value) < 1e14,
});
const flag: Field<boolean> = field("true or false");
const yes: Field<true> = field("true or false");
const texts: Field<readonly string[]> = field("a list of texts");
const any: Field<Json> = field("any");
const fields: Field<LineFields> = field("an object");
const textByName: Field<{ readonly [name: string]: string }> = field("an object");
const textOrList: Field<string | readonly Json[]> = field({
  "a text or a list": (value) => typeof value === "string" || Array.isArray(value),
});
const api: Field<Api> = field({ "an API": (value) => APIS.includes(value as Api) });
const list: Field<readonly unknown[]> = field("a list");
const object: Field<object> = field("an object");

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

/** How an attempt ended that did not end well; stalls and cuts keep what came before them. */
type Ended = "cut" | "stall" | "aborted" | "reset" | "timeout";

interface ToolFactResult {
  readonly content: Json;
  readonly is_error?: true;
  readonly response?: Json;
  readonly wait?: true;
  /** The name of the error that was thrown with `content` as its message. */
  readonly threw?: string;
}

/** How a prompt came to a session that another process had begun: it opened it again, or followed one that did. */
export type Resumed = "opens" | "follows";

export type HookSaid = { readonly hook: string } & LineFields;

/** What a hook step left behind beside its answer. */
export interface HookLeft {
  /** The number of the session's next event. */
  readonly next: number;
  /** What hooks share, if they changed it, and what they took away of it. */
  readonly values?: readonly (readonly [string, unknown])[];
  readonly gone?: readonly string[];
  readonly calls?: readonly HookCall[];
}

/** Where a session stood when a run ended: what the next one begins with, in whatever process. */
export interface RunLeft {
  /** How often reports were looked for, of agents and of hooks. */
  readonly taken: readonly [number, number];
  readonly next: number;
  readonly values?: readonly (readonly [string, unknown])[];
}

/**
 * Every kind of line, named by its first key, with its keys in the order they are written; one with a question mark may
 * be absent. The types of lines and their check are both read out of this table. `fixtures/FORMAT.md` describes it.
 */
export const ENTRIES = {
  /** The first line of a tape: what it was recorded from. */
  tape: {
    tape: number,
    /** What answered: "live API", "scripted server", "gateway <host>", "model" (a Model function), the file imported, or "case". */
    source: text,
    /** Where the requests went; absent if no HTTP was seen. */
    "url?": text,
    /** When the recording began; all times of the tape count from here. */
    at: time,
    /** What `uuid` and `random` were drawn from. */
    seed: text,
    versions: textByName,
    /** The agent's script, relative to the fixture's folder. */
    "agent?": text,
    /** The directory it was recorded in, relative to the fixture's folder, if that is not the one that has `fixtures/`. */
    "project?": text,
    /** The command whose requests were recorded, if it is another program; it is run only once a person trusts it. */
    "command?": texts,
    /** Variables of its environment that its prompts show: a replay sets them again. */
    "env?": textByName,
    /** Whether its workspace was a git repository. */
    "git?": flag,
    /** The command that runs the tests whose requests were recorded; it is run only once a person trusts it. */
    "tests?": texts,
    /** The names of what it made in its directory: then the fixture keeps only what it changed or removed there. */
    "made?": texts,
    /** Whether it worked on files of its own, all of which the fixture keeps. */
    "input?": flag,
    /** Whether results of its tools may differ: they are still reported. */
    "loose?": yes,
    /** What the command or caller chose instead of the agent: `model`, `memory`, and what a replay lacks. */
    "chosen?": list as Field<readonly string[]>,
    /** The files of the agent's own hook folders that were loaded. */
    "hooks?": list as Field<readonly string[]>,
    /** The permission mode and rules by which calls were decided, and are again; absent: the agent's own. */
    "permissions?": fields,
    /** Which of these rules are the program's: those of its `script`, and of its `project`. A replay takes them as they are then. */
    "own?": fields,
    /** The sandbox in which commands ran, and run again. */
    "sandbox?": fields,
    /** Whether tool results are on the tape, to be served from it. */
    tools: flag,
    /** Whether those of MCP servers are, and all other tools run. */
    "mcp?": yes,
    "normalise?": list as Field<readonly Normaliser[]>,
  },
  /** What a person asked, one line each time; `model` is the one a person had changed to before it. */
  prompt: { prompt: textOrList, "model?": text, "resumed?": text as Field<Resumed> },
  /** A tool as the model sees it, named by its content: `Read@1f2e3d4c`. */
  spec: { spec: text, tool: fields },
  /** All of a request but its messages. That of another program is as it was sent: `api`, `method` and `path` say where. */
  head: {
    head: number,
    "api?": api,
    "method?": text,
    "path?": text,
    "query?": text,
    model: text,
    params: fields,
    /** A text, or blocks if it was not a single text block. */
    "system?": textOrList,
    "tools?": list as Field<readonly string[]>,
    /** Headers that say which API was spoken to. */
    "wire?": textByName,
    /** Fields that middleware changed, as they were sent; null if it removed one. */
    "sent?": fields,
  },
  /** One request: what it has in common with an earlier one, and what it adds. */
  call: {
    /** The lane and the number in it: `main#3`. */
    call: text,
    head: number,
    /** The call whose conversation this one continues. */
    "parent?": text,
    /** How many of the parent's messages it keeps. @default all */
    "keep?": number,
    /** Messages; `"$echo"` is the parent's reply, `{"$echo": "main#2"}` that of another call; `"@2-5"` are those of the lane. */
    add: list as Field<readonly Json[]>,
    /** The chain of hashes of its conversation; a log lacks it, as nothing compares by it. */
    "key?": text,
    /** Milliseconds since the header's time. */
    at: since,
    /** What has changed since it was answered: a review accepted the difference. */
    "stale?": texts,
  },
  /** One attempt to answer a call. */
  events: {
    events: text,
    attempt: number,
    /** Absent if no HTTP was seen or no answer came. */
    "status?": number,
    "headers?": textByName,
    /** Absent if the answer came to its own end. */
    "ended?": text as Field<Ended>,
    /** The words of the failure that ended it. */
    "why?": text,
    /** Milliseconds that were waited before it, after an attempt that failed. @default 0 */
    "waited?": number,
    /** Milliseconds since the attempt began, at its end. */
    took: number,
    /** Milliseconds between events; what is missing at the end is 0. */
    "ms?": list as Field<readonly number[]>,
    /** Spaces before the last brace of each event's JSON, as the wire had them; what is missing at the end is 0. */
    "pad?": list as Field<readonly number[]>,
    /** Events, runs of deltas, and frames in an unusual form. */
    "list?": list as Field<readonly (PackedRun | PackedRaw | LineFields)[]>,
    /** The body of an answer that is not a stream. */
    "body?": text,
  },
  /** What a call threw at the agent in the end. */
  error: { error: text, code: text, message: text, "retryable?": flag, "retryAfter?": number },
  tool: {
    tool: text,
    lane: text,
    name: text,
    effect: text as Field<Effect>,
    /** Whether it may run in parallel although it writes. */
    "parallel?": yes,
    /** In a log "@" if it is as the note says with which the call began. */
    input: any,
    result: object as Field<ToolFactResult>,
    /** Files of the workspace it changed: their text, `{"base64": …}`, or null if it removed one. */
    "files?": fields,
    /** Which of all calls that changed files it was: calls of agents that run in parallel may come in another order. */
    "nth?": number,
    /** Where it left the agent's shell, if it moved it. */
    "cwd?": text,
    /** Whether the run was aborted while it ran. */
    "aborted?": yes,
    /** Whether it started agents: it runs again, and they are served. */
    "spawned?": yes,
    ms: number,
  },
  /** What the clock of a lane said in one of its steps, in milliseconds since the header's time. */
  clock: {
    clock: text,
    step: number,
    now: number,
    /** What the run had spent with all its agents, if it has a limit. */
    "spent?": object as Field<{ readonly tokens: number; readonly dollars?: number }>,
  },
  /** Which reports of background agents an agent took, the `take`-th time it looked: the tool calls that started them. */
  inbox: { inbox: text, take: number, from: list as Field<readonly string[]> },
  /** A tool call that the rules or the person of a run did not let through: neither is there when it is replayed. */
  refused: { refused: text, lane: text, words: text, by: text },
  /** A person's answer to a tool: the questions, or what was to be agreed to. There is no person in a replay. */
  asked: { asked: any, answer: object as Field<Json> },
  /**
   * What a client asked an MCP server, and what came of it: `result`, `error`, or `unanswered` as the server ended; none of
   * them if it was still open at the end.
   */
  mcp: {
    /** The server's name. */
    mcp: text,
    method: text,
    /** Without `_meta`; of `initialize` only the version. */
    "params?": fields,
    "result?": any,
    "error?": fields,
    "unanswered?": yes,
    /** Notifications and questions of the server while it was open: `{"method","params"}`. */
    "between?": list as Field<readonly Json[]>,
    /** Whether the server said it by itself, outside of a request. */
    "own?": yes,
    /** How many requests had come to models when the answer came. */
    after: number,
    ms: number,
  },
  /** The text of memory files in the agent's prompt, if these files are not kept with the tape, and their names if only the run named them. */
  memory: { memory: text, "names?": texts },
  /** What the built-in agent's prompt said about its git repository; a replay works in a copy without one. */
  git: { git: text },
  /** A file of the workspace that the agent itself read, if no other files are kept with the tape. */
  file: { file: text, text },
  /** What each hook said at an event, of those that said something: not compared, but it says why a run differs. */
  said: {
    said: list as Field<readonly HookSaid[]>,
    lane: text,
    step: text,
    event: text as Field<EventName>,
    "about?": text,
  },
  /**
   * How the run ended, and the files it left, by the hash of their bytes. Of another program what it printed, and the
   * files that it changed, null if it removed one: `{VARIES}` where two unchanged runs differ.
   */
  end: {
    end: text,
    "files?": textByName,
    "out?": text,
    "left?": object as Field<{ readonly [path: string]: string | null }>,
  },

  /** The first line of a log: the rest of a tape's header comes in lines of the kind `also`, as it becomes known. */
  log: {
    log: number,
    id: text,
    /** Where the agent works. */
    cwd: text,
    at: time,
    seed: text,
    versions: textByName,
    /** The agent's script. */
    "agent?": text,
    /** The log it was forked from, and its first call that was not served. */
    "from?": object as Field<{ readonly id: string; readonly call: string }>,
  },
  also: { also: object as Field<Partial<HeaderFields>> },
  /** An agent begins in a lane; one that is resumed has another lane then. */
  agent: { agent: text, id: text, "about?": object as Field<About> },
  /** A run of the agent that no other started begins, with the prompt of the line before. */
  begin: {
    begin: number,
    trigger: text as Field<"user" | "resume">,
    /** Whether it is the first of a session that was resumed. */
    "opens?": yes,
    model: text,
    "modelParams?": object as Field<ModelParams>,
    at: since,
  },
  /** A message at its index: the reply of a call, or content in which `{"$of": id}` is the result of a tool. */
  message: {
    message: number,
    lane: text,
    "of?": text,
    "role?": text as Field<Message["role"]>,
    "content?": list as Field<readonly Json[]>,
    at: since,
  },
  /** A call that changes something begins: without a `tool` line after it, it may have happened or not. */
  begun: { begun: text, lane: text },
  /** What all hooks together said at an event. */
  hook: {
    /** The run and turn, and the how manieth such event in it. */
    hook: text,
    lane: text,
    event: text as Field<EventName>,
    "about?": text,
    folded: object as Field<Partial<Folded>>,
    left: object as Field<HookLeft>,
    /** How many of the events of its hooks, two for each that was asked, stand in notes before it. @default 0 */
    "noted?": number,
    at: since,
  },
  /** Other work whose outcome decided how the run went on. */
  did: { did: text, "value?": any },
  /** What a run reported and no other line says: an event, without what can be read elsewhere. */
  note: { note: object as Field<LoggedEvent>, at: since },
  /** A value that is taken out of whatever leaves this machine. */
  secret: { secret: text as Field<SecretKind>, name: text, value: text },
  ended: { ended: text, ending: object as Field<Ending>, "left?": object as Field<RunLeft>, at: since },
} as const;

export type LoggedEvent = { readonly type: RunEvent["type"]; readonly agent_id?: string } & LineFields;

type HeaderFields = {
  source: string;
  url: string;
  chosen: readonly string[];
  hooks: readonly string[];
  permissions: LineFields;
  own: LineFields;
  sandbox: LineFields;
};

type Table = typeof ENTRIES;
type TypeOf<F> = F extends Field<infer T> ? T : never;

export type EntryOf<Kind extends keyof Table> =
  & { readonly [K in keyof Table[Kind] as K extends `${string}?` ? never : K]: TypeOf<Table[Kind][K]> }
  & { readonly [K in keyof Table[Kind] as K extends `${infer N}?` ? N : never]?: TypeOf<Table[Kind][K]> };

export type Header = EntryOf<"tape">;
export type SpecFact = EntryOf<"spec">;
export type HeadFact = EntryOf<"head">;
export type CallFact = EntryOf<"call">;
export type EventsFact = EntryOf<"events">;
export type ToolFact = EntryOf<"tool">;
export type ClockFact = EntryOf<"clock">;
export type AnswerFact = EntryOf<"asked">;
export type SaidFact = EntryOf<"said">;
export type McpFact = EntryOf<"mcp">;
export type EndFact = EntryOf<"end">;
const LOG_KINDS = [
  ...["log", "also", "agent", "begin", "message", "begun"] as const,
  ...["hook", "did", "note", "secret", "ended"] as const,
] as const;
type LogKind = typeof LOG_KINDS[number];
export type TapeKind = Exclude<keyof Table, "tape" | LogKind>;
export type Fact = { [Kind in TapeKind]: EntryOf<Kind> }[TapeKind];
export type LogEntry = Fact | { [Kind in LogKind]: EntryOf<Kind> }[LogKind];

export type AttemptFields = Omit<EventsFact, "events" | "attempt" | "ms" | "pad" | "list">;

/** What a call threw at the agent in the end. */
export type CallError = Omit<EntryOf<"error">, "error">;

/** The version of the lines; a reader refuses any other. */
export const TAPE_VERSION = 1;

/** The keys of each kind in the order they are written, each with what it must be, and those that must be there. */
const SHAPES = new Map(
  Object.entries(ENTRIES).map(([kind, shape]) => {
    const fields = Object.entries(shape as { readonly [key: string]: Field<unknown> });
    return [kind, {
      fields: new Map(fields.map(([key, field]) => [key.replace("?", ""), field])),
      needed: fields.map(([key]) => key).filter((key) => !key.endsWith("?")),
    }];
  }),
);

/** A fact as its line, without the line's end: the same fact always gives the same bytes. */
export function factLine(fact: Header | LogEntry): string {
  const given = fact as unknown as { [key: string]: unknown };
  const ordered: { [key: string]: unknown } = {};
  for (const key of SHAPES.get(kindOf(fact)!)!.fields.keys()) if (given[key] !== undefined) ordered[key] = given[key];
  return JSON.stringify(ordered);
}

/** The kind of a line: its first key. */
export function kindOf(fact: object): string | undefined {
  for (const first in fact) return SHAPES.has(first) ? first : undefined;
  return undefined;
}

/** Why a value is not a line of a tape, or of a log; undefined if it is one. */
export function unknownFact(fact: unknown, of: "tape" | "log" = "tape"): string | undefined {
  if (!isObject(fact)) return "it is not an object";
  const kind = kindOf(fact);
  if (kind === undefined || (of === "tape" && LOG_KINDS.includes(kind as LogKind))) {
    return `there is no line that begins with '${Object.keys(fact)[0] ?? ""}'`;
  }
  const { fields, needed } = SHAPES.get(kind)!;
  for (const key in fact) {
    const field = fields.get(key);
    if (!field) return `a line of kind '${kind}' has no '${key}'`;
    if (fact[key] !== undefined && !field.test(fact[key])) {
      return `'${key}' of a line of kind '${kind}' is not ${field.is}`;
    }
  }
  const missing = kind === "call" && of === "tape" && fact.key === undefined
    ? "key"
    : needed.find((key) => fact[key] === undefined);
  return missing === undefined ? undefined : `a line of kind '${kind}' needs '${missing}'`;
}

/**
 * A declared difference that is ignored: in texts at `path`, what `pattern` finds is read as `{name}`, on the
 * tape and in requests alike. Every report names those that are in force.
 */
export interface Normaliser {
  readonly name: string;
  /** A path in the request, `*` for any one part and `**` for any number: `messages.*.content.*.text`, `system`. */
  readonly path: string;
  readonly pattern: string;
}
