import { relative } from "node:path";
import { isObject, type JsonObject, objectOf, parsed } from "../../../core/json.ts";
import { type AgentLog, type LoggedCall, type Moment, type ReadLane, textIn, textsOf } from "./session-kinds.ts";

export function readCodex({ path, lines, agent, lane }: AgentLog): ReadLane {
  const moments: Moment[] = [];
  const calls = new Map<string, { call: LoggedCall; isOpen: boolean; failed: boolean; replies: number }>();
  const marksReplies = lines.some(({ value }) => value.type === "token_usage_record");
  const marksPrompts = lines.some(({ value }) => kindsOf(objectOf(value.payload)).length > 0);
  let reply = { text: "", calls: false, begun: false };
  let [modelCalls, cwd, turn, active, version] = [0, "", "", false, undefined as string | undefined];

  for (const { value, line } of lines) {
    const payload = objectOf(value.payload);
    const type = value.type === "event_msg" || value.type === "response_item"
      ? textIn(payload.type)
      : textIn(value.type);
    const logged = () => ({ lane, path, line, cwd, turn, at: Date.parse(textIn(value.timestamp)) });
    const prompt = (text: string) => {
      active = false;
      if (agent === undefined) moments.push({ kind: "prompt", ...logged(), text });
    };
    const stop = (text: string) => moments.push({ kind: "stop", ...logged(), text, active });
    if (type === "session_meta" || type === "turn_context") {
      cwd = textIn(payload.cwd) || cwd;
      turn = textIn(payload.turn_id) || turn;
      version ??= textIn(payload.cli_version) || undefined;
    } else if (type === "task_started" || type === "turn_aborted") {
      turn = textIn(payload.turn_id) || turn;
      reply = { text: "", calls: false, begun: false };
    } else if (type === "message" && payload.role === "user") {
      const parts = Array.isArray(payload.content) ? payload.content : [];
      const typed = kindsOf(payload).flatMap((kind, i) => kind === "user.text" ? [parts[i]] : []);
      if (typed.length > 0) prompt(textsOf(typed));
      else if (textsOf(payload.content).startsWith("<hook_prompt ")) active = true;
    } else if (type === "user_message" && !marksPrompts) prompt(textIn(payload.message));
    else if (type === "message" && payload.role === "assistant") {
      reply = { ...reply, text: reply.text + textsOf(payload.content), begun: true };
    } else if (type.endsWith("_call") && typeof payload.call_id === "string") {
      reply = { ...reply, calls: true, begun: true };
      const { call_id: id, namespace } = payload as { call_id: string; namespace?: string };
      const name = textIn(payload.name) || type;
      const input = typeof payload.arguments === "string"
        ? parsed(payload.arguments) ?? payload.arguments
        : payload.input ?? payload.action;
      const call: LoggedCall = {
        ...{ kind: "call", ...logged(), id, name, ...(namespace !== undefined && { namespace }), input },
        ...{ outcome: "interrupted", result: "" },
      };
      calls.set(id, { call, isOpen: true, failed: false, replies: modelCalls });
      moments.push(call);
    } else if (type.endsWith("_call_output") && calls.has(textIn(payload.call_id))) {
      const known = calls.get(textIn(payload.call_id))!;
      known.isOpen = false;
      known.replies = modelCalls;
      known.call.result = textsOf(payload.output);
      known.call.outcome = outcomeOf(known.call, known.failed);
    } else if (type === "item_completed") {
      const item = objectOf(payload.item);
      const own = calls.get(textIn(item.id));
      const nested = nestedIn(item, cwd);
      if (own) {
        own.failed = item.status === "failed";
        if (nested && "output" in nested) own.call.response = nested.output;
      } else if (nested) {
        const scripts = [...calls.values()].filter(({ call }) => call.name === "exec");
        const call = (scripts.find(({ isOpen }) => isOpen) ?? scripts.at(-1))?.call;
        if (call) (call.nested ??= []).push(nested);
      }
    } else if (type === "token_usage_record") {
      modelCalls++;
      if (reply.begun && !reply.calls) stop(reply.text);
      reply = { text: "", calls: false, begun: false };
    } else if (type === "task_complete" && !marksReplies) stop(textIn(payload.last_agent_message));
  }
  // The model reads of an interrupted call only if it is asked again.
  for (const { call, replies: before } of calls.values()) {
    if (call.outcome === "interrupted" && before === modelCalls) call.result = "";
  }
  return { moments, modelCalls, version };
}

/** What each part of a message is, by its client. */
function kindsOf({ internal_chat_message_metadata_passthrough: metadata }: JsonObject): readonly unknown[] {
  const { content_item_kinds: kinds } = objectOf(metadata);
  return Array.isArray(kinds) ? kinds : [];
}

/** Codex logs how a call ended only in the words the model reads. */
function outcomeOf({ name, result }: LoggedCall, failed: boolean): LoggedCall["outcome"] {
  const isScript = name === "exec" && /^Script (completed|failed)\b/.exec(result)?.[1];
  const code = /^(?:Chunk ID: .*\n)?(?:Wall time:? .*\n)?Process exited with code (-?\d+)/.exec(result)?.[1];
  if (isScript === "completed" || code === "0") return "ok";
  if (/^\w[\w ]* blocked by PreToolUse hook: /.test(result)) return "denied";
  if (isScript && result.includes(" blocked by PreToolUse hook: ")) return "denied";
  if (isScript || code !== undefined) return "error";
  if (/\b(?:aborted|rejected) by user\b[^\n]*\s*$/.test(result)) return "interrupted";
  return failed ? "error" : "ok";
}

/** A command or patch that ran, as the client noted it. */
function nestedIn(
  { type, command, exit_code, aggregated_output, changes }: JsonObject,
  cwd: string,
): NonNullable<LoggedCall["nested"]>[number] | undefined {
  if (type === "CommandExecution") {
    const line = Array.isArray(command) ? textIn(command.at(-1)) : textIn(command);
    return { command: line, exit_code: Number(exit_code), output: textIn(aggregated_output) };
  }
  if (type !== "FileChange" || !isObject(changes)) return undefined;
  const text = Object.entries(changes).map(([path, change]) => patchText(path, objectOf(change)));
  return {
    patch: Object.keys(changes).map((path) => path.startsWith(`${cwd}/`) ? relative(cwd, path) : path),
    text: ["*** Begin Patch", ...text, "*** End Patch"].join("\n"),
  };
}

/** A change in the words of a patch, as hooks read one. */
function patchText(path: string, { type, unified_diff, content, move_path }: JsonObject): string {
  const what = { add: "Add", delete: "Delete" }[textIn(type)] ?? "Update";
  const moved = typeof move_path === "string" ? `\n*** Move to: ${move_path}` : "";
  const body = textIn(unified_diff) || textIn(content).replace(/\n$/, "").replace(/^/gm, type === "delete" ? "-" : "+");
  return `*** ${what} File: ${path}${moved}\n${body}`.trimEnd();
}
