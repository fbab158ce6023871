/** Writes the fields of events into `hooks/README.md`, from the tables of events: `bun run docs/fields.ts`. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type AnyEvent, type EventName, type EventOf, EVENTS } from "../lib/core/events.ts";
import { type EventField, plainFields } from "../lib/hooks/event-fields.ts";
import { wireInput } from "../lib/hooks/process/wire.ts";
import { sampleEvent } from "../lib/hooks/samples.ts";

const PAGE = fileURLToPath(new URL("../hooks/README.md", import.meta.url));

/** What every event has; a field that is missing here does not compile. */
const EVERY: { readonly [F in Exclude<keyof EventOf<"cwd-changed">, "old_cwd" | "new_cwd">]-?: string } = {
  event: "its name in the table above, such as `stop`",
  event_id: "the agent's id and a number",
  timestamp: "UTC, ISO 8601",
  session_id: "the session",
  agent_id: "the agent; of the root it is the session's id",
  parent_agent_id: "only below the root: the agent that started it",
  agent_type: "only below the root, if it is not a field of the event: the kind of agent",
  turn_id: "the turn",
};

/** What a field holds; any text is not marked. */
const HOLDS: { readonly [K in EventField["kind"]]: string } = {
  ...{ text: "", one: "", path: "path", cwd: "path", count: "number", flag: "true or false", tool: "" },
  ...{ data: "any", usage: "tokens", messages: "list", view: "`system`, `messages`" },
};

const code = (text: unknown) => `\`${text}\``;

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

/** The section, without its heading. */
export function fieldsSection(): string {
  const every = Object.entries(EVERY).map(([name, about]) => `| ${code(name)} | ${about} |`);
  const rows = (Object.keys(EVENTS) as EventName[]).map((event) => `| ${code(event)} | ${fieldsOf(event)} |`);
  return [
    ["| every event | |", "|---|---|", ...every].join("\n"),
    "In brackets is what a field holds or, of texts, typical values, and how it is called in the JSON that commands read, which has `cwd`, `transcript_path` and `hook_event_name` too: `crochet hooks test FILE --json` shows it as `stdin`.\n" +
    "A switch of models has `from_model` and `to_model` there. Rules and prompts may also say `tool`, `args` and `path`.",
    ["| event | fields |", "|---|---|", ...rows].join("\n"),
  ].join("\n\n");
}

/** The page with this section in place of its own. */
export function withFields(page: string): string {
  return page.replace(/(?<=\n### Fields\n\n)[\s\S]*?(?=\n\n### |\n*$)/, () => fieldsSection());
}

if (import.meta.main) writeFileSync(PAGE, withFields(readFileSync(PAGE, "utf8")));
