import { Inbox } from "../core/inbox.ts";
import { type AgentSpec, type Life, newLife } from "../core/life.ts";
import { NO_USAGE } from "../core/messages.ts";
import type { RunEvent } from "../core/run-events.ts";
import { openSession } from "../core/session.ts";
import { findTool, type Spawned, type SpawnRequest, ToolError } from "../core/tool.ts";
import { resumable } from "../transcript/resume.ts";
import { hashOf, type TranscriptStore } from "../transcript/store.ts";
import { keeper } from "./persist.ts";

/**
 * Lets an agent start agents. They have their parent's hooks, permissions, model, store and abort, share its budget,
 * and count their own iterations; what they say is marked with their id.
 */
export function spawner(
  agent: AgentSpec,
  parent: () => Life,
  store: TranscriptStore | undefined,
): NonNullable<Life["spawn"]> {
  return async (request, run, toolUseId) => {
    const { depth, agentId, spent } = parent();
    if (depth + 1 > agent.limits.depth) {
      throw new ToolError(`Cannot start an agent as ${depth} are nested already: the limit is ${agent.limits.depth}`, {
        code: "depth",
      });
    }
    const stored = await storedAgent(request, store);
    const bare = specFor(agent, request);
    const { spec, clock, inbox } = agent.lane?.(bare, toolUseId) ??
      { spec: bare, clock: parent().clock, inbox: new Inbox() };
    const id = request.resume ?? `a${clock.uuid().replaceAll("-", "").slice(0, 16)}`;
    const called: string[] = [];
    const emit = (event: RunEvent) => {
      if (event.agent_id === id && event.type === "tool_start") called.push(event.name);
      if (event.agent_id === id) keep?.note(event);
      parent().emit(event);
    };
    const model = request.model ?? stored?.model ?? parent().model;
    const life: Life = newLife({
      id: parent().id,
      agentId: id,
      parentAgentId: agentId,
      depth: depth + 1,
      model,
      clock,
      inbox,
      cwd: parent().cwd,
      messages: stored ? resumable(stored.messages) : [],
      toolState: inherited(parent().toolState),
      sequence: parent().sequence,
      spent,
      emit,
      save: (...given) => keep?.save(...given) ?? Promise.resolve(),
      spawn: (...given) => spawner(spec, () => life, store)(...given),
    });
    const about = stored ? undefined : {
      agent_type: request.type,
      model,
      system: hashOf(spec.system),
      tools: spec.tools.map((t) => t.name),
      parent: agentId,
      prompt: request.prompt,
      cwd: life.cwd(),
      created: new Date(clock.now()).toISOString(),
    };
    const keep = store && keeper(store, id, about, () => life);
    const start = clock.tick();
    const work = async (): Promise<Spawned> => {
      const session = openSession(spec, life);
      try {
        const result = await session.prompt(request.prompt, {
          signal: run.signal,
          trigger: stored ? "resume" : "user",
        });
        await keep?.ended(result);
        if (result.error) {
          throw new ToolError(`The agent ended with an error: ${result.error.message}`, { code: "agent_error" });
        }
        return {
          ...blank,
          text: result.text,
          stop: result.stop,
          usage: result.usage,
          tools: called,
          duration_ms: clock.tick() - start,
        };
      } finally {
        await session.close();
        if (life.toolState.has("shell")) await (await import("../tools/bash.ts")).closeShell(life.toolState);
      }
    };
    const blank: Spawned = {
      agent_id: id,
      type: request.type,
      model,
      text: "",
      stop: undefined,
      usage: NO_USAGE,
      tools: called,
      duration_ms: 0,
    };
    if (!request.background) return await work();
    parent().inbox.await(toolUseId, reportOf(work(), blank));
    return blank;
  };
}

/** What confines an agent's tools and whom they ask holds for those it starts; a shell and what was read are its own. */
function inherited(state: ReadonlyMap<string, unknown>): Map<string, unknown> {
  const keys = ["crochet.roots", "crochet.asker", "crochet.plan-mode", "sandbox", "env-file"];
  return new Map([...state].filter(([key]) => keys.includes(key)));
}

/** What an agent in the background has to say in the end; never an error. */
function reportOf(work: Promise<Spawned>, { agent_id, type }: Spawned): Promise<string> {
  return work.then(
    ({ text, stop }) =>
      `Agent ${agent_id} (${type}) that worked in the background has ended (${stop}) and says:\n\n${text}`,
    (error) => `Agent ${agent_id} (${type}) that worked in the background has failed: ${(error as Error).message}`,
  );
}

async function storedAgent({ resume }: SpawnRequest, store: TranscriptStore | undefined) {
  if (resume === undefined) return undefined;
  if (!store) throw new ToolError("Cannot resume: no transcript store configured", { code: "no_store" });
  const stored = await store.load(resume);
  if (!stored) {
    throw new ToolError(`Cannot resume agent '${resume}' as there is no transcript of that id`, {
      code: "unknown_agent",
    });
  }
  return stored;
}

function specFor(agent: AgentSpec, { type, system, tools }: SpawnRequest): AgentSpec {
  return {
    ...agent,
    type,
    ...(system !== undefined && { system }),
    ...(tools && { tools: agent.tools.filter((t) => tools.some((name) => findTool([t], name))) }),
  };
}
