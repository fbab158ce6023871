import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pascal } from "../../../core/names.ts";
import { assistant, type Message, text, toolResult, user } from "../../../core/messages.ts";
import { momentEvent, type Probe } from "../sample-events.ts";
import { type LaneAsker, refuses } from "../hook-lane.ts";
import { writeFiles } from "../../../files/tree.ts";
import { OPEN_WORK, writeTranscript } from "../scratch-project.ts";
import type { LettingGo, Termination, Violation } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { brief, type FindingKeeper } from "./judged.ts";

export interface State {
  /** Who asks the hook: with the environment that the state needs. */
  readonly asker: LaneAsker;
  readonly arrange?: () => void;
  readonly about?: string;
}

interface TerminatingOptions {
  readonly rounds: number;
  /** Whether the rounds are fewer than were asked for, as the hook is slow: then one model that is kept shows nothing. */
  readonly isShort: boolean;
  /** Answers of a model that end its turn. */
  readonly texts: readonly string[];
  readonly states: readonly State[];
  /** What a good agent does about a refusal, if an example says so. */
  readonly fix?: (() => void) | undefined;
  /** Judges each answer by the other laws. */
  readonly judge: (probe: Probe, probed: Probed) => void;
}

interface Terminated {
  readonly termination: Termination;
  readonly violation?: Violation & { readonly trace: readonly string[]; readonly event: string };
}

/** What a model says that has nothing to say. */
export const OKAY = "Okay.";
const DONE =
  "Done. Everything is complete, all tests pass, nothing is left to do. <promise>DONE</promise> <promise>COMPLETE</promise> TASK COMPLETE";
const MOST_STARTS = 2;

interface Strategy {
  readonly label: string;
  /** Whether it calls a tool before it says something. */
  readonly tools?: boolean;
  /** What it says next, given what the hook said last. */
  readonly says: (feedback: string) => string;
  readonly work?: (() => void) | undefined;
}

/** One time the hook was asked whether the agent may end. */
interface Round {
  readonly said: string;
  readonly blocked: boolean;
  readonly reason: string;
}

interface Played {
  readonly strategy: Strategy;
  readonly start: Start;
  readonly rounds: readonly Round[];
  /** Whether it blocked to the last of all rounds. */
  readonly stuck: boolean;
}

interface Start extends State {
  readonly text: string;
}

/** Terminating: the hook lets every model end, from every state. Undefined if what was played does not show it. */
export async function terminating(
  asker: LaneAsker,
  name: FindingKeeper,
  options: TerminatingOptions,
): Promise<Terminated | undefined> {
  const { rounds, isShort, texts } = options;
  const { project } = asker.lane.place;
  const openWork = { asker, arrange: () => writeFiles(project, Object.entries(OPEN_WORK)) };
  const starts: readonly Start[] = [
    ...texts.map((said) => ({ asker, text: said })),
    ...options.states.map((state) => ({ ...state, text: OKAY })),
    ...texts.map((said) => ({ ...openWork, about: "open work in the project", text: said })),
  ];
  const plays: Played[] = [];
  const blocking: Start[] = [];
  for (const start of starts) {
    if (blocking.length >= MOST_STARTS || blocking.some(({ arrange }) => arrange === start.arrange)) continue;
    const play = (strategy: Strategy, most: number) => playOne(name, start, strategy, most, options.judge);
    const idle = await play({ label: "does nothing", says: () => start.text }, rounds);
    if (!idle.rounds[0]?.blocked) continue;
    blocking.push(start);
    plays.push(idle);
    // A hook that let every model go from one state is tried from another with the first.
    const all = strategiesFor(start.text, options.fix);
    for (const strategy of blocking.length > 1 ? all.slice(0, 1) : all) {
      // Once two models were kept for good, others only show whether anything makes it let go.
      const enough = plays.filter(({ stuck }) => stuck).length > 1;
      const played = await play(strategy, enough ? Math.min(isShort ? 2 : 6, rounds) : rounds);
      plays.push(enough ? { ...played, stuck: played.stuck && played.rounds.length === rounds } : played);
    }
    if (plays.some(({ stuck }) => stuck)) break;
  }
  const kept = plays.filter(({ stuck }) => stuck).length;
  // Plays that were cut say nothing of what the others would have shown.
  if (kept < 2 && (asker.time.wasOver || isShort && kept > 0)) return undefined;
  return await concluded(asker, name, plays, rounds);
}

