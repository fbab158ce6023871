import type { Clock } from "../core/clock.ts";
import type { HookText } from "../core/verdict.ts";
import type { Limits, Spent } from "../core/limits.ts";
import { addUsage, contentText, isToolResult, isToolUse, type Message, NO_USAGE } from "../core/messages.ts";
import type { Result, RunEvent } from "../core/run-events.ts";
import type { ModelParams } from "../core/model.ts";
import { type AgentSpec, newSessionState, type Run, type SessionState } from "../core/run.ts";
import { findTool, ToolError, type ToolRun } from "../core/tool.ts";
import { openSession } from "./session.ts";
import { hashOf } from "../runtime/sha256.ts";
import type { Lane } from "../log/lane.ts";
import { Inbox, lateWords } from "../tools/inbox.ts";
import type { Spawned, SpawnRequest, ToolContext } from "../tools/tool-context.ts";
import { HAD_SHELL, INHERITED, listTasks, SHELL, shellCwd } from "../tools/tool-state.ts";
import type { SessionStore } from "../log/stores/memory-store.ts";
import { resumable, type Transcript } from "../log/stores/store.ts";
import { transcriptWriter } from "../log/stores/write-transcript.ts";
import { messagesAt, type Outcome, outcomeOf, placeOf, spawnedBy, type TranscriptPosition } from "./begin.ts";
import type { Engine } from "./engine.ts";
import { modelParamsOf, withoutFormat } from "./params.ts";

/** An agent below another as an engine's `spawn` is asked for it: plain data, for wherever it runs. */
export interface AskedBelow {
  readonly request: SpawnRequest;
  readonly call: SpawnCall;
  readonly modelParams: ModelParams;
  readonly parent: Pick<SessionState, "id" | "agentId" | "depth" | "model" | "spent">;
}

/** What came of it. */
export type Below = Outcome & { readonly spent: Spent };

interface SpawnCall {
  readonly toolUseId: string;
  /** Names the agent among all that were ever started. */
  readonly key: string;
}

/**
 * Lets the tools of an agent start agents. They have their parent's hooks, permissions, model, store and abort, share
 * its budget, and count their own iterations; what they say is marked with their id.
 */
export function spawning(by: Spawning): (run: Run, call: ToolRun) => Pick<ToolContext, "spawn" | "typeOf"> {
  const { agent, parent, store, engine, inbox } = by;
  const spawn = async (request: SpawnRequest, run: Run, call: SpawnCall): Promise<Spawned> => {
    const { depth, model } = parent();
    if (depth + 1 > agent.limits.depth) {
      const why = `${depth} are nested already and the limit is ${agent.limits.depth}`;
      throw new ToolError(`Cannot start an agent as ${why}: do the task yourself`, { code: "depth" });
    }
    const modelParams = modelParamsBelow(run, request, model);
    const { resume } = request;
    if (resume !== undefined) refuseRunning(resume, parent());
    if (resume !== undefined && inbox.awaits(resume)) {
      throw new ToolError(`Cannot resume agent '${resume}' as it still works: wait for its report`, { code: "busy" });
    }
    const { id, working } = engine?.spawn
      ? { id: idOf(request, call), working: elsewhere(engine, agent.limits, parent(), { request, call, modelParams }) }
      : await spawnHere({ ...by, signal: run.signal }, request, call, modelParams);
    if (!request.background) return await working;
    const blank = blankOf(request, id, request.model ?? model);
    inbox.await(call.toolUseId, lateReport(working, blank), id);
    // Its parent's Stop hooks see it while it works.
    const { toolState } = parent();
    const [description, agent_type] = [request.description ?? request.prompt.slice(0, 100), request.type];
    listTasks(toolState, id, () => [{ id, type: "subagent", status: "running", description, agent_type }]);
    const ended = () => listTasks(toolState, id);
    working.then(ended, ended);
    return blank;
  };
  const typeOf = async (id: string) => {
    refuseRunning(id, parent());
    return (await store.load(id))?.about?.agent_type;
  };
  return (run, { call, key }) => {
    // The first agent of a call has the call's own name, the others are numbered.
    let n = 0;
    const next = () => n++ === 0 ? key : `${key}:${n - 1}`;
    return { spawn: (request) => spawn(request, run, { toolUseId: call.id, key: next() }), typeOf };
  };
}

