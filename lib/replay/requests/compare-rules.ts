import { isObject, type JsonObject } from "../../core/json.ts";
import { normalised } from "../normalise.ts";
import type { Api } from "../../log/entry.ts";
import { ITEMS, itemsOf, mapSent, type Part, partsOf } from "./api.ts";
import type { Sent } from "../../log/tape.ts";

/** The programs whose requests are known to differ from run to run. */
const CLIENTS: { readonly [client: string]: RegExp } = {
  claude: /^claude-cli\//,
  codex: /^codex/i,
  gemini: /^(?:GeminiCLI|QwenCode)/, // the second comes of the first
  opencode: /^opencode\//,
};

/** The program that sent a request, by its own words; undefined for any other: of its requests everything counts. */
function clientOf({ headers }: Pick<Sent, "headers">): string | undefined {
  const { "user-agent": agent = "", originator = "" } = headers;
  return Object.keys(CLIENTS).find((name) => CLIENTS[name]!.test(agent) || CLIENTS[name]!.test(originator));
}

/** A difference between two unchanged runs that does not count, and no more than that. */
interface Rule {
  readonly about: string;
  /** @default every program */
  readonly client?: string;
  /** @default every API */
  readonly apis?: readonly Api[];
  /** Paths that are left out, `*` for any one part. */
  readonly drops?: readonly string[];
  /** What is found in texts of these parts is read as the rule's name; as nothing, if some runs do not have it. */
  readonly finds?: RegExp;
  readonly asNothing?: true;
  readonly within?: readonly Part[];
  /** A text must have this for the rule to look at it. */
  readonly needs?: RegExp;
  /** Fields of the body that say who asks: a tape has no texts in them. */
  readonly anonymous?: readonly string[];
  readonly shape?: (sent: Sent) => JsonObject;
  /** Only if the run is not in the workspace it was recorded in. */
  readonly elsewhere?: true;
}

const OPENING: readonly Part[] = ["system", "opening"];

const DATE =
  /\d{4}-\d\d-\d\d|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* (?:\d\d?,? )?\d{4}/
    .source;

