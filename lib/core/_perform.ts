import type { Ready } from "./_gate.ts";
import { NEVER, settle } from "./_settle.ts";
import { asError, thrownWords } from "./thrown.ts";
import type { ToolResult } from "./events.ts";
import { thaw } from "./frozen.ts";
import { INTERRUPTED, isContent, text } from "./messages.ts";
import type { Run } from "./run.ts";
import { type Spawned, type SpawnRequest, ToolError, type ToolOutput, type ToolReturn } from "./tool.ts";
import { CWD, shellCwd } from "./tool-state.ts";

/** How long a tool may go on after it was told to stop, before it is given up on. */
const GRACE_MS = 2000;

export interface Performed {
  readonly outcome: "success" | "failure" | "interrupted";
  readonly result: ToolResult;
  readonly wait: boolean;
  /** Where the tool threw. */
  readonly thrown?: Thrown;
}

export type Thrown = Pick<Error, "name" | "message" | "stack"> & Pick<ToolError, "refusedBy">;

/** One end of a tool's run: what it gave, or the agents it wants to have run first. */
interface ToolEnd {
  readonly output?: ToolOutput;
  readonly thrown?: Thrown;
  readonly wants?: readonly SpawnRequest[];
  /** Where a shell has gone: a process that goes on with the run goes on there. */
  readonly place?: string;
}

/** What became of an agent that a tool wanted. */
type Report = { readonly spawned: Spawned } | { readonly failed: { readonly message: string; readonly code: string } };

/** Runs the tool to one of its ends; one that does not stop when told is given up on after a grace. */
export async function perform(run: Run, ready: Ready, suffix = ""): Promise<Performed> {
  const { life: { clock }, signal } = run;
  if (signal.aborted) return interrupted(INTERRUPTED);
  const key = run.nameOf("tool", `${ready.tool.name}:${ready.call.id}${suffix}`);
  const working = run.agent.engine ? stepped(run, ready, key) : direct(run, ready, key);
  let end = await settle(working, { clock, signal });
  if ("ended" in end) end = await settle(working, { clock, signal: NEVER, ms: GRACE_MS });
  // A tool's own failure is a result: what is thrown here is the engine's.
  if ("error" in end && !signal.aborted) throw end.error;
  const { output, thrown } = "value" in end ? end.value : {};
  // What a tool has done is told even where nobody wants to know any more; how it was stopped is not.
  if (!output || (signal.aborted && output.isError)) {
    return interrupted("The call was interrupted before it ended");
  }
  const is_error = output.isError ?? false;
  return {
    outcome: is_error ? "failure" : "success",
    result: { content: output.content, is_error, response: output.response ?? output.content },
    wait: output.wait ?? false,
    ...(thrown && { thrown }),
  };
}

function direct(run: Run, ready: Ready, key: string): Promise<ToolEnd> {
  let started = 0;
  const { spawn } = run.life;
  const child = spawn && ((request: SpawnRequest) => spawn(request, run, childOf(ready, key, started++)));
  return attempt(run, ready, key, child);
}

/**
 * A call as a step. No step may be in a step, so a tool that starts agents is left where it asked for them, they are
 * run, and it is run once more with what they said: what it does before must bear to be done again.
 */
async function stepped(run: Run, ready: Ready, key: string): Promise<ToolEnd> {
  const { spawn } = run.life;
  const reports: Report[] = [];
  // Whoever begins the call leaves a mark: where another process left it and no result, it runs a second time.
  const mine = crypto.randomUUID();
  const isEffect = ready.tool.effect === "write";
  const begun = isEffect ? await run.named(`${key}:begun`, () => Promise.resolve(mine)) : mine;
  for (;;) {
    const end = await placed(run, reports.length === 0 ? key : `${key}:${reports.length}`, async () => {
      const ended = await (spawn ? untilItWants(run, ready, key, reports) : attempt(run, ready, key, undefined));
      return begun === mine || reports.length > 0 ? ended : twice(ended);
    });
    if (!end.wants) return end;
    const known = reports.length;
    reports.push(
      ...await Promise.all(end.wants.map(async (request, n): Promise<Report> => {
        try {
          return { spawned: await spawn!(request, run, childOf(ready, key, known + n)) };
        } catch (error) {
          const code = error instanceof ToolError ? error.code : "agent_error";
          return { failed: { message: thrownWords(error), code } };
        }
      })),
    );
  }
}

