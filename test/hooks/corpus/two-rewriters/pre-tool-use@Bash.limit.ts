import type { PreToolUseHook } from "crochet";

/** Puts a time limit in front of every command. */
const limit: PreToolUseHook = ({ input }) => {
  const command = String(input.command);
  return command.startsWith("timeout 60 ")
    ? undefined
    : { action: "modify", value: { ...input, command: `timeout 60 ${command}` } };
};
export default limit;
