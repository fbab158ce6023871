import type { Edit, FormattingOptions, JSONPath } from "jsonc-parser";

/** One hook in another host's settings. */
export interface HostEntry {
  readonly event: string;
  readonly matcher?: string;
  readonly hook: { readonly type: "command"; readonly command: string; readonly [field: string]: unknown };
}

type Settings = { readonly hooks?: { readonly [event: string]: readonly Group[] } };
type Group = { readonly matcher?: string; readonly hooks: readonly { readonly command?: unknown }[] };

/**
 * The text of a settings file with hooks added at the ends of their lists: what is there stays, to the byte. A hook
 * that is there already is not added again.
 *
 * @throws {Error} where the text is no settings file
 */
export async function withEntries(text: string, entries: readonly HostEntry[]): Promise<string> {
  const edit = await editor(text);
  for (const { event, matcher, hook } of entries) {
    const groups = edit.value().hooks?.[event] ?? [];
    const there = groups.some((group) =>
      group.matcher === matcher && group.hooks.some(({ command }) => command === hook.command)
    );
    if (there) continue;
    const group = { ...(matcher !== undefined && { matcher }), hooks: [hook] };
    edit.set(["hooks", event, groups.length], group);
  }
  return edit.text();
}

/** The text without the hooks that are meant, nor the lists that they alone were in. */
export async function withoutEntries(text: string, isMeant: (command: string) => boolean): Promise<string> {
  const edit = await editor(text);
  for (const event of Object.keys(edit.value().hooks ?? {})) {
    const groups = edit.value().hooks![event]!;
    for (let g = groups.length - 1; g >= 0; g--) {
      const { hooks } = groups[g]!;
      const meant = hooks.flatMap(({ command }, i) => typeof command === "string" && isMeant(command) ? [i] : []);
      if (meant.length === 0) continue;
      if (meant.length === hooks.length) edit.remove(["hooks", event, g]);
      else for (const i of meant.reverse()) edit.remove(["hooks", event, g, "hooks", i]);
    }
    if (groups.length > 0 && edit.value().hooks![event]!.length === 0) edit.remove(["hooks", event]);
  }
  const { hooks } = edit.value();
  if (hooks && Object.keys(hooks).length === 0 && edit.text() !== text) edit.remove(["hooks"]);
  return edit.text();
}

interface Editor {
  value(): Settings;
  text(): string;
  set(path: JSONPath, value: unknown): void;
  remove(path: JSONPath): void;
}

async function editor(given: string): Promise<Editor> {
  const { applyEdits, modify, parse, printParseErrorCode } = await import("jsonc-parser");
  const mark = given.startsWith("\uFEFF") ? "\uFEFF" : "";
  let text = given.slice(mark.length);
  if (text.trim() === "") text = "{}\n";
  const read = (): Settings => {
    const errors: { error: number; offset: number; length: number }[] = [];
    const value: unknown = parse(text, errors, { allowTrailingComma: true });
    if (errors.length > 0) {
      const { error, offset } = errors[0]!;
      const line = text.slice(0, offset).split("\n").length;
      throw new Error(`Cannot change the settings as they are no JSON: ${printParseErrorCode(error)} in line ${line}`);
    }
    checkShape(value);
    return value as Settings;
  };
  let value = read();
  const formattingOptions = styleOf(text);
  const apply = (edits: Edit[]) => {
    text = applyEdits(text, edits);
    value = read();
  };
  return {
    value: () => value,
    text: () => value && text === "{}\n" && given.trim() === "" ? given : mark + text,
    set: (path, to) => apply(modify(text, path, to, { formattingOptions, isArrayInsertion: true })),
    remove: (path) => apply(modify(text, path, undefined, { formattingOptions })),
  };
}

/** Refuses what it would have to guess about. */
function checkShape(value: unknown): void {
  const wrong = (what: string) => new Error(`Cannot change the settings as ${what}: mend that first`);
  if (!isObject(value)) throw wrong("they are no object");
  const { hooks } = value;
  if (hooks === undefined) return;
  if (!isObject(hooks)) throw wrong("'hooks' is no object");
  for (const [event, groups] of Object.entries(hooks)) {
    const isGroup = (group: unknown) => isObject(group) && Array.isArray(group.hooks) && group.hooks.every(isObject);
    if (!Array.isArray(groups) || !groups.every(isGroup)) {
      throw wrong(`'hooks.${event}' is no list of { "hooks": [ … ] }`);
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** New lines look like those around them. */
function styleOf(text: string): FormattingOptions {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  return indent.startsWith("\t")
    ? { insertSpaces: false, tabSize: 1, eol }
    : { insertSpaces: true, tabSize: indent.length, eol };
}
