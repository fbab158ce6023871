import { named } from "./channel.ts";
import { claude } from "./claude.ts";
import type { Host } from "./host.ts";

const channels = {
  ...named(
    { create_file: "Write", replace_string_in_file: "Edit", read_file: "Read" },
    { filePath: "file_path", oldString: "old_string", newString: "new_string" },
  ),
  ...named({ run_in_terminal: "Bash", grep_search: "Grep", file_search: "Glob" }),
};

const { commands: _, tried: __, unseen: ___, ...like } = claude;

/** VS Code's agent, which runs the entries for Claude Code with names of its own, and ignores their matchers. */
export const vscode: Host = {
  ...like,
  name: "vscode",
  title: "VS Code",
  channels,
  likeClaude: false,
  answers: {},
  read: ({ hookEventName, sessionId, ...rest }) => ({ ...rest, hook_event_name: hookEventName, session_id: sessionId }),
};
