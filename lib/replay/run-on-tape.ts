import type { HookRecord } from "../core/hook.ts";
import type { Block } from "../core/messages.ts";
import type { Model } from "../core/model.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import type { McpOptions } from "../mcp/servers.ts";
import type { PermissionAsker } from "../permissions/gate.ts";
import type { Permissions } from "../permissions/rules.ts";
import type { QuestionAsker } from "../tools/question-asker.ts";
import type { MinimalStore } from "../log/stores/memory-store.ts";
import type { OpenedTape, TapeOptions } from "./tape-options.ts";
import { USER } from "../log/tape.ts";

/** The part of an agent that a run on a tape needs: `agent({...})` has it. */
export interface Replayable {
  readonly name: string;
  readonly from?: string;
  open(options: OnTapeOptions): Promise<{
    prompt(prompt: string | readonly Block[]): Promise<Result>;
    setModel?(model: string): Promise<unknown>;
    close(): Promise<void>;
  }>;
}

export interface OnTapeOptions {
  cwd: string;
  tape: TapeOptions;
  on: (event: RunEvent) => void;
  model?: string;
  signal?: AbortSignal;
  store?: MinimalStore;
  resume?: string;
  permissions?: Permissions;
  rules?: Permissions;
  sandbox?: { mode?: "workspace" | "hooks"; git?: boolean; network?: boolean };
  permissionAsker?: PermissionAsker;
  questionAsker?: QuestionAsker;
  mcp?: McpOptions;
  memory?: boolean | readonly string[];
  hooks?: (runner: any) => () => Promise<readonly HookRecord[]>;
}

export type ReplayHooks = NonNullable<OnTapeOptions["hooks"]>;

export interface RunSoFar {
  readonly events: RunEvent[];
  /** One for each prompt that has ended. */
  readonly results: Result[];
}

/** The file of a simulated user, beside the tape that it was recorded with. */
export const USER_FILE = "user.prompt.md";

/** A model that plays the person: it says the next prompt. */
export interface SimulatedUser {
  readonly model: Model;
  readonly modelName: string;
  /** At most so many prompts. */
  readonly turns: number;
  /** The file it was read from. */
  readonly text: string;
  /**
   * What it says next, given what it said and was answered; undefined if it ends the conversation.
   *
   * @throws {Error} if its answer cannot be read, twice
   */
  next(
    said: readonly string[],
    heard: readonly string[],
    ask: Model,
    signal: AbortSignal,
    spent: (usage: Omit<Extract<RunEvent, { type: "usage" }>, "agent_id">) => void,
  ): Promise<string | undefined>;
}

interface PromptText {
  readonly text: string | readonly Block[];
  readonly model?: string | undefined;
}

/**
 * Opens an agent on a tape, gives it the prompts one after the other, and closes it. A simulated user speaks if there
 * are no prompts, or once the run has left its tape. `run` keeps what happened, even if this throws.
 */
export async function runOnTape(
  agent: Pick<Replayable, "open">,
  prompts: readonly PromptText[],
  options: Omit<OnTapeOptions, "on"> & { on?: OnTapeOptions["on"] | undefined; user?: SimulatedUser | undefined },
  run: RunSoFar,
): Promise<void> {
  const { user, ...rest } = options;
  const on = (event: RunEvent) => {
    run.events.push(event);
    options.on?.(event);
  };
  let tape: OpenedTape | undefined;
  const session = await agent.open({
    ...rest,
    on,
    tape: { ...options.tape, onOpen: (opened) => void (tape = opened) },
  });
  const said: string[] = [];
  try {
    for (let next = await nextOf(); next; next = await nextOf()) {
      if (next.model !== undefined) await session.setModel?.(next.model);
      said.push(typeof next.text === "string" ? next.text : JSON.stringify(next.text));
      run.results.push(await session.prompt(next.text));
    }
  } catch (error) {
    if (tape) tape.isInterrupted = true; // half a conversation is not kept
    throw error;
  } finally {
    await session.close();
  }

  async function nextOf(): Promise<PromptText | undefined> {
    const isLive = user && (prompts.length === 0 || (tape?.recording?.calls.length ?? 0) > 0);
    if (!isLive) {
      for (const call of tape?.program?.tape.calls ?? []) {
        // What it said before stays on the tape: this many messages led to this prompt.
        const leads = call.lane === USER && call.request.messages.length === said.length * 2 + 1;
        if (leads) tape!.served.calls.add(call);
      }
      return prompts[said.length];
    }
    const last = run.results.at(-1);
    if (said.length >= user.turns || (last && last.stop !== "done")) return undefined;
    const ask = tape?.lane(USER).model(user.model) ?? user.model;
    const heard = run.results.map(({ text }) => text);
    const { signal = new AbortController().signal } = options;
    const text = await user.next(said, heard, ask, signal, (usage) => on({ agent_id: USER, ...usage }));
    return text === undefined ? undefined : { text };
  }
}
