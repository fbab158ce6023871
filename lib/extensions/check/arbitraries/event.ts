import type { Arbitrary } from "fast-check";
import type { AnyEvent, EventFields, EventName, EventOf } from "../../../core/events.ts";
import type { JsonObject } from "../../../core/json.ts";
import { assistant, type Message, text, user } from "../../../core/messages.ts";
import { kebab, type ResolvedName } from "../../../core/names.ts";
import { type AboutCall, type EventField, isAboutCall, plainFields, SENTENCES } from "../../../hooks/event-fields.ts";
import type { EventSetting, WireEvent } from "../../../hooks/hosts/host.ts";
import { asWritten, HOST_NAMES, hostEvent, type HostName, HOSTS, isHost } from "../../../hooks/hosts/index.ts";
import { wireInput } from "../../../hooks/process/wire.ts";
import { aboutCalls } from "../../../hooks/samples.ts";
import { expectEvent } from "../../../input/nearest.ts";
import { checkOptions, type OptionKind } from "../../../input/options.ts";
import { conversationArbitrary } from "./conversation.ts";
import { type FastCheck, fastCheck } from "../../../testing/fast-check.ts";
import { FILES, pathArbitrary, recordArbitrary, type Scene, textArbitrary } from "./texts.ts";
import { callArbitrary } from "./tool-inputs.ts";

interface EventArbitraryOptions {
  /** The tools a tool event is about: a name or a matcher such as `Edit|Write` or `mcp__.*`. @default every tool we know */
  readonly tool?: string;
  /** Whose form the event has: ours, as modules and rules read it, or what a host writes to a command's stdin. @default "crochet" */
  readonly host?: "crochet" | HostName;
  /** The working directory, in which most paths are. @default "/home/dev/project" */
  readonly cwd?: string;
  /** The home directory, in which the transcript is. @default "/home/dev" */
  readonly home?: string;
  /** Texts the hook looks for, which then come up often. */
  readonly words?: readonly string[];
}

