import { type AnyEvent, type EventName, EVENTS } from "../../core/events.ts";
import { isObject, type JsonObject, parsed, present } from "../../core/json.ts";
import { kebab, pascal, resolveEvent } from "../../core/names.ts";
import { shown } from "../../core/shown.ts";
import { expectObject, type HookText, NO_OPINION, type Opinion, unusable, UnusableAnswer } from "../../core/verdict.ts";
import { wireName } from "./wire.ts";
import { howEnded, type ProcessResult } from "../../process/process.ts";

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
interface Answered {
  readonly opinion: Opinion;
  readonly json?: JsonObject;
  /** What it printed, if that is not JSON. */
  readonly words?: string;
  /** Whether it speaks by exit code 2: the reason, or the message for the person, is its stderr. */
  readonly exit?: boolean;
}

/** A process's answer; exit code 2 refuses whatever else it says. @throws {UnusableAnswer} if that is not one */
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
  if (opinion.decision === "deny" && opinion.text !== "") return present({ opinion, json });
  const stderr = ran.stderr.trim();
  if (!mayDeny) {
    // Nothing can be refused here: the words are for the person.
    const exit = stderr !== "" && opinion.systemMessage === undefined;
    return present({ opinion: exit ? { ...opinion, systemMessage: stderr } : opinion, json, exit });
  }
  const { contexts, systemMessage, halt } = opinion;
  const beside = present({ contexts, systemMessage, halt, reason: stderr || undefined });
  return present({ opinion: { ...beside, decision: "deny" }, json, exit: true });
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

/** What a hook in the background says, never a verdict; undefined for one that is not, by its first line or by `late`. */
export function readLate(ran: ProcessResult, event: AnyEvent, registered?: string, late = false): Opinion | undefined {
  const [first, ...rest] = ran.stdout.trimStart().split("\n");
  const announced = asyncLine(first!) !== undefined;
  if (!announced && !late) return undefined;
  const printed = printedBy(announced ? { ...ran, stdout: rest.join("\n") } : ran);
  if (!("json" in printed)) return {};
  const { contexts, systemMessage } = readClaude(printed.json, event.event, wireName(event, registered));
  return present({ contexts, systemMessage });
}

