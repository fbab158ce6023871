import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { agent } from "../../lib/agent/agent.ts";
import { anthropic } from "../../lib/models/anthropic/anthropic-model.ts";
import { exitCode } from "../../lib/cli/run-agent.ts";
import type { AnyEvent } from "../../lib/core/events.ts";
import type { Block, Message } from "../../lib/core/messages.ts";
import type { HookHost } from "../../lib/hooks/process/hook-host.ts";
import { loadSettings } from "../../lib/hooks/hook-settings.ts";
import { type ScriptedReply, scriptedServer } from "../../lib/testing/index.ts";
import { Agent, Bash, Edit, Read, Write } from "../../lib/tools/index.ts";
import { scratch } from "../_scratch.ts";
import { answering } from "./_answering.ts";
import { settingsFiles, settingsHooks } from "./_settings-files.ts";

/** One case: what was configured, what the model said, and what the host then did. */
export interface Case {
  readonly name: string;
  readonly events: readonly string[];
  readonly settings: object;
  readonly hook_scripts: { readonly [file: string]: string };
  readonly files?: { readonly [file: string]: string };
  readonly prompt?: string;
  readonly env?: { readonly [name: string]: string };
  readonly turns: readonly ScriptedReply[];
  readonly routes?: readonly {
    readonly when: { readonly firstUser: string };
    readonly turns: readonly ScriptedReply[];
  }[];
  readonly host: Seen & { readonly result?: { readonly result: string | null; readonly terminal?: string } };
}

export type Content = readonly (string | { readonly tool_result: string; readonly is_error?: boolean })[];
type Said = readonly { readonly content: Content }[];

/** What the host did, as far as it was kept. */
interface Seen {
  readonly tool_ran: boolean;
  readonly requests: number;
  readonly exit_code: number | string;
  readonly model_saw_first?: Said;
  readonly model_saw_next?: Said;
  readonly model_saw_each?: readonly Said[];
  readonly subagent_saw?: readonly Said[];
  readonly stop_inputs?: readonly (readonly unknown[])[];
}

/** What we did. */
export interface Outcome {
  readonly tool_ran: boolean;
  readonly exit_code: number;
  readonly text: string;
  /** The last user message of each request, in the names of the case. */
  readonly requests: readonly Content[];
  readonly subagents: readonly Content[];
  readonly stops: readonly (readonly [name: string, active: boolean, text: string])[];
  readonly warnings: readonly string[];
}

/** How a case is driven where that is more than one prompt. */
const DRIVE: { readonly [name: string]: "twice" | "interrupted" } = {
  stop_active_resets: "twice",
  sigint_during_hook: "interrupted",
};

/** What the one http hook of the cases answers. */
const HTTP_DENY = JSON.stringify({
  hookSpecificOutput: {
    hookEventName: "PreToolUse",
    permissionDecision: "deny",
    permissionDecisionReason: "http-deny",
  },
});

/** Runs a case through our loop: the real SDK against the scripted server, real tools, real hooks, in a scratch folder. */
export async function runCase(given: Case): Promise<Outcome> {
  using folder = scratch();
  const base = folder.path;
  using answerer = await answering(HTTP_DENY);
  const here = (text: string) =>
    text.replaceAll("/PROJ", `${base}/proj`).replaceAll("/BASE", base).replaceAll("/HOME", `${base}/home`)
      .replaceAll("http://127.0.0.1:39935", answerer.url);
  const there = (text: string) =>
    text.replaceAll(`${base}/proj`, "/PROJ").replaceAll(`${base}/home`, "/HOME").replaceAll(base, "/BASE");
  const { settings, hook_scripts, files = {}, turns, routes = [], env = {}, prompt = "go", name }: Case = JSON.parse(
    here(JSON.stringify(given)),
  );
  const proj = join(base, "proj");
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  mkdirSync(join(base, "hooklog"));
  put(join(proj, ".claude", "settings.json"), JSON.stringify(settings));
  for (const [file, text] of Object.entries(hook_scripts)) put(join(base, file), text);
  for (const [file, text] of Object.entries(files)) put(join(proj, file), text);

  await using server = await scriptedServer(turns, {
    then: { text: "(scenario exhausted)" },
    routes: routes.map(({ when, turns }) => ({
      when: ({ messages }) => JSON.stringify(messages[0]).includes(when.firstUser),
      replies: turns,
    })),
  });
  const stops: [string, boolean, string][] = [];
  const warnings: string[] = [];
  const where = settingsFiles(proj, join(base, "home"));
  const hostOf = (given: HookHost): HookHost => ({
    ...given,
    env: { ...process.env, HOME: join(base, "home"), ...env },
    allowLocal: true,
    outputDir: () => join(base, "home", ".crochet", "outputs"),
    wire: (event) => {
      noteStop(event, stops);
      return given.wire?.(event) ?? {};
    },
  });
  const loaded = await loadSettings(where, { projectDir: proj });
  const stalls = env.CLAUDE_CODE_STOP_HOOK_BLOCK_CAP;
  const session = await agent({
    model: anthropic({ apiKey: "test", baseURL: server.url, maxRetries: 0 }),
    tools: [Bash, Read, Edit, Write, Agent],
    limits: stalls === undefined ? {} : { stalls: Number(stalls) },
    permissions: { mode: "default", ...loaded.permissions },
    cwd: proj,
    on: (event) => {
      if (event.type === "warning") warnings.push(there(event.message));
    },
  }).open({ hooks: settingsHooks(where, hostOf) });
  try {
    const interrupt = new AbortController();
    const watch = setInterval(() => {
      if (DRIVE[name] === "interrupted" && existsSync(join(base, "hooklog", "pid"))) {
        interrupt.abort(new Error("interrupted"));
      }
    }, 50);
    let result = await session.prompt(prompt, { signal: interrupt.signal }).finally(() => clearInterval(watch));
    if (DRIVE[name] === "twice") result = await session.prompt(prompt);
    await session.close();
    const lane = (request: { messages: readonly Message[] }) =>
      routes.some(({ when }) => JSON.stringify(request.messages[0]).includes(when.firstUser));
    const asked = server.requests.map((r) => r.request!);
    const last = (request: { messages: readonly Message[] }) => contentOf(request.messages.at(-1)!, there);
    return {
      tool_ran: existsSync(join(proj, "ran")),
      exit_code: exitCode(result.stop),
      text: there(result.text),
      requests: asked.filter((r) => !lane(r)).map(last),
      subagents: asked.filter(lane).map(last),
      stops,
      warnings: [...warnings, ...loaded.problems.map((p) => there(p.message))],
    };
  } finally {
    await session.close();
  }
}

function noteStop(event: AnyEvent, stops: [string, boolean, string][]): void {
  if (event.event !== "stop") return;
  const name = event.parent_agent_id === undefined ? "Stop" : "SubagentStop";
  stops.push([name, event.stop_hook_active, event.last_assistant_message]);
}

function contentOf(message: Message, there: (text: string) => string): Content {
  return message.content.flatMap((block): Content => {
    if (block.type === "text") return [there((block as { text: string }).text)];
    if (block.type !== "tool_result") return [];
    const { content, is_error } = block as { content?: string | readonly Block[]; is_error?: boolean };
    const text = typeof content === "string"
      ? content
      : (content ?? []).map((b) => (b as { text?: string }).text ?? "").join("\n\n");
    return [{ tool_result: there(text), is_error: is_error ?? false }];
  });
}

export function readCases(path: string): Case[] {
  return readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));
}
