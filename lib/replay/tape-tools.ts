import { getOrMake } from "../core/maps.ts";
import { isToolResult, type ToolResultBlock } from "../core/messages.ts";
import type { Interceptor } from "../core/run.ts";
import { type Tool, ToolError, type ToolReturn } from "../core/tool.ts";
import type { ToolContext } from "../tools/tool-context.ts";
import { CWD } from "../tools/tool-state.ts";
import { applyChanges, changesSince, makeFolder, snapshot, withOtherTexts, withTexts } from "./scratch.ts";
import { canonical } from "../log/canonical.ts";
import { differs } from "./drift/difference.ts";
import type { ToolFact } from "../log/entry.ts";
import { type BegunCall, failureOf, output, plainJson, resultOf, type ToolSteps } from "../log/step.ts";
import { normalised } from "./normalise.ts";
import { laneBelow } from "../log/tape.ts";
import type { TapeLane } from "./tape-lane.ts";
import type { ResultsKept } from "./tape-options.ts";
import type { TapedSession } from "./taped-session.ts";

/** The calls of a lane on a tape: recorded, or served; to verify or renew it the tools run too. */
export class TapeTools implements ToolSteps {
  readonly lane: string;
  readonly #session: TapedSession;
  readonly #of: TapeLane;
  readonly #verification: Verification | undefined;
  readonly #known = new Map<string, ToolFact[]>();

  constructor(session: TapedSession, lane: TapeLane, verification: Verification | undefined) {
    this.lane = lane.name;
    this.#session = session;
    this.#of = lane;
    this.#verification = verification;
    for (const fact of session.earlier?.tape.tools ?? []) {
      if (fact.lane === lane.name) getOrMake(this.#known, fact.tool, () => []).push(fact);
    }
  }

  async serve(tool: Tool, input: unknown, context: ToolContext): Promise<ToolReturn | undefined> {
    const session = this.#session;
    const { calls } = session.policy;
    const fact = this.#next(context.toolUseId);
    if (fact && calls === "compare") {
      const real = await reallyRun(tool, input, context);
      // An aborted call has no result to compare.
      if (!context.signal.aborted) this.#verification?.result(tool.name, context.toolUseId, fact.result, real);
      const { response } = real;
      return output({ ...(response !== undefined && { response }), ...session.mask.off(fact.result) });
    }
    if (fact && tool.effect !== "none") {
      if (calls === "serve") return await this.#recorded(fact, input, context);
      if (this.#isFor(fact, input)) {
        // What follows may build on what the tool does; a tape is renewed from its first difference on, not from here.
        await reallyRun(tool, input, context);
        session.line(withOtherTexts(fact, session.mask.off));
        return output(session.mask.off(fact.result));
      }
    }
    if (!fact && tool.effect === "write" && this.#lacks(tool, context.toolUseId)) {
      throw new ToolError(`Cannot replay ${tool.name} as the recorded run never made this call: nothing was run`, {
        code: "tape_drift",
      });
    }
    return undefined;
  }

  /** What came next of a call that was made more than once. A run that has left its tape makes other calls, even of the same id. */
  #next(toolUseId: string): ToolFact | undefined {
    const { calls, writes } = this.#session.policy;
    if (calls === "run" || (writes && this.#of.clock.isLive)) return undefined;
    const queue = this.#known.get(toolUseId);
    return queue && queue.length > 1 ? queue.shift() : queue?.[0];
  }

  /** Whether a call that has no result on the tape was never made: a replay that serves tools must not make it. */
  #lacks({ name }: Tool, toolUseId: string): boolean {
    const { policy: { isOffline, mutate }, program } = this.#session;
    if (!isOffline || mutate || !keepsResult(program!.tape.header, name)) return false;
    // What starts agents is not on a tape: they are.
    return !program!.tape.clocks.some(({ clock }) => clock === laneBelow(this.lane, toolUseId));
  }

  #isFor({ input: recorded }: ToolFact, input: unknown): boolean {
    return canonical(this.#session.mask.on(plainJson(input))) === canonical(recorded);
  }

  async #recorded(fact: ToolFact, input: unknown, { state, signal }: ToolContext): Promise<ToolReturn> {
    const { mask, root, served } = this.#session;
    const { name, result, cwd, aborted, ms } = fact;
    if (!this.#isFor(fact, input)) {
      const { path } = differs(fact.input, mask.on(plainJson(input)), "input")!;
      throw new ToolError(
        `Cannot replay ${name} as its ${path} is not the recorded one: run it for real, or record again`,
        { code: "tape_drift" },
      );
    }
    if (aborted) await this.#of.untilAborted(signal, ms);
    // Those changes that no later call has made already.
    if (fact.files) await served.change(fact, (files) => applyChanges(root, withTexts(files, mask.off)));
    if (cwd !== undefined) {
      const place = mask.off(cwd);
      await makeFolder(root, place);
      state.set(CWD, () => place);
    }
    return output(mask.off(result));
  }

