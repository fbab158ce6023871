import { claude } from "./claude.ts";
import type { Host } from "./host.ts";

const tools = {
  run_in_terminal: "Bash",
  create_file: "Write",
  replace_string_in_file: "Edit",
  read_file: "Read",
  grep_search: "Grep",
  file_search: "Glob",
};
const inputKeys = { filePath: "file_path", oldString: "old_string", newString: "new_string" };

const { commands: _, tried: __, ...like } = claude;

/** VS Code's agent, which runs the entries for Claude Code with names of its own, and ignores their matchers. */
export const vscode: Host = {
  ...like,
  name: "vscode",
  tools,
  inputKeys,
  likeClaude: false,
  read: ({ hookEventName, sessionId, ...rest }) => ({ ...rest, hook_event_name: hookEventName, session_id: sessionId }),
};
