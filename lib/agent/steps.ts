import type { Fired } from "../core/events.ts";
import type { Folded } from "../core/fold.ts";
import type { HookText } from "../core/verdict.ts";
import { isText } from "../core/messages.ts";
import { ModelError, type Reply } from "../core/model.ts";
import type { PartlyUsed } from "../core/reply.ts";
import type { Interceptor, LateWords, Reports, Run } from "../core/run.ts";
import type { ToolEnd, ToolRun } from "../core/tool.ts";
import type { RunEvent } from "../core/run-events.ts";
import type { CallError } from "../log/entry.ts";
import { askedHooks, hookName, recalledHooks, withMark, worksOn } from "../log/step.ts";
import { errorOf } from "../log/stream.ts";
import type { Inbox } from "../tools/inbox.ts";
import type { Spawned, SpawnRequest, ToolContext } from "../tools/tool-context.ts";
import { CWD, shellCwd } from "../tools/tool-state.ts";
import type { PermissionAsker, PermissionReply } from "../permissions/gate.ts";
import { type Outcome, outcomeOf, spawnedBy } from "./begin.ts";
import type { Engine } from "./engine.ts";

/** The calls of an agent as steps of an engine; `inner` intercepts those that are really made. */
export function stepsOn(engine: Engine, inner: Interceptor = {}): Interceptor {
  return {
    ...inner,
    isOrdered: true,
    model: (run, partial, next) =>
      modelStep(engine, run, partial, async () => await (inner.model ? inner.model(run, partial, next) : next())),
    tool: (run, call, next) =>
      toolStep(engine, run, call, (by) => inner.tool ? inner.tool(run, call, () => next(by)) : next(by)),
    hooks: (run, event, next) => hookStep(engine, run, event, next),
    step: (run, kind, name, next) => engine.step(run.nameOf(kind, name), next),
    ...(engine.sleep && { sleep: (ms) => engine.sleep!(ms) }),
  };
}

/** How one attempt ended; a failure is a result like another, or a run that is run again would make the call again. */
type Attempted =
  | { readonly reply: Reply }
  /** With what had come of the reply. */
  | { readonly failed: CallError & { readonly used?: PartlyUsed } };

/** One attempt to get a reply. What streams is emitted as it arrives; a reply from the journal is emitted in one piece. */
async function modelStep(
  engine: Engine,
  run: Run,
  partial: PartlyUsed,
  next: () => Promise<Reply>,
): Promise<Reply> {
  const name = run.nameOf("llm", String(run.count.iterations));
  let streamed = false;
  const attempted = await engine.step(name, async (): Promise<Attempted> => {
    streamed = true;
    try {
      return { reply: await next() };
    } catch (error) {
      // An interrupt ends the run now: how the call ended is not known.
      if (run.signal.aborted) throw error;
      return { failed: { ...errorOf(error), ...(partial.usage && { used: partial }) } };
    }
  });
  if ("failed" in attempted) {
    const { message, used, ...about } = attempted.failed;
    Object.assign(partial, used);
    throw new ModelError(message, about);
  }
  const { reply } = attempted;
  for (const block of streamed ? [] : reply.message.content) {
    if (isText(block)) run.emit({ type: "text", text: block.text });
  }
  return reply;
}

/** Runs that have hooks which still work in the background. */
const workLater = new WeakSet<Run>();

/** Asks the hooks of one event. If the run is run again they are not asked: what they said still holds. */
async function hookStep(
  engine: Engine,
  run: Run,
  event: Fired,
  next: () => Promise<Folded>,
): Promise<Folded> {
  let asked = false;
  const { folded, left } = await engine.step(hookName(run, event), () => {
    asked = true;
    return askedHooks(run, next);
  });
  if (!asked) recalledHooks(run, left);
  if (worksOn(folded)) workLater.add(run);
  return folded;
}

/** Takes what hooks in the background have said as a step. */
export function lateSteps(inbox: Inbox<readonly HookText[]>): LateWords {
  return {
    add: (hook, said) => inbox.awaitNext(hook, said),
    take: (run) => {
      if (!workLater.has(run)) return;
      return run.step("late", String(run.count.iterations), async () => await inbox.take(false)).then((s) => s.flat());
    },
  };
}

