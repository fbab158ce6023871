import type { Arbitrary } from "fast-check";
import { type AnyEvent, type EventOf, EVENTS } from "../../core/events.ts";
import { kebab, pascal, resolveEvent } from "../../core/names.ts";
import type { WireEvent } from "../../hooks/hosts/host.ts";
import { asWritten, HOSTS } from "../../hooks/hosts/index.ts";
import { ourEvents } from "../../hooks/hosts/read-event.ts";
import { compileMatcher } from "../../hooks/hook-matcher.ts";
import { wireInput } from "../../hooks/process/wire.ts";
import { sampleEvent } from "../../hooks/samples.ts";
import { eventArbitrary } from "./arbitraries/event.ts";
import { type FastCheck } from "../../testing/fast-check.ts";
import { FILES } from "./arbitraries/texts.ts";
import { DANGEROUS } from "./arbitraries/tool-inputs.ts";
import { claudeName } from "./laws/judged.ts";
import type { ScratchFolders } from "./scratch-project.ts";
import { SOURCES } from "./static-faults.ts";
import type { Moment, Subject } from "./subject.ts";

type Event = { readonly [field: string]: unknown };

/** One event for a hook, and what the model says if the hook asks one. */
export interface Probe {
  readonly event: Event;
  readonly says?: string;
}

/** What a judging model may say: verdicts, and what is not one. */
const VERDICTS = [
  '{"ok": true}',
  '{"ok": false, "reason": "It removes a test"}',
  '{"action": "continue"}',
  '{"action": "deny", "reason": "It removes a test"}',
  '```json\n{"ok": false, "reason": "fenced"}\n```',
  'I looked at it. {"ok": true} is my verdict.',
];
const NO_VERDICTS = ["", "I am not sure.", "{", '{"ok": "perhaps"}', '{"verdict": "yes"}', "I cannot help with that."];

/** Whether a hook can be expected to understand such an answer. */
export function isVerdict(says: string | undefined): boolean {
  return says === undefined || VERDICTS.includes(says);
}

/** Whether the hook reads a host's wire, or our own events. */
export function isWire({ target }: Subject): boolean {
  return target.type === "command";
}

/** Events of all moments of a hook, in the form it reads; `words` are texts that it is known to look for. */
export function probeArbitrary(
  fc: FastCheck,
  subject: Subject,
  moments: readonly Moment[],
  place: ScratchFolders,
  words: readonly string[],
): Arbitrary<Probe> {
  const host = isWire(subject) ? subject.host : "crochet";
  const says = fc.constantFrom(...VERDICTS, ...NO_VERDICTS);
  const about = { host, cwd: place.project, home: place.home, words } as const;
  return fc.oneof(...moments.map(({ event, matcher }) => {
    const tool = matcher !== undefined && isAboutTool(event) ? { tool: matcher } : {};
    const events = eventArbitrary(event, { ...about, ...tool } as { host: "claude" }) as Arbitrary<unknown>;
    const fitting = events.map((made) => narrowed(asHeard(made as Event, subject), matcher, subject, place));
    return subject.kind === "prompt"
      ? fc.tuple(fitting, says).map(([made, said]): Probe => ({ event: made, says: said }))
      : fitting.map((made): Probe => ({ event: made }));
  }));
}

/** A script of ours is asked about calls of ours in every host. */
function asHeard(event: Event, { servedTo, host }: Subject): Event {
  const [heard] = servedTo === undefined ? [] : ourEvents(event, HOSTS[host]);
  if (!heard?.from) return event;
  const { tool_name, input } = heard.fired as EventOf<"pre-tool-use">;
  return { ...event, tool_name, tool_input: input };
}

function isAboutTool(event: string): boolean {
  const on = resolveEvent(claudeName(event));
  return on !== undefined && EVENTS[on.event].match === "tool_name";
}

