import { adapterHost } from "./adapter.ts";
import { type Channel, like, named } from "./channel.ts";
import type { Host } from "./host.ts";

const PATH = { path: "file_path" };

/** Its edits of one file are a list. */
const EDITS: Channel = like("Edit", PATH, {
  read: ({ path: file_path, edits, ...rest }) => {
    const list = edits as readonly { readonly oldText?: unknown; readonly newText?: unknown }[];
    if (!Array.isArray(edits) || !list.every((one) => one !== null && typeof one === "object")) return undefined;
    const joined = (key: "oldText" | "newText") => list.map((one) => one[key]).join("\n");
    return [{
      tool: "Edit",
      input: { ...rest, file_path, old_string: joined("oldText"), new_string: joined("newText") },
    }];
  },
  write: ([call], { edits }) => {
    const { file_path: path, old_string: oldText, new_string: newText, ...rest } = call!.input;
    return Array.isArray(edits) && edits.length > 1 ? undefined : { ...rest, path, edits: [{ oldText, newText }] };
  },
});

/** The coding agent pi. */
export const pi: Host = adapterHost({
  name: "pi",
  title: "pi",
  file: ".pi/extensions/crochet.ts",
  afterInstall: "pi loads extensions of a folder only once a person approves it: answer its question, or --approve",
  events: {
    session_start: { ours: ["session-start"], can: [] },
    session_shutdown: { ours: ["session-end"], can: [] },
    input: { ours: ["user-prompt-submit"], can: ["deny", "modify", "context"] },
    context: { ours: ["iteration"], can: [] },
    tool_call: { ours: ["pre-tool-use"], can: ["deny", "modify"] },
    tool_result: { ours: ["post-tool-use", "post-tool-use-failure"], can: ["deny", "modify", "context"] },
    agent_before_settle: { ours: ["stop"], can: ["deny"] },
    session_before_compact: { ours: ["pre-compact"], can: ["deny"] },
  },
  tried: { version: "0.87.1", unseen: ["session_before_compact"] },
  channels: {
    ...named({ bash: "Bash" }),
    edit: EDITS,
    ...named({ write: "Write", read: "Read" }, PATH),
    ...named({ grep: "Grep", find: "Glob", ls: "LS" }),
  },
});
