import { join } from "node:path";
import { type AnyEvent, EVENTS } from "../../core/events.ts";
import type { HookContext } from "../../core/hook.ts";
import { kebab } from "../../core/names.ts";
import { reminder } from "../../core/said.ts";
import { type Opinion, type Said, unusable, UnusableAnswer } from "../../core/verdict.ts";
import { asyncLine, readClaude, readStdout } from "../hosts/claude-answer.ts";
import { type HookHost, outputFolder, persisted } from "./host.ts";
import { howEnded, type Ran } from "../../process/process.ts";
import { wireLabel, wireName } from "./wire.ts";

/** A process that gave no answer. `stderr` is what it wrote there. */
export class FailedCommand extends UnusableAnswer {
  override name = "FailedCommand";
  readonly stderr: string;
  constructor(message: string, stderr: string) {
    super(message);
    this.stderr = stderr;
  }
}

/** The hook whose answer is read. */
interface Listening extends Speaker {
  /** Whether the hook was registered for sub-agents alone, by the host's own name of that moment. */
  readonly subOnly: boolean;
  readonly ctx: HookContext;
  readonly host: HookHost;
}

/** How a hook and its front end call themselves. */
export interface Called {
  readonly command: string;
  readonly registered: string | undefined;
}

export function speakerOf(event: AnyEvent, { command, registered }: Called): Speaker {
  return { event, name: wireName(event, registered), command };
}

export function listeningTo(event: AnyEvent, called: Called, ctx: HookContext, host: HookHost): Listening {
  const { registered } = called;
  const subOnly = registered !== undefined && kebab(registered) === "subagent-start";
  return { ...speakerOf(event, called), subOnly, ctx, host };
}