/** One plain event of each moment and tool: what fails on these is best shown with them. */
export function plainProbes(subject: Subject, moments: readonly Moment[], place: ScratchFolders): Probe[] {
  const says = subject.kind === "prompt" ? { says: VERDICTS[0]! } : {};
  return moments.flatMap(({ event, matcher }) => {
    const name = claudeName(event);
    if (!resolveEvent(name)) return [];
    const tools = isAboutTool(event) ? ["Bash", "Edit", "Write", "Read"] : ["Bash"];
    return tools.map((tool) => momentEvent(subject, name, place, {}, tool))
      .filter(({ tool_name }) => !isAboutTool(event) || compileMatcher(matcher)(String(tool_name)))
      .map((made): Probe => ({ event: narrowed(made, matcher, subject, place), ...says }));
  });
}

/** One event of a moment with some fields, in the form the hook reads. */
export function momentEvent(
  subject: Subject,
  name: string,
  { project, transcript }: ScratchFolders,
  fields: Event,
  tool = "Bash",
): Event {
  const on = resolveEvent(name)!;
  const sub = on.scope === "sub";
  const event = {
    ...sampleEvent(on.event, { cwd: project, tool, failed: on.outcome === "failure" }),
    event_id: "check:0",
    timestamp: "2026-01-01T00:00:00.000Z",
    session_id: "check",
    agent_id: sub ? "check-sub" : "check",
    ...(sub && { parent_agent_id: "check", agent_type: "general-purpose" }),
    turn_id: "check:turn",
    ...fields,
  } as unknown as AnyEvent;
  if (!isWire(subject)) return event as unknown as Event;
  const facts = { transcript_path: transcript, ...(sub && { agent_transcript_path: transcript }) };
  const wire = wireInput(event, project, facts, pascal(kebab(name))) as WireEvent;
  const around = { session_id: "check", transcript_path: transcript, permission_mode: "default", minute: 0 };
  const more = { ...around, prompt_id: undefined, effort: undefined };
  return asHeard(asWritten(subject.host, wire, more), subject);
}

/** An event that the hook's matcher and `if` let through. */
function narrowed(event: Event, matcher: string | undefined, { rule }: Subject, place: ScratchFolders): Event {
  const starts = event.hook_event_name === "SessionStart" || event.event === "session-start";
  let made = withTranscript(event, place);
  if (starts && matcher !== undefined && !compileMatcher(matcher)(String(event.source))) {
    made = { ...made, source: SOURCES.find(compileMatcher(matcher)) ?? event.source };
  }
  if (rule === undefined || typeof made.tool_name !== "string") return made;
  const call = { tool_name: made.tool_name, input: made.tool_input as Event, cwd: place.project };
  return rule.isAbout(call) ? made : fitted(made, rule.text, place);
}

/** The conversation exists, except for a session that is just beginning. */
function withTranscript(event: Event, { transcript }: ScratchFolders): Event {
  if (typeof event.transcript_path !== "string" || event.hook_event_name === "SessionStart") return event;
  const own = typeof event.agent_transcript_path === "string" ? { agent_transcript_path: transcript } : {};
  return { ...event, transcript_path: transcript, ...own };
}

