import { present } from "../core/json.ts";
import type { Permissions } from "./rules.ts";

type Rules = Pick<Permissions, "mode" | "allow" | "ask" | "deny">;

/** The rules of a program: those of its script, and those of its project's config and settings. */
export interface OwnRules {
  readonly script?: Rules | undefined;
  readonly project?: Rules | undefined;
  /** The names of the MCP servers of the project. */
  readonly servers?: readonly string[] | undefined;
}

/** A change of rules that lets more through than the recorded ones did. */
interface RuleDrift {
  /** `permissions.deny`. */
  readonly path: string;
  readonly words: string;
  readonly expected?: string | undefined;
  readonly actual?: string | undefined;
}

const LISTS = ["deny", "ask", "allow"] as const;
const PARTS = ["script", "project"] as const;

/** Rules without the folders that they are about. */
export function plainRules({ mode, allow, ask, deny }: Rules = {}): Rules {
  return present({ mode, allow, ask, deny });
}

function listOf(rules: OwnRules, kind: typeof LISTS[number]): readonly string[] {
  return PARTS.flatMap((part) => rules[part]?.[kind] ?? []);
}

const modeOf = ({ script, project }: OwnRules) => script?.mode ?? project?.mode;

/** The rules of a recorded run with those its program has now in place of its own: what a flag or a person added stays. */
export function rulesNow(recorded: Rules, was: OwnRules, is: OwnRules): Rules {
  const list = (kind: typeof LISTS[number]) => {
    const gone = new Set(listOf(was, kind));
    return [...new Set([...recorded[kind]?.filter((rule) => !gone.has(rule)) ?? [], ...listOf(is, kind)])];
  };
  const isOwn = modeOf(was) !== undefined && modeOf(was) === recorded.mode;
  const mode = isOwn ? modeOf(is) : recorded.mode;
  return { ...(mode && { mode }), allow: list("allow"), ask: list("ask"), deny: list("deny") };
}

/** The MCP servers of the project that are gone, or have another name. */
export function serversGone({ servers: was = [] }: OwnRules, { servers: is = [] }: OwnRules): RuleDrift[] {
  const gone = was.filter((name) => !is.includes(name));
  return gone.map((name) => ({ path: name, words: `the MCP server ${name} is gone` }));
}

/** What lets more through than then, even if no call shows it; what lets less through shows in the run. */
export function ruleDrifts(was: OwnRules, is: OwnRules): RuleDrift[] {
  const [before, now] = [modeOf(was), modeOf(is)];
  const mode = before === now ? [] : [{
    path: "permissions.mode",
    words: "permissions.mode is another one",
    expected: before ?? "no mode",
    actual: now ?? "no mode",
  }];
  const lists = LISTS.flatMap((kind): RuleDrift[] => {
    const path = `permissions.${kind}`;
    const [then, today] = [new Set(listOf(was, kind)), new Set(listOf(is, kind))];
    if (kind === "allow") {
      const added = [...today].filter((rule) => !then.has(rule));
      return added.map((actual) => ({ path, words: `${path} has a new rule`, actual }));
    }
    const lost = [...then].filter((rule) => !today.has(rule));
    return lost.map((expected) => ({ path, words: `${path} lost a rule`, expected }));
  });
  return [...mode, ...lists];
}
