import type { PreToolUseHook } from "crochet";

let calls = 0;

/** Remembers between calls what no call is told: the same command is fine or is not. */
const everyThird: PreToolUseHook = () => {
  if (++calls % 3 === 0) return { action: "deny", reason: "Take a break" };
};
export default everyThird;
