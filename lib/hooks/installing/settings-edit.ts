import { isObject } from "../../core/json.ts";
import { JsonText } from "./json-edit.ts";

/** One hook in another host's settings. */
export interface HostEntry {
  readonly event: string;
  readonly matcher?: string | undefined;
  readonly hook: { readonly type: "command"; readonly command: string; readonly [field: string]: unknown };
}

type Hooks = { readonly [event: string]: readonly Group[] };
type Group = { readonly matcher?: string; readonly hooks: readonly { readonly command?: unknown }[] };

/**
 * The text of a settings file with hooks added at the ends of their lists: what is there stays, to the byte. A hook
 * that is there already is not added again.
 *
 * @throws {Error} where the text is no settings file
 */
export async function withEntries(text: string, entries: readonly HostEntry[]): Promise<string> {
  const edit = await opened(text);
  for (const { event, matcher, hook } of entries) {
    const hooks = hooksIn(edit);
    const isSame = (group: Group) => group.matcher === matcher && group.hooks.some((h) => h.command === hook.command);
    if (hooks?.[event]?.some(isSame)) continue;
    const group = { ...(matcher !== undefined && { matcher }), hooks: [hook] };
    if (!hooks) edit.append([], { [event]: [group] }, "hooks");
    else if (!hooks[event]) edit.append(["hooks"], [group], event);
    else edit.append(["hooks", event], group);
  }
  return closed(edit, text);
}

/** The text without the hooks that are meant, nor the lists that they alone were in. */
export async function withoutEntries(text: string, isMeant: (entry: HostEntry) => boolean): Promise<string> {
  const edit = await opened(text);
  const found = hooksIn(edit) ?? {};
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
        edit.remove(["hooks", event, g]);
        left--;
      } else for (const i of meant.reverse()) edit.remove(["hooks", event, g, "hooks", i]);
    }
    if (left === 0 && before > 0) edit.remove(["hooks", event]);
  }
  if (took && Object.keys(hooksIn(edit)!).length === 0) edit.remove(["hooks"]);
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
function hooksIn(edit: JsonText): Hooks | undefined {
  const wrong = (what: string) => new Error(`Cannot change the settings as ${what}: mend that first`);
  const value = edit.value();
  if (!isObject(value)) throw wrong("they are no object");
  const { hooks } = value;
  if (hooks === undefined) return undefined;
  if (!isObject(hooks)) throw wrong("'hooks' is no object");
  for (const [event, groups] of Object.entries(hooks)) {
    const isGroup = (group: unknown) => isObject(group) && Array.isArray(group.hooks) && group.hooks.every(isObject);
    if (!Array.isArray(groups) || !groups.every(isGroup)) {
      throw wrong(`'hooks.${event}' is no list of { "hooks": [ … ] }`);
    }
  }
  return hooks as Hooks;
}