  /** One that starts agents is not noted: they have lanes of their own, so it runs again on replay. */
  begins({ name, effect }: Tool, given: unknown): BegunCall | undefined {
    const session = this.#session;
    if (!keepsResult(session.records, name)) return undefined;
    const input = plainJson(given);
    const before = effect === "write" ? snapshot(session.root) : undefined;
    return {
      note: ({ spawned, ...fact }) => {
        if (spawned) return;
        const files = before ? changesSince(session.root, before) : {};
        session.line({ ...fact, input, ...(Object.keys(files).length > 0 && { files }) });
      },
    };
  }

  ended(): void {
    this.#of.clock.nextStep();
  }
}

function keepsResult({ tools, mcp }: ResultsKept, name: string): boolean {
  return tools || (mcp === true && name.startsWith("mcp__"));
}

async function reallyRun(tool: Tool, input: unknown, context: ToolContext): Promise<ToolFact["result"]> {
  try {
    return resultOf(await tool.run(input, context));
  } catch (error) {
    return failureOf(error);
  }
}

interface ShownResult {
  readonly block: ToolResultBlock;
  readonly path: string;
}

/** Compares the real results of a lane's tools with the recorded ones, which the model gets. */
export class Verification {
  readonly #session: TapedSession;
  readonly #lane: string;
  /** What the model read about each call, after hooks changed it. */
  readonly #shown = new Map<string, ShownResult[]>();

  constructor(session: TapedSession, lane: string) {
    this.#session = session;
    this.#lane = lane;
    const seen = new Set<unknown>();
    for (const { request } of session.program!.tape.calls.filter((call) => call.lane === lane)) {
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
    const known = getOrMake(this.#shown, shown.block.tool_use_id, () => []);
    if (canonical(known.at(-1)?.block) !== canonical(shown.block)) known.push(shown);
  }

  /** A tool's own result beside the one on the tape. */
  result(tool: string, id: string, recorded: ToolFact["result"], now: ToolFact["result"]): void {
    this.#compare(tool, id, this.#shown.get(id)?.[0]?.path, recorded, now);
  }

  /**
   * What the model read about a call whose own result is not on the tape, compared with what it would read now: hooks
   * may change a tool's result.
   */
  readonly retell: NonNullable<Interceptor["result"]> = (tool, id, now) => {
    const { program, mask } = this.#session;
    const known = this.#shown.get(id);
    if (!known || program!.tape.tools.some((fact) => fact.lane === this.#lane && fact.tool === id)) return now;
    const { block, path } = known.length > 1 ? known.shift()! : known[0]!;
    this.#compare(tool, id, path, block, now);
    const { content, is_error = false } = mask.off(block);
    return { content, is_error };
  };

  #compare(tool: string, id: string, path: string | undefined, recorded: Compared, now: Compared): void {
    const { program, mask, drift } = this.#session;
    const { normalise } = program!;
    const read = ({ content, is_error }: Compared) => {
      const shown = { content, ...(is_error && { is_error }) };
      return path !== undefined && normalise ? normalised(shown, path, normalise) : shown;
    };
    const found = differs(read(recorded), read(mask.on(now)), "result");
    if (found) drift.tools.push({ lane: this.#lane, tool, id, ...found });
  }
}

interface Compared {
  readonly content?: unknown;
  readonly is_error?: boolean;
}
