/** The types of the keys that have one, wherever they stand. */
export const TYPES: { readonly [key: string]: "string" | "boolean" | "object" | "number" } = {
  continue: "boolean",
  stopReason: "string",
  suppressOutput: "boolean",
  systemMessage: "string",
  reason: "string",
  hookSpecificOutput: "object",
  hookEventName: "string",
  permissionDecision: "string",
  permissionDecisionReason: "string",
  updatedInput: "object",
  additionalContext: "string",
  sessionTitle: "string",
  initialUserMessage: "string",
};

/** What a call of a tool cannot be without. */
export const REQUIRED: { readonly [tool: string]: readonly string[] } = {
  Bash: ["command"],
  Read: ["file_path"],
  Write: ["file_path", "content"],
  Edit: ["file_path", "old_string", "new_string"],
  MultiEdit: ["file_path", "edits"],
  Glob: ["pattern"],
  Grep: ["pattern"],
  WebFetch: ["url"],
  WebSearch: ["query"],
};

/** Keys that say something in an answer: an object with one of them was meant as one. */
export const TELLING: readonly string[] = [
  ...["decision", "hookSpecificOutput", "continue", "permissionDecision", "additionalContext", "systemMessage"],
  ...["stopReason", "permission", "block", "updatedInput", "additional_context", "modified_data"],
];