/** Tells an answer from words. @throws {UnusableAnswer} for one that cannot be read: as words, a denial would be consent */
export function readStdout(stdout: string): { readonly json: JsonObject } | { readonly plain: string } {
  const text = stdout.trim();
  if (!text.startsWith("{")) {
    if (holdsVerdict(text)) throw unreadable("there is other text before its JSON object", text);
    return { plain: text };
  }
  const json = parsed(text);
  if (isObject(json)) return { json };
  if (!/^\{\s*["}]/.test(text) && !text.endsWith("}")) return { plain: text };
  throw unreadable("it looks like a JSON object and is not valid JSON", text);
}

/** Whether words end in an object that would have decided something by itself. */
function holdsVerdict(text: string): boolean {
  const [first, last] = [text.indexOf("\n{"), text.lastIndexOf("\n{")];
  if (first < 0) return false;
  const json = parsed(text.slice(first + 1)) ?? (last === first ? undefined : parsed(text.slice(last + 1)));
  return isObject(json) && ["decision", "hookSpecificOutput", "continue"].some((key) => Object.hasOwn(json, key));
}

function unreadable(why: string, text: string): UnusableAnswer {
  const shown = JSON.stringify(text.length > 120 ? `${text.slice(0, 117)}...` : text);
  return new UnusableAnswer(`Cannot use the hook's output as ${why}: print one object and nothing else, not ${shown}`);
}

/** A first line that sends the hook into the background, and for how many milliseconds at most. */
export function asyncLine(line: string): { readonly timeout: number | undefined } | undefined {
  if (!line.trimStart().startsWith("{")) return undefined;
  const json = parsed(line);
  if (!isObject(json) || json.async !== true) return undefined;
  return { timeout: typeof json.asyncTimeout === "number" ? json.asyncTimeout : undefined };
}

/** The words a host uses when a hook gives none. */
const CLAUDE_NO_REASON = "Blocked by hook";

/** Reads the JSON of a Claude Code hook. As there, a known key of the wrong type makes it unusable, and others are ignored. */
export function readClaude(raw: unknown, event: EventName, wireName = pascal(event)): Opinion {
  const out = expectObject(raw, event);
  checkTypes(out, CLAUDE_TOP, event, "");
  const decision = out.decision as string | undefined;
  if (decision !== undefined && decision !== "approve" && decision !== "block") {
    throw unusable(event, `decision ${JSON.stringify(decision)} is not 'approve' or 'block'`);
  }
  const specific = readSpecific(out.hookSpecificOutput as Record<string, unknown> | undefined, event, wireName);
  // A permission is answered by `hookSpecificOutput.decision` alone.
  if (event === "permission-request") return { ...specific, ...beside(out) };
  const blocked = decision === "block" || specific.decision === "deny";
  const said = out.reason as string | undefined;
  const reason = decision === "block" ? said || specific.reason : specific.reason || said;
  const opinion: Opinion = {
    ...present({
      decision: blocked ? "deny" : specific.decision ?? (decision === "approve" ? "allow" : undefined),
      reason: reason || (blocked ? CLAUDE_NO_REASON : undefined),
      value: specific.value,
      contexts: specific.contexts,
      halt: specific.halt,
    }),
    ...beside(out),
  };
  // There, context from a stop hook is a reason to go on, and needs no further words.
  if (event === "stop" && opinion.contexts && opinion.decision !== "deny") {
    return { ...opinion, decision: "deny", reason: opinion.contexts.map((c) => c.text).join("\n"), text: "" };
  }
  return opinion;
}

function beside(out: Record<string, unknown>): Opinion {
  const halt = out.continue === false ? (out.stopReason as string | undefined) ?? "" : undefined;
  return present({ halt, systemMessage: out.systemMessage as string | undefined });
}

/** The keys of an answer and their types; those of `hookSpecificOutput` below. */
export const CLAUDE_TOP: Record<string, string> = {
  continue: "boolean",
  stopReason: "string",
  suppressOutput: "boolean",
  systemMessage: "string",
  decision: "string",
  reason: "string",
  hookSpecificOutput: "object",
};

export const CLAUDE_SPECIFIC: Record<string, string> = {
  hookEventName: "string",
  permissionDecision: "string",
  permissionDecisionReason: "string",
  updatedInput: "object",
  additionalContext: "string",
};

function readSpecific(specific: Record<string, unknown> | undefined, event: EventName, wireName: string): Opinion {
  if (specific === undefined) return NO_OPINION;
  checkTypes(specific, CLAUDE_SPECIFIC, event, "hookSpecificOutput.");
  if (specific.hookEventName === undefined) {
    throw unusable(event, `hookSpecificOutput is missing required field "hookEventName"`);
  }
  if (resolveEvent(specific.hookEventName as string)?.event !== event || specific.hookEventName !== wireName) {
    throw unusable(
      event,
      `Hook returned incorrect event name: expected '${wireName}' but got '${specific.hookEventName}'`,
    );
  }
  const contexts: HookText[] = typeof specific.additionalContext === "string" && specific.additionalContext !== ""
    ? [{ text: specific.additionalContext }]
    : [];
  const found: Opinion = contexts.length > 0 ? { contexts } : NO_OPINION;
  if (event === "permission-request") return { ...found, ...readBehavior(specific.decision, event) };
  const value = event === "post-tool-use" && "updatedToolOutput" in specific
    ? { to: { response: specific.updatedToolOutput } }
    : specific.updatedInput !== undefined && EVENTS[event].subject === "input"
    ? { to: specific.updatedInput }
    : undefined;
  const permission = EVENTS[event].ask ? specific.permissionDecision as string | undefined : undefined;
  if (permission === undefined) return { ...found, ...present({ value }) };
  if (!["allow", "deny", "ask", "defer"].includes(permission)) {
    throw unusable(event, `permissionDecision ${JSON.stringify(permission)} is not allow, deny, ask or defer`);
  }
  const reason = specific.permissionDecisionReason as string | undefined;
  return {
    ...found,
    ...present({ value, reason }),
    // `defer` puts the call off to a later process: here the run ends before the call, which is a halt with a refusal.
    ...(permission === "defer"
      ? { decision: "deny", halt: "deferred" }
      : { decision: permission as "allow" | "deny" | "ask" }),
  };
}

function readBehavior(decision: unknown, event: EventName): Opinion {
  if (decision === undefined) return NO_OPINION;
  const given = expectObject(decision, event);
  if (given.behavior === "allow") {
    return { decision: "allow", ...(given.updatedInput !== undefined && { value: { to: given.updatedInput } }) };
  }
  if (given.behavior !== "deny") {
    throw unusable(event, `behavior ${JSON.stringify(given.behavior)} is not 'allow' or 'deny'`);
  }
  const message = typeof given.message === "string" ? given.message : "Permission denied by hook";
  return { decision: "deny", reason: message, text: message, ...(given.interrupt === true && { abort: message }) };
}

function checkTypes(object: JsonObject, types: Record<string, string>, event: EventName, prefix: string): void {
  for (const [key, type] of Object.entries(types)) {
    const value = object[key];
    if (value === undefined) continue;
    if (typeof value !== type || value === null) {
      throw unusable(event, `'${prefix}${key}' is ${shown(value)}, expected ${type}`);
    }
  }
}
