import { relative } from "node:path";
import type { Folded } from "../core/fold.ts";
import type { Json } from "../core/messages.ts";
import type { AgentSpec, Run } from "../core/run.ts";
import { type Refusal, refusalOf, unanswered } from "../core/hook-words.ts";
import type { Effect, GatedCall, Permitted } from "../core/tool.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";
import { isEdit } from "../input/tool-table.ts";
import { inside, realPath } from "./_path-rule.ts";
import { isRule, parseRule } from "./parse-rule.ts";
import { type BashCommand, readBash } from "./read-only.ts";
import { checkedMode, decide, hiddenFrom, type Permissions, type RuledCall, type SearchedPlace } from "./rules.ts";

export interface PermissionCall {
  readonly tool_name: string;
  readonly input: { readonly [key: string]: unknown };
  readonly tool_use_id: string;
  readonly cwd: string;
  readonly effect: Effect;
  readonly agent_id?: string;
  /** The question's name, unique and stable: an engine keeps its answer under it. */
  readonly key?: string;
}

/** What the rules say of a call, after hooks have spoken. */
export interface Permission {
  readonly behavior: "allow" | "ask" | "deny";
  readonly reason: string;
  readonly rule?: string;
  /** Of an ask: what would settle it for the session; permission hooks see it. */
  readonly suggestions?: readonly Json[];
  /** Of a refusal: one line for a person, with what would allow the call. */
  readonly note?: string;
}

export interface PermissionQuestion extends PermissionCall {
  readonly reason: string;
  /** The rules that would let this call, and calls like it, run without asking. */
  readonly rules: readonly string[];
}

/** What a person answers; `remember` keeps the question's rules for the session. */
export interface PermissionReply {
  readonly behavior: "allow" | "deny";
  readonly reason?: string;
  readonly remember?: boolean;
}

export interface GateOptions {
  permissionAsker?: PermissionAsker | undefined;
}

/** Decides about a call in the place of a person, or asks one. */
export type PermissionAsker = (question: PermissionQuestion, signal: AbortSignal) => Promise<PermissionReply>;

/** The rules of an agent as its loop uses them. */
export interface PermissionGate {
  /** What rules, mode and the verdict of the hooks say of a call. With `ask`, the caller asks the person once its hooks have run. */
  readonly permit: (call: PermissionCall, verdict: "continue" | "allow" | "ask") => Permission | Promise<Permission>;
  /** Puts an ask to the person; absent if no person can be asked: then `permit` words an ask as a refusal. */
  readonly askPerson?: (call: PermissionCall, reason: string, signal: AbortSignal) => Promise<PermissionReply>;
  /** Adds rules for the session, as a person or a permission-request hook may. */
  readonly remember: (behavior: "allow" | "ask" | "deny", rules: readonly string[]) => void;
  readonly permissions: () => Permissions;
  /** The files a search must not show; undefined if it may show all. */
  readonly hides: (place: SearchedPlace) => ((path: string) => boolean) | undefined;
  /** Plan mode on, or the mode there was before it again. */
  readonly plan: (on: boolean) => void;
}

