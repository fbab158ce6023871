import type { Violation } from "./report.ts";

/** Variables that many hooks expect their event in, and that no host sets: the event comes as JSON on stdin. */
const NEVER_SET =
  /\b(?:CLAUDE_(?:TOOL_(?:NAME|INPUT|OUTPUT|ARGS|RESULT)|FILE_PATHS?|PROMPT|USER_PROMPT|EVENT|HOOK_EVENT|HOOK_INPUT|TRANSCRIPT|NOTIFICATION|LAST_MESSAGE)|TOOL_INPUT_FILE_PATH)\b/;

/** A variable in a hook's source that no host sets. */
export function unsetVariables(text: string): readonly Violation[] {
  const code = text.replaceAll(/^\s*(?:#|\/\/).*$/gm, "");
  const name = NEVER_SET.exec(code)?.[0];
  // What the source sets itself is its own.
  if (name === undefined || new RegExp(`^\\s*(?:export\\s+|local\\s+)?${name}=`, "m").test(code)) return [];
  return [{
    law: "protocol",
    code: "protocol.unset-variable",
    severity: "warning",
    message: `It reads $${name}, which no host sets`,
    fix: "read the event from stdin, as JSON: input=$(cat), json.load(sys.stdin)",
  }];
}
