import { isObject } from "../core/json.ts";
import { shown } from "../core/shown.ts";
import { type Kinds, optionFault } from "../input/options.ts";

/** One hook of a settings file, checked: what its type needs is there, and every value fits. */
export type Handler =
  & Common
  & (
    | {
      readonly type: "command";
      readonly command: string;
      readonly args?: readonly string[];
      readonly async: boolean;
      /** Async, and heard when it exits with code 2. */
      readonly asyncRewake: boolean;
    }
    | {
      readonly type: "http";
      readonly url: string;
      readonly headers?: { readonly [name: string]: string };
      readonly allowedEnvVars?: readonly string[];
    }
    | { readonly type: "prompt"; readonly prompt: string; readonly model?: string; readonly continueOnBlock?: boolean }
  );

interface Common {
  /** One permission rule: the hook is for the calls it matches. */
  readonly if?: string;
  /** In seconds. */
  readonly timeout?: number;
  readonly onFailure: "continue" | "block";
}

/** What is wrong with a value: its place, why, and how to fix it. */
interface Mistake {
  readonly at: string;
  readonly why: string;
}

/** One hook of the `hooks` in settings. */
export interface Entry {
  readonly event: string;
  /** Such as `hooks.PreToolUse[0].hooks[1]`. */
  readonly at: string;
  readonly matcher: string | undefined;
  readonly handler: Handler | Unsupported;
}

/** The hooks in settings, and what is wrong with the others. */
export function* entriesIn(hooks: unknown): Generator<Entry | Mistake> {
  if (!isObject(hooks)) {
    return yield { at: "hooks", why: 'it is not an object of events: write { "Stop": [ … ] }' };
  }
  for (const [event, groups] of Object.entries(hooks)) {
    if (!Array.isArray(groups)) {
      yield { at: `hooks.${event}`, why: 'it is not a list: write [{ "hooks": [ … ] }]' };
      continue;
    }
    for (const [i, group] of groups.entries()) yield* groupEntries(group, event, `hooks.${event}[${i}]`);
  }
}

function* groupEntries(group: unknown, event: string, at: string): Generator<Entry | Mistake> {
  if (!isObject(group) || !Array.isArray(group.hooks)) {
    const how = isObject(group) && "type" in group ? "wrap the hook, as in" : "write";
    return yield { at, why: `it has no list of hooks: ${how} { "hooks": [ … ] }` };
  }
  const { matcher } = group;
  if (matcher !== undefined && typeof matcher !== "string") {
    return yield { at: `${at}.matcher`, why: `${JSON.stringify(matcher)} is not a text: write names of tools` };
  }
  for (const [k, entry] of group.hooks.entries()) {
    const place = `${at}.hooks[${k}]`;
    const handler = readHandler(entry, place);
    yield "why" in handler ? handler : { event, at: place, matcher, handler };
  }
}

interface Unsupported {
  readonly unsupported: string;
}

/** The fields of each type, first the one that it needs. Others are tolerated. */
const FIELDS: { readonly [type: string]: Kinds } = {
  command: {
    command: "a text",
    args: "a list of texts",
    async: "true or false",
    asyncRewake: "true or false",
    shell: ["bash"],
  },
  http: { url: "a text", headers: "texts by name", allowedEnvVars: "a list of texts" },
  prompt: { prompt: "a text", model: "a text", continueOnBlock: "true or false" },
};

const COMMON: Kinds = {
  if: "a text",
  timeout: "a number of seconds",
  onFailure: ["continue", "block"],
  statusMessage: "a text",
};

/** Checks one entry of a `hooks` list; an entry with a mistake gives the mistake. */
function readHandler(entry: unknown, at: string): Handler | Unsupported | Mistake {
  if (!isObject(entry)) return { at, why: 'it is not an object: write { "type": "command", "command": "…" }' };
  const { type } = entry;
  if (typeof type !== "string") {
    return { at: `${at}.type`, why: 'it has no type: add "type": "command", "http" or "prompt"' };
  }
  if (!Object.hasOwn(FIELDS, type)) return { unsupported: type };
  const kinds = { ...FIELDS[type], ...COMMON };
  const known = Object.entries(entry).filter(([field]) => Object.hasOwn(kinds, field));
  const fault = optionFault(Object.fromEntries(known), kinds);
  if (fault) return { at: `${at}.${fault.option}`, why: fault.why };
  const [needed] = Object.keys(FIELDS[type]!) as [string];
  const given = String(entry[needed] ?? "");
  if (given.trim() === "") return { at: `${at}.${needed}`, why: `a hook of type '${type}' needs '${needed}'` };
  if (type === "http" && !(/^https?:/.test(given) && URL.canParse(given))) {
    return { at: `${at}.url`, why: `'url' must be an http or https URL: current value is ${shown(given)}` };
  }
  const asyncRewake = entry.asyncRewake === true;
  return {
    onFailure: "continue",
    ...entry,
    ...(type === "command" && { async: entry.async === true || asyncRewake, asyncRewake }),
  } as unknown as Handler;
}

/** What makes two handlers of one event the same hook, whatever else they say: as in the host, it then runs once. */
export function identityOf(handler: Handler): string {
  switch (handler.type) {
    case "command":
      return JSON.stringify(["command", handler.command, handler.args ?? null, handler.async]);
    case "http":
      return JSON.stringify(["http", handler.url]);
    case "prompt":
      return JSON.stringify(["prompt", handler.prompt, handler.model ?? null]);
  }
}
