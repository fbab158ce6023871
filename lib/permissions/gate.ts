import type { Folded } from "../core/fold.ts";
import type { Json } from "../core/messages.ts";
import type { AgentSpec, Run } from "../core/run.ts";
import { type Refusal, refusalOf, unanswered } from "../core/hook-words.ts";
import type { GatedCall, Permitted } from "../core/tool.ts";
import { checkOptions, type OptionKind } from "../input/options.ts";
import type { Decision, PermissionMode, Permissions, RuledCall, SearchedPlace } from "./rules.ts";

export interface PermissionCall extends RuledCall {
  readonly input: { readonly [key: string]: unknown };
  readonly tool_use_id: string;
  readonly agent_id?: string;
  /** The question's name, unique and stable: an engine keeps its answer under it. */
  readonly key?: string;
}

/** What the rules say of a call, after hooks have spoken. */
export interface Permission extends Pick<Decision, "behavior" | "reason" | "rule"> {
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

const MODES: readonly PermissionMode[] = ["default", "acceptEdits", "plan", "bypassPermissions", "bypass"];

/** @throws {TypeError} that names those there are */
export function checkedMode(mode: PermissionMode = "default"): PermissionMode {
  if (MODES.includes(mode)) return mode;
  throw new TypeError(`Cannot use permission mode '${mode}' as it is unknown: expected ${MODES.join(", ")}`);
}

/** What decides by the rules of an agent: it is loaded once there is one, or a call. */
export type Ruling = typeof import("./ruling.ts").ruling;

/** @throws {TypeError} if a key or the mode is wrong: its rules are for `checkRules` */
export function checkPermissions(given: Permissions): void {
  checkOptions(given, KINDS, "take permissions");
  checkedMode(given.mode);
}

export function hasRules({ allow = [], ask = [], deny = [] }: Permissions): boolean {
  return allow.length + ask.length + deny.length > 0;
}

/** The gate of checked permissions. `ruling` gives a promise only as long as there are no rules and no call. */
export function gateBy(
  ruling: () => Ruling | Promise<Ruling>,
  given: Permissions,
  permissionAsker?: PermissionAsker,
): PermissionGate {
  let permissions = given;
  const add = (behavior: "allow" | "ask" | "deny", rules: readonly string[]) => {
    permissions = { ...permissions, [behavior]: [...permissions[behavior] ?? [], ...rules] };
  };
  return {
    permissions: () => permissions,
    hides: (place) => hasRules(permissions) ? (ruling() as Ruling).hiddenFrom(place, permissions) : undefined,
    plan: (on) => {
      permissions = { ...permissions, mode: on ? "plan" : given.mode === "plan" ? "default" : given.mode ?? "default" };
    },
    // Said of a call, so that what reads rules is there.
    remember: (behavior, rules) => {
      (ruling() as Ruling).checkRules(rules);
      add(behavior, rules);
    },
    permit: (call, verdict) => {
      const by = ruling();
      const decided = ({ ruled }: Ruling) => ruled(permissions, call, verdict, permissionAsker !== undefined);
      return by instanceof Promise ? by.then(decided) : decided(by);
    },
    ...(permissionAsker && {
      askPerson: async (call, reason, signal) => {
        const rules = (await ruling()).rulesThatAllow(permissions, call);
        const reply = await permissionAsker({ ...call, reason, rules }, signal);
        if (reply.behavior === "allow" && reply.remember) add("allow", rules);
        return reply;
      },
    }),
  };
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
