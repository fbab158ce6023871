import type { Arbitrary } from "fast-check";
import type { AnyEvent } from "../../core/events.ts";
import { compileMatcher } from "../../core/match.ts";
import { kebab, pascal, resolveEvent } from "../../core/names.ts";
import { sampleEvent } from "../../hooks/samples.ts";
import { wireInput } from "../../hooks/process/wire.ts";
import { eventArbitrary } from "../arbitraries/event.ts";
import type { FastCheck } from "../arbitraries/fast-check.ts";
import { wordsIn } from "../arbitraries/words.ts";
import { SOURCES } from "./find/matcher.ts";
import type { Place } from "./asking/probe.ts";
import type { Session } from "./session.ts";
import { importsOwn, type Moment, type Subject } from "./subject.ts";

type Event = { readonly [field: string]: unknown };

/** One event for a hook, and what a model would say about it where the hook asks one. */
export interface Probe {
  readonly event: Event;
  readonly says?: string;
}

/** What a judge may say: verdicts, and what is none. */
const VERDICTS = [
  '{"ok": true}',
  '{"ok": false, "reason": "It removes a test"}',
  '{"action": "continue"}',
  '{"action": "deny", "reason": "It removes a test"}',
  '```json\n{"ok": false, "reason": "fenced"}\n```',
  'I looked at it. {"ok": true} is my verdict.',
];
const NO_VERDICTS = ["", "I am not sure.", "{", '{"ok": "perhaps"}', '{"verdict": "yes"}', "I cannot help with that."];

/** Whether a hook could be expected to know what such an answer means. */
export function isVerdict(says: string | undefined): boolean {
  return says === undefined || VERDICTS.includes(says);
}

/** Whether the hook reads a host's wire, or our own events. */
export function isWire({ target }: Subject): boolean {
  return target.type === "command";
}

/** Generated events for a hook of some moments, and what made them. */
export interface MadeEvents {
  readonly moments: readonly Moment[];
  readonly arbitrary: Arbitrary<Probe>;
  readonly made: readonly Probe[];
}

export function madeEvents(
  subject: Subject,
  moments: readonly Moment[],
  place: Place,
  { fc, seed, runs }: Pick<Session, "fc" | "seed" | "runs">,
): MadeEvents {
  const arbitrary = probes(fc, subject, moments, place);
  return { moments, arbitrary, made: fc.sample(arbitrary, { seed, numRuns: runs }) };
}

/** Events of all moments of a hook, as they come where it is asked. */
function probes(fc: FastCheck, subject: Subject, moments: readonly Moment[], place: Place): Arbitrary<Probe> {
  const { host, kind } = subject;
  const form = isWire(subject) ? host : "crochet";
  const says = fc.constantFrom(...VERDICTS, ...NO_VERDICTS);
  const words = lookedFor(subject);
  const conversations = mayLookAtConversation(subject);
  return fc.oneof(...moments.map(({ event, matcher }) => {
    const about = { host: form, cwd: place.project, home: place.home, words, conversations } as const;
    const tool = matcher !== undefined && isAboutTool(event) ? { tool: matcher } : {};
    const events = eventArbitrary(event, { ...about, ...tool } as { host: "claude" }) as Arbitrary<unknown>;
    const fitting = events.map((made) => narrowed(made as Event, matcher, subject, place));
    return kind === "prompt"
      ? fc.tuple(fitting, says).map(([made, said]): Probe => ({ event: made, says: said }))
      : fitting.map((made): Probe => ({ event: made }));
  }));
}

/** What the hook looks for in events, as far as its source shows it. What it answers is not among it: that would be an echo. */
export function lookedFor({ text }: Pick<Subject, "text">): readonly string[] {
  return wordsIn(text).filter((word) => !/[{}]/.test(word));
}

/** Whether it could read what was said before, by the looks of it; what it calls, or hands the whole event to, could too. */
function mayLookAtConversation({ text }: Subject): boolean {
  return /messages|stringify/.test(text) || importsOwn(text);
}

function isAboutTool(event: string): boolean {
  const on = resolveEvent(event);
  return on ? /tool|permission-request/.test(on.event) : /Tool|Permission/.test(event);
}

/** Plain events, one of each moment and tool: what fails on these is best shown with these. */
export function plainProbes(subject: Subject, moments: readonly Moment[], place: Place): Probe[] {
  const says = subject.kind === "prompt" ? { says: VERDICTS[0]! } : {};
  return moments.flatMap(({ event, matcher }) => {
    const on = resolveEvent(event);
    if (!on || (isWire(subject) && subject.host !== "claude")) return [];
    const names = ["Bash", "Edit", "Write", "Read"].filter(compileMatcher(isAboutTool(event) ? matcher : undefined));
    return (isAboutTool(event) ? names : ["Bash"]).map((tool): Probe => {
      const failed = on.outcome === "failure";
      const sub = on.scope === "sub";
      const stamped = {
        ...sampleEvent(on.event, { cwd: place.project, tool, failed }),
        event_id: "check:0",
        timestamp: "2026-01-01T00:00:00.000Z",
        session_id: "check",
        agent_id: sub ? "check-sub" : "check",
        ...(sub && { parent_agent_id: "check", agent_type: "general-purpose" }),
        turn_id: "check:turn",
      } as unknown as AnyEvent;
      const made = isWire(subject)
        ? wireInput(stamped, place.project, { transcript_path: place.transcript }, pascal(kebab(event)))
        : stamped as unknown as Event;
      return { event: narrowed(made, matcher, subject, place), ...says };
    });
  });
}

/** An event that the hook's matcher and `if` let through. */
function narrowed(event: Event, matcher: string | undefined, { rule }: Subject, place: Place): Event {
  const field = event.hook_event_name === "SessionStart" || event.event === "session-start" ? "source" : undefined;
  let made = withTranscript(event, place);
  if (field !== undefined && matcher !== undefined && !compileMatcher(matcher)(String(event[field]))) {
    made = { ...made, [field]: SOURCES.find(compileMatcher(matcher)) ?? event[field] };
  }
  if (rule === undefined || typeof made.tool_name !== "string") return made;
  const tool_input = made.tool_input as Event;
  if (rule.isAbout({ tool_name: made.tool_name, input: tool_input, cwd: place.project })) return made;
  return fitted(made, rule.text, place);
}

/** The conversation is there, but for a session that is just beginning. */
function withTranscript(event: Event, { transcript }: Place): Event {
  if (typeof event.transcript_path !== "string" || event.hook_event_name === "SessionStart") return event;
  const { agent_transcript_path: own } = event;
  return {
    ...event,
    transcript_path: transcript,
    ...(typeof own === "string" && { agent_transcript_path: transcript }),
  };
}

/** The nearest call that a rule such as `Bash(git *)` is about. */
function fitted(event: Event, rule: string, { project }: Place): Event {
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
