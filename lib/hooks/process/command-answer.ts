import { join } from "node:path";
import type { AnyEvent } from "../../core/events.ts";
import type { HookContext } from "../../core/hook.ts";
import { reminder } from "../../core/hook-words.ts";
import type { HookText, Opinion } from "../../core/verdict.ts";
import { type HookHost, outputFolder, persisted } from "./hook-host.ts";
import type { ProcessResult } from "../../process/process.ts";
import { PASSED_ON, readCommand, readLate, specificOf } from "./read-result.ts";
import { wireLabel, wireName } from "./wire.ts";
import { type JsonObject, present } from "../../core/json.ts";

interface Listening extends Speaker {
  readonly registered: string | undefined;
  readonly ctx: HookContext;
  readonly host: HookHost;
}

export interface Called {
  readonly command: string;
  readonly registered: string | undefined;
}

export function speakerOf(event: AnyEvent, { command, registered }: Called): Speaker {
  return { event, name: wireName(event, registered), command };
}

export function listeningTo(event: AnyEvent, called: Called, ctx: HookContext, host: HookHost): Listening {
  return { ...speakerOf(event, called), registered: called.registered, ctx, host };
}

/** A new file for a text that is too long for the model. */
function fileFor({ event, ctx, host }: Listening, what: string): string {
  return join(outputFolder(host, event.session_id), `hook-${ctx.uuid()}-${what}.txt`);
}

/** A process's answer in the words and the places of Claude Code. @throws {UnusableAnswer} if that is not one */
export function answerOf(ran: ProcessResult, about: Listening): Opinion {
  const { opinion, json, words, exit = false } = readCommand(ran, about.event, about.registered);
  if (words !== undefined) return fromWords(words, ran, about);
  const specific = specificOf(json);
  takeAlong(specific, about);
  const stderr = stderrWords(about, ran.stderr);
  const spoken = opinion.decision === "deny" ? { reason: stderr } : { systemMessage: stderr.trimEnd() };
  const said = exit ? { ...opinion, ...spoken } : opinion;
  return inHostWords(shortened(said, about), about, { exit, hidePrompt: specific.suppressOriginalPrompt === true });
}

/** What Claude Code shows of stderr, which it does not trim. */
function stderrWords({ command }: Speaker, stderr: string): string {
  return `[${command}]: ${stderr || "No stderr output"}`;
}

/** What a hook in the background says in the end: no verdict counts, but with `rewake` a complaint. @throws {UnusableAnswer} */
export function lateAnswer(ran: ProcessResult, about: Listening, rewake = false): readonly HookText[] {
  if (ran.ended) return [];
  if (rewake && ran.code === 2) return [complaint(about, ran.stderr || ran.stdout)];
  return lateWords(shortened(readLate(ran, about.event, about.registered, true)!, about));
}

/** What a hook gives beside its verdict: a prompt to begin with, and rules for the session. */
function takeAlong(specific: JsonObject, { event, ctx, host }: Listening): void {
  if (event.event === "session-start" && typeof specific.initialUserMessage === "string") {
    ctx.hookInput(specific.initialUserMessage);
  }
  const { updatedPermissions: updates } = (specific.decision ?? {}) as { updatedPermissions?: unknown };
  if (event.event !== "permission-request" || !Array.isArray(updates)) return;
  for (const { type, behavior, rules } of updates as Record<string, unknown>[]) {
    if (
      type === "addRules" && Array.isArray(rules) && (behavior === "allow" || behavior === "ask" || behavior === "deny")
    ) {
      host.remember?.(behavior, (rules as { toolName: string; ruleContent?: string }[]).map(ruleOf));
    } else ctx.log(`does not change permissions by '${String(type)}' here: only 'addRules' is taken, for the run`);
  }
}

function ruleOf({ toolName, ruleContent }: { toolName: string; ruleContent?: string }): string {
  return ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`;
}

/** Contexts are cut to what the model should read; reasons never are. */
function shortened(opinion: Opinion, about: Listening): Opinion {
  if (!opinion.contexts) return opinion;
  const short = (text: string) => persisted(text, () => fileFor(about, "additionalContext"));
  return { ...opinion, contexts: opinion.contexts.map((said) => ({ ...said, text: short(said.text) })) };
}

/** Plain text counts if the host passes it on, and as further instructions for a summary. */
function fromWords(text: string, ran: ProcessResult, about: Listening): Opinion {
  const { event, name } = about;
  if (text === "") return {};
  if (event.event === "pre-compact") {
    return { value: { to: [event.instructions, text].filter((t) => t !== "").join("\n\n") } };
  }
  if (!PASSED_ON.has(event.event)) return {};
  const shown = persisted(text, () => fileFor(about, "stdout"), ran.stdoutFile);
  const words = reminder(`${wireLabel(event, name)} hook success: ${shown}`);
  return { contexts: [{ text: words, verbatim: true, place: "before" }] };
}

/** Who speaks: which hook, on what. */
interface Speaker {
  readonly event: AnyEvent;
  readonly name: string;
  /** How the host names the hook to the model: its command, url or prompt. */
  readonly command: string;
}

/** Gives an opinion the host's words and places. `exit`: its reason is stderr, which the model reads only once on stop. */
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
      const contexts = opinion.contexts?.map(({ text }): HookText => ({
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
  const blocking: HookText = { text: reason, label: `${name} hook blocking error from command: "${command}"` };
  const contexts = [...(exit ? [] : [blocking]), ...labelled(opinion, who).contexts ?? []];
  return { ...opinion, ...(contexts.length > 0 && { contexts }), text: refusalWords(who, reason) };
}

function labelled(opinion: Opinion, { event, name }: Speaker): Opinion {
  if (!opinion.contexts) return opinion;
  const opening = event.event === "session-start" || name === "SubagentStart";
  const label = `${opening ? name : wireLabel(event, name)} hook additional context`;
  const isAfter = event.event === "post-tool-use" || event.event === "post-tool-batch";
  const place = isAfter ? "result" : opening ? "before" : undefined;
  return { ...opinion, contexts: opinion.contexts.map(({ text }) => present({ text, label, place })) };
}

function blockingError(label: string, command: string, reason: string): string {
  return `${label} hook blocking error from command: "${command}": ${reason}`;
}

/** What a hook in the background complains of when it ends. */
function complaint(who: Speaker, words: string): HookText {
  const { event, name, command } = who;
  const error = blockingError(wireLabel(event, name), command, stderrWords(who, words));
  return { text: reminder(error), verbatim: true };
}

/** What a hook in the background says in the end: bare, a mark each. */
function lateWords({ systemMessage, contexts }: Opinion): HookText[] {
  return [...(systemMessage === undefined ? [] : [systemMessage]), ...(contexts ?? []).map((c) => c.text)]
    .map((text) => ({ text: reminder(text), verbatim: true }));
}
