import type { Host } from "../../../hooks/serving/from-host.ts";
import type { Subject } from "../subject.ts";

/** Fields that events have, under whichever event. */
const KNOWN =
  /\b(?:tool_name|tool_input|tool_response|tool_use_id|hook_event_name|session_id|transcript_path|prompt_response|stop_hook_active|last_assistant_message|notification_type|cwd|prompt|source|reason|trigger|message|agent_type|agent_id|error|llm_request)\b/;

/** What people take the fields of a call for, and what they are called. */
const MEANT: { readonly [field: string]: string } = {
  tool: "tool_name",
  toolName: "tool_name",
  arguments: "tool_input",
  params: "tool_input",
  parameters: "tool_input",
  toolInput: "tool_input",
  tool_args: "tool_input",
  filePath: "tool_input.file_path",
  tool_output: "tool_response",
  tool_result: "tool_response",
  user_prompt: "prompt",
  userPrompt: "prompt",
};

/** A field that no event has, of a hook that reads no other: it never sees what it looks for. */
export function unknownFields(text: string, host: Host): Subject["seen"] {
  const code = text.replaceAll(/^\s*(?:#|\/\/).*$/gm, "");
  if (KNOWN.test(code)) return [];
  const read = [
    // With a file after its program, jq reads that.
    ...code.matchAll(/\bjq(?:\s+-[\w-]+)*\s+["']\s*\.([a-zA-Z_]+)[^"'\n]*["']\s*(?:\d?>\s*[^\s)]+\s*)*(?=[)|;&]|$)/gm),
    ...code.matchAll(/\b(?:data|input|event|payload|hook_input|input_data|hookInput)(?:\.get\(|\[)\s*["'](\w+)["']/g),
  ].map(([, field]) => field!).filter((field) => Object.hasOwn(MEANT, field));
  const [field] = read;
  return field === undefined ? [] : [{
    law: "lawful",
    code: "lawful.unknown-field",
    severity: "fault",
    message: `It reads '${field}', which no event of ${host} has, and none of those that are there: it sees nothing`,
    mend: `read ${MEANT[field]}`,
  }];
}
