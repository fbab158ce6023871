import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Asker } from "../asking/asker.ts";
import type { Place } from "../asking/probe.ts";
import { MESS } from "../asking/scratch.ts";
import type { Probe } from "../events.ts";
import type { Keeper } from "./keepers.ts";
import { lackingAt } from "./_lacking.ts";
import { play, type Played, type Strategy } from "./_play.ts";

/** A state of the project, and what the model says in it. */
export interface Start {
  readonly mess: boolean;
  readonly text: string;
  readonly says?: string;
  /** Makes it so, where an example tells how. */
  readonly given?: State;
}

/** One in which the hook blocks, as was seen with a model that does nothing. */
export interface Blocking extends Start {
  readonly idle: Played;
}

/** Makes a state of the workspace, and says what it is. */
export interface State {
  readonly arrange: () => void;
  readonly about: string;
}

export interface StartOptions {
  /** How long a play goes on. */
  readonly rounds: number;
  /** Events the hook was seen to block at. */
  readonly blocked: readonly Probe[];
  /** States in which the hook blocks, as examples or its own text tell. */
  readonly states?: readonly State[];
}

/** From how many starts a hook is played. */
export function mostStarts({ slow }: Asker): number {
  return slow ? 1 : 2;
}

/** Where the hook blocks at all: as the project is, as an example has it, in a mess, and after words it was seen to block at. */
export async function blockingStarts(
  asker: Asker,
  name: Keeper,
  { blocked, rounds, states = [] }: StartOptions,
): Promise<{ readonly starts: readonly Blocking[]; readonly lacking: ReturnType<typeof lackingAt> }> {
  const says = asker.subject.kind === "prompt" ? { says: '{"ok": false, "reason": "Not yet"}' } : {};
  const texts = [
    "Okay.",
    ...blocked.map(({ event }) => String(event.last_assistant_message ?? event.prompt_response ?? "")),
  ];
  const said = (mess: boolean): Start[] => texts.slice(0, 3).map((text) => ({ mess, text, ...says }));
  const told = states.map((given): Start => ({ mess: false, text: "Okay.", given, ...says }));
  const starts: Blocking[] = [];
  const lacking: ReturnType<typeof lackingAt>[number][] = [];
  for (const start of [...said(false), ...told, ...said(true)]) {
    if (starts.some(({ mess, given }) => mess === start.mess && given === start.given)) continue;
    const most = starts.length < mostStarts(asker) ? rounds : 1;
    const idle = await playFrom(asker, name, start, () => ({ text: textOf(start) }), most);
    const [first] = idle.rounds;
    if (first?.blocked) starts.push({ ...start, idle });
    else if (first && lacking.length === 0) {
      lacking.push(...lackingAt(name, first, asker.subject.host, triedWith(start)));
    }
  }
  return { starts, lacking };
}

export function textOf({ text }: Start): string {
  return text || "Okay.";
}

function triedWith({ given, mess }: Start): string {
  return given?.about ?? (mess ? "a project with open work" : "the project as it is");
}

export async function playFrom(
  asker: Asker,
  event: Keeper,
  start: Start,
  strategy: Strategy,
  most: number,
  work?: () => void,
): Promise<Played> {
  const { lane } = asker;
  // What a module remembers of the last play would be a state of no session.
  asker.forget();
  arranged(start, lane.place);
  try {
    const played = await play(asker, {
      strategy,
      most,
      event,
      ...(start.says !== undefined && { says: start.says }),
      ...(work && { work }),
    });
    return { ...played, state: played.state.filter((path) => !path.startsWith("project/.git/")) };
  } finally {
    lane.restore();
  }
}

export function arranged({ mess, given }: Start, { project }: Place): void {
  given?.arrange();
  if (!mess) return;
  for (const [path, text] of Object.entries(MESS)) {
    const full = join(project, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  }
}