/** Says in a result that its effect may have happened twice. */
function twice(end: ToolEnd): ToolEnd {
  if (!end.output) return end;
  const { content } = end.output;
  const output = {
    ...end.output,
    content: typeof content === "string" ? `${content}\n\n${RAN_AGAIN}` : [...content, text(RAN_AGAIN)],
  };
  return { ...end, output };
}

const RAN_AGAIN =
  "[This call ran again: a process ended while it ran this call before, so its effect may have happened twice]";

/** A step that leaves its agent where it did when it was run, also where it is only known. */
async function placed(run: Run, name: string, work: () => Promise<ToolEnd>): Promise<ToolEnd> {
  const { toolState, cwd } = run.life;
  const place = () => shellCwd(toolState) ?? cwd();
  let ran = false;
  const end = await run.named(name, async () => {
    ran = true;
    const before = place();
    const ended = await work();
    const after = place();
    return after === before ? ended : { ...ended, place: after };
  });
  if (!ran && end.place !== undefined) toolState.set(CWD, () => end.place);
  return end;
}

/** Runs the tool until it ends or asks for agents there is no report of yet. */
async function untilItWants(run: Run, ready: Ready, key: string, reports: readonly Report[]): Promise<ToolEnd> {
  const wants: SpawnRequest[] = [];
  let asked = 0;
  let wake!: () => void;
  const wanted = new Promise<void>((resolve) => wake = resolve);
  const spawn = (request: SpawnRequest): Promise<Spawned> => {
    const report = reports[asked++];
    if (report) {
      return "spawned" in report
        ? Promise.resolve(report.spawned)
        : Promise.reject(new ToolError(report.failed.message, { code: report.failed.code }));
    }
    wants.push(request);
    setTimeout(wake); // a tool may ask for several at once
    return new Promise(() => {});
  };
  const ended = await Promise.race([attempt(run, ready, key, spawn), wanted]);
  return ended ?? { wants };
}

function childOf({ call }: Ready, key: string, n: number): { toolUseId: string; key: string } {
  return { toolUseId: call.id, key: n === 0 ? key : `${key}:${n}` };
}

/** One run of the tool; never throws. */
async function attempt(
  run: Run,
  { call, tool, input }: Ready,
  key: string,
  spawn: ((request: SpawnRequest) => Promise<Spawned>) | undefined,
): Promise<ToolEnd> {
  const { life, signal } = run;
  let thrown: Thrown | undefined;
  const output = await run.measured(key, async () => {
    try {
      return outputOf(
        await tool.run(thaw(input), {
          signal,
          cwd: life.cwd(),
          toolUseId: call.id,
          agentId: life.agentId,
          sessionId: life.id,
          idempotencyKey: key,
          state: life.toolState,
          ...(spawn && { spawn }),
          ...(life.typeOf && { typeOf: life.typeOf }),
          progress: (words) => run.emit({ type: "tool_progress", id: call.id, text: words }),
          toolUse: { type: "tool_use", id: call.id, name: call.name, input: call.input },
        }),
      );
    } catch (error) {
      const { name, message, stack } = asError(error);
      const refusedBy = error instanceof ToolError ? error.refusedBy : undefined;
      thrown = { name, message, ...(stack !== undefined && { stack }), ...(refusedBy !== undefined && { refusedBy }) };
      return failureOf(error);
    }
  });
  return { output, ...(thrown && { thrown }) };
}

function interrupted(content: string): Performed {
  return { outcome: "interrupted", result: { content, is_error: true, response: content }, wait: false };
}

function outputOf(value: ToolReturn): ToolOutput {
  if (isContent(value)) return { content: value };
  if (typeof value === "object" && value !== null && "content" in value && isContent(value.content)) return value;
  throw new ToolError("Cannot use the tool's result as it is no text, no list of blocks and has no 'content'");
}

function failureOf(error: unknown): ToolOutput {
  return {
    content: thrownWords(error),
    isError: true,
    ...(error instanceof ToolError && error.response !== undefined && { response: error.response }),
  };
}
