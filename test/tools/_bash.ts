import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tool, ToolContext, ToolError, ToolOutput } from "../../lib/core/tool.ts";
import { Bash, type BashInput, type BashResponse, closeShell } from "../../lib/tools/bash.ts";
import { scratch } from "../_scratch.ts";
import { call as callTool } from "./_tree.ts";

/** An agent's worth of tool calls: one state, one folder. */
export interface Bench {
  readonly cwd: string;
  readonly state: Map<string, unknown>;
  call: <I>(tool: Tool<I>, input: I, more?: Partial<ToolContext>) => Promise<ToolOutput>;
  bash: (command: string, more?: Partial<BashInput>, context?: Partial<ToolContext>) => Promise<BashResponse>;
  fails: (command: string, more?: Partial<BashInput>, context?: Partial<ToolContext>) => Promise<ToolError>;
  content: (command: string) => Promise<string>;
}

/** Runs `body` with a new agent in a new folder, and ends what it left. */
export async function bench(body: (bench: Bench) => Promise<void>, given: Tool<BashInput> = Bash): Promise<void> {
  using folder = scratch();
  const cwd = folder.path;
  const state = new Map<string, unknown>();
  const call: Bench["call"] = (tool, input, more = {}) => callTool(tool, input, { cwd, state, ...more });
  const bash: Bench["bash"] = async (command, more = {}, context = {}) =>
    (await call(given, { command, ...more }, context)).response as BashResponse;
  try {
    await body({
      cwd,
      state,
      call,
      bash,
      content: async (command) => (await call(given, { command })).content as string,
      fails: (command, more, context) =>
        bash(command, more, context).then(
          (response) => {
            throw new Error(`expected a failure, got ${JSON.stringify(response)}`);
          },
          (error) => error,
        ),
    });
  } finally {
    await closeShell(state);
  }
}

/** A word that no other process on the machine has among its arguments. */
export function token(): string {
  return `tok${randomUUID().replaceAll("-", "")}`;
}

/** How many processes have the word among their arguments. */
export function running(word: string): number {
  return execFileSync("ps", ["-Ao", "stat=,args="], { encoding: "utf8", maxBuffer: 1 << 26 }).split("\n")
    .filter((line) => !line.startsWith("Z") && line.includes(word)).length;
}

/** A command that sleeps for ever and can be found by its word. */
export function sleeper(word: string): string {
  return `sh -c 'while :; do sleep 0.05; done' ${word}`;
}

/** Waits until `holds`, for at most three minutes. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + 180_000; performance.now() < end; await sleep(20)) {
    if (await holds()) return true;
  }
  return await holds();
}