/** Lines that git's status is made of, in the words of Claude Code. */
const GIT_LINE =
  /|Current branch: .*|Main branch \(.*|Git user: .*|Status:|\(clean\)|[ MADRCUT?!]{2} .*|\.{3} \(truncated.*|Recent commits:|[0-9a-f]{7,40} .*/
    .source;

const CACHED = ["", "system.*.", "tools.*.", "messages.*.", "messages.*.content.*.", "messages.*.content.*.content.*."];

/** Every rule, by its name. Each pattern finds what changes by itself, and nothing around it. */
export const RULES: { readonly [name: string]: Rule } = {
  "account": {
    about: "who asks, and what is cached",
    apis: ["anthropic", "chat"],
    anonymous: ["metadata"],
    drops: ["metadata", ...CACHED.map((place) => `${place}cache_control`)],
  },
  "stream": { about: "whether a reply is streamed", apis: ["anthropic"], drops: ["stream"] },
  "text-block": { about: "a text is the same as one text block", apis: ["anthropic", "chat"], shape: asBlocks },
  "codex-ids": {
    about: "ids of items, turns and conversations",
    client: "codex",
    apis: ["responses"],
    anonymous: ["prompt_cache_key", "client_metadata"],
    drops: [
      "prompt_cache_key",
      "client_metadata",
      "input.*.id",
      "input.*.internal_chat_message_metadata_passthrough",
    ],
  },
  "gemini-call-ids": {
    about: "ids of calls, made of the time",
    client: "gemini",
    apis: ["gemini"],
    shape: callsNumbered,
  },
  "result-order": {
    about: "results in the order of their calls",
    client: "claude",
    apis: ["anthropic"],
    shape: inCallOrder,
  },
  "date": {
    about: "the date, the time and the time zone",
    within: [...OPENING, "tools"],
    finds: new RegExp(
      `(?<=Today's date(?: is|:) |Current date: |current month is |<current_date>)(?:${DATE})` +
        "|(?<=Today's date is )[^\\n(]+(?= \\(formatted according)|(?<=<timezone>)[\\w/+-]+(?=</timezone>)" +
        "|(?<=<current_datetime>)\\d{4}-\\d\\d-\\d\\dT[\\d:.]+(?:Z|[+-]\\d\\d:\\d\\d)(?=</current_datetime>)",
      "g",
    ),
  },
  "billing": {
    about: "the version in the billing line",
    client: "claude",
    within: ["system"],
    finds: /^x-anthropic-billing-header: [^\n]*$/g,
  },
  "os-version": {
    about: "the version of the kernel",
    client: "claude",
    within: OPENING,
    finds: /(?<=\bOS Version: )[^\n]*/g,
  },
  "claude-agents": {
    about: "ids of agents and the time they took",
    client: "claude",
    within: ["result"],
    finds: /(?<=\bagentId: )\w+|(?<=\bto: ')\w+(?=')|(?<=\bduration_ms: )\d+/g,
  },
  "claude-tasks": {
    about: "ids of background tasks",
    client: "claude",
    within: ["result", "user", "system"],
    needs: /background with ID: |<task-id>|\/tasks\/b/,
    finds: /(?<=background with ID: )b\w+|(?<=<task-id>)\w+(?=<\/task-id>)|(?<=\/tasks\/)b\w+(?=\.output)/g,
  },
  "codex-results": {
    about: "ids, names, times and counts in results",
    client: "codex",
    within: ["result"],
    finds:
      /(?<=Chunk ID: )[0-9a-f]+|(?<=Original token count: )\d+|(?<=Wall time:? )[\d.]+(?= seconds)|(?<="chunk_id":")[0-9a-f]+(?=")|(?<="wall_time_seconds":)[\d.e-]+|(?<="nickname":")[^"]*(?=")|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g,
  },
  "gemini-results": {
    about: "ids of processes",
    client: "gemini",
    within: ["result"],
    finds: /(?<=Process Group PGID: )\d+/g,
  },
  "gemini-folder": {
    about: "the name of the project's temporary folder",
    client: "gemini",
    finds: /(?<=\/\.(?:gemini|qwen)\/tmp\/)[\w.-]+/g,
  },
  "opencode-results": {
    about: "ids of tasks",
    client: "opencode",
    within: ["result"],
    finds: /(?<=<task id=")ses_\w+(?=")/g,
  },
  "agent-ids": { about: "which of the agents an id is of", finds: /(?<=\{AGENT-ID-)\d+(?=\})/g },
  "git-status": {
    about: "branch, status and commits",
    client: "claude",
    within: OPENING,
    elsewhere: true,
    finds: new RegExp(`(?<=This is the git status at the start of .*\\n)(?:(?:${GIT_LINE})(?:\\n|$))+`, "g"),
  },
  "git-snapshot": {
    about: "git's state, which a program leaves out of a repository without commits",
    client: "gemini",
    within: OPENING,
    elsewhere: true,
    asNothing: true,
    finds: /(?:\n\n)?Git snapshot at conversation start\..*\n```text\n(?:git: .*\n)*```/g,
  },
  "tree": {
    about: "the tree of the workspace",
    client: "gemini",
    within: ["opening"],
    elsewhere: true,
    finds: /(?<=\n)(?:[ │]*[├└]───[^\n]*\n)+/g,
  },
};

/** Stands for the billing line, if its text is not known. */
export function billingBlock(): JsonObject {
  return { type: "text", text: "{billing}" };
}

/** A request as it is compared, and the rules that changed something in it; `elsewhere`: in another workspace. */
export function compared(sent: Sent, elsewhere = false): { sent: Sent; by: Set<string> } {
  const by = new Set<string>();
  let now = sent;
  for (const [name, rule] of rulesFor(sent)) {
    if (!now.body || (rule.elsewhere && !elsewhere)) continue;
    const next = applied(name, rule, now);
    if (next.body !== now.body) by.add(name);
    now = next;
  }
  return { sent: now, by };
}

/** The rules for the program and the API of a request. */
function rulesFor(sent: Sent): [name: string, rule: Rule][] {
  const client = clientOf(sent);
  return Object.entries(RULES).filter(([, rule]) =>
    (rule.client ?? client) === client && (rule.apis ?? [sent.api]).includes(sent.api)
  );
}

/** A request without the ids of its account, device and installation, which count for nothing. */
export function anonymous(sent: Sent): Sent {
  const fields = rulesFor(sent).flatMap(([, rule]) => rule.anonymous ?? []);
  if (!sent.body || !fields.some((field) => Object.hasOwn(sent.body!, field))) return sent;
  const hidden = fields.filter((field) => Object.hasOwn(sent.body!, field))
    .map((field) => [field, normalised(sent.body![field], field, () => "{ACCOUNT}")]);
  return { ...sent, body: { ...sent.body, ...Object.fromEntries(hidden) } };
}

function applied(name: string, { drops, finds, within, needs, shape, asNothing }: Rule, sent: Sent): Sent {
  if (drops) return { ...sent, body: drops.reduce((body, path) => without(body, path.split(".")), sent.body!) };
  if (shape) return { ...sent, body: shape(sent) };
  const part = partsOf(sent);
  return mapSent(sent, (text, path) => {
    if (text.search(finds!) < 0 || (within && !within.includes(part(path))) || needs?.test(text) === false) return text;
    return text.replace(finds!, () => asNothing ? "" : `{${name}}`);
  });
}

/** A value without what stands at a path; the value itself if nothing does. */
function without<T>(value: T, [key, ...rest]: readonly string[]): T {
  if (Array.isArray(value)) {
    if (key !== "*") return value;
    const parts = value.map((part) => without(part, rest));
    return parts.some((part, i) => part !== value[i]) ? parts as T : value;
  }
  if (!isObject(value) || !Object.hasOwn(value, key!)) return value;
  if (rest.length > 0) {
    const part = without(value[key!], rest);
    return part === value[key!] ? value : { ...value, [key!]: part };
  }
  const { [key!]: _, ...others } = value;
  return others as T;
}

function withItems(
  { api, body }: Sent,
  change: (item: JsonObject, at: number, all: readonly JsonObject[]) => JsonObject,
): JsonObject {
  const items = itemsOf({ api, body: body! });
  const changed = items.map(change);
  return changed.some((item, i) => item !== items[i]) ? { ...body, [ITEMS[api]]: changed } : body!;
}

function asBlocks(sent: Sent): JsonObject {
  const block = (text: string) => [{ type: "text", text }];
  const body = withItems(
    sent,
    (item) => typeof item.content === "string" ? { ...item, content: block(item.content) } : item,
  );
  return sent.api === "anthropic" && typeof body.system === "string" ? { ...body, system: block(body.system) } : body;
}

/** Results of calls that ran in parallel come in any order. */
function inCallOrder(sent: Sent): JsonObject {
  const idsOf = (item: JsonObject | undefined, key: string) =>
    Array.isArray(item?.content)
      ? item.content.flatMap((b) => isObject(b) && typeof b[key] === "string" ? [b[key]] : [])
      : [];
  return withItems(sent, (item, at, all) => {
    const results = idsOf(item, "tool_use_id");
    const calls = idsOf(all.slice(0, at).findLast(({ role }) => role === "assistant"), "id");
    if (results.length < 2 || results.some((id) => !calls.includes(id))) return item;
    const content = item.content as readonly JsonObject[];
    const sorted = content.filter((block) => "tool_use_id" in block)
      .toSorted((a, b) => calls.indexOf(a.tool_use_id as string) - calls.indexOf(b.tool_use_id as string));
    if (sorted.every((block, i) => block.tool_use_id === results[i])) return item;
    return { ...item, content: content.map((block) => "tool_use_id" in block ? sorted.shift()! : block) };
  });
}

/** Ids by the order in which they first appear: a call and its result keep the same one. */
function callsNumbered(sent: Sent): JsonObject {
  const numbers = new Map<unknown, string>();
  const number = (id: unknown) => numbers.get(id) ?? numbers.set(id, `{call-${numbers.size + 1}}`).get(id)!;
  return withItems(sent, (item) => {
    if (!Array.isArray(item.parts)) return item;
    const parts = item.parts.map((part) => {
      const field = ["functionCall", "functionResponse"].find((name) => isObject(part?.[name]) && "id" in part[name]);
      return field === undefined ? part : { ...part, [field]: { ...part[field], id: number(part[field].id) } };
    });
    return parts.some((part, i) => part !== (item.parts as unknown[])[i]) ? { ...item, parts } : item;
  });
}
