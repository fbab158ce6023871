import type { Channel, ToolUse } from "./channel.ts";

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";

/** Words about patches have no header below them. */
const STARTS = /\*\*\* Begin Patch[^\S\n]*\n[^\S\n]*\*\*\* (?:Add|Update|Delete) File: /;

/** What a patch does to one file. */
interface FileChange {
  readonly kind: "Add" | "Update" | "Delete";
  readonly path: string;
  moved?: string;
  /** The lines below its header. */
  readonly body: string[];
}

/** A channel whose input has a patch in one of its fields. */
export function patching(field: string): Channel {
  return {
    ours: ["Edit", "Write"],
    read: (input, cwd) => changesOf(input[field])?.flatMap((change) => callsOf(change, cwd)),
    write: (calls, input, cwd) => {
      const text = patchOf(calls, changesOf(input[field]), cwd);
      return text === undefined ? undefined : { ...input, [field]: text };
    },
  };
}

/** A shell that takes patches too, as documents in its commands. */
export const PATCHING_SHELL: Channel = {
  ours: ["Bash", "Edit", "Write"],
  read: (input, cwd) => {
    const [place, text] = patchIn(input.command, cwd);
    const changes = text === undefined ? undefined : changesOf(text);
    return [{ tool: "Bash", input }, ...changes?.flatMap((change) => callsOf(change, place)) ?? []];
  },
  write: (calls, input, cwd) => {
    const patched = calls.filter(({ tool }) => tool !== "Bash");
    const shell = calls.find(({ tool }) => tool === "Bash")?.input;
    const [place, text] = patchIn(input.command, cwd);
    if (text === undefined && patched.length > 0) {
      return { ...input, command: `apply_patch <<'EOF'\n${patchOf(patched, undefined, place)}EOF\n` };
    }
    const changes = text === undefined ? undefined : changesOf(text);
    if (!changes || isSame(patched, changes.flatMap((change) => callsOf(change, place)))) return shell;
    const written = patchOf(patched, changes, place);
    if (written === undefined || shell && !isSame(shell, input)) return undefined;
    return { ...input, command: String(input.command).replace(text!, () => written.trimEnd()) };
  },
};

/** The patch in a command, and the folder that it is for: its lines are taken as they are, whatever the shell makes of the rest. */
function patchIn(command: unknown, cwd: string): [place: string, patch?: string] {
  const begin = typeof command === "string" && command.includes(BEGIN) ? command.search(STARTS) : -1;
  if (typeof command !== "string" || begin < 0) return [cwd];
  // A line of text may look like the end, but not at its beginning.
  const first = command.indexOf(`\n${END}`, begin);
  const end = first < 0 ? command.lastIndexOf(END) : first + 1;
  if (end < begin) return [cwd];
  const [, single, double, bare] = /\bcd\s+(?:'([^']*)'|"([^"]*)"|([^\s'";&|]+))\s*&&\s*apply_?patch\b/.exec(command) ??
    [];
  return [absolute(cwd, single ?? double ?? bare ?? "."), command.slice(begin, end + END.length)];
}

/** What a patch does, file by file, read as hosts read it; undefined if it cannot be read. */
function changesOf(text: unknown): FileChange[] | undefined {
  if (typeof text !== "string") return undefined;
  const lines = trimmed(text).split(/\r?\n/);
  if (/^<<(['"]?)EOF\1$/.test(lines[0]!) && lines.at(-1)!.endsWith("EOF")) lines.pop(), lines.shift();
  if (trimmed(lines.shift() ?? "") !== BEGIN || trimmed(lines.pop() ?? "") !== END) return undefined;
  const changes: FileChange[] = [];
  for (const line of lines) {
    const change = changes.at(-1);
    const isUpdate = change?.kind === "Update";
    // In an update a blank before the header makes it a line of the file.
    const header = /^\*\*\* (Add|Update|Delete) File: ([^]+)$/.exec(isUpdate && line[0] !== "*" ? "" : trimmed(line));
    if (header) changes.push({ kind: header[1] as FileChange["kind"], path: header[2]!, body: [] });
    else if (isUpdate && change.body.length === 0 && change.moved === undefined && line.startsWith("*** Move to: ")) {
      change.moved = line.slice("*** Move to: ".length);
    } else if (
      change?.kind === "Add" ? line[0] === "+" : isUpdate && /^(?:$|[-+ ]|@@|\*\*\* End of File$)/.test(line)
    ) {
      change!.body.push(line);
    } else return undefined;
  }
  return changes.length > 0 ? changes : undefined;
}

/** Without blanks around it: what the host takes for one. */
function trimmed(text: string): string {
  return text.replace(/^[\s\x85]+|[\s\x85]+$/g, "");
}

function absolute(cwd: string, path: string): string {
  return process.getBuiltinModule("node:path").resolve(cwd, path);
}

function callsOf({ kind, path, moved, body }: FileChange, cwd: string): ToolUse[] {
  const file_path = absolute(cwd, path);
  const side = (mark: string) => body.filter((l) => l === "" || l[0] === " " || l[0] === mark).map((l) => l.slice(1));
  const ended = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
  if (kind !== "Update") return [{ tool: "Write", input: { file_path, content: ended(side("+")) } }];
  const edit = { file_path, old_string: side("-").join("\n"), new_string: side("+").join("\n") };
  const place = moved === undefined ? [] : [{ file_path: absolute(cwd, moved), content: ended(side("+")) }];
  return [{ tool: "Edit", input: edit }, ...place.map((input) => ({ tool: "Write", input }))];
}

/** A patch that makes these calls; undefined if there is none. What hooks left as it was stays to the letter. */
function patchOf(
  calls: readonly ToolUse[],
  changes: readonly (FileChange | undefined)[] = calls.map(() => undefined),
  cwd: string,
): string | undefined {
  let at = 0;
  const parts = changes.map((change) => {
    const before = change && callsOf(change, cwd);
    const now = calls.slice(at, at += before?.length ?? 1);
    return before && isSame(now, before)
      ? textOf(change)
      : now.length === 1
      ? madeOf(now[0]!, change, before?.[0])
      : undefined;
  });
  return parts.includes(undefined) ? undefined : `${BEGIN}\n${parts.join("")}${END}\n`;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function textOf({ kind, path, moved, body }: FileChange): string {
  return [`*** ${kind} File: ${path}`, ...moved === undefined ? [] : [`*** Move to: ${moved}`], ...body, ""].join("\n");
}

function madeOf({ tool, input }: ToolUse, change: FileChange | undefined, before?: ToolUse): string | undefined {
  const { file_path, content, old_string, new_string } = input as { readonly [field: string]: unknown };
  const texts = tool === "Write" ? [content] : tool === "Edit" ? [old_string, new_string] : [];
  if (typeof file_path !== "string" || texts.length === 0 || !texts.every((text) => typeof text === "string")) {
    return undefined;
  }
  const path = change && file_path === before?.input.file_path ? change.path : file_path;
  const lines = (mark: string, text: string) =>
    text === "" ? [] : text.replace(/\n$/, "").split("\n").map((l) => mark + l);
  const [first, second] = texts as readonly string[];
  if (tool === "Write") {
    return change?.kind === "Delete" ? undefined : textOf({ kind: "Add", path, body: lines("+", first!) });
  }
  const [anchor = "@@", another] = change?.body.filter((line) => line.startsWith("@@")) ?? [];
  const end = change?.body.filter((line) => line.startsWith("***")) ?? [];
  if (another !== undefined || end.length > 1) return undefined;
  return textOf({ kind: "Update", path, body: [anchor, ...lines("-", first!), ...lines("+", second!), ...end] });
}
