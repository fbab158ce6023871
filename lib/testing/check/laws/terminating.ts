import { type Asker, refuses } from "../asking/asker.ts";
import { plainProbes } from "../events.ts";
import { brief, type Violation } from "./judged.ts";
import type { Keeper } from "./keepers.ts";
import type { Played, Strategy } from "./_play.ts";
import type { LettingGo, Termination } from "../report/report.ts";
import { wireName } from "./_lacking.ts";
import { random } from "./_random.ts";
import { arranged, type Blocking, blockingStarts, mostStarts, playFrom, type StartOptions, textOf } from "./starts.ts";

export interface TerminatingOptions extends StartOptions {
  readonly seed: number;
  /** What a good agent does about it, as an example tells. */
  readonly fix?: (() => void) | undefined;
}

export interface Terminated {
  readonly termination: Termination;
  readonly violations: readonly (Violation & { readonly trace: readonly string[]; readonly event: string })[];
}

const DONE =
  "Done. Everything is complete, all tests pass, nothing is left to do. <promise>DONE</promise> <promise>COMPLETE</promise> TASK COMPLETE";

/**
 * Terminating: whatever the model does, the hook lets go of it. Plays it against models that do nothing, say that they
 * are done, repeat what they are told, work each time, mend what an example says, or mix these.
 */
export async function terminating(asker: Asker, name: Keeper, options: TerminatingOptions): Promise<Terminated> {
  const rounds = affordable(options.rounds, asker);
  const { starts, lacking } = await blockingStarts(asker, name, { ...options, rounds });
  if (starts.length === 0) {
    return { termination: { verdict: "not refuted", rounds, letsGo: "never blocks" }, violations: lacking };
  }
  const plays: Named[] = [];
  for (const start of starts.slice(0, mostStarts(asker))) {
    // What let go of every model from one start is tried from another with few.
    const content = plays.length > 0 && plays.every(({ played }) => !played.stuck);
    plays.push(...await playAll(asker, name, start, { ...options, rounds }, content));
  }
  const stuck = plays.filter(({ short, played }) => played.stuck && !short);
  const state = [...new Set(plays.flatMap(({ played }) => played.state))];
  if (stuck.length === 0) {
    const letsGo = await howItLetsGo(asker, name, starts[0]!, plays, state);
    return {
      termination: {
        verdict: "not refuted",
        rounds,
        letsGo,
        ...(letsGo === "by its own counter" && counter(state)),
      },
      violations: [],
    };
  }
  const mayEnd = plays.some(({ played }) => !played.stuck);
  const worst = stuck.find(({ tools }) => tools) ?? stuck[0]!;
  const letsGo: LettingGo = mayEnd || !worst.tools || starts.every(({ mess, given }) => mess || given !== undefined)
    ? "relies on the cap"
    : "still blocking";
  return {
    termination: { verdict: "refuted", rounds, letsGo, ...counter(state) },
    violations: [loops(asker, name, letsGo, worst, { rounds, state: counter(state).state ?? [] })],
  };
}

