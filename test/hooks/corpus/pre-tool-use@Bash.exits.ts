import type { PreToolUseHook } from "crochet";

/** Takes the whole agent with it. */
const exits: PreToolUseHook = ({ input }) => {
  if (String(input.command).includes("git")) process.exit(1);
};
export default exits;
