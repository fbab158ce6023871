import type { PreToolUseHook } from "crochet";

/** Counts quotes, and never comes back from a command that has an odd number of them. */
const quotes: PreToolUseHook = ({ input }) => {
  let rest = String(input.command);
  while (rest.includes("'")) {
    const end = rest.indexOf("'", rest.indexOf("'") + 1);
    if (end >= 0) rest = rest.slice(end + 1);
  }
};
export default quotes;
export const config = { timeout: 1 };
