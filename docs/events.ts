/** Writes what follows from the table of events, `lib/hooks/event-hooks.ts` and parts of `hooks/README.md`: `bun run docs/events.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AnyEvent, type EventName, type EventOf, type EventRow, EVENTS } from "../lib/core/events.ts";
import { pascal } from "../lib/core/names.ts";
import { type EventField, plainFields } from "../lib/hooks/event-fields.ts";
import { wireInput } from "../lib/hooks/process/wire.ts";
import { sampleEvent } from "../lib/hooks/samples.ts";

const code = (text: unknown) => `\`${text}\``;

type Rows = typeof EVENTS;

/** When an event happens, what `modify` changes if it has a subject, and what `deny` does if it does anything. */
type Words<N extends EventName> =
  & { readonly when: string }
  & (Rows[N]["subject"] extends null ? { readonly changes?: never } : { readonly changes: string })
  & (Rows[N]["deny"] extends "ignored" ? { readonly deny?: never } : { readonly deny: string });

/** An event without its words does not compile. */
const WORDS: { readonly [N in EventName]: Words<N> } = {
  "session-start": { when: "a run begins, is resumed or is cleared" },
  "user-prompt-submit": { when: "a person has sent a prompt", changes: "the prompt", deny: "the prompt is dropped" },
  "agent-start": { when: "an agent is about to work", changes: "its task", deny: "it does not run" },
  "turn-start": { when: "a turn begins", changes: "system prompt, messages", deny: "the turn is refused" },
  "iteration": {
    when: "before each model call",
    changes: "system prompt, more messages, for this call",
    deny: "the run is aborted",
  },
  "pre-tool-use": { when: "before a tool runs", changes: "its input", deny: "it does not run; the model reads why" },
  "permission-request": { when: "a call needs a yes", changes: "its input", deny: "the call is refused" },
  "tool-denied": { when: "a call was refused" },
  "post-tool-use": {
    when: "a tool has run",
    changes: "its result",
    deny: "the result stays; the model reads why",
  },
  "post-tool-batch": {
    when: "all calls of one reply are answered, before the next `iteration`",
    deny: "the run ends there",
  },
  "stop": { when: "the agent wants to stop", deny: "it goes on; the model reads why" },
  "stop-failure": { when: "the run ends as the model failed; `error` is the code of its API" },
  "turn-end": { when: "a turn has ended" },
  "agent-stop": { when: "an agent has ended, however" },
  "session-end": { when: "the run is over" },
  "model-switch": {
    when: "another model is about to be used",
    changes: "the model",
    deny: "the old one stays",
  },
  "post-model-switch": { when: "another model is used from here on" },
  "error": {
    when: "a model call or a tool failed",
    changes: "whether to try again",
    deny: "the run is aborted",
  },
  "pre-compact": {
    when: "the conversation is about to be summarised",
    changes: "the instructions",
    deny: "it is not",
  },
  "post-compact": { when: "the conversation was summarised" },
  "notification": { when: "a person is notified" },
  "checkpoint": { when: "the run was saved" },
  "memory-update": {
    when:
      "a tool wrote a memory file (AGENTS.md, CLAUDE.md), also below the workspace, whether or not the agent reads it",
  },
  "agent-prompt": {
    when: "a person is asked: a question, a plan or a permission; also for a watched agent of another host",
  },
  "cwd-changed": { when: "a command left the agent's shell in another folder" },
  "instructions-loaded": { when: "a run begins with an AGENTS.md or CLAUDE.md in its system prompt" },
  "setup": { when: "Claude Code runs `--init` or `--maintenance`" },
  "user-prompt-expansion": { when: "a slash command becomes a prompt", deny: "it is dropped" },
  "message-display": { when: "text of the model is about to be shown", changes: "the text (not in Qwen Code)" },
  "task-created": { when: "a task is listed", deny: "it is not" },
  "task-completed": { when: "a task is ticked off", deny: "it is not" },
  "todo-created": { when: "a task is listed in Qwen Code", deny: "it is not, in the phase `validation`" },
  "todo-completed": { when: "a task is ticked off in Qwen Code", deny: "it is not, in the phase `validation`" },
  "teammate-idle": { when: "a teammate has nothing left to do", deny: "it goes on; it reads why" },
  "elicitation": { when: "an MCP server asks a person", deny: "it is declined" },
  "elicitation-result": { when: "a person has answered an MCP server", deny: "it is declined" },
  "config-change": { when: "a settings file has changed", deny: "the change does not count" },
  "file-changed": {
    when: "a watched file has changed (`change`, `add`, `unlink`): a `matcher` names it, without its folder",
  },
  "directory-added": { when: "a folder is added to the workspace" },
  "worktree-create": {
    when: "a worktree is needed: the hook makes it",
    changes: "its path, which `modify` gives",
    deny: "there is none",
  },
  "worktree-remove": { when: "a worktree is to be removed" },
  "session-delete": { when: "a session of Qwen Code was deleted" },
};

