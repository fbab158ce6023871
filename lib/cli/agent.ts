import { group } from "./_group.ts";

/** Watching agents of Claude Code; `crochet agents` shows them all. */
export default group("agent", {
  settings: ["write a settings file for a watched agent and print its path", () => import("./agent/settings.ts")],
  prompt: ["fire the agent-prompt hooks of a watched agent's project", () => import("./agent/prompt.ts")],
  hook: ["what that file calls: notes an event of the agent on stdin", () => import("./agent/hook.ts")],
}, { example: `claude --settings "$(crochet agent settings fixer | tail -n 1)"` });