/** An agent cannot resume itself or the session it works for: they run now. */
function refuseRunning(id: string, { agentId, id: session }: SessionState): void {
  if (id !== agentId && id !== session) return;
  const whose = id === agentId ? "your own" : "that of the session you work for";
  const why = `that id is ${whose}, which is running now`;
  throw new ToolError(`Cannot resume '${id}' as ${why}: take the id from an agent's report`, { code: "busy" });
}

/** The id of an agent on an engine: the same one when its parent is run again. */
function idOf({ resume }: SpawnRequest, { key }: SpawnCall): string {
  return resume ?? `a${hashOf(key, 16)}`;
}

function blankOf({ type }: SpawnRequest, agent_id: string, model: string): Spawned {
  return { agent_id, type, model, text: "", stop: undefined, usage: NO_USAGE, tools: [], duration_ms: 0 };
}

/** Has the engine run an agent, with a journal of its own; what it spent is its parent's too. */
async function elsewhere(
  engine: Engine,
  { calls }: Limits,
  parent: SessionState,
  wanted: Pick<AskedBelow, "request" | "call" | "modelParams">,
): Promise<Spawned> {
  const { request, call } = wanted;
  const { id, agentId, depth, model, spent } = parent;
  // Agents that run elsewhere side by side cannot see each other's calls, so each is lent half of what is left.
  const lent = calls === Infinity ? 0 : Math.ceil((calls - spent.calls) / 2);
  const below = { ...spent, calls: calls === Infinity ? spent.calls : calls - lent };
  const asked: AskedBelow = { ...wanted, parent: { id, agentId, depth, model, spent: below } };
  spent.calls += lent;
  const end = await engine.spawn!<Below>(idOf(request, call), asked);
  spent.calls += end.spent.calls - lent;
  spent.replies += end.spent.replies;
  spent.usage = addUsage(spent.usage, end.spent.usage);
  spent.tokens += end.spent.tokens;
  if (spent.dollars !== undefined) {
    spent.dollars = end.spent.dollars == null ? undefined : spent.dollars + end.spent.dollars;
  }
  return spawnedBy(end);
}

/** Runs an agent that an engine was asked for, below a stand-in for the agent that asked. */
export async function runBelow(
  home: Omit<Home, "parent"> & { readonly state: SessionState },
  { request, call, modelParams = modelParamsOf(), parent: { spent: before, ...above } }: AskedBelow,
): Promise<Below> {
  const spent = { ...before, replies: 0, usage: NO_USAGE, dollars: before.dollars ?? undefined };
  const parent = { ...home.state, ...above, spent };
  const own = () => ({
    ...spent,
    calls: spent.calls - before.calls,
    tokens: spent.tokens - before.tokens,
    dollars: spent.dollars === undefined ? undefined : spent.dollars - (before.dollars ?? 0),
  });
  const end = await outcomeOf(async () => {
    return await (await spawnHere({ ...home, parent: () => parent }, request, call, modelParams)).working;
  });
  return { ...end, spent: own() };
}

/** What agents below another need of it. */
export interface Spawning {
  readonly agent: AgentSpec;
  readonly parent: () => SessionState;
  readonly store: SessionStore;
  readonly engine: Engine | undefined;
  readonly lane: Lane | undefined;
  /** Where those that work in the background report. */
  readonly inbox: Inbox;
}

type Home = Omit<Spawning, "inbox"> & { readonly signal: AbortSignal };

/** Where an agent keeps what comes from the background: on an engine and on a tape, what is taken when is not left to chance. */
export function boxesOf(steps: typeof import("./steps.ts") | undefined, lane: Lane | undefined) {
  const inbox = lane?.inbox ?? new Inbox();
  const late = lane?.late ?? new Inbox<readonly HookText[]>();
  return {
    inbox,
    boxes: {
      reports: steps ? steps.reportSteps(inbox) : inbox,
      ...(steps ? { late: steps.lateSteps(late) } : lane && { late: lateWords(late) }),
    },
  };
}