/** The files a hook counts in, as a person would call them. */
function counter(state: readonly string[]): Pick<Termination, "state"> {
  return state.length === 0 ? {} : {
    state: state.slice(0, 3).map((path) =>
      path.replace(/^outside\//, "/tmp/").replace(/^home\//, "~/").replace(/^project\//, "")
    ),
  };
}

/** A play of all rounds should not take minutes; more than a host's cap of 8 are needed to tell anything. */
function affordable(rounds: number, { usual }: Asker): number {
  return Math.min(rounds, Math.max(12, Math.floor(MOST_PLAY_MS / Math.max(1, usual))));
}

const MOST_PLAY_MS = 6000;
/** Models that tell whether a hook holds on: one does nothing, one works. */
const FEW = 2;

function loops(
  asker: Asker,
  name: Keeper,
  letsGo: LettingGo,
  { label, tools, played, start }: Named,
  { rounds, state }: { rounds: number; state: readonly string[] },
) {
  const judged = asker.subject.kind === "prompt";
  const flag = name === "turn-end" ? "its trigger is hook_input" : "stop_hook_active is true";
  const between = tools ? " (tools used between them reset the caps of hosts)" : "";
  const counts = state.length > 0 ? `; what it writes to ${state[0]} does not end it` : "";
  const tried = start.given ? `; tried with ${start.given.about}` : "";
  const how = letsGo === "relies on the cap"
    ? `It lets go only when it is content: a model that ${label} is kept for ${rounds} rounds${between}, and nothing but a cap of the host would end that${counts}`
    : `It is still blocking after ${rounds} rounds with a model that ${label}${between}${counts}`;
  return {
    law: "terminating" as const,
    code: letsGo === "relies on the cap" ? "terminating.cap" : "terminating.loops",
    severity: judged ? "warning" as const : "fault" as const,
    message: `${how}${tried}: refuted`,
    mend: judged
      ? "show the judge {{stop_hook_active}}, and tell it to let go then"
      : `let go when ${flag}, or count in a file and let go after a few`,
    trace: traceOf(played, rounds),
    event: wireName(name),
  };
}

/** One play, and who played. */
interface Named {
  readonly label: string;
  readonly tools: boolean;
  /** It was not given all rounds: that it blocked to the end means nothing. */
  readonly short: boolean;
  readonly played: Played;
  readonly start: Blocking;
}

async function playAll(
  asker: Asker,
  name: Keeper,
  start: Blocking,
  { rounds, seed, fix }: TerminatingOptions,
  few: boolean,
): Promise<Named[]> {
  const draw = random(seed);
  const okay = textOf(start);
  const mix: Strategy = (_, feedback) => {
    const texts = [okay, DONE, feedback || okay, "I will look into it."];
    return { tool: draw() < 0.5, text: texts[Math.floor(draw() * texts.length)]! };
  };
  const all: [label: string, tools: boolean, strategy: Strategy, work?: () => void][] = [
    ["calls a tool each time", true, () => ({ tool: true, text: okay })],
    ["says that it is done", false, () => ({ text: DONE })],
    ["repeats what it is told", false, (_, feedback) => ({ text: feedback || okay })],
    ...(fix
      ? [
        ["does what an example says", true, () => ({ tool: true, text: "Mended." }), fix] as [
          string,
          boolean,
          Strategy,
          () => void,
        ],
      ]
      : []),
    ["does now this, now that", true, mix],
  ];
  const plays: Named[] = [{ label: "does nothing", tools: false, played: start.idle, start, short: false }];
  let lost = false;
  for (const [label, tools, strategy, work] of all) {
    // Once two kinds of model were kept for good, others only tell whether anything makes it let go.
    const most = lost ? Math.min(rounds, asker.slow ? 2 : 6) : rounds;
    const played = await playFrom(asker, name, start, strategy, most, work);
    plays.push({ label, tools, played, start, short: most < rounds });
    lost ||= plays.filter((one) => one.played.stuck).length > 1;
    if (few && plays.length >= FEW && plays.every((one) => !one.played.stuck)) break;
  }
  return plays;
}

/** Why a hook that blocked no longer does. */
async function howItLetsGo(
  asker: Asker,
  name: Keeper,
  start: Blocking,
  plays: readonly Named[],
  state: readonly string[],
): Promise<LettingGo> {
  const longest = Math.max(...plays.map(({ played }) => played.rounds.length));
  if (longest > 2) return state.length > 0 ? "by its own counter" : "by itself";
  if (name === "turn-end") return "by itself";
  // Asked again as if it had not blocked: a hook that counts lets go all the same.
  const [plain] = plainProbes(asker.subject, [{ event: name }], asker.lane.place);
  if (!plain) return "on stop_hook_active";
  asker.lane.restore();
  arranged(start, asker.lane.place);
  let second = false;
  for (let i = 0; i < 2; i++) {
    const event = { ...plain.event, stop_hook_active: false, last_assistant_message: start.text };
    second = refuses(await asker.ask({ event, ...(start.says !== undefined && { says: start.says }) }, { keep: true }));
  }
  asker.lane.restore();
  return second ? "on stop_hook_active" : state.length > 0 ? "by its own counter" : "by itself";
}

const SHOWN = 3;

/** The shortest play that shows it: the rest is the same. */
function traceOf({ rounds }: Played, most: number): string[] {
  const lines = rounds.slice(0, SHOWN).map(({ move, reason, blocked }, i) => {
    const does = `${move.tool ? "calls Edit, " : ""}says '${brief(move.text, 40)}'`;
    return `round ${i + 1}  model ${does} → ${blocked ? `blocked: ${brief(reason, 60)}` : "let go"}`;
  });
  const left = Math.min(rounds.length, most) - SHOWN;
  return left > 0 ? [...lines, `… and so on, to round ${rounds.length}`] : lines;
}
