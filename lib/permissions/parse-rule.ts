import { type CommandPattern, compilePattern } from "./_command-pattern.ts";
import { compilePath, type PathRule } from "./_path-rule.ts";

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

export const EDITS: ReadonlySet<string> = new Set(["Edit", "Write", "MultiEdit", "NotebookEdit"]);
export const READS: ReadonlySet<string> = new Set(["Read", "Glob", "Grep"]);

/** Reads one rule; a malformed one is an error that names it and says how to write it. */
export function parseRule(source: string): Rule {
  const fail = (why: string, mend: string): never => {
    throw new TypeError(`Cannot read permission rule '${source}' as ${why}: ${mend}`);
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
    return fail(`'${tool}' is no tool name`, "write the name of a tool, and its pattern right behind it in brackets");
  }
  const rule = { source: source.trim(), tool, names: namesOf(tool) };
  if (content === undefined) return rule;
  if (content.trim() === "") return fail("its brackets are empty", `write ${tool} for every call`);
  if (content.trim() === "*" || content.trim() === "**") return rule;
  if (tool === "Bash") return { ...rule, command: commandOf(content, fail) };
  if (EDITS.has(tool) || READS.has(tool)) {
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

/** Whether a text can be read as a rule. */
export function isRule(text: unknown): text is string {
  try {
    return parseRule(text as string) !== undefined;
  } catch {
    return false;
  }
}

function commandOf(content: string, fail: (why: string, mend: string) => never): CommandPattern {
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
  if (tool === "Edit") return (name) => EDITS.has(name);
  if (tool === "Read") return (name) => READS.has(name);
  if (tool === "Agent" || tool === "Task") return (name) => name === "Agent" || name === "Task";
  if (/^mcp__(?:(?!__).)+$/.test(tool) && !tool.includes("*")) return (name) => name.startsWith(`${tool}__`);
  return wildcard(tool);
}

/** `*` is any text; everything else is itself. Each part has no better place than the first: time grows with the text alone. */
export function wildcard(pattern: string): (value: string) => boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return (value) => value === first;
  return (value) => {
    const end = value.length - last.length;
    let at = first.length;
    if (!value.startsWith(first) || !value.endsWith(last)) return false;
    for (const part of rest) {
      const found = value.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= end;
  };
}