function strategiesFor(okay: string, fix: TerminatingOptions["fix"]): Strategy[] {
  return [
    { label: "calls a tool each time", tools: true, says: () => okay },
    { label: "says that it is done", says: () => DONE },
    { label: "repeats what the hook said", says: (feedback) => feedback || okay },
    ...(fix ? [{ label: "applies the fix of an example", tools: true, says: () => "Fixed.", work: fix }] : []),
  ];
}

async function concluded(
  asker: LaneAsker,
  name: FindingKeeper,
  plays: readonly Played[],
  rounds: number,
): Promise<Terminated> {
  if (plays.length === 0) return { termination: { verdict: "not refuted", rounds, letsGo: "never blocks" } };
  const stuck = plays.filter((play) => play.stuck);
  if (stuck.length === 0) {
    return { termination: { verdict: "not refuted", rounds, letsGo: await howItLetsGo(name, plays) } };
  }
  const worst = stuck.find(({ strategy }) => strategy.tools) ?? stuck[0]!;
  const mayEnd = plays.some(({ rounds: played }) => played.at(-1)?.blocked === false) ||
    worst.start.arrange !== undefined;
  const letsGo: LettingGo = mayEnd || !worst.strategy.tools ? "relies on the cap" : "still blocking";
  return { termination: { verdict: "refuted", rounds, letsGo }, violation: loops(asker, name, letsGo, worst, rounds) };
}

function loops(
  asker: LaneAsker,
  name: FindingKeeper,
  letsGo: LettingGo,
  { strategy, rounds: played, start }: Played,
  rounds: number,
): NonNullable<Terminated["violation"]> {
  const judged = asker.subject.kind === "prompt";
  const flag = name === "turn-end" ? "its trigger is hook_input" : "stop_hook_active is true";
  const between = strategy.tools ? " (tools used in between reset the caps of hosts)" : "";
  const tried = start.about === undefined ? "" : `; tried with ${start.about}`;
  const how = letsGo === "relies on the cap"
    ? `It lets go only when it is satisfied: a model that ${strategy.label} is kept for ${rounds} rounds${between}, and only a cap of the host would end that`
    : `It is still blocking after ${rounds} rounds with a model that ${strategy.label}${between}`;
  return {
    law: "terminating",
    code: letsGo === "relies on the cap" ? "endless.until-cap" : "endless.loop",
    severity: judged ? "warning" : "fault",
    message: `${how}${tried}: refuted`,
    fix: judged
      ? "show the judge {{stop_hook_active}}, and tell it to let go then"
      : `let go when ${flag}, or count in a file and let go after a few rounds`,
    trace: traceOf(played, strategy),
    event: pascal(name),
  };
}

const SHOWN = 3;

function traceOf(rounds: readonly Round[], { tools }: Strategy): string[] {
  const lines = rounds.slice(0, SHOWN).map(({ said, reason, blocked }, i) => {
    const does = `${tools ? "calls Edit, " : ""}says '${brief(said, 40)}'`;
    return `round ${i + 1}  model ${does} → ${blocked ? `blocked: ${brief(reason, 60)}` : "let go"}`;
  });
  return rounds.length > SHOWN ? [...lines, `… and so on, to round ${rounds.length}`] : lines;
}

const NOTES = "project/notes.txt";

