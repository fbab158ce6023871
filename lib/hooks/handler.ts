import { isObject } from "../core/json.ts";

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
      readonly warm: boolean;
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
  readonly fix: string;
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
    return yield { at: "hooks", why: "it is not an object of events", fix: 'write { "Stop": [ … ] }' };
  }
  for (const [event, groups] of Object.entries(hooks)) {
    if (!Array.isArray(groups)) {
      yield { at: `hooks.${event}`, why: "it is not a list", fix: 'write [{ "hooks": [ … ] }]' };
      continue;
    }
    for (const [i, group] of groups.entries()) yield* groupEntries(group, event, `hooks.${event}[${i}]`);
  }
}

function* groupEntries(group: unknown, event: string, at: string): Generator<Entry | Mistake> {
  if (!isObject(group) || !Array.isArray(group.hooks)) {
    const how = isObject(group) && "type" in group ? "wrap the hook, as in" : "write";
    return yield { at, why: "it has no list of hooks", fix: `${how} { "hooks": [ … ] }` };
  }
  const { matcher } = group;
  if (matcher !== undefined && typeof matcher !== "string") {
    return yield { at: `${at}.matcher`, why: `${JSON.stringify(matcher)} is not a text`, fix: "write names of tools" };
  }
  for (const [k, entry] of group.hooks.entries()) {
    const place = `${at}.hooks[${k}]`;
    const handler = readHandler(entry, place);
    yield "fix" in handler ? handler : { event, at: place, matcher, handler };
  }
}

interface Unsupported {
  readonly unsupported: string;
}

type Given = Readonly<Record<string, unknown>>;

const text = (v: unknown) => typeof v === "string" && v.trim() !== "";
const texts = (v: unknown) => Array.isArray(v) && v.every((item) => typeof item === "string");
const flag = (v: unknown) => typeof v === "boolean";

/** The fields of each type: the check, what would pass it, and whether it must be there. Others are tolerated. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, [(v: unknown) => boolean, string, "required"?]>>>> = {
  command: {
    command: [text, "a command line", "required"],
    args: [texts, "a list of texts"],
    async: [flag, "true or false"],
    asyncRewake: [flag, "true or false"],
    warm: [flag, "true or false"],
    shell: [(v) => v === "bash", "'bash': it is run by /bin/sh"],
  },
  http: {
    url: [(v) => text(v) && /^https?:/.test(String(v)) && URL.canParse(String(v)), "an http or https URL", "required"],
    headers: [(v) => isObject(v) && texts(Object.values(v)), "an object of texts"],
    allowedEnvVars: [texts, "a list of names"],
  },
  prompt: {
    prompt: [text, "a prompt", "required"],
    model: [text, "a model's name"],
    continueOnBlock: [flag, "true or false"],
  },
};

const COMMON: (typeof FIELDS)[string] = {
  if: [text, "one permission rule, such as Bash(git *)"],
  timeout: [(v) => typeof v === "number" && Number.isFinite(v) && v > 0, "a number of seconds above 0"],
  onFailure: [(v) => v === "continue" || v === "block", "'continue' or 'block'"],
  statusMessage: [(v) => typeof v === "string", "a text"],
};

/** Checks one entry of a `hooks` list; an entry with a mistake gives the mistake. */
function readHandler(entry: unknown, at: string): Handler | Unsupported | Mistake {
  if (!isObject(entry)) return { at, why: "it is not an object", fix: 'write { "type": "command", "command": "…" }' };
  const { type } = entry;
  if (typeof type !== "string") {
    return { at: `${at}.type`, why: "it has no type", fix: 'add "type": "command", "http" or "prompt"' };
  }
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type]! : undefined;
  if (!fields) return { unsupported: type };
  for (const [key, [fits, expected, required]] of Object.entries({ ...fields, ...COMMON })) {
    const value = entry[key];
    if (value === undefined && !required) continue;
    if (!fits(value)) return { at: `${at}.${key}`, why: `its ${key} is ${show(value)}`, fix: `expected ${expected}` };
  }
  return handlerOf(entry);
}

function handlerOf(entry: Given): Handler {
  const asyncRewake = entry.asyncRewake === true;
  return {
    onFailure: "continue",
    ...(entry.type === "command" && { warm: false }),
    ...entry,
    ...(entry.type === "command" && { async: entry.async === true || asyncRewake, asyncRewake }),
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

function show(value: unknown): string {
  const shown = JSON.stringify(value) ?? "missing";
  return shown.length > 60 ? `${shown.slice(0, 57)}...` : shown;
}