const ROWS = Object.entries(EVENTS) as [EventName, EventRow][];
const OURS = ROWS.filter(([, { fires }]) => fires);

/** What a narrower name of an event means. */
const NARROW = {
  sub: "below the root",
  root: "the root alone",
  failure: "the calls that failed",
  success: "the others",
};

function alsoCalled({ aliases }: EventRow): string {
  return Object.entries(aliases).map(([name, { scope, outcome }]) => {
    const narrow = scope === undefined || scope === "all" ? outcome : scope;
    return narrow === undefined ? code(name) : `${code(name)} (${NARROW[narrow]})`;
  }).join(", ");
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `|${cells.map((cell) => cell && ` ${cell}`).join(" |")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function eventsSection(): string {
  const unread = OURS.flatMap(([name, { read }]) => read ? [] : [code(name)]);
  return [
    "\"changes\" is what `modify` replaces. An empty 'changes' cell means `modify` is an error; an empty 'deny' cell means `deny` has no effect.\n" +
    `\`context\` goes into the model's next message, but at ${unread.slice(0, -1).join(", ")} and ${unread.at(-1)}, ` +
    "which no model reads: a warning says so.",
    tableOf(
      ["event", "also called", "when", "changes", "deny"],
      OURS.map(([name, row]) => {
        const { when, changes = "", deny = "" } = WORDS[name];
        return [code(name), alsoCalled(row), when, changes, deny];
      }),
    ),
  ].join("\n\n");
}

function foreignSection(): string {
  return [
    "These can be written as hook files too: `hooks new`, `test`, `check` and `install` know them. Our own loop never fires them, and says so if it finds such a hook; " +
    "[What each host does](../docs/hosts.md) lists who does.",
    tableOf(
      ["event", "when", "changes", "deny"],
      ROWS.flatMap(([name, { fires }]) => {
        const { when, changes = "", deny = "" } = WORDS[name];
        return fires ? [] : [[code(name), when, changes, deny]];
      }),
    ),
  ].join("\n\n");
}

/** `event-hooks.ts`: a type for each name of the events that we fire. An example above one stays there. */
function hookTypes(text: string): string {
  const type = (name: string) => `${pascal(name)}Hook`;
  const examples = (name: string) =>
    new RegExp(`(/\\*\\*(?:(?!\\*/)[^])*@example(?:(?!\\*/)[^])*\\*/\n)export type ${type(name)} `).exec(text)?.[1];
  const when = (event: EventName) => `/** \`${event}\`: ${WORDS[event].when}. */\n`;
  const lines = OURS.map(([event]) =>
    `${examples(event) ?? when(event)}export type ${type(event)} = Hook<"${event}">;`
  );
  return ['import type { Hook } from "../core/hook.ts";', "", ...lines, ""].join("\n");
}

/** What every event has; a field that is missing here does not compile. */
const EVERY: { readonly [F in Exclude<keyof EventOf<"cwd-changed">, "old_cwd" | "new_cwd">]-?: string } = {
  event: "its name in the table above, such as `stop`",
  event_id: "the agent's id and a number",
  timestamp: "UTC, ISO 8601",
  session_id: "the run",
  agent_id: "the agent; of the root it is the run's id",
  parent_agent_id: "only below the root: the agent that started it",
  agent_type: "only below the root, if it is not a field of the event: the kind of agent",
  turn_id: "the turn",
};

