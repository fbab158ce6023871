import { adapterHost } from "./adapter.ts";
import { named } from "./channel.ts";
import type { Host } from "./host.ts";
import { patching } from "./patch.ts";

const KEYS = { filePath: "file_path", oldString: "old_string", newString: "new_string", replaceAll: "replace_all" };

/** opencode. Its `run` command ends before a Stop hook can send the agent back: `serve` and the terminal do not. */
export const opencode: Host = adapterHost({
  name: "opencode",
  title: "opencode",
  file: ".opencode/plugins/crochet.ts",
  afterInstall:
    "opencode cannot send the agent back in 'opencode run': Stop hooks count in its terminal and server alone",
  events: {
    "session.created": { ours: ["session-start"], can: [] },
    "dispose": { ours: ["session-end"], can: [] },
    "chat.message": { ours: ["user-prompt-submit"], can: ["deny", "context"] },
    "experimental.chat.system.transform": { ours: ["iteration"], can: [] },
    "tool.execute.before": { ours: ["pre-tool-use"], can: ["deny", "modify"] },
    // It is not fired for a call that failed.
    "tool.execute.after": { ours: ["post-tool-use"], can: ["deny", "modify", "context"] },
    "session.idle": { ours: ["stop"], can: ["deny"] },
    "experimental.session.compacting": { ours: ["pre-compact"], can: [] },
  },
  tried: { version: "1.18.33", unseen: ["experimental.session.compacting"] },
  channels: {
    ...named({ bash: "Bash", edit: "Edit", write: "Write", read: "Read" }, KEYS),
    ...named({ glob: "Glob", grep: "Grep", webfetch: "WebFetch", todowrite: "TodoWrite", task: "Agent" }),
    // It offers this to some models in place of the other two.
    apply_patch: patching("patchText"),
  },
});
