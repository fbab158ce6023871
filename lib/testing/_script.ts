import { isObject } from "../core/json.ts";
import { ModelError, type ModelEvent, type ModelRequest } from "../core/model.ts";
import { checkOptions, type OptionKind } from "../files/options.ts";
import { shown } from "../core/shown.ts";
import { replyEvents, type ScriptedReply, type ScriptedTool } from "./_reply-events.ts";

/** A reply, or a function that makes it of what was asked. */
export type ScriptEntry = ScriptedReply | ((request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>);

/** Replies for some requests only, such as those of a sub-agent. The first route that matches has its own order. */
export interface ScriptRoute {
  readonly when: (request: ModelRequest) => boolean;
  readonly replies: readonly ScriptEntry[];
}

export interface ScriptOptions {
  /** What to say when the replies have run out. @default an error */
  then?: ScriptEntry;
  routes?: readonly ScriptRoute[];
}

/** What these options must be. */
export const SCRIPT_OPTIONS: { readonly [option in keyof ScriptOptions]-?: OptionKind } = {
  then: "any",
  routes: "a list",
};

/** One answer of a script. */
export interface Answer {
  readonly reply: ScriptedReply;
  readonly events: readonly ModelEvent[];
}

interface Script {
  next(request: ModelRequest): Promise<Answer>;
  /** @throws {Error} if replies were not used, naming them */
  done(): void;
}

interface Lane {
  readonly label: string;
  readonly when: (request: ModelRequest) => boolean;
  readonly replies: readonly ScriptEntry[];
  used: number;
}

/** @throws {TypeError} if a reply is none: most tests run without a check of their types */
export function readScript(replies: readonly ScriptEntry[], { then, routes = [] }: ScriptOptions): Script {
  if (!Array.isArray(replies)) {
    throw new TypeError(`Cannot script a model as its replies must be a list: current value is ${shown(replies)}`);
  }
  const scripted = [...replies, ...routes.flatMap((route) => route.replies), ...(then === undefined ? [] : [then])];
  for (const entry of scripted) if (typeof entry !== "function") checkReply(entry);
  const lanes: Lane[] = [
    ...routes.map((route, i) => ({ ...route, label: `route ${i + 1} `, used: 0 })),
    { label: "", when: () => true, replies, used: 0 },
  ];
  let messages = 0;
  let tools = 0;

  return {
    async next(request) {
      const lane = lanes.find(({ when }) => when(request))!;
      const entry = lane.used < lane.replies.length ? lane.replies[lane.used++] : then;
      if (entry === undefined) throw ranOut(lane);
      const reply = typeof entry === "function" ? await entry(request) : entry;
      if (typeof entry === "function") checkReply(reply);
      const names = {
        message: `msg_scripted_${number(++messages)}`,
        model: request.model,
        tool: () => `toolu_scripted_${number(++tools)}`,
      };
      return { reply, events: replyEvents(reply, names) };
    },
    done() {
      const unused = lanes.flatMap(({ label, replies, used }) =>
        replies.slice(used).map((entry, i) => `${label}#${used + i + 1} ${summary(entry)}`)
      );
      if (unused.length > 0) throw new Error(`Cannot end the script as replies were not used: ${unused.join(", ")}`);
    },
  };
}

const REPLY: { readonly [field in keyof ScriptedReply]-?: OptionKind } = {
  thinking: "a text",
  text: "a text",
  blocks: "a list",
  tools: "a list",
  stop_reason: "a text",
  usage: "an object",
  events: "a list",
  delay: "0 or more",
  cut: "0 or more",
  stall: "any",
  error: "any",
  http: "0 or more",
  retryAfter: "0 or more",
};

const TOOL: { readonly [field in keyof ScriptedTool]-?: OptionKind } = {
  name: "a text",
  input: "any",
  id: "a text",
  raw: "a text",
};

function checkReply(given: unknown): void {
  if (!isObject(given)) {
    throw new TypeError(`Cannot script a reply as ${shown(given)} is none: give an object such as { text: "hi" }`);
  }
  const doing = `script reply ${summary(given)}`;
  checkOptions(given, REPLY, doing);
  for (const tool of (given as ScriptedReply).tools ?? []) {
    if (!isObject(tool) || typeof tool.name !== "string") {
      throw new TypeError(`Cannot ${doing} as ${shown(tool)} calls no tool: give { name: "Bash", input: { … } }`);
    }
    checkOptions(tool, TOOL, doing);
  }
}

/** The events a reply sends before its fault, or all if it has none. */
export function sentEvents({ reply, events }: Answer): readonly ModelEvent[] {
  if (reply.stall === "start") return [];
  if (reply.stall) return events.slice(0, Math.ceil(events.length / 2));
  return reply.cut === undefined ? events : events.slice(0, reply.cut);
}

function ranOut({ label, replies }: Lane): ModelError {
  return new ModelError(
    `Cannot answer as the script${label && ` of ${label.trim()}`} has run out after ${replies.length} ${
      replies.length === 1 ? "reply" : "replies"
    }: add one, or give { then: reply }`,
    { code: "script_ended" },
  );
}

function number(n: number): string {
  return String(n).padStart(4, "0");
}

function summary(entry: ScriptEntry): string {
  if (typeof entry === "function") return "(function)";
  const text = JSON.stringify(entry);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
