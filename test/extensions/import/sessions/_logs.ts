/** Session logs in small, as Claude Code and Codex write them. */

type Line = Record<string, unknown>;

export function jsonl(...lines: readonly Line[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const AT = { sessionId: "s1", cwd: "/proj", version: "2.1.325", timestamp: "2026-11-16T10:00:00.000Z" };

/** A block of a reply of Claude Code: one line each. */
export function said(id: string, block: Line, stop_reason: string | null = "end_turn", more: Line = {}): Line {
  const message = { id, type: "message", role: "assistant", model: "claude-opus-5-5", content: [block], stop_reason };
  return { ...AT, type: "assistant", message, ...more };
}

export const text = (text: string): Line => ({ type: "text", text });

export function called(id: string, name: string, input: Line, more: Line = {}): Line {
  return said(`reply ${id}`, { type: "tool_use", id, name, input }, "tool_use", more);
}

export function result(tool_use_id: string, content: unknown, more: Line = {}, is_error = false): Line {
  const block = { type: "tool_result", tool_use_id, content, ...(is_error && { is_error }) };
  return { ...AT, type: "user", message: { role: "user", content: [block] }, ...more };
}

export function typed(content: unknown, more: Line = {}): Line {
  return { ...AT, type: "user", promptSource: "typed", promptId: "p1", message: { role: "user", content }, ...more };
}

export const attached = (attachment: Line): Line => ({ ...AT, type: "attachment", attachment });

/** A line of Codex. */
export function codex(type: string, payload: Line, timestamp = AT.timestamp): Line {
  return { timestamp, type, payload };
}

export const meta = (id: string, more: Line = {}): Line =>
  codex("session_meta", { id, session_id: id, cwd: "/proj", cli_version: "0.166.0", source: "exec", ...more });

export function item(payload: Line): Line {
  return codex("response_item", payload);
}

export function codexPrompt(text: string): Line {
  const metadata = { content_item_kinds: ["user.text"] };
  return item({
    ...{ type: "message", role: "user", content: [{ type: "input_text", text }] },
    internal_chat_message_metadata_passthrough: metadata,
  });
}

export const codexSays = (text: string): Line =>
  item({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });

export const codexCall = (call_id: string, name: string, input: Line): Line =>
  item({ type: "function_call", name, arguments: JSON.stringify(input), call_id });

export const codexScript = (call_id: string, input: string): Line =>
  item({ type: "custom_tool_call", name: "exec", input, call_id });

export const codexResult = (call_id: string, output: unknown): Line =>
  item({ type: "function_call_output", call_id, output });

export const usage: Line = codex("token_usage_record", { response_id: "r" });

export const completed = (item: Line): Line => codex("event_msg", { type: "item_completed", item });
