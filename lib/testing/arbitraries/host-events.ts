import type { AnyEvent } from "../../core/events.ts";
import { kebab } from "../../core/names.ts";
import type { EventSetting, WireEvent } from "../../hooks/hosts/host.ts";
import { hostEvent, type HostName, HOSTS } from "../../hooks/hosts/index.ts";
import { wireInput } from "../../hooks/process/wire.ts";

type HostFields = Record<string, unknown>;

/** Fields that versions of the host and its settings leave out. */
const MAY_LACK = [
  "duration_ms",
  "is_interrupt",
  "background_tasks",
  "session_crons",
  "last_assistant_message",
  "title",
];

/** The event as Claude Code writes it; `lean` leaves out what may be absent. */
export function asClaude(
  event: AnyEvent,
  cwd: string,
  around: EventSetting,
  registered: string,
  lean: boolean,
): WireEvent {
  const { transcript_path, prompt_id, permission_mode, effort } = around;
  const wire = wireInput(event, cwd, {
    transcript_path,
    permission_mode,
    ...(event.parent_agent_id !== undefined && {
      agent_transcript_path: transcript_path.replace(/\.jsonl$/, `/subagents/agent-${event.agent_id}.jsonl`),
    }),
    ...(prompt_id !== undefined && { prompt_id }),
    ...(effort !== undefined && { effort: { level: effort } }),
    fields: lean ? {} : beside(event),
  }, registered);
  return (lean ? without(wire, MAY_LACK) : wire) as WireEvent;
}

/** What the host knows and our events do not say. */
function beside(event: AnyEvent): HostFields {
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

function without(fields: HostFields, gone: readonly string[]): HostFields {
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !gone.includes(field)));
}

export function ourName(name: string, host: HostName): string {
  const { events, likeClaude } = HOSTS[host];
  if (likeClaude) return kebab(name);
  const ours = events[name]?.ours?.[0] ?? kebab(name);
  if (hostEvent(host, ours) !== undefined) return ours;
  const known = Object.keys(events).filter((event) => events[event]!.ours).join(", ");
  throw new TypeError(`Cannot make a '${name}' of ${host}: it has no such event, expected one of ${known}`);
}
