import { claudeDecision, claudeResult, commands, CONTEXT, LISTS, PERMISSION, TOP } from "./claude.ts";
import { like } from "./channel.ts";
import type { Host } from "./host.ts";
import { alsoIn } from "./keys.ts";
import { patching, PATCHING_SHELL } from "./patch.ts";

/** Codex reads regular expressions in another dialect, and never runs a hook whose matcher is not valid in it. */
const SHARED_SYNTAX = /^(?:[\w|.^$*+?()-]|\[\^?[\w-]+\])+$/;

/** It has no variable for the project, and starts hooks in the folder its session is in. */
const FIND_ROOT = 'r=$PWD; until [ -z "$r" ] || [ -e "$r/.codex/hooks.json" ]; do r=${r%/*}; done';

export const codex: Host = {
  name: "codex",
  title: "Codex",
  events: {
    SessionStart: { ours: ["session-start"], can: ["context", "halt"], output: CONTEXT },
    SessionEnd: { ours: ["session-end"], output: [] },
    UserPromptSubmit: { ours: ["user-prompt-submit"], can: ["deny", "context", "halt"], output: CONTEXT, blocks: true },
    SubagentStart: { ours: ["subagent-start", "agent-start"], can: ["context"], output: CONTEXT },
    PreToolUse: {
      ours: ["pre-tool-use"],
      can: ["deny", "modify", "context"],
      output: [...PERMISSION, "updatedInput", ...CONTEXT],
      blocks: true,
      refusesKeys: ["continue", "suppressOutput"],
    },
    PermissionRequest: { ours: ["permission-request"], can: ["deny", "allow"], output: ["decision"] },
    PostToolUse: { ours: ["post-tool-use"], can: ["deny", "context", "halt"], output: CONTEXT, blocks: true },
    Stop: { ours: ["stop"], can: ["deny", "halt"], output: [], blocks: true, wantsJson: true },
    SubagentStop: { ours: ["subagent-stop"], output: [], blocks: true, wantsJson: true },
    PreCompact: { ours: ["pre-compact"], can: ["halt"], output: [] },
    PreModelRequest: { ours: ["iteration"], can: [], output: [] },
    PostCompact: { ours: ["post-compact"], can: [], output: [] },
    Interrupt: {},
  },
  tried: { version: "0.166.0", unseen: ["PermissionRequest", "PostCompact", "Interrupt"] },
  channels: {
    apply_patch: patching("command"),
    Bash: PATCHING_SHELL,
    spawn_agent: like("Agent", { message: "prompt" }),
  },
  unseen: { write_stdin: "what is typed into a shell that already runs" },
  likeClaude: true,
  stopCap: 8,
  settings: {
    files: [".codex/hooks.json", ".codex/config.toml"],
    afterInstall: "Codex runs none of these hooks until a person trusts the project and them: " +
      'write [projects."DIR"] trust_level = "trusted" into ~/.codex/config.toml, start codex here and type /hooks',
    lists: { ...LISTS, project: { root: "$r", findRoot: FIND_ROOT } },
    second: 1,
    async: true,
    toolMatcher: (tools) => alsoIn(codex.channels, tools).join("|"),
    patternMatcher: (pattern) => SHARED_SYNTAX.test(pattern) && !/\(\?|^\*$/.test(pattern) ? pattern : undefined,
  },
  answers: { hidesResult: true },
  decided: (folded, event) => {
    if (event.event === "post-tool-use") return {};
    // It takes a new input only with a permission beside it.
    const permits = folded.modified && folded.decision === "continue" && event.event === "pre-tool-use";
    return claudeDecision(permits ? { ...folded, decision: "allow" } : folded, event);
  },
  newResult: claudeResult,
  commands: {
    ...commands,
    noLineFeed: true,
    timeout: (event) => event === "SessionEnd" ? 1 : commands.timeout(event),
    top: TOP,
    decisions: ["block"],
    permissions: ["allow", "deny"],
    strict: true,
    wantsReason: true,
    allowsWithInput: true,
    /** As Claude Code's, always with a turn and a model; there may be no transcript yet. */
    written: (claude, { prompt_id, transcript_path, session_id }) => {
      const { prompt_id: _, effort: __, mcp_server: ___, ...rest } = claude;
      return {
        ...rest,
        transcript_path: prompt_id === undefined ? null : transcript_path,
        turn_id: prompt_id ?? session_id,
        model: "gpt-5-codex",
      };
    },
  },
};
