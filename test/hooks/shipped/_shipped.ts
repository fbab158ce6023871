import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { EventName, Fired } from "../../../lib/core/events.ts";
import type { Folded } from "../../../lib/core/fold.ts";
import type { HookEnv } from "../../../lib/core/hook.ts";
import type { Model } from "../../../lib/core/model.ts";
import { hookFiles } from "../../../lib/hooks/hook-files.ts";
import { loadHook, readHookFile } from "../../../lib/hooks/discover.ts";
import { exec } from "../../../lib/process/process.ts";
import { sampleEvent } from "../../../lib/hooks/samples.ts";
import { serve } from "../../../lib/hooks/serve-hook.ts";
import { environment, fireHook } from "../_fire.ts";

export const SHIPPED = fileURLToPath(new URL("../../../hooks", import.meta.url));

type Fields = { readonly [field: string]: unknown };

/** A shipped hook, ready to be fired any number of times in one session. */
export async function shipped(name: string, cwd: string, options: { model?: Model; env?: Partial<HookEnv> } = {}) {
  const file = readHookFile(`${SHIPPED}/${name}`);
  const record = await loadHook(file, {
    folder: { root: dirname(file.path), shared: "", sharedFiles: [] },
    source: "hooks",
    host: { projectDir: cwd, outputDir: () => `${cwd}/.outputs` },
    prompt: { model: options.model },
  });
  const { env } = environment(cwd, { exec, files: hookFiles, ...options.env });
  return {
    record,
    fire: (fired: Fired<EventName>): Promise<Folded> => fireHook(record, fired, env),
    /** Fires the hook's own event about a call of a tool. */
    call: (tool: string, input: Fields, event: "pre-tool-use" | "post-tool-use" = "pre-tool-use"): Promise<Folded> =>
      fireHook(record, { ...sampleEvent(event, { cwd, tool }), input, original_input: input } as Fired<EventName>, env),
  };
}

/** What another host is told by a shipped hook. */
export async function served(
  name: string,
  input: Fields,
  { host = "claude", env = process.env }: { host?: "claude" | "codex" | "gemini"; env?: NodeJS.ProcessEnv } = {},
): Promise<{ output: Fields | undefined; stdout: string; stderr: string; code: number }> {
  const { signal } = new AbortController();
  const answer = await serve(`${SHIPPED}/${name}`, JSON.stringify(input), { host, env, signal });
  const json = answer.stdout.trimStart().startsWith("{");
  return { ...answer, output: json ? JSON.parse(answer.stdout) : undefined };
}

/** What Claude Code writes to a hook's stdin before a call. */
export function claudeCall(tool_name: string, tool_input: Fields, cwd = "/tmp"): Fields {
  const about = { session_id: "s1", transcript_path: "", cwd, prompt_id: "p1", permission_mode: "default" };
  return { ...about, hook_event_name: "PreToolUse", tool_name, tool_input, tool_use_id: "toolu_1" };
}

/** Runs git in a repository of its own, with nobody's settings. */
export function git(cwd: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"];
  return execFileSync("git", [...who, ...args], { cwd, env, encoding: "utf8" });
}
