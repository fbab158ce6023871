import { existsSync } from "node:fs";
import type { AnyEvent, EventOf } from "../../core/events.ts";
import type { HookContext, HookRecord } from "../../core/hook.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Opinion } from "../../core/verdict.ts";
import type { HookFile } from "../discover.ts";
import { readHeader, recordBase } from "../file/hook-record.ts";
import type { Host } from "../hosts/host.ts";
import type { HostEvent } from "../hosts/read-event.ts";
import { type ProcessResult, runProcess } from "../../process/process.ts";
import { programOf } from "../../process/programs.ts";
import { readCommand, readLate, specificOf } from "../process/read-result.ts";
import { wireInput } from "../process/wire.ts";
import type { ServeOptions } from "../serve-hook.ts";

export interface ServedCommand {
  readonly record: HookRecord;
  /** How its process ended, once it has. */
  readonly ran: () => ProcessResult | undefined;
}

/** The script gets what a hook of Claude Code gets: the host's own bytes if the host and its tool are like Claude Code's. */
export function servedCommand(
  file: HookFile,
  stdin: string,
  heard: HostEvent,
  host: Host,
  options: ServeOptions,
): ServedCommand {
  let ended: ProcessResult | undefined;
  const given = JSON.parse(stdin) as JsonObject;
  const { transcript_path: path } = given;
  const facts = { transcript_path: typeof path === "string" ? path : "" };
  const run = async (event: AnyEvent, ctx: HookContext): Promise<ProcessResult> => {
    const { tool_name, input: tool_input } = event as Partial<EventOf<"pre-tool-use">>;
    const text = !host.likeClaude
      ? JSON.stringify(wireInput(event, heard.cwd, facts, file.event))
      : tool_name === undefined || tool_name === given.tool_name
      ? stdin.trimEnd()
      : JSON.stringify({ ...given, tool_name, tool_input });
    const input = `${text}\n`;
    const env = { CLAUDE_PROJECT_DIR: heard.cwd, ...options.env };
    // The agent's directory may be gone; ours is where the host started us.
    const cwd = existsSync(ctx.cwd) ? ctx.cwd : process.cwd();
    return ended = await runProcess({ ...programOf(file), cwd, env, input, signal: ctx.signal });
  };
  const base = recordBase(file, readHeader(file.text), file.path);
  const read: HookRecord["read"] = (raw, event) => opinionOf(raw as ProcessResult, event, file.event);
  return { record: { ...base, kind: "command", dialect: "claude", run, read }, ran: () => ended };
}

/** What a script said. Only Claude Code takes a prompt to begin with: for the others it is text for the model. */
export function opinionOf(ran: ProcessResult, event: AnyEvent, registered: string): Opinion {
  const late = readLate(ran, event, registered);
  if (late) return late;
  const { opinion, json } = readCommand(ran, event, registered);
  const { initialUserMessage: text } = specificOf(json);
  if (event.event !== "session-start" || typeof text !== "string") return opinion;
  return { ...opinion, contexts: [...opinion.contexts ?? [], { text }] };
}