/** A new file for a text that is too long for the model. */
function fileFor({ event, ctx, host }: Listening, what: string): string {
  return join(outputFolder(host, event.session_id), `hook-${ctx.uuid()}-${what}.txt`);
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads how a process ended and what it said, as the host tabulates it.
 *
 * @throws {UnusableAnswer} if that is not an answer
 */
export function answerOf(ran: Ran, about: Listening): Opinion {
  if (ran.code === 2) return refusal(ran, about);
  const printed = printedBy(ran);
  if ("json" in printed) return dressed(readJson(printed.json, about), about, { json: printed.json });
  if (ran.code !== 0) throw failed(ran);
  return fromWords(printed.plain, ran, about);
}

/**
 * What a hook in the background says in the end: its verdict, exit code and plain text do not count, unless
 * it may still complain (`rewake`).
 *
 * @throws {UnusableAnswer} if its output looks like an answer but cannot be read
 */
export function lateAnswer(ran: Ran, about: Listening, rewake = false): readonly Said[] {
  if (ran.ended) return [];
  if (rewake && ran.code === 2) return [complaint(about, ran.stderr || ran.stdout)];
  const [first, ...rest] = ran.stdout.trimStart().split("\n");
  const stdout = asyncLine(first!) ? rest.join("\n") : ran.stdout;
  const printed = printedBy({ ...ran, stdout });
  if (!("json" in printed)) return [];
  return lateWords(shortened(readClaude(printed.json, about.event.event, about.name), about));
}

/** Exit code 2 refuses, whatever else the process said; a reason in its JSON is preferred to its stderr. */
function refusal(ran: Ran, about: Listening): Opinion {
  let json: Json | undefined;
  let answer: Opinion = {};
  try {
    const printed = printedBy(ran);
    if ("json" in printed) answer = readJson(json = printed.json, about);
  } catch (error) {
    if (!(error instanceof UnusableAnswer)) throw error;
  }
  if (answer.decision === "deny" && answer.text !== "") return dressed(answer, about, { json });
  const reason = `[${about.command}]: ${ran.stderr || "No stderr output"}`;
  if (!mayDeny(about)) {
    // Nothing can be refused here: the words are for the person.
    const said = ran.stderr.trim() === "" ? {} : { systemMessage: reason.trimEnd() };
    return dressed({ ...said, ...answer }, about, { json });
  }
  const { contexts, systemMessage, halt } = answer;
  const beside: Opinion = {
    ...(contexts && { contexts }),
    ...(systemMessage !== undefined && { systemMessage }),
    ...(halt !== undefined && { halt }),
  };
  return dressed({ ...beside, decision: "deny", reason }, about, { json, exit: true });
}

/** Whether the exit code or the JSON of a hook can refuse anything at this event. */
function mayDeny({ event, name, subOnly }: Listening): boolean {
  if (event.event === "permission-request" || (name === "SubagentStart" && subOnly)) return false;
  return EVENTS[event.event].deny !== "ignored";
}

function printedBy({ stdout, stdoutFile }: Ran): ReturnType<typeof readStdout> {
  if (stdoutFile !== undefined && stdout.trimStart().startsWith("{")) {
    throw new UnusableAnswer(`Cannot use the hook's output as it is too long: the whole of it is in ${stdoutFile}`);
  }
  return readStdout(stdout);
}

function readJson(json: Json, about: Listening): Opinion {
  const { event, name } = about;
  const opinion = readClaude(json, event.event, name);
  const specific = specificOf(json);
  if (event.event === "session-start" && typeof specific.initialUserMessage === "string") {
    about.ctx.hookInput(specific.initialUserMessage);
  }
  if (event.event === "permission-request") rememberRules(specific.decision, about);
  if (event.event === "agent-start" && !mayDeny(about)) {
    const { decision: _decision, reason: _reason, ...rest } = opinion;
    return rest;
  }
  return event.event === "post-tool-use" ? withOutput(opinion, specific, about) : opinion;
}

/** Rules a hook allows along with a call hold for the session; other changes of permissions are not a hook's to make here. */
function rememberRules(decision: unknown, { ctx, host }: Listening): void {
  const updates = (decision as { updatedPermissions?: unknown } | undefined)?.updatedPermissions;
  for (const update of Array.isArray(updates) ? updates as Record<string, unknown>[] : []) {
    const { type, behavior, rules } = update;
    if (
      type === "addRules" && Array.isArray(rules) && (behavior === "allow" || behavior === "ask" || behavior === "deny")
    ) {
      host.remember?.(behavior, (rules as { toolName: string; ruleContent?: string }[]).map(ruleOf));
    } else ctx.log(`does not change permissions by '${String(type)}' here: only 'addRules' is taken, for the session`);
  }
}

function ruleOf({ toolName, ruleContent }: { toolName: string; ruleContent?: string }): string {
  return ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`;
}

/** A new result must be of the kind the tool gave; that of a tool of another server is taken as it is. */
function withOutput(opinion: Opinion, specific: Json, { event }: Listening): Opinion {
  if (event.event !== "post-tool-use") return opinion;
  if (event.tool_name.startsWith("mcp__") && specific.updatedMCPToolOutput !== undefined) {
    return { ...opinion, value: { to: contentOf(specific.updatedMCPToolOutput) } };
  }
  if (opinion.value === undefined) return opinion;
  const [given, had] = [specific.updatedToolOutput, event.result.response].map(kindOf);
  if (given !== had) {
    throw unusable(event.event, `updatedToolOutput is ${given}, and ${event.tool_name} gives ${had}`);
  }
  return opinion;
}

function contentOf(output: unknown): unknown {
  return typeof output === "string" ? output : Array.isArray(output) ? { content: output } : JSON.stringify(output);
}

function kindOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`.replace("a o", "an o");
}

function specificOf(json: Json | undefined): Json {
  return (json?.hookSpecificOutput ?? {}) as Json;
}

function dressed(opinion: Opinion, about: Listening, from: { json?: Json | undefined; exit?: boolean }): Opinion {
  return inHostWords(shortened(opinion, about), about, {
    exit: from.exit ?? false,
    hidePrompt: specificOf(from.json).suppressOriginalPrompt === true,
  });
}

/** Contexts are cut to what the model should read; reasons never are. */
function shortened(opinion: Opinion, about: Listening): Opinion {
  if (!opinion.contexts) return opinion;
  const short = (text: string) => persisted(text, () => fileFor(about, "additionalContext"));
  return { ...opinion, contexts: opinion.contexts.map((said) => ({ ...said, text: short(said.text) })) };
}

/** Plain text counts if the host passes it on, and as further instructions for a summary. */
function fromWords(text: string, ran: Ran, about: Listening): Opinion {
  const { event } = about;
  if (text === "") return {};
  if (event.event === "pre-compact") {
    return { value: { to: [event.instructions, text].filter((t) => t !== "").join("\n\n") } };
  }
  const said = plainWords(about, () => persisted(text, () => fileFor(about, "stdout"), ran.stdoutFile));
  return said ? { contexts: [said] } : {};
}

/** The error for a process that failed: how it ended, and the first line of its stderr. */
export function failed(ran: Ran): FailedCommand {
  const first = ran.stderr.trim().split("\n")[0]!;
  return new FailedCommand(`Cannot use the hook's answer as it ${howEnded(ran)}${first && `: ${first}`}`, ran.stderr);
}

/** Who speaks: which hook, on what. */
interface Speaker {
  readonly event: AnyEvent;
  /** The event's name on the wire. */
  readonly name: string;
  /** How the host names the hook to the model: its command, url or prompt. */
  readonly command: string;
}

/**
 * Gives an opinion the words and the places the host gives it. `exit` marks a reason that is the process's stderr:
 * on stop the model then reads it once and not twice.
 */
export function inHostWords(
  opinion: Opinion,
  who: Speaker,
  from: { exit?: boolean; hidePrompt?: boolean } = {},
): Opinion {
  const { event, name } = who;
  const denied = opinion.decision === "deny" && opinion.text === undefined;
  const reason = opinion.reason ?? "";
  switch (event.event) {
    case "pre-tool-use":
      if (denied) return labelled({ ...opinion, text: refusalWords(who, reason) }, who);
      if (opinion.decision !== "ask") return labelled(opinion, who);
      return labelled(
        { ...opinion, text: reason || `Hook ${wireLabel(event, name)} asked for confirmation for this tool` },
        who,
      );
    case "stop":
      return denied ? sentBack(opinion, who, from.exit ?? false) : labelled(opinion, who);
    case "user-prompt-submit": {
      const contexts = opinion.contexts?.map(({ text }): Said => ({
        text: reminder(`${name} hook additional context: ${text}`),
        verbatim: true,
        place: "before",
      }));
      const shown = contexts ? { ...opinion, contexts } : opinion;
      return denied ? { ...shown, text: refusalWords(who, reason, from.hidePrompt) } : shown;
    }
    default:
      return labelled(denied ? { ...opinion, ...words(who, reason) } : opinion, who);
  }
}

function words(who: Speaker, reason: string): { text: string } | undefined {
  const text = refusalWords(who, reason);
  return text === reason ? undefined : { text };
}

/** What the model, or on a prompt the person, reads of a denial; the reason if the host has no words of its own. */
export function refusalWords({ event, name, command }: Speaker, reason: string, hidePrompt = false): string {
  const label = wireLabel(event, name);
  switch (event.event) {
    case "pre-tool-use":
      return `${label} hook error: ${reason}`.trimEnd();
    case "post-tool-use":
      return reminder(blockingError(label, command, reason));
    case "user-prompt-submit":
      return `${name} operation blocked by hook:\n${reason}${hidePrompt ? "" : `\n\nOriginal prompt: ${event.prompt}`}`;
    case "pre-compact":
      return `Compaction blocked by ${name} hook: ${reason}`;
    case "stop":
      return `Stop hook feedback:\n${reason}`;
    default:
      return reason;
  }
}

/** On stop the model reads a decision twice, stderr once. */
function sentBack(opinion: Opinion, who: Speaker, exit: boolean): Opinion {
  const { name, command } = who;
  const reason = opinion.reason ?? "";
  const blocking: Said = { text: reason, label: `${name} hook blocking error from command: "${command}"` };
  const contexts = [...(exit ? [] : [blocking]), ...labelled(opinion, who).contexts ?? []];
  return { ...opinion, ...(contexts.length > 0 && { contexts }), text: refusalWords(who, reason) };
}

function labelled(opinion: Opinion, { event, name }: Speaker): Opinion {
  if (!opinion.contexts) return opinion;
  const opening = event.event === "session-start" || name === "SubagentStart";
  const label = `${opening ? name : wireLabel(event, name)} hook additional context`;
  const place = event.event === "post-tool-use" || event.event === "post-tool-batch"
    ? "result"
    : opening
    ? "before"
    : undefined;
  return {
    ...opinion,
    contexts: opinion.contexts.map(({ text }) => ({ text, label, ...(place && { place }) })),
  };
}

const PASSED_ON: ReadonlySet<string> = new Set(["session-start", "user-prompt-submit", "post-model-switch"]);

/** Plain text a hook printed, if the host passes it on. */
function plainWords({ event, name }: Speaker, text: () => string): Said | undefined {
  if (!PASSED_ON.has(event.event)) return undefined;
  return { text: reminder(`${wireLabel(event, name)} hook success: ${text()}`), verbatim: true, place: "before" };
}

function blockingError(label: string, command: string, reason: string): string {
  return `${label} hook blocking error from command: "${command}": ${reason}`;
}

/** What a hook in the background complains of when it ends. */
function complaint({ event, name, command }: Speaker, words: string): Said {
  const reason = `[${command}]: ${words || "No stderr output"}`;
  return { text: reminder(blockingError(wireLabel(event, name), command, reason)), verbatim: true };
}

/** What a hook in the background says in the end: bare, a mark each. */
function lateWords({ systemMessage, contexts }: Opinion): Said[] {
  return [...(systemMessage === undefined ? [] : [systemMessage]), ...(contexts ?? []).map((c) => c.text)]
    .map((text) => ({ text: reminder(text), verbatim: true }));
}