/** Starts an agent in this process, once its id is claimed. */
async function spawnHere(
  home: Home,
  request: SpawnRequest,
  call: SpawnCall,
  modelParams: ModelParams,
): Promise<{ readonly id: string; readonly working: Promise<Spawned> }> {
  const { agent, parent, store, engine } = home;
  await refuseUnknownTools(agent, request);
  const resumed = request.resume === undefined ? undefined : await claimed(store, request.resume);
  const bare = specFor(agent, request, modelParams);
  const lane = home.lane?.below(call.toolUseId, request.background ?? false);
  const spec = lane?.spec(bare) ?? bare;
  const clock = lane?.clock ?? parent().clock;
  const id = engine ? idOf(request, call) : request.resume ?? `a${clock.uuid().replaceAll("-", "").slice(0, 16)}`;
  const { stored, release } = resumed ?? { stored: undefined, release: await store.lock(id) };
  lane?.names(id);
  return { id, working: live({ ...home, lane }, { id, spec, clock, request, call, stored }).finally(release) };
}

/** A name that no tool has would leave the agent without one; what other hosts have may be missing here. */
async function refuseUnknownTools({ tools: all, apiTools = [] }: AgentSpec, { type, tools = [] }: SpawnRequest) {
  const missing = tools.filter((name) => !findTool(all, name) && !apiTools.some((one) => one.name === name));
  if (missing.length === 0) return;
  const { HOST_TOOLS } = await import("../hooks/known-names.ts");
  const wrong = missing.find((name) => !HOST_TOOLS.includes(name) && !name.startsWith("mcp__"));
  if (wrong === undefined) return;
  const { nearest } = await import("../input/nearest.ts");
  const meant = nearest(wrong, [...all.map(({ name }) => name), ...HOST_TOOLS]);
  const why = `it names tool '${wrong}', which does not exist: did you mean '${meant}'?`;
  throw new ToolError(`Cannot start an agent of type '${type}' as ${why}`, { code: "unknown_tool" });
}

/** Claims an agent to continue, and reads its transcript. */
async function claimed(store: SessionStore, id: string) {
  const release = await store.lock(id).catch((error: Error) => {
    throw new ToolError(`Cannot resume agent '${id}': ${error.message}`, { code: "busy" });
  });
  const stored = await store.load(id);
  if (stored) return { stored, release };
  await release();
  throw new ToolError(
    `Cannot resume agent '${id}' as there is no log of that id: take the id from its report, or start another`,
    { code: "unknown_agent" },
  );
}

/** Runs an agent that another started, from start to end. */
async function live(
  { parent, store, signal, engine, lane }: Home,
  { id, spec, clock, request, call, stored }: {
    readonly id: string;
    readonly spec: AgentSpec;
    readonly clock: Clock;
    readonly request: SpawnRequest;
    readonly call: SpawnCall;
    readonly stored: Transcript | undefined;
  },
): Promise<Spawned> {
  const { depth, agentId, spent, cwd } = parent();
  // Where its parent is now: in the background that may go elsewhere, and so may its own shell.
  const place = cwd();
  const toolState = new Map([...parent().toolState].filter(([key]) => INHERITED.includes(key)));
  if (stored && !engine && hadShell(stored.messages)) toolState.set(HAD_SHELL, true);
  const called: string[] = [];
  const emit = (event: RunEvent) => {
    if (event.agent_id === id && event.type === "tool_start") called.push(event.name);
    if (event.agent_id === id) transcript.note(event);
    parent().emit(event);
  };
  const model = request.model ?? stored?.model ?? parent().model;
  const begin = stored && await beginBelow(engine, call, stored);
  const { inbox, boxes } = boxesOf(engine && await import("./steps.ts"), lane);
  const state: SessionState = newSessionState({
    id: parent().id,
    agentId: id,
    parentAgentId: agentId,
    depth: depth + 1,
    model,
    clock,
    ...boxes,
    cwd: () => shellCwd(toolState) ?? place,
    messages: begin ? messagesAt(begin, stored, id) : [],
    toolState,
    sequence: { next: 0, ...(begin && { of: `${id}.${begin.runs}` }) },
    runs: begin?.runs ?? 0,
    spent,
    emit,
    save: (...given) => transcript.save(...given),
    contextOf: spawning({ agent: spec, parent: () => state, store, engine, lane, inbox }),
  });
  const about = stored ? undefined : {
    agent_type: request.type,
    model,
    system: hashOf(spec.system, 16),
    tools: spec.tools.map((t) => t.name),
    parent: agentId,
    prompt: request.prompt,
    cwd: state.cwd(),
    created: new Date(clock.now()).toISOString(),
  };
  const length = state.messages.length;
  const transcript = transcriptWriter({ store, id, about, stored, clock, length, isRerun: engine !== undefined });
  if (begin) transcript.rewind(begin);
  const start = clock.tick();
  const session = openSession(spec, state);
  try {
    const result = await session.prompt(request.prompt, { signal, trigger: stored ? "resume" : "user" });
    await transcript.ended(result);
    if (result.error) {
      const { failureOf } = await import("../tools/agent.ts");
      const words = failureOf({ agent_id: id, type: request.type }, result.error.message);
      throw new ToolError(words, { code: "agent_error" });
    }
    const { stop, usage } = result;
    const text = stop === "waiting" ? withQuestion(result) : result.text;
    return { ...blankOf(request, id, model), text, stop, usage, tools: called, duration_ms: clock.tick() - start };
  } finally {
    await session.close();
    if (state.toolState.has(SHELL)) await (await import("../tools/bash.ts")).closeShell(state.toolState);
    lane?.ended();
  }
}

