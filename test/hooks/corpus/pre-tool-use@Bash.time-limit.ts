import type { PreToolUseHook } from "crochet";

/** Gives every command a time limit, and leaves those alone that have one. */
const limited: PreToolUseHook = ({ input }) =>
  typeof input.timeout === "number" ? undefined : { action: "modify", value: { ...input, timeout: 60_000 } };
export default limited;
