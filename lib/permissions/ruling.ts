import { relative } from "node:path";
import { checkOptions } from "../input/options.ts";
import { isEdit } from "../input/tool-table.ts";
import { inside, realPath } from "./_path-rule.ts";
import {
  checkPermissions,
  gateBy,
  type Permission,
  type PermissionAsker,
  type PermissionCall,
  type PermissionGate,
} from "./gate.ts";
import { isRule, parseRule } from "./parse-rule.ts";
import { type BashCommand, readBash } from "./read-only.ts";
import { decide, hiddenFrom, type Permissions, type RuledCall } from "./rules.ts";

/** What decides by rules, as the gate of an agent loads it. */
export const ruling = { checkRules, hiddenFrom, rulesThatAllow, ruled };

/**
 * Makes the gate of an agent. Rules are read here, so that a malformed one is found before the first call.
 *
 * @example
 * ```ts
 * import { permissionGate } from "crochet/tools";
 *
 * const gate = permissionGate({ allow: ["Bash(git *)"], roots: ["/srv"] });
 * const call = { tool_name: "Bash", input: { command: "ls" }, tool_use_id: "1", cwd: "/srv", effect: "write" as const };
 * (await gate.permit(call, "continue")).behavior; // "ask"
 * ```
 */
export function permissionGate(
  given: Permissions,
  options: { permissionAsker?: PermissionAsker | undefined } = {},
): PermissionGate {
  checkPermissions(given);
  checkOptions(options, { permissionAsker: "a function" }, "take permissions");
  checkRules([...given.allow ?? [], ...given.ask ?? [], ...given.deny ?? []]);
  return gateBy(() => ruling, given, options.permissionAsker);
}

/** @throws {TypeError} if one is malformed */
function checkRules(rules: readonly string[]): void {
  rules.forEach((rule) => parseRule(rule));
}

/** What rules, mode and the verdict of the hooks say of a call; an ask is worded as a refusal if no person can be asked. */
function ruled(
  permissions: Permissions,
  call: PermissionCall,
  verdict: "continue" | "allow" | "ask",
  mayAsk: boolean,
): Permission {
  const decision = decide(permissions, call);
  const behavior = afterHooks(decision.behavior, decision.rule !== undefined, verdict);
  const { rule } = decision;
  const by = rule !== undefined && { rule };
  if (behavior === "allow") return { behavior, reason: decision.reason, ...by };
  if (behavior === "deny") return { behavior, reason: denied(call, decision), ...by, note: noteOf(decision, []) };
  const rules = rulesThatAllow(permissions, call);
  const reason = asked(call, decision, mayAsk ? undefined : rules);
  return { behavior, reason, ...by, note: noteOf(decision, rules), suggestions: suggested(rules) };
}

/** A refusal in one line, with what would allow the call. */
function noteOf({ reason, rule }: Permission, allow: readonly string[]): string {
  if (allow.length > 0) return `${reason}; to allow it: permissions.allow ${JSON.stringify(allow)}`;
  return `${reason}; ${rule === undefined ? "another permission mode allows it" : "remove that rule to allow it"}`;
}

/** What would let calls like this run for the session, in the host's words for it. */
function suggested(allow: readonly string[]) {
  const rules = allow.map((rule) => {
    const [, toolName = rule, ruleContent] = /^([^(]+)\((.*)\)$/s.exec(rule) ?? [];
    return ruleContent === undefined ? { toolName } : { toolName, ruleContent };
  });
  return rules.length === 0 ? [] : [{ type: "addRules", rules, behavior: "allow", destination: "session" }];
}

/** A hook's allow skips asking, but no ask rule (U3); a hook's ask holds even if a rule allows. */
function afterHooks(
  behavior: Permission["behavior"],
  byRule: boolean,
  verdict: "continue" | "allow" | "ask",
): Permission["behavior"] {
  if (behavior === "deny" || verdict === "continue") return behavior;
  if (verdict === "ask") return "ask";
  return behavior === "ask" && byRule ? "ask" : "allow";
}

/** The host's own words first: hooks and models know them. */
function denied(call: PermissionCall, { reason, rule }: Permission): string {
  if (rule === undefined) {
    const fix = "give your plan with ExitPlanMode; if no person can agree to it there, ask the user to leave plan mode";
    return `Cannot use ${call.tool_name} as ${reason}: ${fix}`;
  }
  const { command } = call.input;
  const what = call.tool_name === "Bash" && typeof command === "string" ? ` with command ${command}` : "";
  return `Permission to use ${call.tool_name}${what} has been denied.\nThe rule ${rule} denies it.`;
}

/** `rules` that would allow the call are given if no person can be asked: the words are then a refusal. */
function asked(call: PermissionCall, { reason, rule }: Permission, rules: readonly string[] | undefined): string {
  if (rules === undefined) return `${call.tool_name} asks for permission: ${reason}`;
  const words = `Claude requested permissions to use ${call.tool_name}, but you haven't granted it yet.`;
  const fix = rules.length > 0
    ? ` What would allow it: permissions.allow ${JSON.stringify(rules)}`
    : rule
    ? ` No allow rule can change that: remove ${rule}`
    : "";
  return `${words}\nNo person can be asked, and ${reason}.${fix}`;
}

/** The narrowest rules we can think of that would let a call run; none if no allow rule can. */
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
  if (isEdit(call.tool_name)) {
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
