import type { PreToolUseHook } from "crochet";

/** Lets other work go first. */
const nice: PreToolUseHook = ({ input }) => {
  const command = String(input.command);
  return command.includes("nice ") ? undefined : { action: "modify", value: { ...input, command: `nice ${command}` } };
};
export default nice;
