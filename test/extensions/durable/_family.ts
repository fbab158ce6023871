/** The agents of the kill tests: their models and tools are functions of what they are given, and write down all they do. */
import { appendFileSync } from "node:fs";
import { agent, tool } from "../../../lib/index.ts";
import type { Agent, AgentOptions } from "../../../lib/agent/options.ts";
import type { TextBlock } from "../../../lib/core/messages.ts";
import type { Model, ModelRequest } from "../../../lib/core/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/testing/index.ts";
import { Agent as AgentTool } from "../../../lib/tools/index.ts";

/** One line of the effects log. */
export type Effect =
  | {
    readonly step: string;
    readonly phase: "start" | "end";
    readonly pid: number;
    readonly at: number;
  }
  /** What a tool saw: whose call it was, and under which key. */
  | {
    readonly call: string;
    readonly key: string;
    readonly pid: number;
    readonly at: number;
  };

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function write(log: string, line: object): void {
  appendFileSync(
    log,
    `${JSON.stringify({ ...line, pid: process.pid, at: Date.now() })}\n`,
  );
}

const INPUT = { type: "object", properties: { n: { type: "number" } } };

/** Runs work as a step that is written down, for an engine that cannot be looked into. */
async function seen<T>(
  log: string | undefined,
  step: string,
  work: () => Promise<T>,
): Promise<T> {
  if (log !== undefined) write(log, { step, phase: "start" });
  const result = await work();
  if (log !== undefined) write(log, { step, phase: "end" });
  return result;
}

function tools(
  log: string,
  ms: number,
  witness: string | undefined,
): NonNullable<AgentOptions["tools"]> {
  const doing = (name: string, effect: "read" | "write") =>
    tool<{ n: number }>({
      name,
      description: name,
      effect,
      input: INPUT,
      run: async ({ n }, { idempotencyKey: key, agentId, toolUseId }) => {
        write(log, { call: `${agentId} ${toolUseId}`, key });
        return await seen(witness, key, async () => {
          await pause(ms);
          return `${name} ${n}`;
        });
      },
    });
  return [
    doing("Look", "read"),
    doing("Save", "write"),
    doing("Ask", "write"),
    AgentTool,
  ];
}

/** What the model says, by whom it speaks to and how far that one is. */
function reply({ messages }: ModelRequest): ScriptedReply {
  const who = (messages[0]!.content[0] as TextBlock).text;
  const [role] = who.split(" ");
  const n = messages.filter((m) => m.role === "assistant").length;
  const call = (name: string, i = 0) => ({
    name,
    input: { n },
    id: `c${n}-${i}`,
  });
  const looks = { tools: [0, 1, 2, 3].map((i) => call("Look", i)) };
  // 11 steps: five calls of a tool, each after a reply, and the last words.
  if (role === "worker") {
    return n < 5 ? { tools: [call(n % 2 ? "Look" : "Save")] } : { text: "worker done" };
  }
  if (role === "child") {
    return n === 0 ? looks : n === 1 ? { tools: [call("Save")] } : { text: "child done" };
  }
  if (n === 0) {
    const input = (i: number) => ({
      description: "a part",
      prompt: `child ${i} of ${who}`,
    });
    return {
      tools: [0, 1, 2].map((i) => ({
        name: "Agent",
        input: input(i),
        id: `c0-${i}`,
      })),
    };
  }
  return n === 1 ? looks : n === 2 ? { tools: [call("Ask")] } : { text: "parent done" };
}

/** The agent that is each of them, by its prompt: `worker …`, `parent …`; its calls of Ask wait for a person. */
export function family(
  log: string,
  more: AgentOptions & { ms?: number; isWitness?: boolean } = {},
): Agent {
  const { ms = 15, isWitness = false, ...options } = more;
  const witness = isWitness ? log : undefined;
  const inner = scripted([], {
    then: (request) => ({ ...reply(request), delay: ms }),
  });
  const model: Model = async function* (request, signal) {
    const { messages } = request;
    const name = `llm ${(messages[0]!.content[0] as TextBlock).text} ${messages.length}`;
    if (witness) write(witness, { step: name, phase: "start" });
    yield* inner(request, signal);
    if (witness) write(witness, { step: name, phase: "end" });
  };
  return agent({
    name: "family",
    model,
    tools: tools(log, ms, witness),
    permissions: { ask: ["Ask"], mode: "bypassPermissions" },
    ...options,
  });
}
