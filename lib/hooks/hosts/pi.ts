import { adapterHost } from "./adapter.ts";
import type { Host } from "./host.ts";

/** The coding agent pi. */
export const pi: Host = adapterHost({
  name: "pi",
  file: ".pi/extensions/crochet.ts",
  afterInstall: "pi loads extensions of a folder only once a person approves it: answer its question, or --approve",
  events: {
    session_start: { ours: ["session-start"], can: [] },
    session_shutdown: { ours: ["session-end"], can: [] },
    input: { ours: ["user-prompt-submit"], can: ["deny", "modify", "context"] },
    context: { ours: ["iteration"], can: [] },
    tool_call: { ours: ["pre-tool-use"], can: ["deny", "modify"] },
    tool_result: {
      ours: ["post-tool-use", "post-tool-use-failure"],
      can: ["deny", "modify", "context"],
    },
    agent_before_settle: { ours: ["stop"], can: ["deny"] },
    session_before_compact: { ours: ["pre-compact"], can: ["deny"] },
  },
  tried: { version: "0.87.1", unseen: ["session_before_compact"] },
  tools: { bash: "Bash", write: "Write", read: "Read", grep: "Grep", find: "Glob", ls: "LS" },
  inputKeys: { path: "file_path" },
  // Its edits are a list with names of its own.
  toolAliases: { edit: ["Edit", "MultiEdit"] },
});
