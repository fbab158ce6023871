import { type AnyEvent, EVENTS } from "../../core/events.ts";
import { kebab } from "../../core/names.ts";
import { type Opinion, unusable, UnusableAnswer } from "../../core/verdict.ts";
import { asyncLine, readClaude, readStdout } from "../hosts/claude-answer.ts";
import { howEnded, type ProcessResult } from "../../process/process.ts";
import { wireName } from "./wire.ts";
import type { JsonObject } from "../../core/json.ts";

/** A process that gave no answer. `stderr` is what it wrote there. */
export class FailedCommand extends UnusableAnswer {
  override name = "FailedCommand";
  readonly stderr: string;
  constructor(message: string, stderr: string) {
    super(message);
    this.stderr = stderr;
  }
}

/** What a process said, without the words in which a host shows it. */
export interface Answered {
  readonly opinion: Opinion;
  readonly json?: JsonObject;
  /** What it printed, if that is not JSON. */
  readonly words?: string;
  /** Whether it speaks by exit code 2: the reason, or the message for the person, is its stderr. */
  readonly exit?: boolean;
}

/**
 * Reads how a process ended and what it said, in any protocol of ours: `read` reads the object it printed. Exit code 2
 * refuses whatever else the process said; a reason in its JSON is preferred to its stderr.
 *
 * @throws {UnusableAnswer} if that is not an answer
 */
export function readRan(ran: ProcessResult, read: (json: JsonObject) => Opinion, mayDeny = true): Answered {
  if (ran.code === 2) return refused(ran, read, mayDeny);
  const printed = printedBy(ran);
  if ("json" in printed) return { opinion: read(printed.json), json: printed.json };
  if (ran.code === 0) return { opinion: {}, words: printed.plain };
  const first = ran.stderr.trim().split("\n")[0]!;
  throw new FailedCommand(`Cannot use the hook's answer as it ${howEnded(ran)}${first && `: ${first}`}`, ran.stderr);
}

function refused(ran: ProcessResult, read: (json: JsonObject) => Opinion, mayDeny: boolean): Answered {
  let said: Answered = { opinion: {} };
  try {
    said = readRan({ ...ran, code: 0 }, read);
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error;
  }
  const { opinion, json } = said;
  if (opinion.decision === "deny" && opinion.text !== "") return { opinion, ...(json && { json }) };
  const stderr = ran.stderr.trim();
  if (!mayDeny) {
    // Nothing can be refused here: the words are for the person.
    const exit = stderr !== "" && opinion.systemMessage === undefined;
    return { opinion: exit ? { ...opinion, systemMessage: stderr } : opinion, ...(json && { json }), exit };
  }
  const { contexts, systemMessage, halt } = opinion;
  const beside: Opinion = {
    ...(contexts && { contexts }),
    ...(systemMessage !== undefined && { systemMessage }),
    ...(halt !== undefined && { halt }),
    ...(stderr !== "" && { reason: stderr }),
  };
  return { opinion: { ...beside, decision: "deny" }, ...(json && { json }), exit: true };
}

function printedBy({ stdout, stdoutFile }: ProcessResult): ReturnType<typeof readStdout> {
  if (stdoutFile !== undefined && stdout.trimStart().startsWith("{")) {
    throw new UnusableAnswer(`Cannot use the hook's output as it is too long: the whole of it is in ${stdoutFile}`);
  }
  return readStdout(stdout);
}

/** Events at which Claude Code passes plain output on to the model. */
export const PASSED_ON: ReadonlySet<string> = new Set(["session-start", "user-prompt-submit", "post-model-switch"]);

/** Reads what a command hook in the protocol of Claude Code answers to an event that it is `registered` for. */
export function readCommand(ran: ProcessResult, event: AnyEvent, registered?: string): Answered {
  const mayDeny = exitDenies(event, registered);
  const answered = readRan(ran, (json) => readJson(json, event, registered, mayDeny), mayDeny);
  const { words = "" } = answered;
  return words !== "" && PASSED_ON.has(event.event)
    ? { ...answered, opinion: { contexts: [{ text: words }] } }
    : answered;
}

/** Whether the exit code or the JSON of a hook can refuse anything at this event. */
function exitDenies(event: AnyEvent, registered: string | undefined): boolean {
  if (event.event === "permission-request") return false;
  const subOnly = registered !== undefined && kebab(registered) === "subagent-start";
  return !(subOnly && wireName(event, registered) === "SubagentStart") && EVENTS[event.event].deny !== "ignored";
}

function readJson(json: JsonObject, event: AnyEvent, registered: string | undefined, mayDeny: boolean): Opinion {
  const opinion = readClaude(json, event.event, wireName(event, registered));
  if (event.event === "agent-start" && !mayDeny) {
    const { decision: _decision, reason: _reason, ...rest } = opinion;
    return rest;
  }
  return event.event === "post-tool-use" ? withOutput(opinion, specificOf(json), event) : opinion;
}

export function specificOf(json: JsonObject | undefined): JsonObject {
  return (json?.hookSpecificOutput ?? {}) as JsonObject;
}

/** A new result must be of the kind the tool gave; that of a tool of another server is taken as it is. */
function withOutput(opinion: Opinion, specific: JsonObject, event: AnyEvent & { event: "post-tool-use" }): Opinion {
  if (event.tool_name.startsWith("mcp__") && specific.updatedMCPToolOutput !== undefined) {
    return { ...opinion, value: { to: contentOf(specific.updatedMCPToolOutput) } };
  }
  if (opinion.value === undefined) return opinion;
  const [given, had] = [specific.updatedToolOutput, event.result.response].map(kindOf);
  if (given === had) return opinion;
  throw unusable(event.event, `updatedToolOutput is ${given}, and ${event.tool_name} gives ${had}`);
}

function contentOf(output: unknown): unknown {
  return typeof output === "string" ? output : Array.isArray(output) ? { content: output } : JSON.stringify(output);
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`.replace("a o", "an o");
}

/**
 * What a hook in the background says: it has no verdict, but may have text for the model. Undefined for a hook that is
 * not in the background, by its first line or by `isLate`.
 */
export function readLate(
  ran: ProcessResult,
  event: AnyEvent,
  registered?: string,
  isLate = false,
): Opinion | undefined {
  const [first, ...rest] = ran.stdout.trimStart().split("\n");
  const announced = asyncLine(first!) !== undefined;
  if (!announced && !isLate) return undefined;
  const printed = printedBy(announced ? { ...ran, stdout: rest.join("\n") } : ran);
  if (!("json" in printed)) return {};
  const { contexts, systemMessage } = readClaude(printed.json, event.event, wireName(event, registered));
  return { ...(contexts && { contexts }), ...(systemMessage !== undefined && { systemMessage }) };
}
