import { relative } from "node:path";
import { openedFiles } from "./_bash-rules.ts";
import { inside, realPath } from "./_path-rule.ts";
import { EDITS, isRule } from "./parse-rule.ts";
import { decide, type Permissions, type RuledCall } from "./rules.ts";
import { type Command, readCommandLine } from "./shell/commands.ts";
import { literal } from "./shell/reader.ts";
import { runsOf } from "./shell/runners.ts";

/** The narrowest rules we can think of that would let a call run; none where no allow rule can. */
export function rulesThatAllow(permissions: Permissions, call: RuledCall): string[] {
  const allowed = (rules: readonly string[]) =>
    decide({ ...permissions, allow: [...permissions.allow ?? [], ...rules] }, call).behavior === "allow";
  for (const rules of [proposals(permissions, call), [call.tool_name]]) {
    if (rules.length > 0 && allowed(rules)) return rules.filter((rule) => !allowed(rules.filter((r) => r !== rule)));
  }
  return [];
}

function proposals(permissions: Permissions, call: RuledCall): string[] {
  const input = (call.input ?? {}) as Record<string, unknown>;
  const root = permissions.roots?.[0] ?? call.cwd;
  if (EDITS.has(call.tool_name)) {
    const path = input.file_path ?? input.notebook_path ?? input.path;
    return typeof path === "string" ? [editRule(path, root)] : [];
  }
  if (call.tool_name !== "Bash") return [];
  const line = readCommandLine(String(input.command ?? ""));
  const writes = openedFiles(line, call.cwd).filter((file) => file.kind === "write").flatMap((file) =>
    file.paths ?? []
  );
  const rules = [...line.commands.flatMap(commandRules), ...writes.map((path) => editRule(path, root))];
  return [...new Set(rules)].filter(isRule);
}

/** The program and its sub-command, as people think of them: `git push *`, `npm run *`, `ls *`. */
function commandRules(command: Command): string[] {
  const runs = runsOf(command);
  if (runs?.transparent && runs.unsure === undefined) return runs.commands.flatMap(commandRules);
  const words = [...command.assignments, ...command.words].map((word) => literal(word));
  if (command.words.length === 0) return [];
  if (runs !== undefined) return [`Bash(${command.source})`];
  const end = words.findIndex((word, i) => i >= command.assignments.length && !/^[\w./:@=+-]+$/.test(word ?? " "));
  const plain = words.slice(0, end < 0 ? undefined : end);
  const keep = command.assignments.length +
    (/^[a-z][\w:-]*$/.test(plain[command.assignments.length + 1] ?? "") ? 2 : 1);
  return plain.length < command.assignments.length + 1
    ? [`Bash(${command.source})`]
    : [`Bash(${plain.slice(0, keep).join(" ")} *)`];
}

function editRule(path: string, root: string): string {
  const real = realPath(path);
  const from = realPath(root);
  const shown = inside(real, from) ? `/${relative(from, real)}` : `/${real}`;
  return `Edit(${shown.replace(/[\\*?[\]{}!#]/g, "\\$&")})`;
}