/** A call that a rule such as `Bash(git *)` is about. */
function fitted(event: Event, rule: string, { project }: ScratchFolders): Event {
  const [, tool = rule, content] = /^([^(]+)\((.*)\)$/s.exec(rule) ?? [];
  const input = event.tool_input as Event;
  const example = content?.replaceAll("**", "x").replaceAll(/:?\*/g, " x").replaceAll(/\s+/g, " ").trim() ?? "";
  const given = content === undefined
    ? input
    : tool === "Bash"
    ? { ...input, command: example }
    : { ...input, file_path: `${project}/${example.replaceAll(" ", "")}` };
  return { ...event, tool_name: tool, tool_input: given };
}

/** Fields with free text, which an agent or a person writes. */
const TEXTS = [
  ...["command", "description", "prompt", "content", "old_string", "new_string", "last_assistant_message"],
  ...["message", "task", "pattern", "url"],
];

function rewritten(probe: Probe, change: (text: string, field: string) => string): Probe {
  const text = JSON.stringify(probe.event, (field, value) => typeof value === "string" ? change(value, field) : value);
  return { ...probe, event: JSON.parse(text) };
}

/** Events whose texts leave a mark if a shell runs them, however they are pasted into a command. */
export function canaries(plain: readonly Probe[], { canary, project }: ScratchFolders): Probe[] {
  const touch = `touch ${canary}`;
  const payload = `x $(${touch}) \`${touch}\` ; ${touch} ; '; ${touch}; ' "; ${touch}; "`;
  return plain.slice(0, 4).map((probe) =>
    rewritten(probe, (text, field) => {
      if (field === "transcript_path" || field === "cwd") return text;
      return /path/.test(field) ? `${project}/${payload}` : TEXTS.includes(field) ? payload : text;
    })
  );
}

/** What breaks answers that are pasted together. */
const STRANGE = [' "quoted"', " it's", "\nsecond line", " back\\slash", " größer 数据 🧶", " $(x) `y` $HOME", " %s %d"];

export function laced(probe: Probe): Probe[] {
  return STRANGE.map((strange) =>
    rewritten(probe, (text, field) => TEXTS.includes(field) ? `${text}${strange}` : text)
  );
}

export function withoutTranscript(plain: readonly Probe[], { transcript }: ScratchFolders): Probe[] {
  const path = transcript.replace(/[^/]*$/, "not-there.jsonl");
  return plain.filter(({ event }) => event.transcript_path === transcript).slice(0, 1)
    .map((probe) => ({ ...probe, event: { ...probe.event, transcript_path: path } }));
}

/** Secrets for guards that look for them; none is real. */
const SECRETS = [
  `aws_access_key_id = "AKIA${"IOSFODNN7EXAMPLE"}"\npassword = "${"hunter2".repeat(3)}"\n`,
  `const token = "ghp_${"a1B2c3".repeat(6)}", key = "sk-ant-api03-${"x9Y8z7".repeat(8)}";\n`,
  `-----BEGIN ${"RSA PRIVATE"} KEY-----\nMIIEow\n`,
];

/** Calls that guards are made for, of the tools the hook is asked about. */
export function dangers(plain: readonly Probe[], { project }: ScratchFolders): Probe[] {
  return plain.filter(({ event }) => event.tool_name !== undefined && !("result" in event || "tool_response" in event))
    .flatMap((probe) => {
      const { tool_name } = probe.event;
      if (tool_name === "Bash") return DANGEROUS.map((command) => withInput(probe, { command }));
      if (tool_name !== "Edit" && tool_name !== "Write") return [];
      const secrets = SECRETS.map((text) => ({ [tool_name === "Edit" ? "new_string" : "content"]: text }));
      const files = FILES.map((name) => ({ file_path: `${project}/${name}` }));
      return [...secrets, ...files].map((fields) => withInput(probe, fields));
    });
}

/** The events again with each of some texts in them; one that has a path, also with each as that path. */
export function withOwn(plain: readonly Probe[], texts: readonly string[], { project }: ScratchFolders): Probe[] {
  const filed = plain.findLast((probe) => typeof inputOf(probe).file_path === "string");
  return texts.flatMap((own) => [
    ...plain.map((probe) => rewritten(probe, (text, field) => TEXTS.includes(field) ? own : text)),
    ...(filed && /^\S+$/.test(own)
      ? [withInput(filed, { file_path: own.startsWith("/") ? own : `${project}/${own}` })]
      : []),
  ]);
}

/** The input of a tool call, in either form of an event. */
export function inputOf({ event }: Probe): Event {
  return (event.tool_input ?? event.input ?? {}) as Event;
}

export function withInput(probe: Probe, fields: Event, before = inputOf(probe)): Probe {
  const input = { ...before, ...fields };
  const changed = "tool_input" in probe.event ? { tool_input: input } : { input, original_input: input };
  return { ...probe, event: { ...probe.event, ...changed } };
}
