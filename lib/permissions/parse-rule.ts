import { quietly } from "../core/json.ts";
import { isEdit, isRead, TOOL_ALIASES } from "../input/tool-table.ts";
import { compilePath, type PathRule } from "./_path-rule.ts";
import { piecesOf, programOf } from "./shell-lines.ts";

/** A permission rule that was read: `Bash(git *)`, `Edit(src/**)`, `mcp__srv__*`, `WebFetch(domain:example.com)`. */
export interface Rule {
  readonly source: string;
  /** The name as written: which tools it speaks of is for `names` to say. */
  readonly tool: string;
  readonly names: (tool: string) => boolean;
  /** At most one of these; none = the rule is for every call. */
  readonly command?: CommandPattern;
  readonly path?: PathRule;
  readonly field?: { readonly name: string; readonly matches: (value: string) => boolean };
}

/** Reads one rule; a malformed one is an error that names it and says how to write it. */
export function parseRule(source: string): Rule {
  const fail = (why: string, fix: string): never => {
    throw new TypeError(`Cannot read permission rule '${source}' as ${why}: ${fix}`);
  };
  if (typeof source !== "string" || source.trim() === "") {
    throw new TypeError(
      `Cannot read permission rule '${source}' as it is blank: write a tool, such as Bash or Bash(git *)`,
    );
  }
  const match = /^([^()]*)(?:\((.*)\))?$/s.exec(source.trim());
  if (!match) {
    return fail("its brackets do not match", "write Tool or Tool(pattern), with the bracket closed at the end");
  }
  const [, tool = "", content] = match;
  if (!/^[A-Za-z0-9_*-]+$/.test(tool)) {
    return fail(
      `'${tool}' is not a tool name`,
      "write the name of a tool, and its pattern right behind it in brackets",
    );
  }
  const rule = { source: source.trim(), tool, names: namesOf(tool) };
  if (content === undefined) return rule;
  if (content.trim() === "") return fail("its brackets are empty", `write ${tool} for every call`);
  if (content.trim() === "*" || content.trim() === "**") return rule;
  if (tool === "Bash") return { ...rule, command: commandOf(content, fail) };
  if (isEdit(tool) || isRead(tool)) {
    if (content.startsWith("!")) return fail("a rule cannot exclude", "write the excluded path as a deny rule");
    try {
      return { ...rule, path: compilePath(content) };
    } catch (error) {
      return fail(
        (error as Error).message.replace(/^Cannot use a glob as /, "").replace(/:.*/s, ""),
        `write ${tool}(src/**)`,
      );
    }
  }
  const [, field, value] = /^([A-Za-z_]\w*):(.+)$/s.exec(content) ?? [];
  if (field !== undefined) return { ...rule, field: { name: field, matches: wildcard(value!.trim()) } };
  if (tool === "Agent" || tool === "Task") {
    return { ...rule, field: { name: "subagent_type", matches: wildcard(content) } };
  }
  return fail(`the pattern of ${tool} names no field`, `write ${tool}, or ${tool}(field:pattern)`);
}

export function isRule(text: unknown): text is string {
  return quietly(() => parseRule(text as string)) !== undefined;
}

