import { isToolResult, type ToolResultBlock } from "../core/messages.ts";
import type { Around } from "../core/run.ts";
import { canonical } from "./canonical.ts";
import { differs } from "./drift/difference.ts";
import type { ToolDrift } from "./drift/drift.ts";
import type { ToolFact } from "./format.ts";
import type { Program } from "./match.ts";
import { normalised } from "./normalise.ts";
import type { Mask } from "./redact/mask.ts";

interface ShownResult {
  readonly block: ToolResultBlock;
  readonly path: string;
}

/** Compares the real results of a lane's tools with the recorded ones, which the model gets. */
export class Verification {
  readonly #program: Program;
  readonly #lane: string;
  readonly #mask: () => Mask;
  readonly #drifted: (drift: ToolDrift) => void;
  /** What the model read about each call, after hooks changed it. */
  readonly #shown = new Map<string, ShownResult[]>();

  constructor(program: Program, lane: string, mask: () => Mask, drifted: (drift: ToolDrift) => void) {
    this.#program = program;
    this.#lane = lane;
    this.#mask = mask;
    this.#drifted = drifted;
    const seen = new Set<unknown>();
    for (const { request } of program.tape.calls.filter((call) => call.lane === lane)) {
      for (const [at, message] of request.messages.entries()) {
        if (seen.has(message)) continue;
        seen.add(message);
        for (const [i, block] of message.content.entries()) {
          if (isToolResult(block)) this.#hear({ block, path: `messages.${at}.content.${i}` });
        }
      }
    }
  }

  /** Ids may be used again; a message that was made again says the same again. */
  #hear(shown: ShownResult): void {
    const { tool_use_id: id } = shown.block;
    const known = this.#shown.get(id);
    if (!known) this.#shown.set(id, [shown]);
    else if (canonical(known.at(-1)!.block) !== canonical(shown.block)) known.push(shown);
  }

  /** A tool's own result beside the one on the tape. */
  result(tool: string, id: string, recorded: ToolFact["result"], now: ToolFact["result"]): void {
    this.#compare(tool, id, this.#shown.get(id)?.[0]?.path, recorded, now);
  }

  /**
   * What the model read about a call whose own result is not on the tape, compared with what it would read now: hooks
   * may change a tool's result.
   */
  readonly retell: NonNullable<Around["result"]> = (tool, id, now) => {
    const { tools } = this.#program.tape;
    const known = this.#shown.get(id);
    if (!known || tools.some((fact) => fact.lane === this.#lane && fact.tool === id)) return now;
    const { block, path } = known.length > 1 ? known.shift()! : known[0]!;
    this.#compare(tool, id, path, block, now);
    const { content, is_error = false } = this.#mask().off(block);
    return { content, is_error };
  };

  #compare(tool: string, id: string, path: string | undefined, recorded: Compared, now: Compared): void {
    const { normalise } = this.#program;
    const read = ({ content, is_error }: Compared) => {
      const shown = { content, ...(is_error && { is_error }) };
      return path !== undefined && normalise ? normalised(shown, path, normalise) : shown;
    };
    const found = differs(read(recorded), read(this.#mask().on(now)), "result");
    if (found) this.#drifted({ lane: this.#lane, tool, id, ...found });
  }
}

interface Compared {
  readonly content?: unknown;
  readonly is_error?: boolean;
}
