import { type Message, NO_USAGE, type Prompt, promptText, textOf } from "../core/messages.ts";
import type { Result } from "../core/run-events.ts";
import type { ModelParams } from "../core/model.ts";
import type { SessionState } from "../core/run.ts";
import { thrownWords } from "../core/shown.ts";
import { ToolError } from "../core/tool.ts";
import { resumable, type Transcript } from "../log/stores/store.ts";
import type { TranscriptWriter } from "../log/stores/write-transcript.ts";
import type { Spawned } from "../tools/tool-context.ts";
import type { SessionEngine } from "./engine.ts";

export interface TranscriptPosition {
  /** How many messages there ever were, and how many of them are left to be sent. */
  readonly full: number;
  readonly kept: number;
  /** How many blocks the last one has: a prompt joins a message that is the user's already. */
  readonly blocks: number;
}

/** What a run began with: its first step. Not the conversation, which the store has, but where it stood. */
export interface Begin extends TranscriptPosition {
  readonly prompt: Prompt;
  readonly modelParams?: ModelParams | undefined;
  readonly trigger: "user" | "resume";
  readonly model: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export function placeOf(messages: readonly Message[], compacted: number): TranscriptPosition {
  const kept = messages.length;
  return { full: compacted + kept, kept, blocks: messages.at(-1)?.content.length ?? 0 };
}

/** The conversation as it stood there, whatever was added since. */
export function messagesAt(
  { full, kept, blocks }: TranscriptPosition,
  stored: Transcript | undefined,
  id: string,
): Message[] {
  if (kept === 0) return [];
  const messages = resumable(stored?.full.slice(full - kept, full) ?? []);
  const last = messages.at(-1);
  if (messages.length < kept || last!.content.length < blocks) {
    throw new TypeError(
      `Cannot continue the run of '${id}' as its log is gone: keep logs where the journal is kept`,
    );
  }
  return [...messages.slice(0, -1), { ...last!, content: last!.content.slice(0, blocks) }];
}

function isAt(a: TranscriptPosition, b: TranscriptPosition): boolean {
  return a.full === b.full && a.kept === b.kept && a.blocks === b.blocks;
}

/** What a run is asked to begin with. */
export type BeginAsked = Pick<Begin, "prompt" | "modelParams" | "trigger">;

interface Beginning extends BeginAsked {
  readonly state: SessionState;
  readonly transcript: TranscriptWriter;
  readonly stored: Transcript | undefined;
}

/**
 * Begins a run on an engine. One that began in another process begins again as it did there (`again`): with its
 * prompt, its model, and the conversation as it was.
 *
 * @throws {TypeError} if it cannot begin
 */
export async function beginRun(
  engine: SessionEngine,
  { prompt, modelParams, trigger, state, transcript, stored }: Beginning,
): Promise<Begin & { readonly again: boolean }> {
  let again = true;
  const begin = await engine.step(beginName(state), async (): Promise<Begin> => {
    again = false;
    const place = placeOf(state.messages, transcript.compacted());
    const given = { prompt, ...(modelParams && { modelParams }), trigger };
    return { ...given, model: state.model, at: state.clock.now(), ...place };
  });
  state.begun = begin.at;
  if (!again) return { ...begin, again };
  if (prompt !== "" && JSON.stringify(prompt) !== JSON.stringify(begin.prompt)) {
    throw stillOpen(state.id, begin.prompt);
  }
  state.model = begin.model;
  if (isAt(begin, placeOf(state.messages, transcript.compacted()))) return { ...begin, again };
  state.messages = messagesAt(begin, stored, state.id);
  transcript.rewind(begin);
  return { ...begin, again };
}

/** The Result of a session's last run, again: without a prompt, as it may have ended without anyone reading it. */
export function lastResult(state: SessionState, stored: Transcript | undefined): Result | undefined {
  const ending = stored?.endings.at(-1);
  if (!ending?.result) return undefined;
  const { messages } = stored!;
  const said = textOf(messages.findLast(({ role }) => role === "assistant"));
  const { stop, usage, cost, result } = ending;
  return { ...NOTHING, id: state.id, text: said, ...result, stop, messages, usage, cost: cost ?? undefined };
}

/** What came of a run that did nothing. */
const NOTHING = { text: "", turns: 0, iterations: 0, modelCalls: 0, usage: NO_USAGE, cost: 0, denials: [] };

/** Why a session takes no other prompt than that of a run which did not come to its end. */
export function stillOpen(id: string, prompt: Prompt): TypeError {
  const words = JSON.stringify(promptText(prompt).slice(0, 100));
  const fix = `go on with it first, with no prompt or ${words}`;
  return new TypeError(`Cannot prompt session '${id}' as its last run was interrupted: ${fix}`);
}

export function beginName({ agentId, runs }: SessionState): string {
  return `begin:${agentId}:${runs}`;
}

/** How an agent below another ended. */
export type Outcome =
  | { readonly spawned: Spawned }
  | { readonly failed: { readonly message: string; readonly code: string } };

/** How the work of an agent ended, whether or not it failed. */
export async function outcomeOf(working: () => Promise<Spawned>): Promise<Outcome> {
  try {
    return { spawned: await working() };
  } catch (error) {
    return { failed: { message: thrownWords(error), code: error instanceof ToolError ? error.code : "agent_error" } };
  }
}

/** What such an end is to the tool that asked for the agent. */
export function spawnedBy(end: Outcome): Spawned {
  if ("failed" in end) throw new ToolError(end.failed.message, { code: end.failed.code });
  return end.spawned;
}

/** How a run ends that its engine did not let begin. */
export function notBegun({ id, messages }: SessionState, thrown: unknown): Result {
  const error = { type: "engine", message: thrownWords(thrown) };
  return { ...NOTHING, id, stop: "error", messages: messages.slice(), error };
}