/** Plays one model against the hook until it lets go or the rounds are over. What the hook writes stays between rounds. */
async function playOne(
  name: FindingKeeper,
  start: Start,
  strategy: Strategy,
  most: number,
  judge: TerminatingOptions["judge"],
): Promise<Played> {
  const { asker } = start;
  const { place } = asker.lane;
  const messages: Message[] = [user([text("Fix the failing test")])];
  const rounds: Round[] = [];
  let feedback = "";
  let stalled = 0;
  await inState(start, async () => {
    while (rounds.length < most && (rounds.at(-1)?.blocked ?? true) && !asker.time.isOver) {
      const said = strategy.says(feedback);
      stalled = strategy.tools ? 0 : stalled + 1;
      if (strategy.tools) {
        appendFileSync(join(place.root, NOTES), "changed\n");
        strategy.work?.();
        messages.push(...toolCall(rounds.length, join(place.root, NOTES)));
      }
      messages.push(assistant([text(said)]));
      writeTranscript(place, messages, "check");
      const probe = stopProbe(asker, name, { messages: [...messages], said, round: rounds.length, stalled });
      const probed = await asker.ask(probe, { keep: true });
      if (rounds.length === 0) judge(probe, probed);
      feedback = reasonOf(probed);
      rounds.push({ said, blocked: refuses(probed), reason: feedback });
      messages.push(user([text(feedback || "Go on")]));
    }
  });
  const stuck = rounds.length === most && rounds.at(-1)!.blocked;
  return { strategy, start, rounds, stuck };
}

function toolCall(n: number, file_path: string): Message[] {
  const id = `toolu_${String(n).padStart(4, "0")}`;
  const use = { type: "tool_use", id, name: "Edit", input: { file_path } } as const;
  return [
    assistant([text("I will look."), use]),
    user([toolResult(id, `The file ${file_path} has been updated successfully.`)]),
  ];
}

function stopProbe(
  { subject, lane }: LaneAsker,
  name: FindingKeeper,
  asked: { readonly messages: readonly Message[]; said: string; round: number; stalled: number },
): Probe {
  const { messages, said, round, stalled } = asked;
  const fields = name === "turn-end" ? { trigger: round === 0 ? "user" : "hook_input", stop: "done" } : {
    stop_hook_active: round > 0,
    continuations: round,
    stalled: Math.min(stalled, round),
    remaining: null,
  };
  const event = momentEvent(subject, name, lane.place, { ...fields, last_assistant_message: said, messages });
  if (subject.kind !== "prompt") return { event };
  // A judge that reads that it has blocked before lets go.
  const readsFlag = subject.file && /\{\{\s*stop_hook_active\s*\}\}/.test(readFileSync(subject.file, "utf8"));
  return { event, says: round > 0 && readsFlag ? '{"ok": true}' : '{"ok": false, "reason": "Not yet"}' };
}

function reasonOf({ opinion, inputs }: Probed): string {
  const said = opinion?.reason ?? opinion?.contexts?.map(({ text }) => text).join("\n") ?? inputs?.join("\n") ?? "";
  return said.replace(/^\[hook\]: /, "").trim();
}

/** Why a hook that blocked no longer does. */
async function howItLetsGo(name: FindingKeeper, plays: readonly Played[]): Promise<LettingGo> {
  if (name === "turn-end" || plays.some(({ rounds }) => rounds.length > 2)) return "by itself";
  // Asked twice as if it had not blocked before: a hook that counts lets go all the same.
  const { start } = plays[0]!;
  const { asker, text: said } = start;
  return await inState(start, async () => {
    const probe = stopProbe(asker, name, { messages: [], said, round: 0, stalled: 0 });
    await asker.ask(probe, { keep: true });
    return refuses(await asker.ask(probe, { keep: true })) ? "on stop_hook_active" : "by itself";
  });
}

/** Works from a state of the project, which is put back afterwards. */
async function inState<T>({ asker, arrange }: State, work: () => Promise<T>): Promise<T> {
  asker.forget();
  try {
    // The process remembers the place as it was before.
    await asker.lane.open();
    arrange?.();
    return await work();
  } finally {
    asker.lane.restore();
  }
}
