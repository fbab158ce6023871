import { isToolUse } from "../../core/messages.ts";
import type { Result, RunEvent } from "../../core/run-events.ts";
import { callSubject } from "../../view/calls.ts";
import { oneLine } from "./text.ts";

/** The refused calls of a run and its sub-agents: without a terminal nothing else shows them. */
export class RefusedCalls {
  readonly #cwd: string;
  readonly #inputs = new Map<string, unknown>();
  readonly #denials: Result["denials"][number][] = [];

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** The line for a call that was refused: tool, rule or hook, and what would allow it. */
  see(event: RunEvent): string | undefined {
    if (event.type === "message") {
      for (const block of event.message.content) if (isToolUse(block)) this.#inputs.set(block.id, block.input);
    }
    if (event.type !== "tool_end" || !event.refused) return undefined;
    const { id, name, refused: { by, reason, note } } = event;
    this.#denials.push({ tool_name: name, tool_use_id: id, reason, by });
    const call = `${name} ${callSubject(name, this.#inputs.get(id), this.#cwd)}`.trim();
    return `refused ${shortened(oneLine(call))}: ${oneLine(note ?? reason)}`;
  }

  /** The result with the denials of sub-agents beside its own. */
  in(result: Result): Result {
    const own = new Set(result.denials.map(({ tool_use_id }) => tool_use_id));
    return { ...result, denials: [...result.denials, ...this.#denials.filter((one) => !own.has(one.tool_use_id))] };
  }
}

const MOST_CHARACTERS = 100;

function shortened(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}
