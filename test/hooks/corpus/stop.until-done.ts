import type { StopHook } from "crochet";

/** Waits for a word: a model that does not say it is sent back for ever. */
const untilDone: StopHook = ({ last_assistant_message }) =>
  last_assistant_message.includes("ALL-TASKS-COMPLETE")
    ? undefined
    : { action: "deny", reason: "Go on until all tasks are complete" };
export default untilDone;
