import type { PreToolUseHook } from "crochet";

/** Takes for granted that every change is an edit. */
const noDebugger: PreToolUseHook = ({ input }) => {
  const { new_string } = input as { new_string: string };
  if (new_string.includes("debugger")) return { action: "deny", reason: "Take the debugger statement out" };
};
export default noDebugger;
