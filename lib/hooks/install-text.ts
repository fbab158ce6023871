import type { Node } from "jsonc-parser";
import { isObject } from "../core/json.ts";
import { claude } from "./hosts/claude.ts";
import type { Host } from "./hosts/host.ts";
import type { HostEntry } from "./install-line.ts";
import { type Jsonc, parseJsonc } from "./jsonc.ts";
import type { Path } from "./yaml.ts";

type Group = { readonly matcher?: string; readonly hooks: readonly { readonly command?: unknown }[] };
type Lists = Pick<NonNullable<Host["settings"]["lists"]>, "at" | "version" | "entry">;

/** What monitors and plugins write. */
const CLAUDE: Lists = claude.settings.lists!;

/** An entry as an item of its event's list. */
function itemOf({ matcher, hook }: HostEntry, { entry }: Lists): object {
  const matched = matcher !== undefined && { matcher };
  if (!entry) return { ...matched, hooks: [hook] };
  const { command, timeout, onFailure } = hook;
  return {
    ...entry.always,
    [entry.command]: command,
    ...matched,
    ...(timeout !== undefined && { [entry.timeout]: timeout }),
    ...(onFailure !== undefined && { [entry.failClosed!]: true }),
  };
}

/** An item as a group, whatever the form of the file. */
function groupOf(item: Group | Readonly<Record<string, unknown>>, { entry }: Lists): Group {
  if (!entry) return item as Group;
  const fields = item as Record<string, unknown>;
  const { matcher, [entry.command]: command, [entry.timeout]: timeout, [entry.failClosed ?? ""]: closed } = fields;
  const hook = { type: "command", command, ...(timeout !== undefined && { timeout }) };
  return {
    ...(matcher !== undefined && { matcher: String(matcher) }),
    hooks: [{ ...hook, ...(closed === true && { onFailure: "block" }) }],
  };
}

/** A settings file with hooks at the ends of their lists, unless they are there: the rest stays, to the byte. @throws {Error} */
export async function withEntries(text: string, entries: readonly HostEntry[], lists = CLAUDE): Promise<string> {
  const edit = await opened(text);
  const { at, version } = lists;
  const value = edit.value();
  if (version !== undefined && entries.length > 0 && isObject(value) && !Object.hasOwn(value, "version")) {
    edit.append([], version, "version");
  }
  for (const entry of entries) {
    const { event, matcher, hook } = entry;
    const hooks = hooksIn(edit, lists);
    const isSame = (group: Group) => group.matcher === matcher && group.hooks.some((h) => h.command === hook.command);
    if (hooks?.[event]?.some(isSame)) continue;
    const item = itemOf(entry, lists);
    if (!hooks) edit.append([], { [event]: [item] }, at);
    else if (!hooks[event]) edit.append([at], [item], event);
    else edit.append([at, event], item);
  }
  return closed(edit, text);
}

/** The text without the hooks that are meant, and without the lists that held nothing else. */
export async function withoutEntries(
  text: string,
  isMeant: (one: HostEntry) => boolean,
  lists = CLAUDE,
): Promise<string> {
  const edit = await opened(text);
  const { at } = lists;
  const found = hooksIn(edit, lists) ?? {};
  let took = false;
  for (const [event, groups] of Object.entries(found)) {
    const before = groups.length;
    let left = before;
    for (let g = before - 1; g >= 0; g--) {
      const { matcher, hooks } = groups[g]!;
      const meant = hooks.flatMap((hook, i) => isCommand(hook) && isMeant({ event, matcher, hook }) ? [i] : []);
      if (meant.length === 0) continue;
      took = true;
      if (meant.length === hooks.length) {
        edit.remove([at, event, g]);
        left--;
      } else for (const i of meant.reverse()) edit.remove([at, event, g, "hooks", i]);
    }
    if (left === 0 && before > 0) edit.remove([at, event]);
  }
  if (took && Object.keys(hooksIn(edit, lists)!).length === 0) edit.remove([at]);
  return closed(edit, text);
}

function isCommand(hook: Group["hooks"][number]): hook is HostEntry["hook"] {
  return typeof hook.command === "string";
}

const EMPTY = "{}\n";
const MARK = "\uFEFF";

async function opened(text: string): Promise<JsonText> {
  const bare = text.startsWith(MARK) ? text.slice(1) : text;
  return new JsonText(bare.trim() === "" ? EMPTY : bare, await import("jsonc-parser"));
}

function closed({ text }: JsonText, before: string): string {
  const mark = before.startsWith(MARK) ? MARK : "";
  return text === EMPTY && before.slice(mark.length).trim() === "" ? before : mark + text;
}

