import { type AgentLog, type LoggedCall, type Moment, type ReadLane, textIn, textsOf } from "./session-kinds.ts";
import { type JsonObject, objectOf } from "../../../core/json.ts";

/** A reply is logged block by block: its lines are known by the message's id. */
interface Reply {
  text: string;
  calls: boolean;
  ended: boolean;
}

/** What stands in a user's line although no person typed it. */
const NOT_TYPED =
  /^(?:<(?:command-|local-command-|task-notification|system-reminder|bash-)|\[Request interrupted|Caveat: )/;

/** Reads the log of one agent of Claude Code, in the order of its lines: to follow `parentUuid` would lose parallel results. */
export function readClaude({ path, lines, agent, lane }: AgentLog): ReadLane {
  const moments: Moment[] = [];
  const replies = new Map<string, Reply>();
  const calls = new Map<string, { call: LoggedCall; replies: number }>();
  const saysSource = lines.some(({ value }) => value.promptSource !== undefined);
  let [turn, active, mode, version] = ["", false, undefined as string | undefined, undefined as string | undefined];

  for (const { value, line } of lines) {
    const message = objectOf(value.message);
    const attachment = objectOf(value.attachment);
    const logged = () => ({
      ...{ lane, path, line, cwd: textIn(value.cwd), turn, mode },
      at: Date.parse(textIn(value.timestamp)),
    });
    const prompt = (text: string) => {
      [turn, active] = [textIn(value.promptId) || turn, false];
      moments.push({ kind: "prompt", ...logged(), text });
    };
    version ??= textIn(value.version) || undefined;
    mode = textIn(value.permissionMode) || mode;
    if (value.type === "assistant" && message.model !== "<synthetic>" && value.isApiErrorMessage !== true) {
      const reply = replies.get(textIn(message.id)) ?? { text: "", calls: false, ended: false };
      replies.set(textIn(message.id), reply);
      for (const block of blocksOf(message)) {
        if (block.type === "text") reply.text += textIn(block.text);
        if (block.type !== "tool_use") continue;
        reply.calls = true;
        const { id, name, input } = block as { id: string; name: string; input: unknown };
        if (calls.has(id)) continue; // copied from an earlier part of the log
        const call: LoggedCall = { kind: "call", ...logged(), id, name, input, outcome: "interrupted", result: "" };
        calls.set(id, { call, replies: 0 });
        moments.push(call);
      }
      const last = moments.at(-1);
      if (reply.ended && last?.kind === "stop" && !reply.calls) moments.pop(); // another block of the same reply
      reply.ended ||= typeof message.stop_reason === "string";
      const stops = reply.ended && !reply.calls && message.stop_reason !== "tool_use";
      if (stops) moments.push({ kind: "stop", ...logged(), text: reply.text, active });
    } else if (value.type === "user") {
      for (const block of blocksOf(message)) {
        const known = block.type === "tool_result" ? calls.get(textIn(block.tool_use_id)) : undefined;
        if (!known) continue;
        known.replies = replies.size;
        const result = textsOf(block.content);
        Object.assign(known.call, { outcome: outcomeOf(value, block, result), result, response: value.toolUseResult });
      }
      const text = textsOf(message.content);
      if (value.isMeta === true && text.startsWith("Stop hook feedback:")) active = true;
      if (agent === undefined && isTyped(value, text, saysSource)) prompt(text);
    } else if (attachment.type === "queued_command" && attachment.commandMode === "prompt" && agent === undefined) {
      prompt(textsOf(attachment.prompt));
    } else if (attachment.type === "hook_blocking_error" && /Stop$/.test(textIn(attachment.hookEvent))) {
      active = true;
    }
  }
  // The model reads of an interrupted call only if it is asked again.
  for (const { call, replies: before } of calls.values()) {
    if (call.outcome === "interrupted" && before === replies.size) call.result = "";
  }
  return { moments, modelCalls: [...replies.values()].filter(({ ended }) => ended).length, version };
}

export function blocksOf({ content }: JsonObject): JsonObject[] {
  return Array.isArray(content)
    ? content.map(objectOf)
    : typeof content === "string"
    ? [{ type: "text", text: content }]
    : [];
}

/** Whether a person typed it: versions that do not say so mark only what was made otherwise. */
function isTyped(
  { promptSource, isMeta, isCompactSummary, isSidechain }: JsonObject,
  text: string,
  says: boolean,
): boolean {
  if (NOT_TYPED.test(text) || isMeta === true || isCompactSummary === true || isSidechain === true) return false;
  return says ? promptSource === "typed" || promptSource === "sdk" : text !== "";
}

function outcomeOf(
  { permissionDecision, toolDenialKind }: JsonObject,
  block: JsonObject,
  text: string,
): LoggedCall["outcome"] {
  const { decision, source } = objectOf(permissionDecision);
  if (decision === "reject") return /^user/.test(textIn(source)) ? "interrupted" : "denied";
  if (block.is_error !== true) return "ok";
  if (decision !== undefined) return "error";
  if (toolDenialKind === "user-rejected" || INTERRUPTED.test(text)) return "interrupted";
  return toolDenialKind !== undefined || DENIED.test(text) ? "denied" : "error";
}

/** The words of versions that do not log who decided. */
const INTERRUPTED = /^(?:The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user)/;
const DENIED = /^(?:PreToolUse:\S* hook error|Permission to use .* has been denied|Claude requested permissions? )/;
