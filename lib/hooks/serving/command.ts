import { statSync } from "node:fs";
import { type AnyEvent, EVENTS } from "../../core/events.ts";
import type { HookContext, HookRecord } from "../../core/hook.ts";
import { NO_OPINION, type Opinion } from "../../core/verdict.ts";
import type { HookFile } from "../discover.ts";
import { readHeader, recordBase } from "../file/record.ts";
import { asyncLine, readClaude, readStdout } from "../hosts/claude-answer.ts";
import { HOSTS } from "../hosts/index.ts";
import type { HostEvent } from "../hosts/read-event.ts";
import { failed } from "../process/answer.ts";
import { type Ran, runProcess } from "../../process/process.ts";
import { programOf } from "../../process/program.ts";
import { wireInput, wireName } from "../process/wire.ts";
import type { ServeOptions } from "../serve.ts";

/** A script that another host asks through us. */
export interface ServedCommand {
  readonly record: HookRecord;
  /** How its process ended, once it has. */
  readonly ran: () => Ran | undefined;
}

/** The script gets what a hook of Claude Code gets: the host's own bytes if the host is like Claude Code. */
export function servedCommand(file: HookFile, stdin: string, heard: HostEvent, options: ServeOptions): ServedCommand {
  let ended: Ran | undefined;
  const facts = factsOf(stdin);
  const run = async (event: AnyEvent, ctx: HookContext): Promise<Ran> => {
    const input = !HOSTS[options.host].likeClaude
      ? `${JSON.stringify(wireInput(event, heard.cwd, facts, file.event))}\n`
      : stdin.endsWith("\n")
      ? stdin
      : `${stdin}\n`;
    const env = { CLAUDE_PROJECT_DIR: heard.cwd, ...options.env };
    // The agent's directory may be gone; ours is where the host started us.
    const cwd = isFolder(ctx.cwd) ? ctx.cwd : process.cwd();
    return ended = await runProcess({ ...programOf(file), cwd, env, input, signal: ctx.signal });
  };
  const base = recordBase(file, readHeader(file.text), file.path);
  const read: HookRecord["read"] = (raw, event) => opinionOf(raw as Ran, event, wireName(event, file.event));
  return { record: { ...base, kind: "command", dialect: "claude", run, read }, ran: () => ended };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function factsOf(stdin: string): { transcript_path: string } {
  const { transcript_path } = JSON.parse(stdin) as { transcript_path?: unknown };
  return { transcript_path: typeof transcript_path === "string" ? transcript_path : "" };
}

/** What a script said, without the words in which one host or another shows it. */
function opinionOf(ran: Ran, event: AnyEvent, name: string): Opinion {
  const [first, ...rest] = ran.stdout.trimStart().split("\n");
  if (asyncLine(first!)) return late(rest.join("\n"), event, name);
  if (ran.code === 2) return refusal(ran, event, name);
  const printed = readStdout(ran.stdout);
  if ("json" in printed) return withOpening(readClaude(printed.json, event.event, name), printed.json, event);
  if (ran.code !== 0) throw failed(ran);
  const counts = event.event === "session-start" || event.event === "user-prompt-submit";
  return counts && printed.plain !== "" ? { contexts: [{ text: printed.plain }] } : {};
}

/** A script that goes on in the background has no verdict, but may have text for the model. */
function late(stdout: string, event: AnyEvent, name: string): Opinion {
  const printed = readStdout(stdout);
  const { contexts, systemMessage } = "json" in printed ? readClaude(printed.json, event.event, name) : NO_OPINION;
  return { ...(contexts && { contexts }), ...(systemMessage !== undefined && { systemMessage }) };
}

/** Only Claude Code takes a prompt to begin with: for the others it is text for the model. */
function withOpening(opinion: Opinion, json: Readonly<Record<string, unknown>>, event: AnyEvent): Opinion {
  const { initialUserMessage: text } = (json.hookSpecificOutput ?? {}) as { initialUserMessage?: unknown };
  if (event.event !== "session-start" || typeof text !== "string") return opinion;
  return { ...opinion, contexts: [...opinion.contexts ?? [], { text }] };
}

function refusal({ stdout, stderr }: Ran, event: AnyEvent, name: string): Opinion {
  if (EVENTS[event.event].deny === "ignored") return stderr.trim() === "" ? {} : { systemMessage: stderr.trim() };
  let answer: Opinion = {};
  try {
    const printed = readStdout(stdout);
    if ("json" in printed) answer = readClaude(printed.json, event.event, name);
  } catch {
    // Code 2 is a refusal, whatever it printed.
  }
  if (answer.decision === "deny") return answer;
  const { value: _, ...beside } = answer;
  return { ...beside, decision: "deny", reason: stderr.trim() || "No stderr output" };
}
