import type { Arbitrary } from "fast-check";
import type { AnyEvent, EventName, EventOf } from "../../core/events.ts";
import { pascal, type ResolvedName } from "../../core/names.ts";
import { expectEvent } from "../../files/nearest.ts";
import type { EventSetting, WireEvent } from "../../hooks/hosts/host.ts";
import { HOST_NAMES, type HostName, HOSTS, isHost } from "../../hooks/hosts/index.ts";
import { fieldsArbitrary, type Wanted } from "./event-fields.ts";
import { asClaude, CLAUDE_ONLY, claudeOnly, ourName } from "./host-events.ts";
import { type FastCheck, fastCheck, FILES, type Scene } from "./texts.ts";

export interface EventArbitraryOptions {
  /** The tools a tool event is about: a name or a matcher such as `Edit|Write` or `mcp__.*`. @default every tool we know */
  readonly tool?: string;
  /** Whose form the event has: ours, as modules and rules read it, or what a host writes to a command's stdin. @default "crochet" */
  readonly host?: "crochet" | HostName;
  /** The working directory, in which most paths are. @default "/home/dev/project" */
  readonly cwd?: string;
  /** The home directory, in which the transcript is. @default "/home/dev" */
  readonly home?: string;
  /** Files that events name, relative to the working directory. */
  readonly files?: readonly string[];
  /** Texts the hook looks for, which then come up often. */
  readonly words?: readonly string[];
  /** Whether events of a whole turn each have a conversation of their own; else all have the same short one. @default true */
  readonly conversations?: boolean;
}

/**
 * Events as they can really come, as an arbitrary of fast-check: every tool a matcher matches, optional fields present
 * or not, strange and huge texts among plain ones. A counterexample shrinks to a small, plain event.
 *
 * @example
 * ```ts
 * import fc from "fast-check";
 * import { deny, type Hook } from "crochet";
 * import { eventArbitrary } from "crochet/testing";
 *
 * const noForce: Hook<"pre-tool-use"> = ({ input }) =>
 *   String(input.command).includes("--force") ? deny("No force") : undefined;
 *
 * await fc.assert(fc.asyncProperty(eventArbitrary("pre-tool-use", { tool: "Bash" }), async (event) => {
 *   await noForce(event, {} as never); // never throws, whatever the command is
 * }));
 * ```
 */
export function eventArbitrary<N extends EventName>(
  name: N,
  options?: EventArbitraryOptions & { readonly host?: "crochet" },
): Arbitrary<EventOf<N>>;
export function eventArbitrary(
  name: string,
  options: EventArbitraryOptions & { readonly host: HostName },
): Arbitrary<WireEvent>;
export function eventArbitrary(name: string, options?: EventArbitraryOptions): Arbitrary<AnyEvent | WireEvent>;
export function eventArbitrary(name: string, options: EventArbitraryOptions = {}): Arbitrary<AnyEvent | WireEvent> {
  const {
    tool,
    host = "crochet",
    cwd = "/home/dev/project",
    home = "/home/dev",
    files = FILES,
    words = [],
    conversations = true,
  } = options;
  if (host !== "crochet" && !isHost(host)) {
    throw new TypeError(`Cannot make events of '${host}': expected crochet, ${HOST_NAMES.join(", ")}`);
  }
  const fc = fastCheck();
  const scene: Scene = { cwd, files, words };
  if (host === "crochet") return stampedArbitrary(fc, expectEvent(name), scene, { tool, conversations });
  return wireArbitrary(fc, ourName(name, host), scene, { tool, host, home });
}

function stampedArbitrary(
  fc: FastCheck,
  named: ResolvedName,
  scene: Scene,
  about: Pick<Wanted, "tool" | "conversations">,
): Arbitrary<AnyEvent> {
  const { event, scope, outcome } = named;
  const sub = scope === "sub" ? fc.constant(true) : scope === "root" ? fc.constant(false) : fc.boolean();
  return fc.tuple(
    uuid(fc),
    sub,
    fc.nat({ max: 99_999 }),
    fieldsArbitrary(fc, event, { ...scene, ...about, outcome }),
  )
    .map(([session_id, isSub, minute, fields]) =>
      ({
        event,
        ...fields,
        event_id: `${session_id}:${minute}`,
        timestamp: new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString(),
        session_id,
        agent_id: isSub ? "a1ee93139424ef3ca" : session_id,
        ...(isSub && { parent_agent_id: session_id, agent_type: "general-purpose", ...ownType(fields) }),
        turn_id: `${session_id}:turn`,
      }) as unknown as AnyEvent
    );
}

/** Of version 4. To make fast-check's own takes as long as a hundred events. */
function uuid(fc: FastCheck): Arbitrary<string> {
  const digits = fc.nat({ max: 0x7fffffff }).map((n) => n.toString(16).padStart(8, "0"));
  return fc.tuple(digits, digits).map(([a, b]) =>
    `${a}-${b.slice(0, 4)}-4${b.slice(5)}-8${a.slice(5)}-${b}${a.slice(4)}`
  );
}

/** The type of the agent, if the event has one of its own. */
function ownType(fields: object): { agent_type?: unknown } {
  return "agent_type" in fields ? { agent_type: fields.agent_type } : {};
}

/** Events of that host alone that are sent with a permission mode. */
const WITH_MODE = new Set(["user-prompt-expansion", "permission-denied", "post-tool-batch"]);

interface Wire {
  readonly tool: string | undefined;
  readonly host: HostName;
  readonly home: string;
}

function wireArbitrary(fc: FastCheck, name: string, scene: Scene, { tool, host, home }: Wire): Arbitrary<WireEvent> {
  const around = fc.record({
    session_id: uuid(fc),
    prompt_id: fc.option(uuid(fc), { nil: undefined, freq: 2 }),
    permission_mode: fc.constantFrom("default", "acceptEdits", "bypassPermissions", "plan", "dontAsk", "auto"),
    effort: fc.option(fc.constantFrom("medium", "high"), { nil: undefined, freq: 2 }),
    minute: fc.nat({ max: 99_999 }),
  }, { noNullPrototype: true }).map((given): EventSetting => ({
    ...given,
    transcript_path: `${home}/.claude/projects/${scene.cwd.replace(/[^A-Za-z0-9]/g, "-")}/${given.session_id}.jsonl`,
  }));
  if (Object.hasOwn(CLAUDE_ONLY, name)) {
    return fc.tuple(around, claudeOnly(fc, name, scene, tool)).map(([facts, fields]) => ({
      session_id: facts.session_id,
      transcript_path: facts.transcript_path,
      cwd: scene.cwd,
      ...(facts.prompt_id !== undefined && name !== "setup" && { prompt_id: facts.prompt_id }),
      ...(WITH_MODE.has(name) && { permission_mode: facts.permission_mode }),
      hook_event_name: pascal(name),
      ...fields,
    }));
  }
  const named = expectEvent(name);
  // A PostToolUse of a host is a success; what failed has a name of its own there.
  const made = stampedArbitrary(
    fc,
    named.event === "post-tool-use" ? { outcome: "success", ...named } : named,
    scene,
    // No host sends one.
    { tool, conversations: false },
  );
  return fc.tuple(around, made, fc.boolean()).map(([facts, event, lean]) => {
    const claude = asClaude({ ...event, session_id: facts.session_id }, scene.cwd, facts, name, lean);
    return HOSTS[host].written(claude, facts);
  });
}
