import type { StopHook } from "crochet";

/** Sends the agent back at most three times. */
const bounded: StopHook = ({ continuations, last_assistant_message }) =>
  continuations < 3 && !last_assistant_message.includes("tested")
    ? { action: "deny", reason: "Say what you tested, and how" }
    : undefined;
export default bounded;