/** What a field holds; any text is not marked. */
const HOLDS: { readonly [K in EventField["kind"]]: string } = {
  ...{ text: "", one: "", path: "path", cwd: "path", count: "number", flag: "true or false", tool: "" },
  ...{ data: "any", usage: "tokens", messages: "list", view: "`system`, `messages`" },
};

/** Values are named if they are words: the rest are samples of any text. */
function holds({ kind, values, nullable }: EventField): string {
  const isClosed = kind === "one" && values.every((value) => /^\w*[A-Za-z]$/.test(String(value)));
  const what = isClosed ? values.map(code).join(", ") : HOLDS[kind];
  return nullable === undefined ? what : isClosed ? `${what}, null` : `${what || "text"} or null`;
}

/** The fields of an event about a call, by what its samples hold. */
function ofCall(event: EventName): [string, string][] {
  const [ran, failed] = [false, true].map((failed) => sampleEvent(event, { cwd: "/", failed }) as unknown as Sample);
  return Object.keys(ran!).filter((name) => name !== "event").map((name) => {
    const value = ran![name];
    if (value === null) return [name, `${typeOf(failed![name]) || "text"} or null`];
    return [
      name,
      value === failed![name]
        ? typeOf(value)
        : typeof value === "string"
        ? `${code(value)}, ${code(failed![name])}`
        : typeOf(value),
    ];
  });
}

type Sample = { readonly [field: string]: unknown };

const typeOf = (value: unknown) =>
  Array.isArray(value)
    ? "list"
    : ({ number: "number", boolean: "true or false", object: "object" })[typeof value as string] ?? "";

/** The same as command hooks read it. */
const IN_JSON: { readonly [field: string]: string } = { input: "tool_input", result: "tool_response" };

function fieldsOf(event: EventName): string {
  const ids = { event_id: "", timestamp: "", session_id: "", agent_id: "", turn_id: "" };
  const samples = [false, true].map((failed) => ({ ...sampleEvent(event, { cwd: "/", failed }), ...ids }) as AnyEvent);
  const json = Object.assign({}, ...samples.map((sample) => wireInput(sample, "/")));
  const plain = plainFields(event);
  const about = plain?.map(([name, field]) => [name, holds(field)] as const) ?? ofCall(event);
  return about.map(([name, what]) => {
    const { wire, isSent } = plain?.find(([field]) => field === name)?.[1] ?? {};
    const there = wire ?? (plain ? undefined : IN_JSON[name]) ?? name;
    const sent = there in json || isSent ? there === name ? "" : `in JSON ${code(there)}` : "modules only";
    const notes = [what, sent].filter((note) => note !== "").join("; ");
    return notes === "" ? code(name) : `${code(name)} (${notes})`;
  }).join(", ");
}

function fieldsSection(): string {
  const every = Object.entries(EVERY).map(([name, about]) => [code(name), about]);
  return [
    tableOf(["every event", ""], every),
    "In brackets is what a field holds or, of texts, typical values, and how it is called in the JSON that commands read, which has `cwd`, `transcript_path` and `hook_event_name` too: `crochet hooks test FILE --json` shows it as `stdin`.\n" +
    "A switch of models has `from_model` and `to_model` there. Rules and prompts may also say `tool`, `args` and `path`.",
    tableOf(["event", "fields"], ROWS.map(([event]) => [code(event), fieldsOf(event)])),
  ].join("\n\n");
}

const SECTIONS = {
  "## Events": eventsSection,
  "### Fields": fieldsSection,
  "### Events of other hosts": foreignSection,
};

function page(text: string): string {
  return Object.entries(SECTIONS).reduce(
    (page, [heading, section]) =>
      page.replace(new RegExp(`(?<=\\n${heading}\\n\\n)[^]*?(?=\\n\\n##+ |\\n*$)`), () => section()),
    text,
  );
}

/** What each file becomes, by its place in the repository. */
export const WRITTEN: { readonly [file: string]: (text: string) => string } = {
  "lib/hooks/event-hooks.ts": hookTypes,
  "hooks/README.md": page,
};

if (import.meta.main) {
  for (const [file, written] of Object.entries(WRITTEN)) {
    const path = fileURLToPath(new URL(`../${file}`, import.meta.url));
    writeFileSync(path, written(readFileSync(path, "utf8")));
  }
}