/** Adds its unanswered questions: the agent that started it does not see its calls. */
function withQuestion({ text, messages }: Result): string {
  const answers = messages.at(-1)?.content.filter(isToolResult).map(({ content }) => contentText(content)) ?? [];
  return [text, ...answers].filter((words) => words !== "").join("\n\n");
}

/** Where a resumed agent stood when it was resumed: a step, as it may have gone further by now. */
async function beginBelow(
  engine: Engine | undefined,
  { key }: SpawnCall,
  stored: Transcript,
): Promise<TranscriptPosition & { readonly runs: number }> {
  const now = async () => {
    const messages = resumable(stored.messages);
    return { runs: stored.endings.length, ...placeOf(messages, stored.full.length - stored.messages.length) };
  };
  return await (engine ? engine.step(`begin:${key}`, now) : now());
}

/** The final report of an agent in the background; never an error. */
function lateReport(work: Promise<Spawned>, { agent_id, type }: Spawned): Promise<string> {
  const who = `Agent ${agent_id} (${type}) that worked in the background`;
  const words = async (spawned: Spawned) => (await import("../tools/agent.ts")).reportOf(spawned);
  return work.then(
    async (spawned) => `${who} has ended and says:\n\n${await words(spawned)}`,
    (error) => `${who} has failed: ${(error as Error).message}`,
  );
}

/** Whether a continued agent has run commands: the shell they changed is gone. */
export function hadShell(messages: readonly Message[]): boolean {
  return messages.some(({ content }) => content.some((block) => isToolUse(block) && block.name === "Bash"));
}

/** What an agent asks of its model: what its parent asks, unless that is another one, which may not take it. */
function modelParamsBelow({ agent, modelParams }: Run, request: SpawnRequest, model: string): ModelParams {
  if ((request.model ?? model) !== model) return modelParamsOf();
  return modelParamsOf(agent.finish ? withoutFormat(modelParams) : modelParams);
}

/** The agent below another, as it is made of that one. */
export function specFor(
  agent: AgentSpec,
  { type, system, tools }: Pick<SpawnRequest, "type" | "system" | "tools">,
  modelParams: ModelParams,
): AgentSpec {
  const { maxTokens: _, effort: __, params: ___, finish: ____, tools: all, apiTools, ...rest } = agent;
  const isNamed = (one: { readonly name?: string }) => !tools || tools.includes(one.name ?? "");
  return {
    ...rest,
    ...modelParams,
    type,
    ...(system !== undefined && { system, systemBlocks: undefined }),
    tools: all.filter((t) => !t.ends && (!tools || tools.some((name) => findTool([t], name)))),
    ...(apiTools && { apiTools: apiTools.filter(isNamed) }),
  };
}
