import { type AnyEvent, EVENTS } from "../../../core/events.ts";
import { pascal, resolveEvent } from "../../../core/names.ts";
import { HOSTS } from "../../../hooks/hosts/index.ts";
import { wireName } from "../../../hooks/process/wire.ts";
import type { Probe } from "../sample-events.ts";
import type { Law, Severity, Violation } from "../check-report.ts";
import type { LaneAsker } from "../hook-lane.ts";
import type { Moment, Probed } from "../subject.ts";

/** How a law reports: its codes begin with one word that names the kind of fault. */
export function violationsOf(law: Law, kind: string) {
  const as = (severity: Severity) => (code: string, message: string, fix: string): Violation => ({
    law,
    code: `${kind}.${code}`,
    severity,
    message,
    fix,
  });
  return { fault: as("fault"), warning: as("warning") };
}

export interface Judged extends Pick<LaneAsker, "subject" | "loaded" | "limit"> {
  readonly probe: Probe;
  readonly probed: Probed;
  readonly secrets: readonly string[];
}

export type Judge = (judged: Judged) => readonly Violation[];

/** Claude Code's names for the events of all hosts. */
const CLAUDE_NAMES: { readonly [name: string]: string } = Object.fromEntries(
  Object.values(HOSTS).flatMap(({ events }) =>
    Object.entries(events).flatMap(([name, { ours }]) => ours ? [[name, pascal(ours[0])]] : [])
  ),
);

export function eventName({ event }: Probe): string {
  const { hook_event_name: name } = event;
  return typeof name === "string" ? name : wireName(event as unknown as AnyEvent);
}

export function claudeName(name: string): string {
  return CLAUDE_NAMES[name] ?? name;
}

/** Whether exit code 2 refuses something at an event, or at least reaches the model. */
export function canBlock(name: string): boolean {
  const known = claudeName(name);
  if (known === "PermissionRequest" || known === "SubagentStart") return false;
  const on = resolveEvent(known);
  return on !== undefined && EVENTS[on.event].deny !== "ignored";
}

/** Whether a refusal at an event prevents something: a hook there is a guard. */
export function isGate(name: string): boolean {
  const on = resolveEvent(claudeName(name));
  return on !== undefined && EVENTS[on.event].deny === "prevents" && name !== "SubagentStart";
}

/** An event at which a hook can keep an agent going. */
export type FindingKeeper = "stop" | "subagent-stop" | "turn-end";

export function keepers(moments: readonly Moment[]): FindingKeeper[] {
  const names = moments.flatMap(({ event }): FindingKeeper[] => {
    const on = resolveEvent(claudeName(event));
    if (on?.event === "turn-end") return ["turn-end"];
    return on?.event !== "stop" ? [] : [on.scope === "sub" ? "subagent-stop" : "stop"];
  });
  return [...new Set(names)];
}

/** A text on one line, cut to so many characters. */
export function brief(text: string, most = 100): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, " ⏎ ");
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
