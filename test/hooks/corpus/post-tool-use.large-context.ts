import type { PostToolUseHook } from "crochet";

/** Repeats every result, and then some. */
const repeats: PostToolUseHook = () => ({ action: "continue", context: "As you know: ".repeat(2000) });
export default repeats;