const OPTIONS: { readonly [option in keyof EventArbitraryOptions]-?: OptionKind } = {
  tool: "a text",
  host: "any",
  cwd: "a text",
  home: "a text",
  words: "a list of texts",
};

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
  checkOptions(options, OPTIONS, "make events");
  const { tool, host = "crochet", cwd = "/home/dev/project", home = "/home/dev", words = [] } = options;
  if (host !== "crochet" && !(isHost(host) && HOSTS[host].commands)) {
    const known = HOST_NAMES.filter((name) => HOSTS[name].commands);
    throw new TypeError(`Cannot make events of '${host}': expected crochet, ${known.join(", ")}`);
  }
  const fc = fastCheck();
  const scene: Scene = { cwd, files: FILES, words };
  if (host === "crochet") return stampedArbitrary(fc, expectEvent(name), scene, { tool, conversations: true });
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
  const fields = fieldsArbitrary(fc, event, { ...scene, ...about, outcome });
  return fc.tuple(uuid(fc), sub, fc.nat({ max: 99_999 }), fields)
    .map(([session_id, isSub, minute, fields]) =>
      ({
        event,
        ...(isSub && { agent_type: "general-purpose" }),
        ...fields,
        event_id: `${session_id}:${minute}`,
        timestamp: new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString(),
        session_id,
        agent_id: isSub ? "a1ee93139424ef3ca" : session_id,
        ...(isSub && { parent_agent_id: session_id }),
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

function wireArbitrary(
  fc: FastCheck,
  name: string,
  scene: Scene,
  { tool, host, home }: { readonly tool: string | undefined; readonly host: HostName; readonly home: string },
): Arbitrary<WireEvent> {
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
  const named = expectEvent(name);
  // A PostToolUse of a host is a success; what failed has a name of its own there.
  const made = stampedArbitrary(
    fc,
    named.event === "post-tool-use" ? { outcome: "success", ...named } : named,
    scene,
    // No host sends one.
    { tool, conversations: false },
  );
  return fc.tuple(around, made, fc.boolean()).map(([facts, made, lean]) => {
    const { session_id, transcript_path, prompt_id, permission_mode, effort } = facts;
    const event = { ...made, session_id };
    const claude = wireInput(event, scene.cwd, {
      transcript_path,
      permission_mode,
      ...(event.parent_agent_id !== undefined && {
        agent_transcript_path: transcript_path.replace(/\.jsonl$/, `/subagents/agent-${event.agent_id}.jsonl`),
      }),
      ...(prompt_id !== undefined && { prompt_id }),
      ...(effort !== undefined && { effort: { level: effort } }),
      fields: lean ? {} : beside(event),
    }, name);
    const sent = Object.entries(claude).filter(([field]) => !lean || !MAY_LACK.includes(field));
    return asWritten(host, Object.fromEntries(sent) as WireEvent, facts);
  });
}

/** Fields that versions of the host and its settings leave out. */
const MAY_LACK = "duration_ms is_interrupt background_tasks session_crons last_assistant_message title".split(" ");

interface Wanted extends Scene {
  readonly tool: string | undefined;
  /** How tool calls ended, where only one way is asked for. */
  readonly outcome: "success" | "failure" | undefined;
  /** Whether each event has a conversation of its own. */
  readonly conversations: boolean;
}

/** The fields of one event, each event as it can really be: what hangs together does so here. */
function fieldsArbitrary(fc: FastCheck, event: EventName, wanted: Wanted): Arbitrary<object> {
  if (isAboutCall(event)) return aboutCallArbitrary(fc, event, wanted);
  const plain = plainFields(event)!.map(([name, field]) => [name, valueArbitrary(fc, field, wanted)]);
  return recordArbitrary<EventFields["stop"] & EventFields["iteration"]>(fc, Object.fromEntries(plain)).map((made) =>
    event === "stop" ? counted(made) : event === "iteration" ? numbered(made) : made
  );
}

function counted({ continuations: before, stalled: idle, ...fields }: EventFields["stop"]): EventFields["stop"] {
  const continuations = before % 21;
  const stalled = Math.min(idle % 9, continuations);
  const remaining = fields.remaining === null ? null : 8 - stalled;
  return { ...fields, continuations, stalled, remaining, stop_hook_active: continuations > 0 };
}

function numbered({ iteration, total_iterations, ...fields }: EventFields["iteration"]): EventFields["iteration"] {
  return { ...fields, iteration, total_iterations: iteration + total_iterations };
}

const CONVERSATION: readonly Message[] = [user([text("Fix the failing test")]), assistant([text("Done.")])];

function valueArbitrary(fc: FastCheck, field: EventField, wanted: Wanted): Arbitrary<unknown> {
  const { kind, values, nullable } = field;
  if (nullable) return fc.option(valueArbitrary(fc, { kind, values }, wanted), { nil: null });
  const tokens = fc.nat({ max: 200_000 });
  switch (kind) {
    case "text":
      return textArbitrary(fc, values as readonly string[], wanted.words);
    case "path":
      return pathArbitrary(fc, { ...wanted, files: values as readonly string[] });
    case "cwd":
      return fc.constant(wanted.cwd);
    case "count":
      return tokens;
    case "flag":
      return fc.boolean();
    case "tool":
      return callArbitrary(fc, wanted.tool, wanted).map(({ tool_name }) => tool_name);
    case "usage":
      return recordArbitrary(fc, {
        ...{ input_tokens: tokens, output_tokens: tokens },
        ...{ cache_creation_input_tokens: tokens, cache_read_input_tokens: tokens },
      });
    case "messages":
      return wanted.conversations
        ? conversationArbitrary({ replies: 2, tool: "Bash|Edit|Write|Read" })
        : fc.constant(CONVERSATION);
    case "view":
      return recordArbitrary(fc, {
        system: textArbitrary(fc, ["You are a coding agent."], wanted.words),
        messages: valueArbitrary(fc, { kind: "messages", values }, wanted),
      });
    default:
      return fc.constantFrom(...values);
  }
}

function aboutCallArbitrary(fc: FastCheck, event: AboutCall, wanted: Wanted): Arbitrary<object> {
  const failed = wanted.outcome === undefined ? fc.boolean() : fc.constant(wanted.outcome === "failure");
  const ended = fc.tuple(callArbitrary(fc, wanted.tool, wanted), failed);
  const isSaid = event === "permission-request" || event === "tool-denied";
  const words = (...usual: readonly string[]) => isSaid ? textArbitrary(fc, usual, wanted.words) : fc.constant("");
  const suggested = { type: "setMode", mode: "acceptEdits", destination: "session" };
  const beside = recordArbitrary<Parameters<typeof aboutCalls>[2]>(fc, {
    reason: words(...event === "tool-denied" ? SENTENCES : ["Bash needs a yes"]),
    denied_by: words("guard"),
    permission_suggestions: fc.boolean().map((some) => some ? [suggested] : []),
    duration_ms: fc.nat({ max: 200_000 }),
  });
  return fc.tuple(fc.array(ended, { minLength: 1, maxLength: event === "post-tool-batch" ? 3 : 1 }), beside)
    .map(([made, more]) => {
      const calls = made.map(([call, failed], i) => {
        return { ...call, tool_use_id: `toolu_000${i + 1}`, error: failed ? `Exit code 1\n${call.text}` : null };
      });
      return aboutCalls(event, calls, more);
    });
}

/** What the host knows and our events do not say. */
function beside(event: AnyEvent): JsonObject {
  if ("tool_name" in event && event.tool_name.startsWith("mcp__")) {
    return { mcp_server: { name: event.tool_name.split("__")[1], source: "dynamic" } };
  }
  const cost = { context_tokens: 15, estimated_cache_write_usd: 0.0001 };
  if (event.event === "model-switch" || event.event === "post-model-switch") {
    return { ...cost, prompt_cache_warm: true, cache_ttl: "5m", pricing: "catalog" };
  }
  if (event.event === "session-start" && (event.source === "resume" || event.source === "fork")) {
    return { ...cost, seconds_since_last_response: 1, prompt_cache_likely_expired: false };
  }
  if (event.event === "instructions-loaded" && event.load_reason !== "session_start") {
    return { trigger_file_path: event.file_path };
  }
  return {};
}

function ourName(name: string, host: HostName): string {
  const { events, likeClaude } = HOSTS[host];
  if (likeClaude) return kebab(name);
  const ours = events[name]?.ours?.[0] ?? kebab(name);
  if (hostEvent(host, ours) !== undefined) return ours;
  const known = Object.keys(events).filter((event) => events[event]!.ours).join(", ");
  throw new TypeError(`Cannot make a '${name}' of ${host}: it has no such event, expected one of ${known}`);
}