/** The hooks of the settings. Refuses what it would have to guess about. */
function hooksIn(edit: JsonText, lists: Lists): { readonly [event: string]: readonly Group[] } | undefined {
  const wrong = (what: string) => new Error(`Cannot change the settings as ${what}: fix that first`);
  const value = edit.value();
  if (!isObject(value)) throw wrong("they are not an object");
  const { at, entry } = lists;
  const hooks = value[at];
  if (hooks === undefined) return undefined;
  if (!isObject(hooks)) throw wrong(`'${at}' is not an object`);
  const isGroup = (group: unknown) => isObject(group) && Array.isArray(group.hooks) && group.hooks.every(isObject);
  return Object.fromEntries(
    Object.entries(hooks).map(([event, items]) => {
      if (!Array.isArray(items) || !items.every(entry ? isObject : isGroup)) {
        throw wrong(`'${at}.${event}' is not a list of { ${entry ? `"${entry.command}": "…"` : '"hooks": [ … ]'} }`);
      }
      return [event, items.map((item) => groupOf(item, lists))];
    }),
  );
}

/** A JSON text, comments and all, in which what is not meant to change stays as it is, to the byte. */
class JsonText {
  readonly #jsonc: Jsonc;
  readonly #style: { readonly eol: string; readonly indent: string };
  text: string;

  constructor(text: string, jsonc: Jsonc) {
    this.text = text;
    this.#jsonc = jsonc;
    this.#style = { eol: text.includes("\r\n") ? "\r\n" : "\n", indent: /\n([ \t]+)\S/.exec(text)?.[1] ?? "  " };
  }

  value(): unknown {
    return parseJsonc(this.text, this.#jsonc, "Cannot change it as");
  }

  /** Adds an element to the list at a path, or a property to the object, after all others. */
  append(path: Path, value: unknown, key?: string): void {
    const node = this.#at(path);
    const end = node.offset + node.length - 1;
    const inner = this.text.slice(node.offset, end).trimEnd();
    const oneLine = node.children!.length > 0 && !this.text.slice(node.offset, end).includes("\n");
    const depth = path.length + 1;
    const name = key === undefined ? "" : `${JSON.stringify(key)}:${oneLine ? "" : " "}`;
    const item = name + (oneLine ? JSON.stringify(value) : this.#printed(value, depth));
    const place = node.offset + inner.length;
    const last = node.children!.at(-1);
    const separate = last !== undefined && this.#comma(last.offset + last.length, end) === undefined;
    const before = oneLine ? "" : this.#newLine(depth);
    const closing = oneLine || this.text.slice(place, end).includes("\n") ? "" : this.#newLine(depth - 1);
    this.#splice(place, place, `${before}${item}${closing}`);
    if (separate) this.#splice(last!.offset + last!.length, last!.offset + last!.length, ",");
  }

  /** Takes out an element or a property with its comma and the blanks before it. */
  remove(path: Path): void {
    const found = this.#at(path);
    const node = found.parent?.type === "property" ? found.parent : found;
    const siblings = node.parent!.children!;
    const index = siblings.indexOf(node);
    const end = node.offset + node.length;
    const outer = node.parent!.offset + node.parent!.length - 1;
    const after = this.#comma(end, siblings[index + 1]?.offset ?? outer);
    const before = siblings[index - 1];
    const start = node.offset - (/\s*$/.exec(this.text.slice(0, node.offset))![0].length);
    if (after !== undefined) this.#splice(after, after + 1, "");
    // An object or list that is empty now is closed where it was opened.
    const tail = siblings.length === 1 ? /^\s*/.exec(this.text.slice(end, outer))![0].length : 0;
    this.#splice(start, end + tail, "");
    if (after !== undefined || !before) return;
    const comma = this.#comma(before.offset + before.length, start);
    if (comma !== undefined) this.#splice(comma, comma + 1, "");
  }

  #at(path: Path): Node {
    const root = this.#jsonc.parseTree(this.text, [], { allowTrailingComma: true });
    const node = root && this.#jsonc.findNodeAtLocation(root, [...path]);
    if (!node) throw new Error(`Cannot change '${path.join(".")}' as it is not there`);
    return node;
  }

  /** Where the comma between two places is: not one in a comment. */
  #comma(from: number, to: number): number | undefined {
    const scanner = this.#jsonc.createScanner(this.text, true);
    scanner.setPosition(from);
    const comma: number = 5; // SyntaxKind.CommaToken, whose enum is a type alone
    return scanner.scan() === comma && scanner.getTokenOffset() < to ? scanner.getTokenOffset() : undefined;
  }

  #printed(value: unknown, depth: number): string {
    return JSON.stringify(value, null, this.#style.indent).replaceAll("\n", this.#newLine(depth));
  }

  #newLine(depth: number): string {
    return this.#style.eol + this.#style.indent.repeat(depth);
  }

  #splice(from: number, to: number, text: string): void {
    this.text = this.text.slice(0, from) + text + this.text.slice(to);
  }
}
