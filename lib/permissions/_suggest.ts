import { relative } from "node:path";
import { inside, realPath } from "./_path-rule.ts";
import { type BashCommand, readBash } from "./bash-line.ts";
import { EDITS, isRule } from "./parse-rule.ts";
import { decide, type Permissions, type RuledCall } from "./rules.ts";

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
  const { commands = [] } = readBash(String(input.command ?? ""), call.cwd, permissions.roots ?? [call.cwd]);
  const writes = commands.flatMap(({ opens }) => opens.filter(({ kind }) => kind === "write"));
  const rules = [...commands.map(commandRule), ...writes.map(({ path }) => editRule(path, root))];
  return [...new Set(rules)].filter(isRule);
}

/** The program and its sub-command, as people think of them: `git push *`, `npm run *`, `ls *`. */
function commandRule({ words, source }: BashCommand): string {
  const odd = words.findIndex((word) => !/^[\w./:@=+-]+$/.test(word));
  const plain = words.slice(0, odd < 0 ? undefined : odd);
  const keep = /^[a-z][\w:-]*$/.test(plain[1] ?? "") ? 2 : 1;
  return plain.length === 0 ? `Bash(${source})` : `Bash(${plain.slice(0, keep).join(" ")} *)`;
}

function editRule(path: string, root: string): string {
  const real = realPath(path);
  const from = realPath(root);
  const shown = inside(real, from) ? `/${relative(from, real)}` : `/${real}`;
  return `Edit(${shown.replace(/[\\*?[\]{}!#]/g, "\\$&")})`;
}
