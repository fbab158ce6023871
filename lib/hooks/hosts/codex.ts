import { claude, claudeDecision, claudeResult, commands, CONTEXT, PERMISSION, TOP } from "./claude.ts";
import type { Host } from "./host.ts";

/** Codex reads regular expressions in another dialect, and never runs a hook whose matcher is not valid in it. */
const SHARED_SYNTAX = /^(?:[\w|.^$*+?()-]|\[\^?[\w-]+\])+$/;

/** It has no variable for the project, and starts hooks in the folder its session is in. */
const FIND_ROOT = 'r=$PWD; until [ -z "$r" ] || [ -e "$r/.codex/hooks.json" ]; do r=${r%/*}; done';

const { local: _, ...shared } = claude.settings;

export const codex: Host = {
  name: "codex",
  events: {
    SessionStart: { ours: ["session-start"], can: ["context", "halt"], output: CONTEXT },
    SessionEnd: { ours: ["session-end"], output: [] },
    UserPromptSubmit: {
      ours: ["user-prompt-submit"],
      can: ["deny", "context", "halt"],
      output: CONTEXT,
      blocks: true,
    },
    SubagentStart: { ours: ["subagent-start", "agent-start"], can: ["context"], output: CONTEXT },
    PreToolUse: {
      ours: ["pre-tool-use"],
      can: ["deny", "modify", "context"],
      output: [...PERMISSION, "updatedInput", ...CONTEXT],
      blocks: true,
    },
    PermissionRequest: { ours: ["permission-request"], can: ["deny", "allow"], output: ["decision"] },
    PostToolUse: { ours: ["post-tool-use"], can: ["deny", "context", "halt"], output: CONTEXT, blocks: true },
    Stop: { ours: ["stop"], can: ["deny", "halt"], output: [], blocks: true },
    SubagentStop: { ours: ["subagent-stop"], output: [], blocks: true },
    PreCompact: { ours: ["pre-compact"], can: ["halt"], output: [] },
    PreModelRequest: { ours: ["iteration"], can: [], output: [] },
    PostCompact: { ours: ["post-compact"], can: [], output: [] },
    Interrupt: {},
  },
  tried: { version: "0.166.0", unseen: ["PermissionRequest", "PostCompact", "Interrupt"] },
  tools: {},
  toolAliases: { apply_patch: ["Edit", "Write"], spawn_agent: ["Agent"] },
  likeClaude: true,
  stopCap: 8,
  settings: {
    ...shared,
    files: [".codex/hooks.json", ".codex/config.toml"],
    afterInstall: "Codex runs none of these hooks until a person trusts them: start codex here and type /hooks",
    project: { root: "$r", findRoot: FIND_ROOT },
    onFailure: false,
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
    /** As Claude Code's, always with a turn and a model; there may be no transcript yet. */
    written: (claude, { prompt_id, transcript_path, session_id }) => {
      const { prompt_id: _, effort: __, mcp_server: ___, ...rest } = claude;
      const patch = rest.tool_name === "Edit" || rest.tool_name === "Write" || rest.tool_name === "MultiEdit";
      const { file_path } = (rest.tool_input ?? {}) as { file_path?: unknown };
      return {
        ...rest,
        ...(patch && {
          tool_name: "apply_patch",
          tool_input: { command: `*** Begin Patch\n*** Update File: ${file_path}\n@@\n-a\n+b\n*** End Patch` },
        }),
        transcript_path: prompt_id === undefined ? null : transcript_path,
        turn_id: prompt_id ?? session_id,
        model: "gpt-5-codex",
      };
    },
  },
};