/** Takes the reports of agents in the background: which of them is a step. */
export function reportSteps(inbox: Inbox): Reports {
  return {
    take: (wait, run) => inbox.isEmpty ? [] : stepReports(inbox, wait, run),
    ending: () => inbox.ending(),
  };
}

async function stepReports(inbox: Inbox, wait: boolean, run: Run): Promise<readonly string[]> {
  // What is waited for may be the engine's own work, which must not be waited for inside a step.
  if (wait) await inbox.senders(true);
  return await inbox.takeFrom(await run.step("inbox", "take", () => inbox.senders(false)));
}

/** How a tool's run ended, or the agents it needs to run first. */
interface SteppedEnd extends ToolEnd {
  readonly wants?: readonly SpawnRequest[];
  /** The shell's directory: a process that continues the run starts there. */
  readonly place?: string;
}

type NextRun = (instead?: Pick<ToolContext, "spawn">) => Promise<ToolEnd>;

/**
 * A call as a step. No step may be in a step, so a tool that starts agents is left where it asked for them, they are
 * run, and it is run once more with their reports: anything it does before that point must be safe to repeat.
 */
async function toolStep(engine: Engine, run: Run, toolRun: ToolRun, next: NextRun): Promise<ToolEnd> {
  const { tool, key } = toolRun;
  const { spawn }: Pick<ToolContext, "spawn"> = run.state.contextOf?.(run, toolRun) ?? {};
  const reports: Outcome[] = [];
  // A process that begins the call leaves a mark: if another process left one and no result, the call runs a second time.
  const mine = crypto.randomUUID();
  const isEffect = tool.effect === "write";
  const begun = isEffect ? await engine.step(`${key}:begun`, () => Promise.resolve(mine)) : mine;
  for (;;) {
    const end = await placed(engine, run, reports.length === 0 ? key : `${key}:${reports.length}`, async () => {
      const ended: SteppedEnd = await (spawn ? untilItWants(next, reports) : next());
      return begun === mine || reports.length > 0 || ended.wants
        ? ended
        : { ...ended, content: withMark(ended.content) };
    });
    if (!end.wants) return end;
    reports.push(...await Promise.all(end.wants.map((request) => outcomeOf(() => spawn!(request)))));
  }
}

/** A step that leaves the shell in the same directory, whether it is run or comes from the journal. */
async function placed(
  engine: Engine,
  run: Run,
  name: string,
  work: () => Promise<SteppedEnd>,
): Promise<SteppedEnd> {
  const { toolState, cwd } = run.state;
  const place = () => shellCwd(toolState) ?? cwd();
  let ran = false;
  const end = await engine.step(name, async () => {
    ran = true;
    const before = place();
    const ended = await work();
    const after = place();
    return after === before ? ended : { ...ended, place: after };
  });
  if (!ran && end.place !== undefined) toolState.set(CWD, () => end.place);
  return end;
}

/** Runs the tool until it ends or asks for agents that have not run yet. */
async function untilItWants(next: NextRun, reports: readonly Outcome[]): Promise<SteppedEnd> {
  const wants: SpawnRequest[] = [];
  let asked = 0;
  let wake!: () => void;
  const wanted = new Promise<void>((resolve) => wake = resolve);
  const spawn = async (request: SpawnRequest): Promise<Spawned> => {
    const report = reports[asked++];
    if (report) return spawnedBy(report);
    wants.push(request);
    setTimeout(wake); // a tool may ask for several at once
    return await new Promise(() => {});
  };
  const ended = await Promise.race([next({ spawn }), wanted]);
  return ended ?? { content: "", wants };
}

/** Asks for permission on an engine: a person's answer is a step; without a person it waits for one from outside. */
export function permissionAskerOn(
  engine: Engine,
  permissionAsker: PermissionAsker | undefined,
  emit: (event: RunEvent) => void,
): PermissionAsker | undefined {
  if (permissionAsker) return (question, signal) => engine.step(question.key!, () => permissionAsker(question, signal));
  if (!engine.wait) return undefined;
  return ({ key, agent_id = "", tool_name, input, reason }) =>
    engine.wait!<PermissionReply>(key!, async (token) => {
      emit({ agent_id, type: "question", token, tool_name, input, reason });
    }, { agent_id, tool_name, input, reason });
}
