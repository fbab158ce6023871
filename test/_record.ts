import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { agent } from "../lib/agent/agent.ts";
import type { Agent, AgentOptions, RunOptions } from "../lib/agent/options.ts";
import { anthropic } from "../lib/models/anthropic/anthropic-model.ts";
import type { Result } from "../lib/core/run-events.ts";
import { fixtureAt, inScratch } from "../lib/replay/fixture.ts";
import { besideTape, keepFiles } from "../lib/replay/record/keep-files.ts";
import { type FixtureRun, type ReplayOptions, runFixture } from "../lib/replay/run-fixture.ts";
import type { TapeMode } from "../lib/replay/policy.ts";
import { fileUrl } from "../lib/runtime/importing.ts";
import { type ScriptedReply, scriptedServer, type ScriptEntry } from "../lib/testing/index.ts";
import type { ScriptOptions } from "../lib/models/scripted.ts";
import { Bash, Edit, Read } from "../lib/tools/index.ts";
import "./replay/_no-ci.ts";

export const SYSTEM = "You fix typos.\nYou are brief.\nYou test what you did.";
/** What is put into a project for them, and the replies that do it. */
export const TEA = { "tea.md": "over teh leaves\n" };
export const FIXES: ScriptedReply[] = [
  { text: "I read it.", tools: [{ name: "Read", input: { file_path: "tea.md" } }] },
  {
    text: "I fix it.",
    tools: [{ name: "Edit", input: { file_path: "tea.md", old_string: "teh", new_string: "the" } }],
  },
  { text: "I look.", tools: [{ name: "Bash", input: { command: "cat tea.md; pwd", description: "Look" } }] },
  { text: "Fixed." },
];

/** The agent that a project's `agent.ts` would be, made here: no process, and no script that is loaded only once. */
export function subject(cwd: string, options: AgentOptions = {}): Agent {
  const hooks = existsSync(join(cwd, "hooks")) ? "./hooks" : [];
  const permissions = { mode: "bypassPermissions" } as const;
  return agent({
    ...{ from: fileUrl(join(cwd, "agent.ts")), system: SYSTEM, tools: [Read, Edit, Bash], permissions, hooks },
    ...options,
  });
}

/** A model behind which nothing is. */
export const nowhere = () => anthropic({ baseURL: "http://127.0.0.1:9", apiKey: "not-a-key", maxRetries: 0 });

export interface Asked extends ReplayOptions {
  /** Its name in fixtures/. @default "fix-the-typo" */
  readonly fixture?: string;
  /** Options of the agent. */
  readonly with?: AgentOptions;
  /** What the model says; without them nothing answers. */
  readonly replies?: readonly ScriptEntry[];
  readonly script?: ScriptOptions;
}

/** Runs a fixture of a project; a new one gets the project's files, as with `crochet record`. */
export async function runHere(cwd: string, asked: Asked = {}): Promise<FixtureRun> {
  const { fixture = "fix-the-typo", with: options, replies, script, ...more } = asked;
  await using server = replies && await scriptedServer(replies, script);
  const model = server ? anthropic({ baseURL: server.url, apiKey: "not-a-key" }) : nowhere();
  const made = subject(cwd, { model, ...options });
  const folder = join(cwd, "fixtures", fixture);
  if (more.mode !== "record") return await runFixture(fixtureAt(folder), made, more);
  return await inScratch(undefined, async (draft) => {
    const keeps = more.tools !== true;
    if (keeps) keepFiles(cwd, draft, [join(cwd, "agent.ts"), join(cwd, "hooks")]);
    return await runFixture({ ...fixtureAt(folder), files: fixtureAt(draft).files }, made, {
      ...{ prompts: ["fix the typo"], project: cwd, agent: "../../agent.ts" },
      ...(keeps ? { workspace: besideTape(folder, draft) } : { cwd }),
      ...more,
    });
  });
}

/** Records a run that fixes a typo. */
export function record(cwd: string, asked: Asked = {}): Promise<FixtureRun> {
  return runHere(cwd, { mode: "record", replies: FIXES, ...asked });
}

export interface OnTape extends RunOptions {
  /** Its name in fixtures/. @default "x" */
  readonly fixture?: string;
  /** @default "record" */
  readonly mode?: TapeMode;
  /** Options of the agent. */
  readonly with?: AgentOptions;
  readonly replies?: readonly ScriptEntry[];
}

/** Runs an agent in its project itself, on a tape that the run names; gives what it warned of, too. */
export async function onTape(
  cwd: string,
  { fixture = "x", mode = "record", with: options, replies = [], ...run }: OnTape,
): Promise<{ readonly result: Result; readonly warnings: readonly string[] }> {
  await using server = await scriptedServer(replies);
  const model = anthropic({ baseURL: server.url, apiKey: "not-a-key", maxRetries: 0 });
  const warnings: string[] = [];
  const on: RunOptions["on"] = (event) => void (event.type === "warning" && warnings.push(event.message));
  const path = join(cwd, "fixtures", fixture);
  return await inScratch(undefined, async (draft) => {
    if (mode === "record") keepFiles(cwd, draft, [join(cwd, "agent.ts"), join(cwd, "hooks")]);
    const workspace = mode === "record" && { workspace: besideTape(path, draft) };
    const tape = { path, mode, agent: "../../agent.ts", project: cwd, ...workspace };
    const result = await subject(cwd, { model, ...options }).run("look", { cwd, on, tape, ...run });
    return { result, warnings };
  });
}

export function tapeText(cwd: string, fixture = "fix-the-typo"): string {
  return readFileSync(join(cwd, "fixtures", fixture, "tape.jsonl"), "utf8");
}
