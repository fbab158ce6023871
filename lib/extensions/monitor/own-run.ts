import type { WatchOptions } from "../../cli/kit/run-gifts.ts";
import type { Agent, AgentSession, RunOptions } from "../../agent/options.ts";
import type { Stop } from "../../core/events.ts";
import { quietly } from "../../core/json.ts";
import type { RunEvent } from "../../core/run-events.ts";
import { thisOwner } from "../../process/owner.ts";
import { redact } from "../../log/redact/redact.ts";
import { type AgentEvent, appendEvent, beginLog, nextState, type PromptType } from "./monitor-log.ts";
import { agentsDir, logOf, promptTypeOf, questionIn, startAction } from "./note.ts";

/** The agent, with its runs among the watched ones: `crochet agents` shows what each does and asks. */
export default function monitored(agent: Agent, options: WatchOptions): Agent {
  return {
    ...agent,
    run: async (prompt, own = {}) => {
      const life = new OwnRunLog(agent.name, options);
      try {
        const result = await agent.run(prompt, life.watch(own));
        life.end(result.stop);
        return result;
      } catch (error) {
        life.end("error");
        throw error;
      }
    },
    open: async (own = {}) => {
      const life = new OwnRunLog(agent.name, options);
      const session = await agent.open(life.watch(own));
      const close: AgentSession["close"] = async (reason) => {
        life.end("done");
        await session.close(reason);
      };
      return Object.create(session, { close: { value: close } });
    },
  };
}

/** The longest message in the log: it is read at a glance. */
const MOST_CHARACTERS = 200;

/** The log of one session of ours: that it begins, asks, continues and ends. That it cannot be written stops no run. */
class OwnRunLog {
  readonly #name: string;
  readonly #options: WatchOptions;
  readonly #dir: string;
  #id: string | undefined;
  #state: ReturnType<typeof nextState> | undefined;

  constructor(name: string, options: WatchOptions) {
    this.#name = name;
    this.#options = options;
    this.#dir = agentsDir(options.env);
  }

  watch(own: RunOptions): RunOptions {
    const { on, permissionAsker, questionAsker } = own;
    const asking = async <T>(type: PromptType, message: string, question: () => Promise<T>): Promise<T> => {
      this.#prompt(type, message, { shown: true });
      try {
        return await question();
      } finally {
        this.#add({ type: "activity" });
      }
    };
    return {
      ...own,
      on: (event) => {
        this.#see(event, questionAsker === undefined);
        on?.(event);
      },
      ...(permissionAsker && {
        permissionAsker: (question, signal) =>
          asking("permission", `${question.tool_name}: ${question.reason}`, () => permissionAsker(question, signal)),
      }),
      ...(questionAsker && {
        questionAsker: {
          answer: (questions, signal) =>
            asking("question", questionIn({ questions }), () => questionAsker.answer(questions, signal)),
          approve: (request, signal) =>
            asking("plan_approval", questionIn(request), () => questionAsker.approve(request, signal)),
        },
      }),
    };
  }

  #see(event: RunEvent, alone: boolean): void {
    if (event.type === "start" && this.#id === undefined) return this.#begin(event.session_id);
    // A durable run waits for an answer from elsewhere; its process may end meanwhile.
    if (event.type === "question") {
      return this.#prompt("permission", `${event.tool_name}: ${event.reason}`, { outlivesProcess: true });
    }
    if (event.agent_id !== this.#id) return;
    const prompt = event.type === "tool_start" && alone ? promptTypeOf(event.name) : undefined;
    if (prompt !== undefined) this.#prompt(prompt, questionIn((event as { input?: unknown }).input));
    // A question without an asker to answer it outlives the turn.
    else if (event.type === "end" && this.#state?.state === "working") this.#add({ type: "turn_end" });
    else if (WORKING.has(event.type) && this.#state?.state !== "working") this.#add({ type: "activity" });
  }

  #begin(id: string): void {
    this.#id = id;
    const { workspace } = this.#options;
    const event = { type: "start", workspace, name: this.#name, owner: thisOwner(), at: now() } as const;
    this.#state = nextState(undefined, event);
    quietly(() => beginLog(logOf(this.#dir, id), event));
  }

  #prompt(prompt_type: PromptType, message: string, { shown = false, outlivesProcess = false } = {}): void {
    const before = this.#state;
    this.#add({ type: "prompt", prompt_type, message: redact(message).slice(0, MOST_CHARACTERS) });
    // Before the action starts: that takes long enough for the process to end.
    if (outlivesProcess) this.#add({ type: "left" });
    const after = this.#state;
    if (after?.state !== "prompting" || after === before) return;
    quietly(() => startAction(this.#options.onPrompt, this.#id!, after, { shown }));
  }

  end(stop: Stop): void {
    if (stop === "waiting" && this.#state?.state === "prompting") this.#add({ type: "left" });
    else this.#add({ type: "end", ...(!QUIET.includes(stop) && { failed: true }) });
  }

  #add(event: UntimedEvent): void {
    if (this.#id === undefined) return;
    const timed = { ...event, at: now() } as AgentEvent;
    this.#state = nextState(this.#state, timed);
    quietly(() => appendEvent(logOf(this.#dir, this.#id!), timed));
  }
}

type UntimedEvent = AgentEvent extends infer E ? E extends AgentEvent ? Omit<E, "at"> : never : never;

/** Events that only happen when an agent works again. */
const WORKING: ReadonlySet<RunEvent["type"]> = new Set(["start", "text", "thinking", "usage", "tool_start"]);

/** Ends that are not failures. */
const QUIET: readonly Stop[] = ["done", "halted", "denied", "waiting", "aborted"];

function now(): string {
  return new Date().toISOString();
}