const KINDS: { readonly [option in keyof Permissions]-?: OptionKind } = {
  mode: "any",
  allow: "a list",
  ask: "a list",
  deny: "a list",
  roots: "a list",
};

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
export function permissionGate(given: Permissions, options: GateOptions = {}): PermissionGate {
  let permissions = given;
  checkOptions(given, KINDS, "take permissions");
  checkOptions(options, { permissionAsker: "a function" }, "take permissions");
  checkedMode(given.mode);
  for (const rule of [...given.allow ?? [], ...given.ask ?? [], ...given.deny ?? []]) parseRule(rule);
  const { permissionAsker } = options;
  return {
    permissions: () => permissions,
    hides: (place) => hiddenFrom(place, permissions),
    plan: (on) => {
      permissions = { ...permissions, mode: on ? "plan" : given.mode === "plan" ? "default" : given.mode ?? "default" };
    },
    remember: (behavior, rules) => {
      rules.forEach((rule) => parseRule(rule));
      permissions = { ...permissions, [behavior]: [...permissions[behavior] ?? [], ...rules] };
    },
    permit: (call, verdict) => {
      const decision = decide(permissions, call);
      const behavior = afterHooks(decision.behavior, decision.rule !== undefined, verdict);
      const { rule } = decision;
      const by = rule !== undefined && { rule };
      if (behavior === "allow") return { behavior, reason: decision.reason, ...by };
      if (behavior === "deny") return { behavior, reason: denied(call, decision), ...by, note: noteOf(decision, []) };
      const rules = rulesThatAllow(permissions, call);
      const reason = asked(call, decision, permissionAsker ? undefined : rules);
      return { behavior, reason, ...by, note: noteOf(decision, rules), suggestions: suggested(rules) };
    },
    ...(permissionAsker && {
      askPerson: async (call, reason, signal) => {
        const rules = rulesThatAllow(permissions, call);
        const reply = await permissionAsker({ ...call, reason, rules }, signal);
        if (reply.behavior === "allow" && reply.remember) {
          permissions = { ...permissions, allow: [...permissions.allow ?? [], ...rules] };
        }
        return reply;
      },
    }),
  };
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

/** Decides about calls as the loop asks for it: rules first, then hooks, then a person. Nothing overrides a deny rule. */
export function permitter(
  gate: Partial<Pick<PermissionGate, "permit" | "askPerson">>,
): NonNullable<AgentSpec["permit"]> {
  return async (run, call, pre) => {
    const { tool, input, fields: { tool_use_id } } = call;
    const { refusals } = run.agent.around ?? {};
    const refused = (refusal: Refusal): Refusal => {
      refusals?.note(tool_use_id, refusal);
      return refusal;
    };
    const question = {
      tool_name: tool.name,
      input,
      tool_use_id,
      cwd: run.state.cwd(),
      effect: tool.effect,
      agent_id: run.state.agentId,
      key: run.nameOf("ask", tool_use_id),
    };
    const ruling = gate.permit?.(question, pre.decision as "continue" | "allow" | "ask");
    const ruled = ruling instanceof Promise ? await run.interruptible(ruling) : ruling;
    if (ruled?.behavior === "deny") return refused(refusalBy(ruled));
    const asked = pre.asked ? askedBy(pre.asked) : ruled?.behavior === "ask" ? ruled : undefined;
    if (!asked) return { input };
    if (!pre.asked) {
      const answered = await askHooks(run, call, asked);
      if (answered) return answered;
    }
    const known = refusals?.recall(tool_use_id);
    const { reason: message } = asked;
    if (gate.askPerson && (!known || known.by === "user")) {
      await run.fire({ event: "agent-prompt", prompt_type: "permission", message });
      await run.fire({ event: "notification", message, notification_type: "permission_prompt", title: null });
    }
    if (known) return known;
    if (!gate.askPerson) return refused(pre.asked ? unanswered(pre.asked) : refusalBy(asked));
    const said = await run.interruptible(gate.askPerson(question, message, run.signal));
    if (said.behavior === "allow") return { input };
    const words = `The user refused this call${said.reason ? ` and says: ${said.reason}` : ""}`;
    return refused({ words, reason: words, by: "user" });
  };
}

function askedBy({ hook, reason, text }: NonNullable<Folded["asked"]>): Permission {
  return { behavior: "ask", reason: text ?? reason ?? `Hook ${hook} asked for confirmation for this tool` };
}

function refusalBy({ reason, rule, note }: Permission): Refusal {
  return { words: reason, reason, by: rule ?? "permissions", ...(note !== undefined && { note }) };
}

/** Asks the hooks that may answer for a person; undefined: none did. */
async function askHooks(
  run: Run,
  { fields, input, check }: GatedCall,
  { reason, suggestions = [] }: Permission,
): Promise<Permitted | undefined> {
  const event = "permission-request";
  const said = await run.fire({ event, ...fields, input, reason, permission_suggestions: suggestions });
  const denial = said.denials[0];
  if (denial) return refusalOf(denial);
  if (said.decision !== "allow") return undefined;
  const changed = said.modified ? await check(said.value) : { input };
  if ("input" in changed) return changed;
  const words = `A permission hook's rewrite of the input is not valid: ${changed.why}`;
  return { words, reason: words, by: event };
}
