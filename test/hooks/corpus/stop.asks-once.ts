import type { StopHook } from "crochet";

/** Asks once for what it wants. */
const asksOnce: StopHook = ({ stop_hook_active }) =>
  stop_hook_active ? undefined : { action: "deny", reason: "Update the changelog" };
export default asksOnce;