function commandOf(content: string, fail: (why: string, fix: string) => never): CommandPattern {
  const unquoted = content.replace(/\\.|'[^']*'|"[^"]*"/gs, "");
  if (/:\*./s.test(unquoted.trim())) {
    return fail("':*' stands before its end", "write it as the last thing, or use '*'");
  }
  if (/[;\n|&`]|\$\(/.test(unquoted)) {
    return fail("it holds several commands", "write one rule for each command, as each one is asked for");
  }
  return compilePattern(content);
}

/** Edit rules are for every tool that changes files, Read rules for every tool that looks into them. */
function namesOf(tool: string): (name: string) => boolean {
  if (tool === "Edit") return isEdit;
  if (tool === "Read") return isRead;
  if (tool === "Agent" || tool === "Task") return (name) => (TOOL_ALIASES[name] ?? name) === "Agent";
  if (/^mcp__(?:(?!__).)+$/.test(tool) && !tool.includes("*")) return (name) => name.startsWith(`${tool}__`);
  return wildcard(tool);
}

/** `*` is any text; everything else is itself. */
export function wildcard(pattern: string): (value: string) => boolean {
  const parts = pattern.split("*");
  return (value) => hasParts(parts, value);
}

/** Whether a text is these parts, with any text between them. Each part has no better place than the first: time grows with the text alone. */
function hasParts([first = "", ...rest]: readonly string[], text: string): boolean {
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= text.length - last.length;
}

/** Between words; no word can hold it, so `"git push"` is not `git push`. */
const GAP = "\0";
/** Options before a sub-command; with more, a pattern about a sub-command counts as matched. */
const MOST_OPTIONS = 16;

/** The text between the brackets of a Bash rule: what stands between its stars, with gaps between words. */
interface CommandPattern {
  readonly parts: readonly string[];
  /** The end of the command, or any further words: `git *` and `git:*` are also a bare `git`. */
  readonly tail: boolean;
}

/** `git *`, `git commit:*`, `npm run test`, `* --version`; quotes group words as in a shell. */
function compilePattern(text: string): CommandPattern {
  let body = text.trim();
  const tail = /(?::|\s)\*$/.test(body) && !body.endsWith("\\ *");
  if (tail) body = body.replace(/(?::|\s+)\*$/, "");
  const parts = [""];
  const add = (text: string) => void (parts[parts.length - 1] += text);
  let quote = "";
  for (let i = 0; i < body.length; i++) {
    const c = body[i]!;
    if (quote === "" && c === "\\" && i + 1 < body.length) add(body[++i]!);
    else if (c === quote) quote = "";
    else if (quote === "" && (c === '"' || c === "'") && body.indexOf(c, i + 1) > 0) quote = c;
    else if (c === "*") parts.push("");
    else if (quote === "" && /\s/.test(c)) { if (!parts.at(-1)!.endsWith(GAP)) add(GAP); }
    else add(c);
  }
  return { parts, tail };
}

export function matchesCommand({ parts, tail }: CommandPattern, words: readonly string[]): boolean {
  const text = words.join(GAP);
  return hasParts(parts, text) || tail && hasParts([...parts.slice(0, -1), parts.at(-1)! + GAP, ""], text);
}

/**
 * The same for rules that deny or ask: a program is also named by its path, and a sub-command may stand behind options, each of
 * which may have a value (`git -C . push`).
 */
export function concernsCommand(pattern: CommandPattern, [name = "", ...rest]: readonly string[]): boolean {
  const names = [...new Set([name, programOf(name)])];
  const matched = (part: CommandPattern, words: readonly string[]) =>
    names.some((spelled) => matchesCommand(part, [spelled, ...words]));
  if (matched(pattern, rest)) return true;
  const first = pattern.parts.findIndex((part) => part.includes(GAP));
  const [before = "", behind = ""] = pattern.parts[first]?.split(GAP) ?? [];
  const program = { parts: [...pattern.parts.slice(0, first), before], tail: false };
  const isOption = (at: number) => rest[at]?.startsWith("-") ?? false;
  if (first < 0 || behind.startsWith("-") || !matched(program, [])) return false;
  for (let at = 1; at < rest.length && (isOption(at - 1) || isOption(at - 2)); at++) {
    if (at > MOST_OPTIONS || matched(pattern, rest.slice(at))) return true;
  }
  return false;
}

/** Whether a text has the words of the pattern anywhere, in their order; never if it begins with a star. */
export function namesCommand({ parts }: CommandPattern, text: string): boolean {
  const words = parts.join("*").split(GAP).filter((word) => word !== "*");
  return parts[0] !== "" && piecesOf(text).some((pieces) => {
    let found = 0;
    for (const piece of pieces) if (found < words.length && mayBe(piece, words[found]!)) found++;
    return found === words.length;
  });
}

/** Also as the end of a path, glued to an option (`env -Srm`), or as a pattern that a shell would expand (`/bin/r?`). */
function mayBe(piece: string, word: string): boolean {
  const end = programOf(piece);
  return [piece, end].some(wildcard(word)) || (/^-[^-]/.test(piece) && wildcard(`*${word}`)(piece)) ||
    (/\w/.test(end) && /[*?]/.test(end) && wildcard(end.replaceAll("?", "*"))(word));
}
