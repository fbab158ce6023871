import { isToolResult, type ToolResultBlock } from "../core/messages.ts";
import type { Interceptor } from "../core/run.ts";
import { type Tool, ToolError, type ToolReturn } from "../core/tool.ts";
import type { ToolContext } from "../tools/tool-context.ts";
import { CWD, shellCwd } from "../tools/tool-state.ts";
import { applyChanges, changesSince, makeFolder, snapshot, withTexts } from "./scratch.ts";
import { canonical } from "./canonical.ts";
import { differs } from "./drift/difference.ts";
import type { ToolDrift } from "./drift/drift.ts";
import type { ToolFact } from "../log/entry.ts";
import { failureOf, output, plainJson, resultOf } from "../log/logged-tools.ts";
import type { Program } from "./match-call.ts";
import { normalised } from "./normalise.ts";
import type { Mask } from "./redact/mask.ts";

/** What the tools of a lane are given of its recording or replay. */
export interface ToolTape {
  readonly lane: string;
  readonly root: string;
  /** Whether results are written down; the agent's own clock is moved either way. */
  readonly record: boolean;
  /** Whether recorded results are served; with `verify` and `update` the tools run too. */
  readonly serve: "no" | "recorded" | "verify" | "update";
  readonly mask: Mask;
  /** What was recorded of a call, by its id: of one that was made more than once, what came next. */
  readonly next: (toolUseId: string) => ToolFact | undefined;
  /** Whether a call that has no result on the tape was never made: a replay that serves tools must not make it. */
  readonly lacks: (toolUseId: string) => boolean;
  /** Whether the run has left what was recorded: a call is another one then, even of the same id. */
  readonly isOver: () => boolean;
  readonly note: (fact: ToolFact) => void;
  /** Makes those changes of a call that no later one has made already. */
  readonly change: (fact: ToolFact, apply: (files: NonNullable<ToolFact["files"]>) => Promise<void>) => Promise<void>;
  readonly verification: Verification | undefined;
  /** A call that runs alone has ended. */
  readonly ended: () => void;
  /** Waits for the run to be aborted, as it was recorded. */
  readonly untilAborted: (signal: AbortSignal, ms: number) => Promise<void>;
}

/** A tool whose calls are recorded or served. The model sees the same tool. */
export function tapedTool(tool: Tool, tape: ToolTape): Tool {
  const alone = tool.effect === "write" && !tool.parallel;
  if (tool.effect !== "write" && !tape.record && tape.serve === "no") return tool;
  const run = async (input: unknown, context: ToolContext): Promise<ToolReturn> => {
    try {
      const fact = tape.serve === "no" || tape.isOver() ? undefined : tape.next(context.toolUseId);
      if (fact && tape.serve === "verify") {
        const real = await reallyRun(tool, input, context);
        // An aborted call has no result to compare.
        if (!context.signal.aborted) tape.verification?.result(tool.name, context.toolUseId, fact.result, real);
        const { response } = real;
        return output({ ...(response !== undefined && { response }), ...tape.mask.off(fact.result) });
      }
      if (fact && tool.effect !== "none") {
        if (tape.serve === "recorded") return await serve(fact, input, context, tape);
        if (isFor(fact, input, tape)) {
          // What follows may build on what the tool does; a tape is renewed from its first difference on, not from here.
          await reallyRun(tool, input, context);
          tape.note(fact);
          return output(tape.mask.off(fact.result));
        }
      }
      if (!fact && tool.effect === "write" && tape.lacks(context.toolUseId)) {
        throw new ToolError(`Cannot replay ${tool.name} as the recorded run never made this call: nothing was run`, {
          code: "tape_drift",
        });
      }
      return tape.record ? await record(tool, input, context, tape) : await tool.run(input, context);
    } finally {
      if (alone) tape.ended();
    }
  };
  return { ...tool, run };
}

/** Runs a call and notes its result. One that starts agents is not noted: they have lanes of their own, so it runs again on replay. */
async function record(tool: Tool, input: unknown, context: ToolContext, tape: ToolTape): Promise<ToolReturn> {
  const began = performance.now();
  const given = tape.mask.on(plainJson(input));
  const before = tool.effect === "write" ? snapshot(tape.root) : undefined;
  const { spawn, state, signal, cwd: place } = context;
  let spawned = false;
  const watched = !spawn ? context : {
    ...context,
    spawn: (request: Parameters<typeof spawn>[0]) => {
      spawned = true;
      return spawn(request);
    },
  };
  const note = (result: ToolFact["result"]) => {
    if (spawned) return;
    const files = before ? withTexts(changesSince(tape.root, before), tape.mask.on) : {};
    const cwd = shellCwd(state);
    tape.note({
      tool: context.toolUseId,
      lane: tape.lane,
      name: tool.name,
      effect: tool.effect,
      ...(tool.parallel && { parallel: true }),
      input: given,
      result: tape.mask.on(result),
      ...(Object.keys(files).length > 0 && { files }),
      ...(cwd !== undefined && cwd !== place && { cwd: tape.mask.on(cwd) }),
      ...(signal.aborted && { aborted: true }),
      ms: Math.round(performance.now() - began),
    });
  };
  try {
    const returned = await tool.run(input, watched);
    note(resultOf(returned));
    return returned;
  } catch (error) {
    note(failureOf(error));
    throw error;
  }
}

/** A call with all of its texts changed, those of its files too. */
export function withOtherTexts({ files, ...fact }: ToolFact, change: <T>(value: T) => T): ToolFact {
  return { ...change(fact), ...(files && { files: withTexts(files, change) }) };
}

function isFor({ input: recorded }: ToolFact, input: unknown, tape: ToolTape): boolean {
  return canonical(tape.mask.on(plainJson(input))) === canonical(recorded);
}

async function serve(
  fact: ToolFact,
  input: unknown,
  { state, signal }: ToolContext,
  tape: ToolTape,
): Promise<ToolReturn> {
  const { name, result, cwd, aborted, ms } = fact;
  if (!isFor(fact, input, tape)) {
    const { path } = differs(fact.input, tape.mask.on(plainJson(input)), "input")!;
    throw new ToolError(
      `Cannot replay ${name} as its ${path} is not the recorded one: run it for real, or record again`,
      {
        code: "tape_drift",
      },
    );
  }
  if (aborted) await tape.untilAborted(signal, ms);
  if (fact.files) await tape.change(fact, (files) => applyChanges(tape.root, withTexts(files, tape.mask.off)));
  if (cwd !== undefined) {
    const place = tape.mask.off(cwd);
    await makeFolder(tape.root, place);
    state.set(CWD, () => place);
  }
  return output(tape.mask.off(result));
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
  readonly retell: NonNullable<Interceptor["result"]> = (tool, id, now) => {
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
