import { isObject, type JsonObject } from "../../core/json.ts";

/** A call in the words of our tools, or of a host's. */
export interface ToolUse {
  readonly tool: string;
  readonly input: JsonObject;
}

/** A tool of a host by which a model does what tools of ours do. */
export interface Channel {
  /** Hooks for these are asked about its calls. */
  readonly ours: readonly [first: string, ...more: string[]];
  /** The calls of ours in one of its calls; undefined if it cannot be read: it is then asked about as it is. */
  readonly read: (input: JsonObject, cwd: string) => readonly ToolUse[] | undefined;
  /** Calls of ours as its input, of which `input` was the one before (`{}` if there was none); undefined if it cannot say them. */
  readonly write?: (calls: readonly ToolUse[], input: JsonObject, cwd: string) => JsonObject | undefined;
}

export interface Channels {
  readonly [theirs: string]: Channel;
}

/** The names of fields of theirs by ours. */
interface Keys {
  readonly [theirs: string]: string;
}

/** A tool that is one of ours under another name, or with other names of its fields. */
export function like(tool: string, keys?: Keys, more?: Partial<Channel>): Channel {
  return {
    ours: [tool],
    read: (input) => [{ tool, input: renamed(input, keys) }],
    write: ([call]) => renamed(call!.input, keys && inverse(keys)),
    ...more,
  };
}

/** Tools that differ from ours in their names alone. */
export function named(tools: { readonly [theirs: string]: string }, keys?: Keys): Channels {
  return Object.fromEntries(Object.entries(tools).map(([theirs, ours]) => [theirs, like(ours, keys)]));
}

const CELL = { notebook_path: "file_path", new_source: "new_string" };

/** A tool that edits cells of notebooks: a call that is made anew is about the first one. */
export const NOTEBOOK: Channel = like("Edit", CELL, {
  write: ([call], given) => {
    const { old_string: _, replace_all: __, ...input } = call!.input;
    if (!isNotebook(input.file_path)) return undefined;
    return renamed(Object.keys(given).length > 0 ? input : { cell_id: "cell-0", ...input }, inverse(CELL));
  },
});

export function isNotebook(path: unknown): boolean {
  return typeof path === "string" && path.endsWith(".ipynb");
}

export function channelOf(channels: Channels, theirs: string): Channel | undefined {
  return Object.hasOwn(channels, theirs) ? channels[theirs] : undefined;
}

/** The names of a host's tools whose calls hooks for some tools of ours are asked about. */
export function reaching(channels: Channels, takes: (ours: string) => boolean): string[] {
  return Object.keys(channels).filter((theirs) => channels[theirs]!.ours.some(takes));
}

/** A call of ours in the ways that a host has for it, the usual one first. */
export function waysOf(call: ToolUse, channels: Channels, cwd: string): ToolUse[] {
  return reaching(channels, (ours) => ours === call.tool).flatMap((tool) => {
    const input = channels[tool]!.write?.([call], {}, cwd);
    return input ? [{ tool, input }] : [];
  });
}

function renamed(input: JsonObject, keys?: Keys): JsonObject {
  return keys && isObject(input)
    ? Object.fromEntries(Object.entries(input).map(([key, value]) => [keys[key] ?? key, value]))
    : input;
}

function inverse(keys: Keys): Keys {
  return Object.fromEntries(Object.entries(keys).map(([from, to]) => [to, from]));
}
